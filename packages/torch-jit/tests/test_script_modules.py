"""Compiled modules compute, train, move and are saved as the modules that they were made from."""

import copy
import io
from typing import Final

import pytest
import script_modules
import torch
from test_script import same
from torch import nn

NAMES = list(script_modules.MODULES)


def made(name, training=False):
    torch.manual_seed(0)
    cls, args = script_modules.MODULES[name]
    return cls().train(training), copy.deepcopy(args)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_module_gives_what_the_module_gives(name, training):
    module, args = made(name, training)
    plain = copy.deepcopy(module)
    compiled = torch.jit.script(module)
    for _ in range(2):  # also with the state that the first call left
        torch.manual_seed(1)
        want = plain(*args)
        torch.manual_seed(1)
        assert same(want, compiled(*args))
    assert same(dict(plain.state_dict()), dict(compiled.state_dict()))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_module(name):
    module, args = made(name)
    plain = copy.deepcopy(module)
    compiled = torch.jit.script(module)
    for each in (plain, compiled):
        result = each(*args)
        results = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else (result,)
        total = sum(each.sum() for each in results)
        if total.requires_grad:
            total.backward()
    for (name, p), (other, q) in zip(plain.named_parameters(), compiled.named_parameters()):
        assert name == other and (p.grad is None) == (q.grad is None)
        assert p.grad is None or torch.allclose(p.grad, q.grad)


def test_parameters_are_shared_with_the_module():
    module, _ = made("MLP")
    compiled = torch.jit.script(module)
    assert [id(p) for p in module.parameters()] == [id(p) for p in compiled.parameters()]
    assert [name for name, _ in compiled.named_modules()] == [name for name, _ in module.named_modules()]


def test_a_compiled_module_moves_and_casts():
    module, (x,) = made("ResNet")
    compiled = torch.jit.script(module).to(torch.float64)
    assert compiled(x.double()).dtype == torch.float64
    assert all(p.dtype == torch.float64 for p in compiled.parameters())
    assert compiled.bn1.running_mean.dtype == torch.float64


def test_train_and_eval_reach_the_program():
    net = torch.jit.script(nn.Sequential(nn.Dropout(0.5)))
    x = torch.ones(100)
    assert torch.equal(net.eval()(x), x) and not net.training
    assert (net.train()(x) == 0).any() and net.training


def test_a_state_dict_is_loaded_into_the_program():
    one, (x,) = made("MLP")
    other = script_modules.MODULES["MLP"][0]().eval()
    compiled = torch.jit.script(other)
    compiled.load_state_dict(one.state_dict())
    assert torch.equal(compiled(x), one(x))


def test_attributes_are_those_of_the_program():
    module, (x,) = made("Buffers")
    compiled = torch.jit.script(module)
    compiled(x)
    assert compiled.calls == 1 and torch.equal(compiled.total, x.sum(0))
    compiled.calls = 10
    compiled(x)
    assert compiled.calls == 11
    with pytest.raises(RuntimeError, match="int"):
        compiled.calls = "many"
    with pytest.raises(AttributeError, match="nothing"):
        compiled.nothing


def test_a_buffer_set_from_python_is_read_by_the_program():
    compiled = torch.jit.script(made("Buffers")[0])
    compiled.total = torch.full((6,), 100.0)
    assert (compiled(torch.zeros(1, 6)) > 100).all()


def test_exported_methods_and_helpers_are_there():
    compiled = torch.jit.script(made("Marked")[0])
    x = torch.ones(2, 6)
    assert torch.equal(compiled.twice(x), compiled(x) * 2)
    net = torch.jit.script(made("ResNet")[0])
    assert net.layer1[0].conv1.weight.shape == (8, 8, 3, 3)
    assert net.original_name == "ResNet"


def test_a_copy_has_parameters_of_its_own():
    compiled = torch.jit.script(made("MLP")[0])
    other = copy.deepcopy(compiled)
    with torch.no_grad():
        for p in other.parameters():
            p.zero_()
    x = torch.ones(1, 6)
    assert not torch.equal(compiled(x), other(x))


