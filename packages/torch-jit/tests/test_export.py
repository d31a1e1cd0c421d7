"""torch.export: programs, sizes that may change, writes, errors with lines, files."""

import copy
import dataclasses
import inspect
import io
import itertools
import json

import pytest
import torch
from torch import nn
from torch.export import Dim, UserError, export
from torch.nn import functional as F


class Module(nn.Module):
    """A module of one function."""

    def __init__(self, function, **tensors):
        super().__init__()
        self.function = function
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


def same(module, program, *args, **kwargs):
    """The program gives what the module gives, for copies of both and of the arguments."""
    run = program.module()
    with torch.no_grad():
        torch.testing.assert_close(
            run(*copy.deepcopy(args), **kwargs), module(*copy.deepcopy(args), **kwargs), rtol=0, atol=0
        )


def test_a_program_has_parameters_first_and_calls_operators():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    program = export(net, (torch.ones(4, 2),))
    targets = [n.target for n in program.graph.nodes if n.op == "call_function"]
    assert targets == [torch.ops.aten.linear.default, torch.ops.aten.tanh.default]
    assert program.graph_signature.parameters == ("0.weight", "0.bias")
    assert program.graph_signature.inputs_to_parameters == {"p_0_weight": "0.weight", "p_0_bias": "0.bias"}
    assert dict(program.named_parameters())["0.weight"] is net[0].weight
    same(net, program, torch.randn(4, 2))


def test_a_program_trains_as_the_module_does():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 1))
    run = export(copy.deepcopy(net), (torch.ones(4, 2),), dynamic_shapes=({0: Dim.DYNAMIC},)).module()
    x = torch.randn(7, 2)
    for program in (net, run):
        program(x).square().sum().backward()
    for (name, p), (other, q) in zip(net.named_parameters(), run.named_parameters(), strict=True):
        assert name == other and torch.equal(p.grad, q.grad)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4)
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.walk = nn.GRU(4, 5, 2, bidirectional=True)

    def forward(self, x):
        y = self.norm(self.conv(x)).relu()
        rows = y.flatten(2).transpose(1, 2)
        z, _ = self.attend(rows, rows, rows)
        out, _ = self.walk(z.transpose(0, 1))
        return F.interpolate(y, size=x.shape[2:], mode="bilinear"), out.mean(0), z / (z.shape[1] ** 0.5)


def test_sizes_that_change_are_computed_by_the_graph():
    net = Blocks().eval()
    b, h, w = torch.export.dims("b", "h", "w", min=2, max=100)
    program = export(net, (torch.randn(2, 3, 6, 8),), dynamic_shapes={"x": {0: b, 2: h, 3: w}})
    assert program.range_constraints == {"b": (2, 100), "h": (2, 100), "w": (2, 100)}
    for shape in ((2, 3, 6, 8), (3, 3, 7, 5), (5, 3, 16, 11)):
        same(net, program, torch.randn(shape))


