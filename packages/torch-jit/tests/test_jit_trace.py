"""torch.jit.trace: what a function called, as a program."""

import collections
import io
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        return self.out(x.view(x.size(0), -1))

    def scale(self, x, by):
        return x * by * self.out.weight.sum()


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return torch.jit.trace(*args, **kwargs)


def kinds(traced):
    return [node.kind() for node in traced.graph.nodes() if node.kind().startswith("aten::")]


def test_a_traced_function_computes_the_same():
    def f(a, b):
        return (a @ b).softmax(-1) * 2 - 1

    a, b = torch.randn(2, 3), torch.randn(3, 4)
    traced = quiet(f, (a, b))
    assert kinds(traced) == ["aten::matmul", "aten::softmax", "aten::mul", "aten::sub"]
    a = torch.randn(5, 3)
    assert torch.equal(traced(a, b), f(a, b)) and torch.equal(traced(a=a, b=b), f(a, b))
    assert isinstance(traced, torch.jit.ScriptFunction) and "torch.matmul" in traced.code


def test_a_traced_module_has_the_modules_own_parameters():
    net = Net().eval()
    x = torch.randn(2, 1, 6, 6)
    traced = quiet(net, x)
    assert torch.equal(traced(x), net(x))
    assert traced.conv.weight is net.conv.weight
    assert list(traced.state_dict()) == list(net.state_dict())
    traced(x).sum().backward()
    assert net.out.bias.grad is not None
    with torch.no_grad():
        net.out.bias.add_(1)
    assert torch.equal(traced(x), net(x))
    assert isinstance(traced, torch.jit.ScriptModule) and type(traced).__name__ == "TopLevelTracedModule"


def test_parameters_are_read_by_paths_and_modules_name_the_scope():
    text = str(quiet(Net().eval(), torch.randn(2, 1, 6, 6)).graph)
    assert 'prim::GetAttr[name="conv"](%self)' in text and "scope: __module.conv" in text


def test_sizes_are_followed():
    def f(x):
        n, c = x.shape
        return x.view(n * c // 2, 2) + torch.zeros(x.size(0) * x.shape[1] // 2, 2)

    traced = quiet(f, torch.ones(4, 6))
    assert traced(torch.ones(3, 2)).shape == (3, 2)
    assert quiet(lambda x: x[: x.size(0) - 1], torch.ones(4, 2))(torch.ones(7, 2)).shape == (6, 2)
    assert quiet(lambda x: torch.ones(x.shape), torch.ones(4, 2))(torch.ones(7, 3)).shape == (7, 3)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: x + 1 if x.sum() > 0 else x, "Python boolean"),
        (lambda x: x * x[0].item(), "Python number"),
        (lambda x: x * int(x[0]), "Python integer"),
        (lambda x: x * float(x[0]), "Python float"),
        (lambda x: x + torch.tensor(x.tolist()), "Python list"),
        (lambda x: x + torch.from_numpy(x.numpy()), "NumPy array"),
        (lambda x: sum(each for each in x), "Iterating"),
        (lambda x: x * len(x), "len"),
        (lambda x: sum(x * i for i in range(x.size(0))), "Python index"),
    ],
)
def test_what_becomes_constant_is_told_with_its_line(f, text):
    with pytest.warns(torch.jit.TracerWarning, match=text) as told:
        torch.jit.trace(f, torch.ones(3))
    assert told[0].filename == __file__