class Twice(nn.Module):
    def forward(self, x):
        return x * 2


class OfNumber(nn.Module):
    def __init__(self):
        super().__init__()
        self.twice = Twice()

    def forward(self, x):
        return self.twice(3), self.twice(x)


class OfPacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(2, 3)

    def forward(self, x: nn.utils.rnn.PackedSequence):
        return self.layer(x)[1]


def test_what_a_parent_passes_is_not_what_a_module_alone_takes():
    x = torch.rand(4, 2, 2)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 2]))
    for parent, module, given in ((OfNumber(), Twice(), x), (OfPacked(), nn.GRU(2, 3), packed)):
        want = parent(given)
        for _ in range(2):
            assert same(torch.jit.script(parent)(given), want)
            script = torch.jit.script(module)
            script.save(file := io.BytesIO())
            for each in (script, torch.jit.load(io.BytesIO(file.getvalue()))):
                assert same(each(x), module(x))


def test_a_lazy_module_without_numbers_is_refused():
    module = nn.Sequential(nn.LazyLinear(2))
    with pytest.raises(RuntimeError, match="LazyLinear' has uninitialized parameters weight. Did you forget to run a"):
        torch.jit.script(module)
    module(torch.ones(1, 3))
    assert torch.jit.script(module)(torch.ones(1, 3)).shape == (1, 2)


def test_modules_of_one_kind_share_their_methods():
    compiled = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 3)))
    first, second, third = (each._c._type().qualified_name() for each in compiled)
    assert first == second != third


