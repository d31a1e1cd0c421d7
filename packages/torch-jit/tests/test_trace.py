"""What tracing makes of programs, held against what PyTorch makes of them."""

import copy
import functools
import gc
import json
import math
import operator
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from programs import PROGRAMS, described, same
from torch import fx, nn
from torch.fx import _patches
from torch.fx._symbolic_trace import is_fx_tracing
from torch.fx.proxy import TraceError

RECORDED = json.loads((Path(__file__).parent / "programs.json").read_text())


def made(name):
    torch.manual_seed(0)
    make, arguments = PROGRAMS[name]
    program = make()
    return (program.eval() if isinstance(program, nn.Module) else program), arguments()


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_and_nodes_are_those_of_pytorch(name):
    program, _ = made(name)
    assert described(fx.symbolic_trace(program)) == RECORDED[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_computes_what_it_was_traced_from(name):
    program, arguments = made(name)
    traced = fx.symbolic_trace(program)
    expected = program(*copy.deepcopy(arguments))
    assert same(traced(*copy.deepcopy(arguments)), expected)
    assert same(fx.Interpreter(traced).run(*copy.deepcopy(arguments)), expected)
    assert same(fx.Transformer(traced).transform()(*copy.deepcopy(arguments)), expected)
    traced.graph.lint()


@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_and_pickles_compute_the_same(name):
    program, arguments = made(name)
    traced = fx.symbolic_trace(program)
    expected = traced(*copy.deepcopy(arguments))
    again = pickle.loads(pickle.dumps(traced))
    for other in (again, copy.deepcopy(traced), copy.copy(traced)):
        assert other.code == traced.code
        assert [n.name for n in other.graph.nodes] == [n.name for n in traced.graph.nodes]
        assert list(other.state_dict()) == list(traced.state_dict())
        assert other.training == traced.training
        assert same(other(*copy.deepcopy(arguments)), expected)


@pytest.mark.parametrize("name", ["resnet", "encoder", "unet", "normalised"])
def test_gradients_of_a_traced_module_are_those_of_the_module(name):
    program, arguments = made(name)
    traced = copy.deepcopy(fx.symbolic_trace(program))
    for module in (program, traced):
        module(*arguments).square().sum().backward()
    names = dict(program.named_parameters())
    assert names
    for name, parameter in traced.named_parameters():
        assert torch.equal(parameter.grad, names[name].grad), name


LEAVES = [
    (nn.Linear(4, 3), (2, 4)), (nn.Conv2d(4, 2, 1), (1, 4, 3, 3)), (nn.BatchNorm1d(4), (2, 4)), (nn.LayerNorm(4), (2, 4)),
    (nn.GELU(), (2, 4)), (nn.Softmax(-1), (2, 4)), (nn.MaxPool2d(2), (1, 1, 4, 4)), (nn.AdaptiveAvgPool2d(1), (1, 2, 4, 4)),
    (nn.Flatten(), (2, 2, 2)), (nn.PReLU(), (2, 4)), (nn.Upsample(scale_factor=2), (1, 1, 2, 2)), (nn.GroupNorm(2, 4), (1, 4, 2)),
    (nn.PixelShuffle(2), (1, 4, 2, 2)), (nn.ConvTranspose1d(4, 2, 2), (1, 4, 3)), (nn.InstanceNorm2d(2), (1, 2, 3, 3)),
    (nn.LSTM(4, 3), (2, 1, 4)), (nn.ZeroPad2d(1), (1, 1, 2, 2)), (nn.Hardswish(), (3,)), (nn.Unfold(2), (1, 1, 3, 3)),
    (nn.TransformerEncoderLayer(4, 2, 8), (3, 1, 4)), (nn.Bilinear(4, 4, 2), None),
]  # fmt: skip


@pytest.mark.parametrize("layer, shape", LEAVES, ids=[type(layer).__name__ for layer, _ in LEAVES])
def test_layers_stay_whole(layer, shape):
    net = nn.Sequential(layer) if shape else None
    if net is None:

        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = layer

            def forward(self, x, y):
                return self.inner(x, y)

        net, inputs = Two(), (torch.ones(2, 4), torch.ones(2, 4))
    else:
        inputs = (torch.linspace(-1, 1, math.prod(shape)).view(shape),)
    traced = fx.symbolic_trace(net.eval())
    assert [n.op for n in traced.graph.nodes].count("call_module") == 1
    assert same(traced(*inputs), net(*inputs))


@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Linear(4, 3), (2, 4)), (nn.ReLU(), (2, 4)), (nn.GELU(), (3,)), (nn.Softmax(-1), (2, 4)), (nn.Conv2d(4, 2, 1), (1, 4, 3, 3)),
        (nn.LayerNorm(4), (2, 4)), (nn.Flatten(), (2, 2, 2)), (nn.Sigmoid(), (3,)), (nn.SiLU(), (3,)), (nn.Dropout(0.5), (3,)),
        (nn.Embedding(5, 2), None), (nn.AvgPool2d(2), (1, 1, 4, 4)), (nn.Softplus(), (3,)), (nn.LeakyReLU(), (3,)), (nn.ELU(), (3,)),
    ],
)  # fmt: skip
def test_forward_of_a_layer_can_be_traced_itself(layer, shape):
    x = torch.arange(5) if shape is None else torch.linspace(-1, 1, math.prod(shape)).view(shape)
    traced = fx.symbolic_trace(layer.eval())
    assert torch.equal(traced(x), layer(x))
    assert "call_module" not in {n.op for n in traced.graph.nodes}