@pytest.mark.parametrize(
    "function, shape",
    [
        (lambda _, x: x.view(x.shape[0], -1, 2).sum(0), (3, 8)),
        (lambda _, x: torch.arange(x.shape[0] * 2) + x.shape[1], (3, 8)),
        (lambda _, x: x[: x.shape[0] // 2], (8, 2)),
        (lambda _, x: F.pad(x, (0, -x.shape[0] + 20)), (8, 2)),
        (lambda _, x: x.reshape(-1).softmax(0) * x.numel(), (3, 4)),
        (lambda _, x: torch.ones(x.shape[0], x.shape[0]).tril() @ x, (3, 4)),
        (lambda _, x: torch.cat([x, x.flip(0)], 0).unfold(0, 2, 1), (3, 4)),
    ],
)
def test_rules_of_sizes(function, shape):
    module = Module(function)
    program = export(module, (torch.randn(shape),), dynamic_shapes=(({0: Dim("n", max=19)},),))
    for n in (shape[0], 9, 16):
        same(module, program, torch.randn(n, *shape[1:]))


def test_sizes_that_follow_others():
    n = Dim("n")
    module = Module(lambda _, x, y: x.repeat(2, 1) + y)
    program = export(module, (torch.ones(3, 2), torch.ones(6, 2)), dynamic_shapes=(({0: n}, {0: 2 * n}),))
    same(module, program, torch.randn(5, 2), torch.randn(10, 2))


# --- writes ---


def test_writes_to_buffers_inputs_and_views():
    def forward(self, x, y):
        self.count += 1
        z = x * 2
        first = z[0]
        first.add_(1)
        z[:, 1:] = 5
        z.t()[0].mul_(3)
        z[torch.tensor([0, 1]), torch.tensor([2, 0])] = y
        z[z > 100] = 0
        a, b = z.split(1)
        b.zero_()
        y.fill_(self.count.sum())
        return z, first, a, self.count * 2

    module = Module(forward, count=torch.zeros(2))
    program = export(module, (torch.randn(2, 3), torch.randn(2)))
    assert list(program.graph_signature.buffers_to_mutate.values()) == ["count"]
    assert list(program.graph_signature.user_inputs_to_mutate.values()) == ["args_1"]
    assert module.count.sum() == 0, "the export puts buffers back"
    assert not any(str(n.target).endswith("_>") for n in program.graph.nodes)
    run = program.module()
    x, y = torch.randn(2, 3), torch.randn(2)
    given, wanted = (y.clone(), y.clone()), copy.deepcopy(module)
    for _ in range(2):
        torch.testing.assert_close(run(x, given[0]), wanted(x, given[1]), rtol=0, atol=0)
        assert torch.equal(given[0], given[1])
    assert torch.equal(run.count, wanted.count) and wanted.count[0] == 2


def test_what_torch_names_share_memory_are_one_value():
    module = Module(lambda _, x: (x.data + 1, x.detach() * 2, x.T.contiguous()))
    same(module, export(module, (torch.randn(2, 3),)), torch.randn(2, 3))


# --- errors ---


@pytest.mark.parametrize(
    "function, text",
    [
        (
            lambda _, x: x if x.sum() > 0 else -x,
            r"test_export.py:\d+ in <lambda>: the program asks whether a tensor is true",
        ),
        (lambda _, x: x if x.sum().item() > 0 else -x, "the program goes on by whether u0 > 0, which only the values"),
        (lambda _, x: x * complex(x[0]), "the program makes a complex of a tensor"),
        (lambda _, x: torch.equal(x, x), "the program asks torch.equal"),
        (lambda _, x: x.clone().resize_(1), "changes the shape of a tensor in place: use resize"),
        (lambda _, x: torch.add(x, 1, out=torch.empty(4)), "calls add\\(out=...\\): use its result"),
        (lambda s, x: s.kept.add_(x), "neither an input nor a buffer"),
    ],
)
def test_what_cannot_be_exported_is_named_with_its_line(function, text):
    module = Module(function)
    module.kept = torch.zeros(4)
    with pytest.raises(UserError, match=text):
        export(module, (torch.ones(4),))


def test_a_loop_over_a_size_that_changes_is_refused_and_one_that_does_not_unrolled():
    def forward(_, x):
        for row in range(x.shape[0]):
            x = x + row
        return x

    module = Module(forward)
    same(module, export(module, (torch.ones(3),)), torch.ones(3))
    with pytest.raises(UserError, match=r"test_export.py:\d+ in forward: .* depends on a size"):
        export(module, (torch.ones(3),), dynamic_shapes=(({0: Dim("n")},),))


def test_a_size_that_the_module_does_not_let_change():
    net = nn.Linear(2, 3)
    with pytest.raises(UserError, match="n was to change, and the program takes only 2"):
        export(net, (torch.ones(4, 2),), dynamic_shapes={"input": {1: Dim("n")}})
    program = export(net, (torch.ones(4, 2),), dynamic_shapes={"input": {0: Dim.AUTO, 1: Dim.AUTO}})
    same(net, program, torch.ones(9, 2))
    with pytest.raises(RuntimeError, match=r"Guard failed: input.size\(\)\[1\] == 2, got 3"):
        program.module()(torch.ones(4, 3))


def test_arguments_that_do_not_fit():
    net = nn.Linear(2, 3)
    n = Dim("n", min=2, max=8)
    program = export(net, (torch.ones(4, 2),), dynamic_shapes={"input": {0: n}})
    same(net, program, input=torch.ones(3, 2))
    for args, text in (
        ((torch.ones(9, 2),), "2 <= input.size"),
        ((torch.ones(4, 2, dtype=torch.float64),), "exported for torch.float32 with 2 dims"),
        ((3,), "expected a tensor, got int"),
    ):
        with pytest.raises(RuntimeError, match=text):
            program.module()(*args)
    with pytest.raises(ValueError, match="exported for the arguments .input. in the form"):
        program.module()(torch.ones(4, 2), 3)
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(torch.ones(4, 2))
    with pytest.raises(NotImplementedError, match="has the mode"):
        program.module().eval()
    for wrong, text in (
        ({"other": {0: n}}, "dynamic_shapes speaks of other; the inputs are input"),
        ({"input": {5: n}}, "dim 5 of a tensor of 2 dims"),
        ({"input": {0: Dim("m", min=7)}}, "outside of m's"),
        ({"input": {0: "n"}}, "expected a Dim, an int or None"),
        (({0: n}, None), "has 2 entries, the program has 1 inputs"),
    ):
        with pytest.raises(UserError, match=text):
            export(net, (torch.ones(4, 2),), dynamic_shapes=wrong)
    with pytest.raises(ValueError, match="expected a torch.nn.Module"):
        export(lambda x: x, (torch.ones(1),))


# --- trees and files ---


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor


def test_arguments_and_results_may_be_containers():
    torch.export.register_dataclass(Pair)
    module = Module(lambda _, d, pair, scale=1.0: {"sum": (d["x"] + pair.a, scale), "pair": Pair(pair.b, d["y"][0])})
    args = ({"x": torch.ones(2), "y": [torch.zeros(3)]}, Pair(torch.ones(2), torch.ones(1)))
    program = export(module, args, {"scale": 2.0})
    found = program.module()(*args, scale=2.0)
    assert (
        found["sum"][1] == 2.0
        and torch.equal(found["sum"][0], torch.full((2,), 2.0))
        and isinstance(found["pair"], Pair)
    )
    with pytest.raises(RuntimeError, match="exported for 2.0, got 3.0"):
        program.module()(*args, scale=3.0)


def test_a_file_holds_the_whole_program(tmp_path):
    net = Blocks().eval()
    program = export(net, (torch.randn(2, 3, 6, 8),), dynamic_shapes={"x": {0: Dim("b"), 3: Dim("w")}})
    torch.export.save(program, tmp_path / "net.pt2", extra_files={"about": "a test"})
    extra = {"about": ""}
    again = torch.export.load(tmp_path / "net.pt2", extra_files=extra)
    assert extra == {"about": "a test"} and str(again.graph) == str(program.graph)
    assert again.graph_signature == program.graph_signature and again.range_constraints == program.range_constraints
    same(net, again, torch.randn(5, 3, 6, 11))
    assert all(isinstance(p, nn.Parameter) for p in again.parameters())


class Levels(nn.Module):
    """A net that halves its image twice and pads what it doubles again to the sizes from before."""

    def __init__(self):
        super().__init__()
        self.up = nn.ModuleList(nn.ConvTranspose2d(1, 1, 2, 2) for _ in range(2))

    def forward(self, x):
        before = [x, nn.functional.max_pool2d(x, 2)]
        x = nn.functional.max_pool2d(before[1], 2)
        for up, left in zip(self.up, reversed(before), strict=True):
            x = up(x)
            x = nn.functional.pad(x, (0, left.size(3) - x.size(3), 0, left.size(2) - x.size(2))) + left
        return x


def test_sizes_that_follow_from_sizes_on_the_way_keep_their_formulas():
    """What is left of a height and of a width, 0 or 1, cannot be told apart by what it was in a few runs."""
    net = Levels()
    program = export(net, (torch.randn(1, 1, 17, 19),), dynamic_shapes={"x": {2: Dim.DYNAMIC, 3: Dim.DYNAMIC}})
    for height, width in itertools.product(range(16, 20), range(28, 32)):
        same(net, program, torch.randn(1, 1, height, width))


class Pieces(nn.Module):
    def forward(self, x):
        left, right = x.split(2, 1)
        return left.sin(), x.topk(2, dim=1)[1] + right.sum()


@pytest.mark.parametrize("dynamic", [None, {"x": {0: Dim("b")}}])
def test_calls_of_several_results_in_a_file_know_what_these_are(dynamic):
    program = export(Pieces(), (torch.randn(3, 4),), dynamic_shapes=dynamic)
    for each in (program, program.run_decompositions()):
        buffer = io.BytesIO()
        torch.export.save(each, buffer)
        buffer.seek(0)
        again = torch.export.load(buffer)
        for old, new in zip(each.graph.nodes, again.graph.nodes, strict=True):
            assert str(old.meta.get("val")) == str(new.meta.get("val")), old
        assert str(again.run_decompositions().graph) == str(each.run_decompositions().graph)
        same(Pieces(), again, torch.randn(3, 4))


def test_files_that_are_no_programs(tmp_path):
    torch.save({"a": 1}, tmp_path / "other.pt")
    with pytest.raises(RuntimeError, match="holds no exported program"):
        torch.export.load(tmp_path / "other.pt")
    program = export(nn.Linear(2, 1), (torch.ones(3, 2),))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    content = torch.load(buffer)
    for old, new in (
        ('["aten", "linear"]', '["aten", "system"]'),
        ('"node": "p_bias"', '"node": "nobody"'),
        ("[", "{"),
    ):
        broken = {**content, "exported program": content["exported program"].replace(old, new)}
        assert broken != content
        buffer = io.BytesIO()
        torch.save(broken, buffer)
        buffer.seek(0)
        with pytest.raises(RuntimeError, match="export.load: the program in the file is broken"):
            torch.export.load(buffer)


def _crafted(change):
    """A file of a program, and what is changed in it."""
    written, crafted = io.BytesIO(), io.BytesIO()
    torch.export.save(export(nn.Linear(2, 1), (torch.ones(3, 2),)), written)
    content = torch.load(io.BytesIO(written.getvalue()))
    text = json.loads(content["exported program"])
    changed = change(text)
    torch.save({**content, "exported program": changed if isinstance(changed, str) else json.dumps(text)}, crafted)
    return io.BytesIO(crafted.getvalue())


def test_a_tensor_under_two_names_is_one_again():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    buffer = io.BytesIO()
    torch.export.save(export(net, (torch.ones(1, 2),)), buffer)
    buffer.seek(0)
    module = torch.export.load(buffer).module()
    assert torch.equal(module(torch.ones(1, 2)), net(torch.ones(1, 2)))
    assert len(list(module.parameters())) == 3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: "[" * 100_000 + "]" * 100_000, "nested too deep"),
        (lambda text: text.update(in_spec="[" * 100_000), "nested too deep"),
        (lambda text: text["nodes"][-2].update(args=json.loads("[" * 900 + "]" * 900)), "nested too deep"),
        (lambda text: text["nodes"][-2]["val"][1].__setitem__(0, 2**70), "OverflowError"),
        (lambda text: text["nodes"][-2].update(kwargs=[]), "AssertionError"),
        (lambda text: text.update(in_spec='[1, {"type": "builtins.tuple", "context": "null", "children_spec": []}]'), "leaves"),
        (lambda text: text.update(out_spec='[1, {"type": "builtins.tuple", "context": "null", "children_spec": []}]'), "leaves"),
        (lambda text: text.update(aliases={"weight": "weight"}), "said to be one tensor"),
        (lambda text: text["nodes"][-2]["val"][3].append(1), "must match dimensionality of strides"),
        (lambda text: text["inputs"][2].update(name="y"), "the graph takes p_weight, p_bias, input_1, and the inputs are said to be"),
    ],
)  # fmt: skip
def test_a_crafted_file_raises_one_error_that_names_it(change, why, tmp_path):
    crafted = _crafted(change)
    with pytest.raises(RuntimeError, match=f"export.load: the program in the file is broken .*{why}.*BytesIO object"):
        torch.export.load(crafted)
    (tmp_path / "crafted.pt2").write_bytes(crafted.getvalue())
    with pytest.raises(RuntimeError, match="crafted.pt2"):
        torch.export.load(tmp_path / "crafted.pt2")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.update(version=2), "the file has version 2"),
        (lambda text: text.update(in_spec='[1, {"type": "os.system", "context": null, "children_spec": []}]'), "not registered"),
    ],
)  # fmt: skip
def test_what_this_stack_lacks_of_a_file_is_told_with_its_name(change, why):
    with pytest.raises(NotImplementedError, match=rf"export.load: .*{why}.*\(BytesIO object\)"):
        torch.export.load(_crafted(change))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"target": "x"', '"target": "x=__import__(\'os\').abort()"'),
        ('["aten", "linear"]', '["load_library", "__call__"]'),
        ('["aten", "linear"]', '["load_library", "__globals__.get"]'),
        ('["aten", "linear"]', '["__class__", "mro"]'),
        ('"target": "x"', '"target": "self"'),
        ('"kind": "USER_INPUT"', '"kind": "PARAMETER"'),
        ('"target": "bias"', '"target": "basis"'),
    ],
)
def test_a_file_names_arguments_and_operators_and_nothing_else(old, new):
    class Net(nn.Linear):
        def forward(self, x):
            return super().forward(x)

    written, crafted = io.BytesIO(), io.BytesIO()
    torch.export.save(export(Net(2, 1), (torch.ones(3, 2),)), written)
    content = torch.load(io.BytesIO(written.getvalue()))
    text = content["exported program"]
    assert old in text
    torch.save({**content, "exported program": text.replace(old, new)}, crafted)
    with pytest.raises(RuntimeError, match="export.load: the program in the file is broken"):
        torch.export.load(io.BytesIO(crafted.getvalue()))