def test_tensors_read_as_before_after_a_trace():
    own = {name: torch.Tensor.__dict__[name] for name in ("__bool__", "item", "shape", "size", "__index__")}
    quiet(lambda x: x + 1, torch.ones(1))
    with pytest.raises(ZeroDivisionError):
        torch.jit.trace(lambda x: x / (1 // 0), torch.ones(1))
    assert all(torch.Tensor.__dict__[name] is value for name, value in own.items())
    assert not torch.jit.is_tracing() and torch.ones(2).shape == (2,)


def test_inputs_and_outputs_may_be_nested():
    Pair = collections.namedtuple("Pair", ["a", "b"])

    def f(pair, things, named):
        return Pair(pair[0] + things[1], named["x"] * 2), (pair[1], (things[0],))

    args = ((torch.ones(1), torch.ones(2)), [torch.zeros(1), torch.ones(1)], {"x": torch.ones(3)})
    traced = quiet(f, args)
    (first, second) = traced(*args)
    assert torch.equal(first[0], torch.full((1,), 2.0)) and torch.equal(first[1], torch.full((3,), 2.0))
    assert torch.equal(second[1][0], torch.zeros(1)) and first._fields == ("a", "b")
    with pytest.raises(RuntimeError, match="strict=False"):
        torch.jit.trace(lambda x: {"y": x}, torch.ones(1))
    assert torch.jit.trace(lambda x: {"y": x + 1}, torch.ones(1), strict=False)(torch.ones(1))["y"].item() == 2
    with pytest.raises(RuntimeError, match="'Tuple\\[str\\]' cannot be traced: the input 'a' is no tensor"):
        torch.jit.trace(lambda x: x, ("a",))
    with pytest.raises(RuntimeError, match="gave a value of type int"):
        torch.jit.trace(lambda x: 3, torch.ones(1))


def test_changes_in_place_are_kept_and_the_example_stays_as_it_was():
    def f(x):
        y = x * 1
        y[0].add_(5)
        x.mul_(2)
        return y + x

    x = torch.ones(3)
    traced = quiet(f, x)
    assert torch.equal(x, torch.ones(3))
    assert torch.equal(traced(torch.ones(3)), torch.tensor([8.0, 3.0, 3.0]))


def test_changes_in_place_become_new_tensors_on_request():
    def f(x):
        y = torch.relu(x)
        y.add_(x).mul_(2)
        x.add_(1)
        z = x * 3
        z[0].sub_(1)  # a view: it is written to
        return x + y + z

    x = torch.ones(3)
    traced, written = torch.jit.trace(f, x, _force_outplace=True), torch.ones(3)
    assert torch.equal(traced(written), f(torch.ones(3))) and torch.equal(written, torch.ones(3))
    assert [n.kind() for n in traced.graph.nodes() if n.kind().endswith("_")] == ["aten::sub_"]

    class Net(nn.Module):
        def forward(self, x):
            return x.relu_() + 1

    net, y = torch.jit.trace(Net(), -x, _force_outplace=True), -x
    assert torch.equal(net(y), x) and torch.equal(y, -x)


def test_one_tensor_given_twice_is_two_inputs():
    x = torch.ones(2)
    traced = quiet(lambda a, b: a * 2 + b, (x, x))
    assert torch.equal(traced(torch.ones(2), torch.zeros(2)), torch.full((2,), 2.0))


def test_methods_are_traced_beside_forward():
    net = Net().eval()
    x = torch.randn(2, 1, 6, 6)
    traced = torch.jit.trace_module(net, {"forward": x, "scale": (torch.ones(1), torch.ones(1))})
    assert torch.equal(traced.scale(torch.ones(1), torch.full((1,), 3.0)), net.scale(torch.ones(1), 3))
    with pytest.raises(AttributeError, match="trace_module"):
        torch.jit.trace(net.scale, (torch.ones(1), torch.ones(1)))


def test_arguments_may_be_given_by_name():
    traced = quiet(lambda a, b: a - b, example_kwarg_inputs={"b": torch.ones(1), "a": torch.zeros(1)})
    assert traced(torch.ones(1), torch.zeros(1)).item() == 1


def test_random_and_training_behaviour_is_of_the_moment():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    with pytest.warns(torch.jit.TracerWarning, match=r"(?s)nondeterministic nodes.*aten::dropout"):
        torch.jit.trace(net, torch.ones(1, 4))
    with pytest.warns(torch.jit.TracerWarning, match=r"(?s)nondeterministic nodes.*aten::rand"):
        torch.jit.trace(lambda x: x + torch.rand(2), torch.ones(2))
    traced = quiet(net, torch.ones(1, 4), check_trace=False)
    assert any(node.kind() == "aten::dropout" for node in traced.graph.nodes())
    torch.manual_seed(0)
    a = traced(torch.ones(8, 4))
    torch.manual_seed(0)
    assert torch.equal(a, net(torch.ones(8, 4)))


def test_a_tensor_that_needs_a_gradient_is_no_constant():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        torch.jit.trace(lambda x: x * w, torch.ones(2))
    w = w.detach()
    assert torch.equal(quiet(lambda x: x * w, torch.ones(2))(torch.ones(2)), torch.ones(2))


def test_the_check_finds_what_differs():
    count = []

    def f(x):
        count.append(1)
        return x + len(count)

    with pytest.raises(
        torch.jit.TracingCheckError, match=r"(?s)Graphs differed across invocations!.*Graph diff:.*Node diff:"
    ):
        torch.jit.trace(f, torch.ones(1))

    def h(x):
        return x * 2 if torch.jit.is_tracing() else x

    with pytest.warns(torch.jit.TracerWarning, match="does not match the corresponding output"):
        torch.jit.trace(h, torch.ones(1))
    assert quiet(f, torch.ones(1), check_trace=False)(torch.zeros(1)).item() == len(count)


def test_generators_and_loops_unroll():
    def pieces(x):
        for i in range(3):
            yield x * i

    assert quiet(lambda x: sum(pieces(x)), torch.ones(1))(torch.full((1,), 2.0)).item() == 6


def test_script_inside_a_trace_keeps_its_branches():
    @torch.jit.script
    def sign(x):
        if bool(x.sum() > 0):
            return x
        else:
            return -x

    traced = quiet(lambda x: sign(x) + 1, torch.ones(2))
    assert torch.equal(traced(torch.full((2,), -3.0)), torch.full((2,), 4.0))
    assert traced.graph.findNode("prim::CallFunction") is not None


def test_a_trace_is_no_trace_of_other_threads():
    import threading

    seen = []

    def other():
        seen.append((torch.jit.is_tracing(), bool(torch.ones(1)), torch.ones(2).shape))

    def f(x):
        assert torch.jit.is_tracing()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return x + 1

    assert kinds(quiet(f, torch.ones(1), check_trace=False)) == ["aten::add"]
    assert seen == [(False, True, torch.Size([2]))]


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="expected a function or module, got int"):
        torch.jit.trace(3, torch.ones(1))
    with pytest.raises(RuntimeError, match="example_inputs are missing"):
        torch.jit.trace(lambda x: x)
    with pytest.raises(TypeError, match="got int"):
        torch.jit.trace(lambda x: x, 3)
    with pytest.raises(AttributeError, match="expected a torch.nn.Module"):
        torch.jit.trace_module(lambda x: x, {"forward": torch.ones(1)})


def test_data_of_a_tensor_is_followed():
    assert torch.equal(quiet(lambda x: (x * 2).data + 1, torch.ones(2))(torch.zeros(2)), torch.ones(2))


def test_a_trace_is_saved_and_loaded():
    import io

    net = Net().eval()
    traced = quiet(net, torch.randn(2, 1, 6, 6))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    x = torch.randn(3, 1, 6, 6)
    assert torch.equal(loaded(x), net(x)) and list(loaded.state_dict()) == list(net.state_dict())


def test_whether_a_trace_runs_can_be_asked_in_many_ways():
    seen = []
    quiet(
        lambda x: seen.append((torch.jit.is_tracing(), torch._C._get_tracing_state() is not None)) or x + 1,
        torch.ones(1),
    )
    assert seen[0] == (True, True) and torch._C._get_tracing_state() is None
    assert torch._C.TensorType.get().kind() == "TensorType"
    assert isinstance(torch.jit.trace(lambda x: x + 1, torch.ones(1)).graph, torch._C.Graph)


def test_a_tensor_as_an_index_stays_an_input():
    def picked(x, i):
        return x[i] * 2

    def written(x, i):
        x = x.clone()
        x[i] = 7.0
        return x

    x = torch.arange(12.0).view(4, 3)
    for function in (picked, written):
        traced = torch.jit.trace(function, (x, torch.tensor(1)))
        for i in (0, 2, -1):
            assert torch.equal(traced(x, torch.tensor(i)), function(x, torch.tensor(i)))


def test_a_size_as_an_index_follows_the_size():
    traced = torch.jit.trace(lambda x: x[x.shape[0] - 1], (torch.ones(4, 2),))
    assert traced(torch.tensor([[1.0], [2.0]])).tolist() == [2.0]


def test_a_tensor_in_the_place_of_a_number_is_told():
    with pytest.warns(torch.jit.TracerWarning, match="to a Python number"):
        torch.jit.trace(lambda t: torch.full((2,), t), (torch.tensor(2.0),), check_trace=False)


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda x, t: x * torch.equal(x, t), "Asking torch.equal"),
        (lambda x, t: x * torch.allclose(x, t), "Asking torch.allclose"),
        (lambda x, t: x * torch.is_nonzero(t.sum()), "Python boolean"),
        (lambda x, t: F.leaky_relu(x, t[0]), "Python number"),
        (lambda x, t: F.pad(x, (1, 0), value=t[0]), "Python number"),
        (lambda x, t: F.one_hot(t.long()), "Python integer"),
        (lambda x, t: F.cross_entropy(x, x, label_smoothing=t[0]), "Python"),
        (lambda x, t: nn.utils.rnn.pack_padded_sequence(x[:, None], t[:1] + 2).data, "Python list"),
    ],
)
def test_what_torch_reads_of_values_is_told_with_the_line_that_calls_it(function, text):
    with pytest.warns(torch.jit.TracerWarning, match=text) as told:
        torch.jit.trace(function, (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 0.0, 1.0])), check_trace=False)
    assert {each.filename for each in told} == {__file__}