# --- what must stay whole ---


def helper(x, bound):
    return x if bound > 1 else -x


fx.wrap("helper")
fx.wrap("len")


def uses_helper(x):
    return helper(x, 2) * len(x)


def test_wrapped_functions_are_one_node():
    traced = fx.symbolic_trace(uses_helper)
    assert [n.target for n in traced.graph.find_nodes(op="call_function")] == [helper, len, operator.mul]
    x = torch.arange(3.0)
    assert torch.equal(traced(x), 3 * x)
    assert torch.equal(fx.symbolic_trace(traced)(x), 3 * x)  # the program text wraps its names itself
    assert torch.equal(pickle.loads(pickle.dumps(traced))(x), 3 * x)
    assert len([1]) == 1 and "len" not in globals()


def test_wrap_works_at_the_top_of_a_module_only():
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap("helper")
    with pytest.raises(RuntimeError, match="callable or a string"):
        fx.wrap(3)


def test_functions_of_math_are_recorded():
    traced = fx.symbolic_trace(lambda x: math.floor(x.shape[0] / 2) + x)
    assert traced(torch.zeros(5))[0] == 2
    assert math.floor(2.5) == 2


class Pair(metaclass=fx.ProxyableClassMeta):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def total(self):
        return self.left + self.right


def test_classes_may_be_made_of_proxies():
    traced = fx.symbolic_trace(lambda x, y: Pair(x, y).total())
    assert traced(torch.tensor(1.0), torch.tensor(2.0)) == 3


def test_functions_that_modules_keep_are_recorded():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.act, self.leaky = F.gelu, functools.partial(F.leaky_relu, negative_slope=0.5)

        def forward(self, x):
            return self.act(self.leaky(x))

    net = Net()
    leaky = net.leaky
    traced = fx.symbolic_trace(net)
    assert [n.target for n in traced.graph.find_nodes(op="call_function")] == [F.leaky_relu, F.gelu]
    assert net.act is F.gelu and net.leaky is leaky
    assert torch.equal(traced(-torch.ones(2)), F.gelu(torch.full((2,), -0.5)))


def test_operators_and_other_callables_can_be_traced():
    class Adding:
        def __call__(self, x):
            return x + 1

    x = torch.tensor([-1.0, 2.0])
    assert torch.equal(fx.symbolic_trace(torch.relu)(x), torch.relu(x))
    assert torch.equal(fx.symbolic_trace(functools.partial(torch.add, alpha=2))(x, x), 3 * x)
    assert torch.equal(fx.symbolic_trace(Adding())(x), x + 1)
    with pytest.raises(TypeError, match="expected a Module or a function, got int"):
        fx.symbolic_trace(3)


def test_constants_meet_proxies_in_methods_and_indices():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.arange(10.0).view(5, 2))

        def forward(self, index, x):
            return self.table[index], self.table[: x.size(0)].expand(x.shape[0], 2), self.table.add(1)[0]

    index, x = torch.tensor([3, 1]), torch.ones(2)
    net = Net()
    assert same(fx.symbolic_trace(net)(index, x), net(index, x))