@torch.jit.script
def compiled(x):
    return torch.relu(x) * 2


def test_compiled_programs_within_are_refused():
    for module in (Module(lambda _, x: compiled(x) + 1), nn.Sequential(torch.jit.script(nn.Linear(3, 2)))):
        with pytest.raises(UserError, match="calls what torch.jit.script made"):
            export(module, (torch.ones(3),))
    assert torch.equal(compiled(torch.ones(1)), torch.full((1,), 2.0))


def test_a_branch_on_a_size_has_to_hold_for_all_sizes_of_the_dim():
    module = Module(lambda _, x: x + 1 if x.shape[0] > 4 else x - 1)
    with pytest.raises(torch.export.UserError, match=r"Constraints violated \(a\).*\(a > 4\) is True for the example"):
        export(module, (torch.zeros(6, 2),), dynamic_shapes=(({0: Dim("a")},),))
    program = export(module, (torch.zeros(6, 2),), dynamic_shapes=(({0: Dim("a", min=5)},),))
    for n in (5, 6, 40):
        same(module, program, torch.randn(n, 2))
    with pytest.raises(AssertionError, match="Guard failed: 5 <= "):
        program.module()(torch.zeros(3, 2))
    fixed = export(module, (torch.zeros(6, 2),), dynamic_shapes=(({0: Dim.AUTO},),))
    with pytest.raises(AssertionError, match="Guard failed"):
        fixed.module()(torch.zeros(3, 2))