def test_what_torch_reads_of_sizes_is_not_told():
    def f(x, t):
        y = F.interpolate(x[None, None], scale_factor=2)[0, 0, :, : x.shape[1]]
        return F.pad(y, (x.shape[0] // 2, 0)).tensor_split(t)[0], y.narrow(0, t.max(), 1)

    x, t = torch.arange(6.0).reshape(2, 3), torch.tensor([1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = torch.jit.trace(f, (x, t))
    x, t = torch.arange(12.0).reshape(3, 4), torch.tensor([3, 4])
    assert all(map(torch.equal, traced(x, t), f(x, t)))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("both", [False, True])
def test_recurrent_layers_take_sequences_of_any_length(kind, both):
    layer = kind(3, 4, num_layers=2, bidirectional=both)
    traced = torch.jit.trace(layer, torch.randn(4, 2, 3))
    for length, batch in ((4, 2), (7, 2), (1, 5)):
        x = torch.randn(length, batch, 3)
        (output, state), (expected, wanted) = traced(x), layer(x)
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(state, wanted)


def test_a_range_up_to_a_size_follows_it():
    traced = quiet(lambda x: torch.arange(x.shape[0]) + torch.zeros(x.size(0)), torch.ones(2))
    assert traced(torch.ones(5)).tolist() == [0, 1, 2, 3, 4]


def test_what_is_no_tensor_is_refused_by_name():
    with pytest.raises(RuntimeError, match="of type int: Only tensors"):
        torch.jit.trace(lambda x: 3, torch.ones(1))
    with pytest.raises(RuntimeError, match="Encountering a dict at the output"):
        torch.jit.trace(lambda x: {"a": x}, torch.ones(1))


def test_a_list_of_results_is_traced_with_a_warning():
    with pytest.warns(torch.jit.TracerWarning, match="Encountering a list at the output"):
        traced = torch.jit.trace(lambda x: [x + 1, x], torch.ones(1))
    assert [each.item() for each in traced(torch.zeros(1))] == [1, 0]
    with pytest.raises(RuntimeError, match=r"values of several types, Tensor, Tuple\[Tensor\]: give a tuple"):
        torch.jit.trace(lambda x: [x, (x,)], torch.ones(1), strict=False)
    graph, out = torch.jit._get_trace_graph(lambda x: [x + 1], torch.ones(1))
    assert [node.kind() for node in graph.nodes()][-1] == "prim::ListConstruct" and out[0].item() == 2


def test_weights_of_a_graph_to_look_at_have_types_and_shapes():
    graph, _ = torch.jit._get_trace_graph(torch.nn.Linear(3, 2), torch.ones(1, 3))
    (call,) = [node for node in graph.nodes() if node.kind() == "aten::linear"]
    types = [value.type() for value in call.inputs()]
    assert [(each.scalarType(), each.sizes()) for each in types] == [
        ("Float", [1, 3]),
        ("Float", [2, 3]),
        ("Float", [2]),
    ]


def test_convolutions_of_a_graph_to_look_at_have_one_name():
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv1d(2, 3, 2, bias=False), nn.ConvTranspose1d(3, 4, 2, 2), nn.Conv1d(4, 1, 3, padding="same")
    )
    graph, out, inputs = torch.jit._get_trace_graph(net, torch.ones(1, 2, 4), return_inputs=True)
    first, second, third = (node for node in graph.nodes() if "conv" in node.kind())
    kinds = [each.kind() for each in (first, second, third)]
    assert kinds == ["aten::_convolution", "aten::_convolution", "aten::_convolution_mode"]
    assert [len(list(each.inputs())) for each in (first, second, third)] == [13, 13, 7]
    assert [list(each.inputs())[6].toIValue() for each in (first, second)] == [False, True]
    assert (
        second.output().type().sizes()
        == [1, 4, 6]
        == list(out.shape[:1])
        + [
            4,
            6,
        ]
    )
    assert list(third.inputs())[0].node() == second
    assert torch.equal(torch._C._create_function_from_graph("net", graph)(*inputs), out)


def test_hooks_name_the_parts_of_a_graph_to_look_at():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.ReLU()))
    seen = []

    def enter(name):
        return lambda module, args: torch._C._get_tracing_state().push_scope(name)

    def leave(module, args, out):
        seen.append(torch._C._get_tracing_state().current_scope())
        torch._C._get_tracing_state().pop_scope()

    for name, module in net.named_modules():
        module.register_forward_pre_hook(enter(name or "net"))
        module.register_forward_hook(leave)
    graph, _ = torch.jit._get_trace_graph(net, (torch.ones(1, 2),))
    scopes = {node.kind(): node.scopeName() for node in graph.nodes()}
    assert (scopes["aten::linear"], scopes["aten::relu"]) == ("net/0", "net/1/1.0")
    assert seen == ["net/0", "net/1/1.0", "net/1", "net"]


def test_a_container_that_holds_nothing_is_traced_as_itself():
    class Tree(nn.Module):
        def __init__(self):
            super().__init__()
            self.nodes = nn.ModuleList([nn.ParameterList(), nn.ModuleList(), nn.Linear(2, 2)])

        def forward(self, x):
            return self.nodes[2](x)

    net, x = Tree(), torch.randn(3, 2)
    traced = torch.jit.trace(net, x)
    assert torch.equal(traced(x), net(x)) and len(list(traced.nodes.children())) == 3


@pytest.mark.parametrize(
    "f, example, other",
    [
        (lambda x: x.new_ones(2, x.shape[0]), (2,), (3,)),
        (lambda x: x.view(2, x.shape[0], -1), (2, 4), (4, 4)),
        (lambda x: torch.full((2,), x.shape[0]), (2,), (3,)),
        (lambda x: torch.arange(2, x.shape[0], 1), (2,), (5,)),
        (lambda x: x.narrow(0, 1, x.shape[0] - 1), (2,), (3,)),
        (lambda x: x.unfold(0, 2, x.shape[1]), (6, 2), (6, 3)),
        (lambda x: x[2 : x.shape[0]], (2,), (5,)),
        (lambda x: x[1 : x.shape[0], None, 1 : x.shape[1]], (1, 1), (4, 5)),
        (lambda x: x[: x.shape[0] - 1, : x.shape[1] - 1], (3, 4), (5, 6)),
        (lambda x: torch.nn.functional.avg_pool2d(x, x.shape[0]), (2, 4, 4), (4, 4, 4)),
    ],
)
def test_a_size_is_told_from_an_equal_number_that_is_written_out(f, example, other):
    x = torch.randn(other)
    assert torch.equal(quiet(f, torch.randn(example), check_trace=False)(x), f(x))


@pytest.mark.parametrize(
    "mode, corners",
    [
        ("nearest", None),
        ("nearest-exact", None),
        ("area", None),
        ("bilinear", False),
        ("bilinear", True),
        ("bicubic", None),
    ],
)
def test_resized_images_follow_the_size_of_the_next_one(mode, corners):
    resize = nn.functional.interpolate
    options = {"mode": mode, "align_corners": corners}
    for f in (
        lambda x: resize(x, scale_factor=2, **options),
        lambda x: resize(x, scale_factor=(1.5, 2.5), **options),
        lambda x: resize(x, size=(8, 8), **options),
        lambda x: resize(x[..., :2, :2], size=(x.shape[2] * 2, x.shape[3]), **options),
        lambda x: resize(x, scale_factor=2, recompute_scale_factor=True, **options),
    ):
        traced = quiet(f, torch.randn(1, 1, 4, 3), check_trace=False)
        torch.jit.save(traced, file := io.BytesIO())
        traced = torch.jit.load(io.BytesIO(file.getvalue()))
        x = torch.randn(2, 3, 5, 7, requires_grad=True)
        torch.testing.assert_close(traced(x), f(x))
        torch.testing.assert_close(*(torch.autograd.grad(g(x).sin().sum(), x)[0] for g in (traced, f)))


def test_a_trace_takes_arguments_by_name_whatever_lies_between_them():
    class Net(torch.nn.Module):
        def forward(self, mask=None, hidden=None, x=None):
            return x * 2 - mask

    given = {"x": torch.ones(2), "mask": torch.ones(2)}
    net = torch.jit.trace(Net(), example_kwarg_inputs=given)
    assert net(x=torch.tensor([3.0, 4.0]), mask=torch.ones(2)).tolist() == [5, 7]
    of_forward = torch.jit.trace_module(Net(), {"forward": given}, example_inputs_is_kwarg=True)
    assert torch.equal(of_forward(**given), net(**given))

    def less(x, *, by):
        return x - by

    traced = torch.jit.trace(less, example_kwarg_inputs={"by": torch.ones(1), "x": torch.ones(1)})
    assert traced(by=torch.ones(1), x=torch.tensor([5.0])).item() == 4
    with pytest.raises(TypeError, match="missing a required argument: 'by'"):
        torch.jit.trace(less, example_kwarg_inputs={"x": torch.ones(1)})
    with pytest.raises(RuntimeError, match="check_inputs must name what the example names, x, by; got x, more"):
        torch.jit.trace(
            less,
            example_kwarg_inputs={"by": torch.ones(1), "x": torch.ones(1)},
            check_inputs=[{"x": torch.ones(1), "more": torch.ones(1)}],
        )