# --- arguments ---


def branches(x, flip=False, scale=None):
    y = -x if flip else x
    return y if scale is None else y * scale


def test_concrete_arguments_decide_and_are_checked():
    x = torch.ones(2)
    traced = fx.symbolic_trace(branches, concrete_args={"flip": True, "scale": None})
    assert torch.equal(traced(x, True, None), -x)
    with pytest.raises(AssertionError, match="flip has been specialized to have value True"):
        traced(x, False, None)
    with pytest.raises(AssertionError, match="scale has been specialized to have value None"):
        traced(x, True, 3)
    with pytest.raises(RuntimeError, match=r"concrete_args names \['nope'\].*\['x', 'flip', 'scale'\]"):
        fx.symbolic_trace(branches, concrete_args={"nope": 1})
    with pytest.raises(RuntimeError, match="expected 3 arguments but got 1"):
        fx.symbolic_trace(branches, concrete_args=(fx.PH,))


def test_trees_of_arguments():
    def f(x, k):
        return {"sum": x["a"] + x["b"][0], "k": k}

    traced = fx.symbolic_trace(f, concrete_args={"x": {"a": fx.PH, "b": [fx.PH, 3]}})
    x = {"a": torch.ones(2), "b": [torch.ones(2), 3]}
    assert same(traced(x, torch.zeros(1)), f(x, torch.zeros(1)))
    assert same(fx.Interpreter(traced).run(x, torch.zeros(1)), f(x, torch.zeros(1)))
    assert same(copy.deepcopy(traced)(x, torch.zeros(1)), f(x, torch.zeros(1)))
    with pytest.raises(AssertionError, match="specialized to have value 3"):
        traced({"a": torch.ones(2), "b": [torch.ones(2), 4]}, torch.zeros(1))
    with pytest.raises(RuntimeError, match="Cannot flatten pytree"):
        traced({"a": torch.ones(2)}, torch.zeros(1))


def test_shapes_of_parameters_may_be_constants():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3, 4))

        def forward(self, x):
            return x if self.w.shape[0] > self.w.size(1) else self.w + x

    net = Net()
    with pytest.raises(TraceError):
        fx.symbolic_trace(net)
    graph = fx.Tracer(param_shapes_constant=True).trace(net)
    assert [n.name for n in graph.nodes] == ["x", "w", "add", "output"]


# --- errors ---


def loops(x):
    total = 0
    for row in x:
        total = total + row
    return total


def decides(x):
    y = x.sum()
    if y > 0:  # here
        return x
    return y


@pytest.mark.parametrize(
    "program, error, said",
    [
        (decides, TraceError, ["inputs to control flow", "'gt' (call_function of operator.gt)", "in decides", "if y > 0:  # here"]),
        (loops, TraceError, ["cannot be iterated", "argument 'x'", "in loops", "for row in x:"]),
        (lambda x: x + object(), NotImplementedError, ["argument of type: <class 'object'>"]),
        (lambda x: torch.add(x, {x: 1}), RuntimeError, ["key of a dict", "Proxy(x)"]),
        (lambda x: [*x], TraceError, ["cannot be iterated"]),
        (lambda x: nn.Linear(2, 2)(x) if x is None else x + nn.Parameter(torch.ones(1)), NameError, ["not a member", "(1,)"]),
    ],
)  # fmt: skip
def test_errors_name_the_value_and_the_line(program, error, said):
    with pytest.raises(error) as raised:
        fx.symbolic_trace(program)
    for each in said:
        assert each in str(raised.value)


def test_len_of_a_proxy_names_wrap():
    space = {"fx": fx}
    exec("def f(x):\n    return len(x)", space)
    with pytest.raises(RuntimeError, match=r"(?s)'len' is not supported.*argument 'x'.*torch.fx.wrap\('len'\)"):
        fx.symbolic_trace(space["f"])


def test_a_module_that_is_no_attribute_of_the_root_is_refused():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = [nn.Linear(2, 2)]

        def forward(self, x):
            return self.inner[0](x)

    with pytest.raises(NameError, match="(?s)not installed as a submodule: Linear is called.*in forward"):
        fx.symbolic_trace(Net())