def test_a_sum_of_sizes_that_is_compared_has_to_hold_for_all():
    module = Module(lambda _, x: x * 2 if x.shape[0] * 2 + x.size(1) != 9 else x)
    sizes = {0: Dim("a", max=3), 1: Dim("b", max=2)}
    same(module, export(module, (torch.zeros(3, 2),), dynamic_shapes=((sizes,),)), torch.randn(2, 2))
    with pytest.raises(torch.export.UserError, match="Constraints violated"):
        export(module, (torch.zeros(3, 2),), dynamic_shapes=(({0: Dim("a"), 1: Dim("b")},),))


def test_a_dim_says_what_it_cannot_be():
    with pytest.raises(AssertionError, match="inconsistent min=5, max=3"):
        Dim("b", min=5, max=3)
    with pytest.raises(ValueError, match="valid identifier"):
        Dim("1b")
    assert repr(Dim("b", max=8)) == "Dim('b', min=0, max=8)"


def test_a_collection_says_the_sizes_of_tensors():
    x, y = torch.randn(3, 2), torch.randn(3, 2)
    sizes = torch.export.ShapesCollection()
    batch = Dim("batch")
    sizes[x], sizes[y] = {0: batch}, {0: batch}
    module = Module(lambda _, x, y: x + y)
    program = export(module, (x, y), dynamic_shapes=sizes)
    same(module, program, torch.randn(5, 2), torch.randn(5, 2))
    sizes[torch.zeros(1)] = {0: batch}
    with pytest.raises(ValueError, match="is no argument"):
        export(module, (x, y), dynamic_shapes=sizes)


