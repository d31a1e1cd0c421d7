"""Every kind of hook with every other: order, removal while hooks run, and the backward hooks of 2018."""

import itertools
import warnings

import pytest
import torch
from torch import nn
from torch.nn.modules import module as for_all


class Kind:
    """How to register a hook, where it runs, and whether it comes before others of its place."""

    def __init__(self, place, register, first=False, everywhere=False, kwargs=False, full=None):
        self.place, self.register, self.kwargs, self.full = place, register, kwargs, full
        self.rank = 0 if everywhere else 1 if first else 2


KINDS = {
    "pre": Kind("pre", lambda m, h: m.register_forward_pre_hook(h)),
    "pre with kwargs": Kind("pre", lambda m, h: m.register_forward_pre_hook(h, with_kwargs=True), kwargs=True),
    "pre first": Kind("pre", lambda m, h: m.register_forward_pre_hook(h, prepend=True), first=True),
    "pre of all": Kind("pre", lambda m, h: for_all.register_module_forward_pre_hook(h), everywhere=True),
    "forward": Kind("forward", lambda m, h: m.register_forward_hook(h)),
    "forward with kwargs": Kind("forward", lambda m, h: m.register_forward_hook(h, with_kwargs=True), kwargs=True),
    "forward first": Kind("forward", lambda m, h: m.register_forward_hook(h, prepend=True), first=True),
    "forward always": Kind("forward", lambda m, h: m.register_forward_hook(h, always_call=True)),
    "forward of all": Kind("forward", lambda m, h: for_all.register_module_forward_hook(h), everywhere=True),
    "backward pre": Kind("backward pre", lambda m, h: m.register_full_backward_pre_hook(h)),
    "backward pre of all": Kind(
        "backward pre", lambda m, h: for_all.register_module_full_backward_pre_hook(h), everywhere=True
    ),
    "backward": Kind("backward", lambda m, h: m.register_full_backward_hook(h), full=True),
    "backward first": Kind("backward", lambda m, h: m.register_full_backward_hook(h, prepend=True), True, full=True),
    "backward of all": Kind(
        "backward", lambda m, h: for_all.register_module_full_backward_hook(h), everywhere=True, full=True
    ),
    "old": Kind("old", lambda m, h: m.register_backward_hook(h), full=False),
    "old of all": Kind("old", lambda m, h: for_all.register_module_backward_hook(h), everywhere=True, full=False),
}
PLACES = ["pre", "forward", "backward pre", "old", "backward"]


def expected(names):
    order = sorted(range(len(names)), key=lambda i: (PLACES.index(KINDS[names[i]].place), KINDS[names[i]].rank,
                                                      -i if KINDS[names[i]].rank == 1 else i))  # fmt: skip
    return [names[i] + f" {i}" for i in order]


class Scale(nn.Module):
    def forward(self, x, *, by=2.0):
        return x * by


def mixed(names):
    kinds = [KINDS[name] for name in names if KINDS[name].full is not None]
    return any(a.full != b.full and (a.rank == 0) == (b.rank == 0) for a in kinds for b in kinds)


def run(names, removes):
    """What runs in two calls of a module with these hooks, of which hook ``i`` removes hook ``removes[i]``."""
    module, seen, handles = Scale(), [], {}

    def make(i, name):
        def hook(of, *args):
            seen.append(f"{name} {i}")
            assert of is module
            if i in removes:
                handles[removes[i]].remove()
            if KINDS[name].kwargs:
                assert args[1] == {"by": 3.0}
            else:
                assert len(args) == (1 if KINDS[name].place in ("pre", "backward pre") else 2)

        return hook

    try:
        for i, name in enumerate(names):
            handles[i] = KINDS[name].register(module, make(i, name))
        for _ in range(2):
            seen.append("run")
            x = torch.ones(2, requires_grad=True)
            module(x, by=3.0).sum().backward()
            assert x.grad.tolist() == [3.0, 3.0]
    finally:
        for handle in handles.values():
            handle.remove()
    return seen


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook:FutureWarning")
@pytest.mark.parametrize("first", KINDS)
def test_hooks_run_in_the_order_of_their_places(first):
    for second, third in itertools.product(KINDS, [None, "pre", "forward first", "backward of all"]):
        names = [name for name in (first, second, third) if name]
        if mixed(names):
            with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
                run(names, {})
        else:
            assert run(names, {}) == ["run", *expected(names)] * 2, names


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook:FutureWarning")
@pytest.mark.parametrize("first", KINDS)
def test_a_hook_removed_by_another_still_ends_the_round_that_had_begun(first):
    for second in KINDS:
        names = [first, second]
        if mixed(names):
            continue
        for remover, removed in ((0, 1), (1, 0), (0, 0)):
            order = expected(names)
            gone = f"{names[removed]} {removed}"
            # hooks of forward are looked up when forward is done, all others when the call begins
            early = KINDS[names[remover]].place == "pre" and KINDS[names[removed]].place == "forward"
            rest = [name for name in order if name != gone]
            seen = run(names, {remover: removed})
            assert seen == ["run", *(rest if early else order), "run", *rest], (names, remover, removed)