def test_asserts_may_be_recorded():
    class Asserting(fx.Tracer):
        trace_asserts = True

    space = {}  # pytest writes other code for the asserts of a test
    exec("def checked(x):\n    assert x.shape[0] == 3, 'three rows'\n    return x", space)
    graph = Asserting().trace(space["checked"])
    run = fx.GraphModule(nn.Module(), graph)
    assert torch.equal(run(torch.ones(3)), torch.ones(3))
    with pytest.raises(AssertionError, match="three rows"):
        run(torch.ones(2))


def test_writes_may_be_refused():
    class Functional(fx.Tracer):
        check_mutable_operations = True

    with pytest.raises(RuntimeError, match="relu_ changes a tensor in place"):
        Functional().trace(lambda x: torch.relu_(x))


# --- what a trace leaves behind ---


def state_of_names():
    names = {(space, name): vars(space)[name] for space in (torch, F, torch.special) for name in vars(space)}
    return (
        names | {("Tensor", name): value for name, value in vars(torch.Tensor).items()} | {"call": nn.Module.__call__}
    )


def test_everything_is_put_back_also_when_a_trace_raises():
    _patches.operators()  # fills what loads late
    fx.symbolic_trace(nn.Linear(2, 2))
    before = state_of_names()
    net = nn.Sequential(nn.Linear(2, 2))
    parameters = net[0].__dict__["_parameters"]

    def bad(x):
        torch.relu(x)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        fx.symbolic_trace(bad)
    with pytest.raises(TraceError):
        fx.symbolic_trace(decides)
    fx.symbolic_trace(net)
    after = state_of_names()
    assert before.keys() == after.keys() and all(before[key] is after[key] for key in before)
    assert net[0].__dict__["_parameters"] is parameters and not is_fx_tracing()
    assert not _patches._dicts and not _patches._types and not _patches._codes


def test_other_threads_compute_while_one_traces():
    inside, done, seen = threading.Event(), threading.Event(), []

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.full((2,), 3.0))

        def forward(self, x):
            if is_fx_tracing():
                inside.set()
                assert done.wait(10)
            return torch.relu(self.w * x)

    net = Net()

    def other():
        assert inside.wait(10)
        seen.append((is_fx_tracing(), net(torch.ones(2)), fx.symbolic_trace(lambda x: torch.relu(x) + 1)))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    traced = fx.symbolic_trace(net)
    thread.join()
    ((tracing, value, inner),) = seen
    assert not tracing and torch.equal(value, torch.full((2,), 3.0))
    assert [n.name for n in inner.graph.nodes] == ["x", "relu", "add", "output"]
    assert [n.name for n in traced.graph.nodes] == ["x", "w", "mul", "relu", "output"]
    assert not _patches._dicts and not _patches._types and not _patches._codes


def test_nodes_know_their_modules_and_lines():
    class Recording(fx.Tracer):
        record_stack_traces = True

    net = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    graph = Recording().trace(net)
    (node,) = graph.find_nodes(op="call_module")
    assert list(node.meta["nn_module_stack"].values()) == [("0", nn.Sequential), ("0.0", nn.Linear)]
    graph = Recording().trace(decides_nothing)
    (node,) = graph.find_nodes(op="call_function")
    assert "in decides_nothing\n    return torch.relu(x)  # the line" in node.stack_trace
    text = fx.GraphModule(nn.Module(), graph).print_readable(print_output=False)
    assert "in decides_nothing, code: return torch.relu(x)  # the line" in text


def decides_nothing(x):
    return torch.relu(x)  # the line


@pytest.mark.parametrize("dtype", ["complex32", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "uint16", "bfloat16"])
def test_every_dtype_has_its_number_in_a_program(dtype):
    dtype = getattr(torch, dtype)
    traced = torch.jit.trace(lambda x: x.to(dtype), torch.ones(3))
    assert traced(torch.ones(2)).dtype == dtype


def test_calls_know_the_line_in_which_they_stand():
    def lines(x):
        z = (x + 1) * 2
        for _ in range(2):
            z = z.neg()
        return z - x

    first = lines.__code__.co_firstlineno
    for _ in range(2):
        nodes = torch.jit.trace(lines, torch.ones(2)).graph.nodes()
        places = [n.sourceRange() for n in nodes if n.kind().startswith("aten::")]
        assert [place.split(":")[-2] for place in places] == [str(first + i) for i in (1, 1, 3, 3, 4)]