def test_code_sees_that_it_is_exported_and_only_then():
    class Net(nn.Module):
        def forward(self, x):
            asked = torch.compiler.is_exporting(), torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling()
            return x + 1 if asked == (True, True, False) else x - 1

    net, x = Net(), torch.zeros(2)
    assert export(net, (x,)).module()(x).tolist() == [1, 1]
    assert net(x).tolist() == [-1, -1]
    with pytest.raises(UserError):
        export(Reads(), (x,))
    assert not torch.compiler.is_exporting() and not torch.compiler.is_compiling()


class Reads(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


def test_numbers_of_numpy_are_numbers_of_the_program():
    np = pytest.importorskip("numpy")

    class Net(nn.Module):
        def forward(self, x):
            return x * np.sqrt(16.0) + np.float64(0.5) - torch.full((2,), np.float64(2))

    x = torch.ones(2)
    program = export(Net(), (x,))
    assert program.module()(x).tolist() == [2.5, 2.5] and "np." not in program.graph_module.code
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    assert torch.export.load(file).module()(x).tolist() == [2.5, 2.5]
    assert torch.fx.symbolic_trace(Net())(x).tolist() == [2.5, 2.5]


def test_tensors_that_an_operator_takes_one_by_one():
    module, x = Module(lambda self, x: (torch.block_diag(x, x + 1), torch.cartesian_prod(x[0], x[1]))), torch.ones(2, 3)
    for found, wanted in zip(export(module, (x,)).module()(x), module(x), strict=True):
        assert torch.equal(found, wanted)


@torch.library.custom_op("export_tests::scaled", mutates_args=())
def scaled(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    return torch.from_numpy(x.numpy() * times)  # nothing that a recording could see


@scaled.register_fake
def _(x, times=2):
    return torch.empty_like(x)


@torch.library.custom_op("export_tests::fill", mutates_args=("x",))
def fill(x: torch.Tensor) -> None:
    x.numpy()[:] = 3


def test_operators_of_torch_library_are_calls_of_a_program():
    pytest.importorskip("numpy")
    module = Module(lambda self, x: scaled(x + 1, 3).relu())
    program = export(module, (torch.ones(2, 3),), dynamic_shapes=(({0: Dim("n")},),))
    same(module, program, torch.randn(5, 3))
    targets = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert targets[1] is torch.ops.export_tests.scaled.default
    by_name = export(Module(lambda self, x: torch.ops.export_tests.scaled(x + 1, 3).relu()), (torch.ones(2, 3),))
    assert [node.target for node in by_name.graph.nodes if node.op == "call_function"] == targets
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    again = torch.export.load(file)
    same(module, again, torch.randn(5, 3))
    assert [node.target for node in again.graph.nodes if node.op == "call_function"] == targets
    with pytest.raises(
        UserError, match=r"test_export.py:\d+ .*calls export_tests::fill, which writes to its arguments"
    ):
        export(Module(lambda self, x: (fill(x), x)[1]), (torch.ones(2),))


class Scaled(torch.nn.Module):
    def forward(self, x, parts, n=2):
        return x.sum(0) * parts["a"] * n


def test_further_examples_say_which_sizes_may_change():
    def example(rows, n=2):
        return (torch.ones(rows, 2), {"a": torch.ones(2)}), {"n": n}

    more = torch.export.AdditionalInputs()
    more.add(*example(4))
    more.add(*example(6))
    args, kwargs = example(3)
    assert more.dynamic_shapes(Scaled(), args, kwargs)["x"] == {0: torch.export.Dim.DYNAMIC}
    program = torch.export.export(Scaled(), args, kwargs, dynamic_shapes=more)
    args, kwargs = example(9)
    assert program.module()(*args, **kwargs).tolist() == [18, 18]
    more.add(*example(4, n=2.5))
    with pytest.raises(ValueError, match="an example has 2.5 where the first one has 2"):
        more.dynamic_shapes(Scaled(), *example(3))
    with pytest.raises(TypeError, match="expected a tuple and a dict, got list"):
        more.add([torch.ones(1)])


class Distances(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(3))

    def forward(self, x, y):
        return (
            F.normalize(x, dim=-1),
            F.pairwise_distance(x, y),
            F.cosine_similarity(x, y, dim=1),
            F.normalize(self.weight),
        )


def test_functions_that_classes_of_tensors_may_answer_are_recorded_as_their_operators():
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    model = Distances()
    program = export(model, (x, y))
    for made, expected in zip(program.module()(x * 2, y), model(x * 2, y), strict=True):
        torch.testing.assert_close(made, expected)


def test_parameters_stand_before_buffers_in_the_state_of_a_program():
    class Shifted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("shift", torch.ones(3))
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x):
            return self.layer(x) + self.shift

    program = torch.export.export(Shifted(), (torch.ones(2, 4),))
    assert list(program.state_dict) == ["layer.weight", "layer.bias", "shift"]


def test_results_that_no_program_can_give_are_named():
    class Yields(torch.nn.Module):
        def forward(self, x):
            yield x

    with pytest.raises(RuntimeError, match="the result has a generator"):
        torch.export.export(Yields(), (torch.ones(2),))


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(3, 4)

    def forward(self, x, pair, *, scale):
        return self.layers(x)[0] * scale + pair[0], pair[1]


def test_the_module_of_a_program_says_its_arguments_and_is_exported_again():
    args, scale = (torch.randn(5, 2, 3), (torch.randn(4), torch.ones(2))), {"scale": torch.ones(4)}
    dynamic = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, (None, {0: Dim.DYNAMIC}), None)
    program = export(Named(), args, scale, dynamic_shapes=dynamic)
    module = copy.deepcopy(program.module())
    assert list(inspect.signature(module.forward).parameters) == ["x", "pair", "scale"]
    again = export(module, args, scale, dynamic_shapes=dynamic)
    assert [n.name for n in again.graph.nodes if n.op == "placeholder"][-4:] == ["x", "pair_0", "pair_1", "scale"]
    other = (torch.randn(7, 3, 3), (torch.randn(4), torch.ones(6)))
    for found, wanted in zip(again.module()(*other, **scale), module(*other, **scale), strict=True):
        assert torch.equal(found, wanted)


