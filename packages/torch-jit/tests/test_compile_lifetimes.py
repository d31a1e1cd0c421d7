"""What a compiled function keeps: programs, and not the objects that they were captured with."""

import gc
import weakref

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import nn


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.count, self.act = nn.Linear(3, 3), 0, lambda x: x + 1
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        self.seen.add_(1)
        return self.act(self.layer(x))


class Hooked(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)
        self.register_forward_hook(lambda module, args, result: result * 2)


class Returning(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.table = nn.Linear(3, 3), {"a": nn.ReLU()}

    def forward(self, x):
        return self.layer(x)


def call(module, x):
    return module(x)


def call_twice(module, x):
    return module(x) + call(module, x)


def give_back(module, x):
    return {"module": module, "out": module(x)}["out"]


@pytest.mark.parametrize("options", [{}, {"fullgraph": True}, {"dynamic": True}, {"backend": lambda g, i: g.forward}])
@pytest.mark.parametrize(
    "kind", [lambda: nn.Linear(3, 3), Counts, Hooked, Returning], ids=["linear", "counts", "hooked", "returning"]
)
@pytest.mark.parametrize("function", [call, call_twice, give_back])
def test_a_module_among_the_arguments_goes_when_it_is_deleted(kind, function, options):
    compiled = torch.compile(function, **options)
    module, x = kind(), torch.ones(2, 3)
    for rows in (2, 2, 4, 4):
        wanted = function(module, torch.ones(rows, 3))
        torch.testing.assert_close(compiled(module, torch.ones(rows, 3)), wanted)
    gone = [weakref.ref(module), *map(weakref.ref, module.parameters())]
    del module, wanted
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)
    other = kind()
    torch.testing.assert_close(compiled(other, x), function(other, x))


holder = {}


def of_global(x):
    return holder["module"](x) + 1


def test_a_module_that_a_global_held_goes_with_it():
    compiled, x = torch.compile(of_global), torch.ones(2, 3)
    for _ in range(12):
        holder["module"] = module = Counts()
        torch.testing.assert_close(compiled(x), of_global(x))
        assert module.count == 2
        gone = weakref.ref(module)
        del module, holder["module"]
        gc.collect()
        assert gone() is None


def test_programs_of_modules_that_are_gone_do_not_count():
    compiled, x = torch.compile(call, fullgraph=True), torch.ones(2, 3)
    for _ in range(20):
        compiled(nn.Linear(3, 3), x)
        gc.collect()
    assert len(compiled._compiled.programs) == 1
    kept = [nn.Linear(3, 3) for _ in range(3)]
    for module in kept * 2:
        torch.testing.assert_close(compiled(module, x), module(x))
    assert len(compiled._compiled.programs) == 3


def test_a_compiled_module_goes_with_its_programs():
    compiled = torch.compile(Counts())
    compiled(torch.ones(2, 3))
    gone = weakref.ref(compiled._orig_mod)
    del compiled
    gc.collect()
    assert gone() is None


def test_an_object_whose_attribute_is_set_goes():
    class Meter:
        total = 0

    meter = Meter()

    def count(x):
        holder["meter"].total += 1
        return x * 2

    holder["meter"] = meter
    compiled = torch.compile(count)
    for _ in range(3):
        compiled(torch.ones(2))
    assert meter.total == 3
    gone = weakref.ref(meter)
    del meter, holder["meter"]
    gc.collect()
    assert gone() is None
    holder["meter"] = other = Meter()
    compiled(torch.ones(2))
    assert other.total == 1
    del holder["meter"]


def test_an_object_in_the_place_of_one_that_is_gone_is_another():
    """However it may lie at the same address."""

    class Scale:
        def __init__(self, by):
            self.by = by

    def scaled(x):
        return x * holder["scale"].by

    compiled = torch.compile(scaled)
    for by in range(1, 12):
        holder["scale"] = Scale(by)
        assert compiled(torch.ones(1)) == by
        del holder["scale"]