def old_hook(module, *inputs, replace=None, pick=lambda output: output):
    """What a hook of 2018 of the module sees: shapes of the gradients of inputs and outputs."""
    seen = []

    def shapes(grads):
        return [None if g is None else tuple(g.shape) for g in grads]

    def hook(m, grad_input, grad_output):
        seen.append((shapes(grad_input), shapes(grad_output)))
        return None if replace is None else tuple(None if g is None else replace(g) for g in grad_input)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.register_backward_hook(hook)
        pick(module(*inputs)).sum().backward()
    return seen, [str(w.message) for w in caught if w.category is FutureWarning]


X = torch.randn(4, 5, requires_grad=True)


@pytest.mark.parametrize(
    ("module", "grad_input", "grad_output"),
    [
        (nn.Linear(5, 3), [(3,), (4, 5), (5, 3)], (4, 3)),
        (nn.Linear(5, 3, bias=False), [(4, 5), (5, 3)], (4, 3)),
        (nn.BatchNorm1d(5), [(4, 5), (5,), (5,)], (4, 5)),
        (nn.LayerNorm(5), [(4, 5), (5,), (5,)], (4, 5)),
        (nn.ReLU(), [(4, 5)], (4, 5)),
        (nn.Sequential(nn.Linear(5, 3), nn.Tanh()), [(4, 3)], (4, 3)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_the_hook_of_2018_sees_the_gradients_of_the_last_operation(module, grad_input, grad_output):
    assert old_hook(module, X)[0] == [(grad_input, [grad_output])]


@pytest.mark.parametrize(
    ("wrap", "warning"),
    [
        (lambda y: {"count": 1, "out": y}, "does not return a single Tensor or a tuple of Tensors"),
        (lambda y: [y, 3], "does not return a single Tensor or a tuple of Tensors"),
        (lambda y: (y, y * 2), "outputs are generated by different autograd Nodes"),
        (lambda y: {"deep": ({"er": y},)}, "does not return a single Tensor or a tuple of Tensors"),
    ],
)
def test_the_hook_of_2018_finds_the_first_tensor_of_any_result(wrap, warning):
    class Wrapping(nn.Linear):
        def forward(self, x):
            return wrap(super().forward(x))

    def first(output):
        while not isinstance(output, torch.Tensor):
            parts = output.values() if isinstance(output, dict) else output
            output = next(x for x in parts if not isinstance(x, int))
        return output

    seen, warned = old_hook(Wrapping(5, 3), X, pick=first)
    assert seen == [([(3,), (4, 5), (5, 3)], [(4, 3)])]
    assert warning in warned[0]


def test_the_hook_of_2018_replaces_gradients_of_parameters_too():
    layer = nn.Linear(2, 1)
    x = torch.ones(3, 2, requires_grad=True)
    old_hook(layer, x, replace=lambda g: torch.full_like(g, 7.0))
    assert torch.equal(x.grad, torch.full((3, 2), 7.0))
    assert torch.equal(layer.weight.grad, torch.full((1, 2), 7.0))
    assert torch.equal(layer.bias.grad, torch.full((1,), 7.0))
    norm = nn.BatchNorm1d(2)
    old_hook(norm, x, replace=lambda g: torch.full_like(g, 5.0))
    assert norm.weight.grad.tolist() == norm.bias.grad.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="ReLU: backward hook returned 2 values for grad_input, expected 1"):
        module = nn.ReLU()
        module.register_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
        module(x * 1).sum().backward()


def test_results_without_a_graph_run_no_hook_of_2018():
    class Other(nn.Module):
        def __init__(self, result):
            super().__init__()
            self.result = result

        def forward(self, x):
            return self.result

    for result in (3, (), None, {}, torch.ones(2), [torch.ones(1), 2]):
        module = Other(result)
        module.register_backward_hook(lambda *args: pytest.fail("no gradient came by"))
        assert module(X) is result


def test_hooks_are_brought_into_another_order_in_their_dictionary():
    order = []
    module = nn.Identity()
    module.register_forward_hook(lambda *args: order.append("first"))
    second = module.register_forward_hook(lambda *args: order.append("second"))
    module._forward_hooks.move_to_end(second.id, last=False)
    module(torch.ones(1))
    assert order == ["second", "first"]


def test_backward_hooks_warn_where_a_result_has_no_place_for_them():
    class Named(nn.Module):
        def forward(self, x):
            return {"y": x * 2}

    module, seen = Named(), []
    module.register_full_backward_hook(lambda *args: seen.append(args))
    with pytest.warns(UserWarning, match="output should be a Tensor or a tuple of Tensors, but is <class 'dict'>"):
        module(torch.ones(1, requires_grad=True))["y"].backward()
    assert not seen


@pytest.mark.parametrize(("result", "fits"), [(None, True), ((None,), True), (torch.ones(1, 2), False)])
def test_a_backward_hook_gives_no_gradient_to_inputs_that_need_none(result, fits):
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: result)
    loss = layer(torch.ones(1, 2)).sum()
    if fits:
        loss.backward()
    else:
        with pytest.raises(RuntimeError, match="Linear: backward hook returned a grad_input, but no input requires"):
            loss.backward()