class Draws(nn.Module):
    def forward(self, x):
        drawn = torch.empty_like(x)
        return (
            x + drawn.normal_(),
            nn.functional.gumbel_softmax(x, hard=True),
            torch.empty(x.shape).uniform_(-1, 3) * x,
            torch.zeros_like(x).exponential_(2.0).sqrt(),
            torch.empty_like(x).random_(0, 5),
            torch.empty_like(x).cauchy_(1.0).log_normal_(),
        )


def test_tensors_that_are_filled_with_random_numbers_are_in_a_program_and_its_file():
    program = export(Draws(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("b")}})
    buffer = io.BytesIO()
    torch.export.save(program.run_decompositions(), buffer)
    buffer.seek(0)
    x = torch.randn(5, 4)
    torch.manual_seed(0)
    wanted = Draws()(x)
    for each in (program, torch.export.load(buffer)):
        torch.manual_seed(0)
        for found, value in zip(each.module()(x), wanted, strict=True):
            assert torch.equal(found, value)


class Turned(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("held", torch.zeros(3))

    def forward(self, x):
        y = x * 2
        first = y[:1]
        y.unsqueeze_(1).mul_(3)
        y[0, 0].add_(1)
        return y.size(2) * y, first, x.exp().t_().squeeze_(), x[:2].transpose_(0, 1)


def test_tensors_that_the_program_made_may_change_their_shape_in_place():
    program = export(Turned(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("b")}})
    same(Turned(), program, torch.randn(5, 4))