def test_modules_that_share_a_child_share_it_compiled():
    shared = nn.Linear(2, 2)
    compiled = torch.jit.script(nn.ModuleDict({"a": shared, "b": shared}))
    assert compiled["a"] is compiled["b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_module_is_loaded_with_its_state(name):
    module, args = made(name)
    compiled = torch.jit.script(module)
    out = io.BytesIO()
    torch.jit.save(compiled, out)
    loaded = torch.jit.load(io.BytesIO(out.getvalue()))
    assert list(loaded.state_dict()) == list(compiled.state_dict())
    assert same(compiled(*args), loaded(*args))
    again = io.BytesIO()
    loaded.save(again)
    assert torch.jit.load(io.BytesIO(again.getvalue())).original_name == compiled.original_name


def test_a_saved_function_is_loaded_as_a_module():
    @torch.jit.script
    def scaled(x, n: int = 3):
        return x * n + torch.tensor([1.0, 2.0])

    out = io.BytesIO()
    torch.jit.save(scaled, out, _extra_files={"note.txt": "kept"})
    extra = {"note.txt": ""}
    loaded = torch.jit.load(io.BytesIO(out.getvalue()), _extra_files=extra)
    assert torch.equal(loaded(torch.ones(2), 3), scaled(torch.ones(2))) and extra == {"note.txt": b"kept"}


def test_the_modules_of_2018_are_compiled_when_they_are_made():
    class Old(torch.jit.ScriptModule):
        __constants__ = ["n"]

        def __init__(self, n):
            super().__init__()
            self.n = n
            self.weight = nn.Parameter(torch.ones(2))
            self.inner = nn.Linear(2, 2)
            self.define("def helper(self, x):\n    return x * self.weight")

        @torch.jit.script_method
        def forward(self, x):
            for _ in range(self.n):
                x = self.helper(x) + 1
            return self.inner(x)

    net = Old(3)
    with torch.no_grad():
        net.inner.weight.copy_(torch.eye(2))
        net.inner.bias.zero_()
    assert torch.equal(net(torch.zeros(2)), torch.full((2,), 3.0))
    assert list(net.state_dict()) == ["weight", "inner.weight", "inner.bias"]
    assert "def forward" in net.code


def test_a_program_that_calls_python_cannot_be_saved():
    class Calls(nn.Module):
        @torch.jit.ignore
        def python(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

        def forward(self, x):
            return self.python(x)

    compiled = torch.jit.script(Calls())
    assert compiled(torch.zeros(1)).item() == 1.0
    with pytest.raises(RuntimeError, match="archive cannot hold"):
        compiled.save(io.BytesIO())


class Pair(tuple):
    """A tuple that is made of its two elements."""

    def __new__(cls, first, second):
        return super().__new__(cls, (first, second))


def test_an_attribute_may_be_a_tuple_of_a_class_of_its_own():
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.pair = Pair(2, Pair(3, 1))

        def forward(self, x):
            return x * self.pair[0]

    assert torch.jit.script(Holder())(torch.ones(1)).tolist() == [2]


def test_modules_of_2018_hold_others_in_lists():
    class Add(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        @torch.jit.script_method
        def forward(self, x):
            return self.weight + x

    class Sum(torch.jit.ScriptModule):
        __constants__ = ["parts"]

        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([Add() for _ in range(3)])

        @torch.jit.script_method
        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    assert Sum()(torch.zeros(2)).tolist() == [3.0, 3.0]


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        self.again = self.inner[0]
        self.named = nn.ParameterDict({"a": nn.Parameter(torch.ones(2)), "b": nn.Parameter(torch.ones(3))})

    def forward(self, x):
        names: list[str] = []
        for name, _module in self.named_modules():
            names.append(name)
        for name, value in self.named_parameters():
            names.append(name)
            x = x + value.sum()
        for name, _value in self.named_buffers():
            names.append(name)
        for value in self.buffers():
            x = x + value.sum()
        for value in self.parameters():
            x = x * value.numel()
        for name, value in self.named.items():
            names.append(name)
            x = x - value.sum()
        return x, names


def test_what_a_module_consists_of_is_listed_as_by_the_module():
    module = Listed()
    (got, names), (expected, wanted) = torch.jit.script(module)(torch.ones(1)), module(torch.ones(1))
    assert names == wanted
    torch.testing.assert_close(got, expected)


def test_a_method_without_self_is_refused_by_name():
    class Lost(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward():
            return torch.ones(1)

    with pytest.raises(RuntimeError, match="methods must have a self argument"):
        Lost()


class Scaled(torch.nn.Module):
    """Its ignored method reads what differs between two modules of one program."""

    def __init__(self, k):
        super().__init__()
        self.k = k

    @torch.jit.ignore
    def scale(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.k

    def forward(self, x):
        return self.scale(x)


def test_an_ignored_method_is_that_of_the_module_that_runs():
    two, five = torch.jit.script(Scaled(2)), torch.jit.script(Scaled(5))
    assert (two(torch.ones(1)).item(), five(torch.ones(1)).item()) == (2, 5)
    both = torch.jit.script(torch.nn.Sequential(Scaled(2), Scaled(5)))
    assert both(torch.ones(1)).item() == 10


def test_an_ignored_method_sets_attributes_of_the_compiled_module():
    class Keeps(torch.nn.Module):
        __annotations__ = {"last": torch.Tensor | None}

        def __init__(self):
            super().__init__()
            self.last = None

        @torch.jit.ignore
        def keep(self, x: torch.Tensor) -> torch.Tensor:
            self.last = x + 1
            return x

        def forward(self, x):
            self.keep(x)
            return self.last

    net = torch.jit.script(Keeps())
    assert net(torch.ones(1)).item() == 2
    assert net.last.item() == 2


def test_a_module_of_2018_gets_methods_from_a_text_after_it_was_made():
    class Net(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

    net = Net()
    net.define("def forward(self, x):\n    return self.layer(x) + 1")
    x = torch.ones(3, 2)
    assert torch.equal(net(x), net.layer(x) + 1)


def test_a_child_of_a_program_is_not_replaced_by_a_plain_module():
    net = torch.jit.script(torch.nn.Sequential(torch.nn.ReLU()))
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule with non-scripted module"):
        setattr(net, "0", torch.nn.Tanh())


def test_a_module_of_2018_says_that_it_was_not_initialized():
    class Forgets(torch.jit.ScriptModule):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match="did you forget to call 'super"):
        Forgets()


def test_a_compiled_method_has_its_docstring():
    class Net(torch.nn.Module):
        def forward(self, x):
            """Twice."""
            return 2 * x

    assert torch.jit.script(Net()).forward.__doc__ == "Twice."


def test_the_scheme_of_a_quantizer_is_a_constant():
    class Observer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scheme = torch.per_tensor_symmetric

        def forward(self, x):
            return x if self.scheme == torch.per_tensor_affine else -x

    assert torch.jit.script(Observer())(torch.ones(1)).item() == -1


def test_modules_of_one_kind_are_all_listed():
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
            self.again = self.a

        def forward(self):
            text, total = "", 0.0
            for name, _ in self.named_modules():
                text += name + " "
            for name, each in self.named_parameters():
                text += name + " "
                total += float(each.sum())
            return text, total

    net = Pair()
    text, total = torch.jit.script(net)()
    assert text == " a b a.weight a.bias b.weight b.bias "
    assert total == pytest.approx(sum(float(each.sum()) for each in net.parameters()))


def test_a_module_has_its_own_length():
    class Ten(torch.nn.Sequential):
        @torch.jit.export
        def __len__(self):
            return 10

        def forward(self, x):
            return x * len(self)

    net = torch.jit.script(Ten())
    assert (len(net), net(torch.ones(1)).item()) == (10, 10)


def test_an_attribute_of_a_module_of_2018_is_its_value_until_it_is_compiled():
    class Words(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.scale = torch.jit.Attribute(0.5, float)
            assert 2 * self.scale == 1
            self.words = torch.jit.Attribute({}, dict[str, int])

        @torch.jit.script_method
        def forward(self, x):
            return x * self.scale, len(self.words)

    words = Words()
    assert words(torch.ones(1)) == (torch.tensor([0.5]), 0)
    assert words.__copy__()(torch.ones(1)) == words(torch.ones(1))


def test_a_program_names_its_constants_by_attribute():
    @torch.jit.script
    def add(x, y=torch.ones(1)):
        return x + y

    class Net(torch.nn.Module):
        def forward(self, x):
            return add(x)

    net = torch.jit.script(Net())
    text, constants = net.code_with_constants
    assert (text, constants.c0) == (net.code, torch.ones(1))
    file = io.BytesIO()
    net.save(file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    assert loaded(torch.ones(1)).item() == 2
    with pytest.raises(AttributeError, match="the program has no constant 'c7': c0"):
        _ = constants.c7


def test_constants_of_modules_are_there_after_loading():
    class Classifier(torch.nn.Module):
        labels: Final[tuple[str, int]]

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Conv2d(2, 3, 1, padding_mode="reflect")
            self.labels = ("cat", 3)

        def forward(self, x):
            return self.layer(x) * self.labels[1]

    def again(net):
        file = io.BytesIO()
        net.save(file)
        return torch.jit.load(io.BytesIO(file.getvalue()))

    net = again(again(torch.jit.script(Classifier())))
    assert (net.labels, net.layer.in_channels, net.layer.kernel_size) == (("cat", 3), 2, (1, 1))
    assert copy.deepcopy(net).layer.padding_mode == "reflect"
    with pytest.raises(AttributeError, match="has no attribute 'stride_of_nothing'"):
        _ = net.layer.stride_of_nothing


def test_modules_of_one_class_have_the_methods_of_their_own_texts():
    class Net(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()

    double, negative, again = Net(), Net(), Net()
    double.define("def scaled(self, x): return 2 * x")
    negative.define("def scaled(self, x): return -x")
    again.define("def scaled(self, x): return 2 * x")
    assert [net.scaled(torch.ones(1)).item() for net in (double, negative, again)] == [2, -1, 2]


def test_two_modules_of_2018_have_the_methods_of_the_text_in_their_class():
    class Net(torch.jit.ScriptModule):
        def __init__(self, k: int):
            super().__init__()
            self.register_buffer("k", torch.tensor(float(k)))
            self.define("def forward(self, x): return self.k * x")

    assert [Net(k)(torch.ones(1)).item() for k in (2, 3)] == [2, 3]


class Sized(nn.Module):
    def __len__(self):
        return 7

    def __contains__(self, name):
        return name == "seven"

    def forward(self, x):
        return x


def test_special_methods_of_a_class_are_those_of_its_compiled_modules():
    net = torch.jit.script(Sized())
    assert len(net) == 7 and "seven" in net and "eight" not in net
    with pytest.raises(NotImplementedError, match="Sized.*has no __iter__"):
        iter(net)
    layers = torch.jit.script(nn.Sequential(nn.ReLU(), nn.Tanh()))
    assert len(layers) == 2 and [type(each) for each in layers[1:]] == [nn.Tanh] and len(list(layers)) == 2


class Refused(nn.Module):
    @torch.jit.export
    def odd(self, x):
        return (lambda y: y)(x)

    def forward(self, x):
        return x


def test_an_exported_method_of_a_child_that_cannot_be_compiled_is_refused():
    with pytest.raises(torch.jit.frontend.NotSupportedError, match="odd"):
        torch.jit.script(nn.Sequential(Refused()))


def test_the_lite_interpreter_runs_archives():
    class Net(nn.Module):
        def forward(self, x, y):
            return x + y

        @torch.jit.export
        def twice(self, x):
            return x + x

    from torch.jit.mobile import _load_for_lite_interpreter

    net, x = torch.jit.script(Net()), torch.ones(2)
    lite = _load_for_lite_interpreter(io.BytesIO(net._save_to_buffer_for_lite_interpreter()))
    assert torch.equal(lite(x, x), x + x) and torch.equal(lite.run_method("twice", x), x + x)
    assert lite.find_method("twice") and not lite.find_method("thrice")
    file = io.BytesIO()
    net._save_for_lite_interpreter(file)
    assert torch.equal(torch.jit.load(io.BytesIO(file.getvalue()))(x, x), x + x)
    with pytest.raises(NotImplementedError, match="bytecode"):
        torch.jit.mobile._get_model_bytecode_version(file)


def scaled(x, by, flag=None):
    return x * times(2, by) if flag is None else x


def times(a, b):
    return a * b


class Summed(nn.Module):
    def all_of(self, x, sizes):
        return x * sizes[0] + len(sizes)

    def forward(self, x, sizes):
        return self.all_of(x, sizes)


def test_arguments_without_a_type_have_those_of_example_inputs():
    compiled = torch.jit.script(scaled, example_inputs=[(torch.ones(1), 3), (torch.ones(1), 3, True)])
    assert str(compiled.schema) == "scaled(Tensor x, int by, bool? flag=None) -> Tensor"
    assert compiled(torch.ones(1), 5).item() == 10 and compiled(torch.ones(1), 5, False).item() == 1

    net, x = Summed(), torch.ones(1)
    listed = torch.jit.script(net, example_inputs={net: [(x, [1.5, 2.0])]})
    assert listed(x, [3.0, 4.0]).item() == 5
    assert torch.jit.script(Summed())(x, torch.tensor([3.0, 4.0])).item() == 5  # a program of its own
    with pytest.raises(TypeError, match="List\\[float\\]"):
        listed(x, torch.ones(2))


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.saved: int = 0

    @torch.jit.export
    def _save_to_state_dict(self, destination: dict[str, torch.Tensor], prefix: str, keep_vars: bool):
        self.saved += 1

    def forward(self, x):
        return self.inner(x)


def test_an_exported_method_stands_in_place_of_what_every_module_has():
    compiled = torch.jit.script(nn.Sequential(Counted()))
    assert list(compiled.state_dict()) == ["0.inner.weight", "0.inner.bias"]
    assert compiled[0].saved == 1