def _of_text(source, file):
    """A function whose module is gone when this returns."""
    scope = {"torch": torch}
    exec(compile(source, file, "exec"), scope)
    return scope["f"]


def test_the_line_of_a_call_outlives_the_traced_function():
    function = _of_text("def f(x):\n    y = x + 1\n    return y * 2\n", "gone.py")
    gone = weakref.ref(function.__code__)
    graph = torch.jit.trace(function, torch.ones(2), check_trace=False).graph
    del function
    gc.collect()
    places = [n.sourceRange() for n in graph.nodes() if n.kind() in ("aten::add", "aten::mul")]
    assert [p.split(":")[-3:-1] for p in places] == [["gone.py", "2"], ["gone.py", "3"]]
    del graph
    gc.collect()
    assert gone() is None


def test_a_graph_holds_the_code_of_its_calls_and_lets_go_of_it():
    function = _of_text("def f(x):\n    for _ in range(20):\n        x = x + 1\n    return x\n", "loop.py")
    code = function.__code__
    before = sys.getrefcount(code)
    traced = torch.jit.trace(function, torch.ones(2), check_trace=False)
    assert sys.getrefcount(code) > before
    del traced
    gc.collect()
    assert sys.getrefcount(code) == before


def test_a_traced_graph_may_be_read_and_freed_by_another_thread():
    function = _of_text("def f(x):\n    return (x + 1) * 2\n", "thread.py")
    code = function.__code__
    before = sys.getrefcount(code)
    held = [torch.jit.trace(function, torch.ones(2), check_trace=False)]
    lines = []

    def read_and_free():
        lines.extend(n.sourceRange().split(":")[-2] for n in held[0].graph.nodes() if n.kind().startswith("aten::"))
        held.clear()
        gc.collect()

    threads = [threading.Thread(target=read_and_free)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert lines == ["2", "2"]
    assert sys.getrefcount(code) == before


def test_calls_of_a_module_know_its_scope_and_line():
    class Inner(torch.nn.Module):
        def forward(self, x):
            return x + 1

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x) * 2

    graph = torch.jit.trace(Outer(), torch.ones(2)).inlined_graph
    scopes = {n.kind(): n.scopeName() for n in graph.nodes() if n.kind() in ("aten::add", "aten::mul")}
    assert scopes["aten::add"].endswith("__module.inner")
    assert not scopes["aten::mul"].endswith("inner")


def test_calls_of_a_graph_by_hand_have_no_line():
    g = torch._C.Graph()
    assert g.insertNode(g.create("aten::add")).sourceRange() == ""


def test_a_condition_that_is_stated_becomes_a_node():
    def program(x):
        torch._assert(x.shape[-1] == 3, "three columns")
        return x + 1

    traced = fx.symbolic_trace(program)
    assert traced(torch.zeros(2, 3)).tolist() == [[1] * 3] * 2
    traced.graph.eliminate_dead_code()
    traced.recompile()
    with pytest.raises(AssertionError, match="three columns"):
        traced(torch.zeros(3, 2))


def test_traces_resize_rows_of_any_length_to_the_nearest_place():
    def doubled(x):
        return F.interpolate(x[None], scale_factor=2)[0]

    traced = torch.jit.trace(doubled, torch.ones(2, 3))
    x = torch.randn(2, 5)
    assert torch.equal(traced(x), doubled(x))


def test_functions_of_modules_that_can_be_called_are_recorded():
    """``torch.fft`` is a module, and the function of 2018."""
    traced = fx.symbolic_trace(lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=4))
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"][::2] == [torch.fft.rfft, torch.fft.irfft]
    assert traced(torch.arange(4.0)).tolist() == [0, 2, 4, 6]


def test_layers_that_are_first_named_within_a_trace_keep_the_functions_themselves():
    code = """
import torch
from torch import fx, nn

class Late(nn.Module):
    def forward(self, x):
        nn.TransformerEncoderLayer
        return x + 1

fx.symbolic_trace(Late())
assert nn.TransformerEncoderLayer(4, 2).activation is nn.functional.relu
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