def test_inputs_and_buffers_may_not_change_their_shape_in_place():
    class Changes(Turned):
        def forward(self, x):
            return self.held.unsqueeze_(0) + x

    with pytest.raises(UserError, match="unsqueeze_, which changes the shape of a tensor in place: use unsqueeze"):
        export(Changes(), (torch.randn(3),))


class OldForms(nn.Module):
    def forward(self, x):
        anchors = torch.Tensor([1, 2, 3, 4])
        drawn = x.data.new(x.size()).fill_(2)
        return x * anchors + torch.FloatTensor([4, 3, 2, 1]).mul_(x[0]), drawn * x.new(x.size(0), 1).zero_()


def test_tensors_made_by_constructors_of_earlier_years():
    program = export(OldForms(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("b")}})
    for _ in range(2):
        same(OldForms(), program, torch.randn(5, 4))


def test_other_memory_given_to_a_tensor_is_refused():
    class Gives(nn.Module):
        def forward(self, x):
            y = x * 2
            y.data = x
            return y

    with pytest.raises(UserError, match=r"assigns to \.data"):
        export(Gives(), (torch.randn(3),))
    x, y = torch.zeros(2), torch.ones(2)
    x.data = y
    assert x.tolist() == [1, 1]


class AnyNumber(nn.Module):
    def forward(self, *tensors):
        return sum(tensors)


def test_sizes_said_of_one_tensor_and_meant_for_a_tuple_are_refused():
    with pytest.raises(UserError, match="is said of a tuple of 1: give a tuple"):
        export(AnyNumber(), (torch.ones(2),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_programs_are_not_exported_again():
    with pytest.raises(ValueError, match="is a program already"):
        torch.export.export(torch.jit.script(torch.nn.ReLU()), (torch.ones(2),))


def test_a_generator_is_refused_with_the_way_out():
    class Draws(torch.nn.Module):
        def forward(self, x):
            return x + torch.rand(3, generator=torch.Generator().manual_seed(0))

    with pytest.raises(UserError, match="gives rand a generator.*call torch.manual_seed"):
        torch.export.export(Draws(), (torch.ones(3),))


def test_dicts_may_come_in_another_order():
    class Sum(torch.nn.Module):
        def forward(self, given, *, more):
            return given["a"] - given["b"]["x"] * more["k"][0]

    x = torch.tensor([1.0, 2.0])
    module = torch.export.export(Sum(), ({"a": x, "b": {"x": x, "y": x}},), {"more": {"k": [x], "z": x}}).module()
    found = module({"b": {"y": x, "x": 2 * x}, "a": 3 * x}, more={"z": x, "k": [x]})
    assert found.tolist() == [1.0, -2.0]
    with pytest.raises(ValueError, match="exported for the arguments"):
        module({"a": x}, more={"z": x, "k": [x]})


def test_dims_of_two_names_that_must_be_equal_are_refused_with_a_fix():
    class Add(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    a, b, args = torch.export.Dim("a"), torch.export.Dim("b"), (torch.ones(4), torch.ones(4))
    with pytest.raises(
        torch.export.UserError,
        match=r"(?s)Constraints violated \(b\)!.*b = y.size\(\)\[0\] and a = x.size\(\)\[0\] must.*b = a",
    ):
        torch.export.export(Add(), args, dynamic_shapes={"x": {0: a}, "y": {0: b}})
    with pytest.raises(
        torch.export.UserError, match=r"(?s)Constraints violated \(a\)!.*only 4.*Suggested fixes:\n  a = 4"
    ):
        torch.export.export(Add(), args, dynamic_shapes={"x": {0: a}, "y": None})
    auto = torch.export.Dim.AUTO
    module = torch.export.export(Add(), args, dynamic_shapes={"x": {0: auto}, "y": {0: auto}}).module()
    assert module(torch.ones(6), torch.ones(6)).shape == (6,)


def test_ranges_have_a_lower_and_an_upper_bound():
    batch = torch.export.Dim("batch", min=2, max=8)
    program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),), dynamic_shapes=({0: batch},))
    (bounds,) = program.range_constraints.values()
    assert (bounds.lower, bounds.upper) == (2, 8)


def test_one_tensor_may_be_several_inputs_of_a_size_that_changes():
    torch.manual_seed(0)
    net = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    x, batch = torch.randn(2, 3, 4), torch.export.Dim("batch")
    program = export(net, (x, x, x), dynamic_shapes=({0: batch}, {0: batch}, {0: batch}))
    others = torch.randn(5, 3, 4), torch.randn(5, 3, 4), torch.randn(5, 3, 4)
    for found, want in zip(program.module()(*others), net(*others)):
        torch.testing.assert_close(found, want)
    nested = export(Shared(), ([x, x], {"a": x}), dynamic_shapes=([{0: batch}, {0: batch}], {"a": {0: batch}}))
    assert nested.module()([torch.ones(4, 3, 4), torch.ones(4, 3, 4)], {"a": torch.ones(4, 3, 4)}).shape == (4, 3, 4)


class Shared(nn.Module):
    def forward(self, pair, table):
        return pair[0] + pair[1] * table["a"]


class HoldsTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.tensor([2.0, 3.0])
        self.inner = nn.Module()
        self.inner.shift = torch.tensor([1.0, 4.0])

    def forward(self, x):
        return x * self.scale + self.inner.shift + torch.tensor([5.0, 6.0])


def test_tensors_that_a_module_holds_keep_their_names():
    program = export(HoldsTensors(), (torch.ones(2),))
    assert list(program.constants) == ["scale", "inner.shift", "lifted_tensor_0"]
    names = [spec.arg.name for spec in program.graph_signature.input_specs]
    assert names == ["c_scale", "c_inner_shift", "c_lifted_tensor_0", "x"]
    module = program.module()
    assert torch.equal(module.inner.shift, torch.tensor([1.0, 4.0])) and not module.state_dict()
    assert module(torch.ones(2)).tolist() == [8, 13]
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    assert torch.export.load(buffer).module()(torch.ones(2)).tolist() == [8, 13]


def test_tensors_one_by_one_are_a_list_also_where_something_is_given_by_name():
    module = Module(lambda _, x, y: (torch.meshgrid(x, y, indexing="xy"), torch.meshgrid(x, y), torch.block_diag(x, y)))
    same(module, export(module, (torch.ones(3), torch.arange(2.0))), torch.ones(3), torch.arange(2.0))


def test_a_loop_that_only_multiples_of_the_example_leave_out_is_noticed():
    """Alone, the size of x changes to multiples of 3 only: at others x and y have to change together."""

    class Turns(nn.Module):
        def forward(self, x, y):
            total = x
            for _ in range(x.shape[0] % 3):
                total = total + (y + x)
            return total

    example = torch.ones(3, 4), torch.ones(3, 4)
    with pytest.raises(UserError, match="depends on a size that was to change"):
        export(Turns(), example, dynamic_shapes={"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}})
    program = export(Turns(), example, dynamic_shapes={"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}})
    with pytest.raises(RuntimeError, match="Guard failed"):
        program.module()(torch.ones(5, 4), torch.ones(5, 4))


def test_a_size_that_changes_to_multiples_only_stays_so():
    class Thirds(nn.Module):
        def forward(self, x, y):
            return x.view(3, -1, 4).sum(0), y * 2

    program = export(
        Thirds(), (torch.ones(3, 4), torch.ones(3, 4)), dynamic_shapes={"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}}
    )
    x, y = torch.arange(24.0).view(6, 4), torch.ones(5, 4)
    for found, wanted in zip(program.module()(x, y), Thirds()(x, y)):
        assert torch.equal(found, wanted)


CLASSES_OF_2016 = {
    "sizes": lambda x: torch.FloatTensor(3, 4).fill_(1) + x,
    "size": lambda x: torch.DoubleTensor(torch.Size([4])).fill_(3) * x,
    "no class but Tensor": lambda x: torch.Tensor(4).zero_() + x,
    "a size of the example": lambda x: torch.FloatTensor(x.shape[0], 2).fill_(2).sum() + x,
    "numbers": lambda x: torch.LongTensor([[1], [2]]) + x,
}


@pytest.mark.parametrize("name", CLASSES_OF_2016)
def test_tensors_of_the_classes_of_2016_are_made_by_each_run(name):
    function = CLASSES_OF_2016[name]

    class Made(nn.Module):
        def forward(self, x):
            return function(x)

    program, x = export(Made(), (torch.ones(4),)).module(), torch.tensor([1.0, 2.0, 3.0, 4.0])
    compiled = torch.compile(function, fullgraph=True)
    for _ in range(2):
        for run in (program, compiled):
            found = run(x)
            assert torch.equal(found, function(x)) and found.dtype is function(x).dtype
            found.add_(1)  # of its own
