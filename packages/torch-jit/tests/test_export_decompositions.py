"""``ExportedProgram.run_decompositions``: core ATen, and tables of one's own."""

import pytest
import torch
from test_export_numbers import again
from torch import nn
from torch.export import Dim, default_decompositions, export

aten = torch.ops.aten


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

    def forward(self, x):
        x = nn.functional.silu(self.norm(self.linear(x)))
        values, places = torch.cond(x.sum() > 0, nn.functional.silu, torch.sin, (x,)).max(-1)
        return values, places, x


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5, cudnn=True):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + eps) * weight + bias


def table():
    found = default_decompositions()
    found[aten.linear.default] = lambda x, w, b: torch.addmm(b, x, w.t())
    found[aten.silu] = lambda x: x * torch.sigmoid(x)
    found[aten.layer_norm.default] = layer_norm
    found[aten.max.dim] = lambda x, dim, keepdim=False: (x.amax(dim, keepdim), x.argmax(dim, keepdim))
    assert found.pop(aten.relu.default) is None
    return found


@pytest.mark.parametrize("moves", [False, True])
def test_functions_stand_for_operators(moves):
    net, shapes = Net(), ({0: Dim("rows")},) if moves else None
    program = export(net, (torch.randn(3, 4),), dynamic_shapes=shapes)
    made = program.run_decompositions(table())
    made.validate()
    graphs = [made.graph, *(m.graph for m in made.graph_module.children())]
    targets = {str(n.target) for graph in graphs for n in graph.nodes}
    assert {"aten.addmm.default", "aten.sigmoid.default", "aten.var.correction", "aten.argmax.default"} <= targets
    assert not targets & {"aten.linear.default", "aten.silu.default", "aten.layer_norm.default", "aten.max.dim"}
    assert any(n.target is aten.linear.default for n in program.graph.nodes), "the program itself is as it was"
    for sign in (1, -1):
        x = sign * torch.randn(6 if moves else 3, 4)
        for run in (made.module(), again(made).module()):
            torch.testing.assert_close(run(x), net(x))


def test_what_cannot_be_replaced_is_named():
    class Ones(nn.Module):
        def forward(self, x):
            return x.new_ones(x.shape[0])

    program = export(Ones(), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    with pytest.raises(NotImplementedError, match="aten.new_ones.default takes the number sym_size_int"):
        program.run_decompositions({aten.new_ones.default: lambda x, size: torch.ones(size)})
    program = export(nn.SiLU(), (torch.ones(3),))
    with pytest.raises(NotImplementedError, match="aten.silu.default has a tensor of its own"):
        program.run_decompositions({aten.silu.default: lambda x: x * torch.tensor([1.0, 2, 3])})


# --- core ATen ---


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.up = nn.Conv2d(3, 4, 3, padding="same"), nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.norm, self.groups = nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
        self.norm.running_mean.normal_(), self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = self.groups(self.up(self.norm(self.conv(x)).square()))
        x = nn.functional.max_pool2d(nn.functional.dropout(nn.functional.relu6(x), training=self.training), 2)
        flat = nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return flat, nn.functional.adaptive_avg_pool2d(x, (2, 3)), nn.functional.pad(flat, (1, 2)), x.reshape_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.wide, self.norm = nn.Linear(4, 12), nn.LayerNorm(4)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 2)).transpose(1, 2) for part in self.wide(self.norm(x)).chunk(3, -1))
        together = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return together.log_softmax(-1), q @ k.mT, q.movedim(0, -1).contiguous(), together.expand_as(x).narrow(1, 1, 2)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lstm, self.gru = nn.LSTM(4, 3, 2, batch_first=True), nn.GRU(3, 2, bidirectional=True)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.gru(out)[0], h, c


#: of the operators that stay, by PyTorch's names
CORE = """_adaptive_avg_pool2d.default _log_softmax.default _native_batch_norm_legit_no_training.default _softmax.default add.Tensor
addmm.default bmm.default cat.default clone.default constant_pad_nd.default convolution.default expand.default hardtanh.default
max_pool2d_with_indices.default mean.dim mm.default mul.Tensor native_group_norm.default native_layer_norm.default permute.default
pow.Tensor_Scalar scaled_dot_product_attention.default select.int sigmoid.default slice.Tensor split_with_sizes.default sub.Tensor tanh.default unsqueeze.default view.default zeros.default"""


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize(("kind", "shape"), [(Vision, (3, 3, 6, 6)), (Attention, (3, 5, 4)), (Layers, (3, 5, 4))])
def test_a_program_becomes_core_operators_that_compute_the_same(kind, shape, moves):
    net = kind().eval()
    program = export(net, (torch.randn(shape),), dynamic_shapes=({0: Dim("n", min=2)},) if moves else None)
    made = program.run_decompositions()
    made.validate()
    targets = {str(n.target).removeprefix("aten.") for n in made.graph.nodes if n.op == "call_function"}
    if not moves:
        assert targets <= {*CORE.split(), "<built-in function getitem>"}
    x = torch.randn(2, *shape[1:]) if moves else torch.randn(shape)
    for run in (made.module(), again(made).module()):
        torch.testing.assert_close(run(x), net(x))
    for node in made.graph.nodes:
        if isinstance(node.meta.get("val"), torch.Tensor):
            assert node.meta["tensor_meta"].shape == node.meta["val"].shape


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_whose_length_may_change_is_one_operator(kind):
    net, x = kind(2, 3, bidirectional=True), torch.randn(4, 1, 2)
    made = export(net, (x,), dynamic_shapes=({0: Dim("n", min=2)},)).run_decompositions()
    names = {kind: f"aten.{name}.input" for kind, name in ((nn.LSTM, "lstm"), (nn.GRU, "gru"), (nn.RNN, "rnn_tanh"))}
    assert names[kind] in {str(n.target) for n in made.graph.nodes}
    torch.testing.assert_close(made.module()(torch.cat([x, x]))[0], net(torch.cat([x, x]))[0])


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.norm, self.linear = nn.LSTM(4, 3), nn.BatchNorm1d(2), nn.Linear(3, 3)

    def forward(self, x):
        out = self.linear(self.norm(self.layers(x)[0]))
        image = torch.einsum("tni,tnj->tij", out, out)[None]
        sizes = [
            nn.functional.interpolate(image, scale_factor=2, mode=mode) for mode in ("nearest", "bilinear", "bicubic")
        ]
        return sizes[0].chunk(2, -1)[0].flatten(1), sizes[1], sizes[2].softmax(-1)


def test_an_empty_table_leaves_layers_whole():
    net, x = Whole().eval(), torch.randn(3, 2, 4)
    made = export(net, (x,)).run_decompositions({})
    names = {str(n.target) for n in made.graph.nodes if n.op == "call_function"}
    assert {
        "aten.lstm.input", "aten._native_batch_norm_legit_no_training.default", "aten.linear.default", "aten.einsum.default",
        "aten.upsample_nearest2d.vec", "aten.upsample_bilinear2d.vec", "aten.upsample_bicubic2d.vec", "aten.split_with_sizes.default",
        "aten.view.default", "aten.softmax.int",
    } <= names  # fmt: skip
    assert not {"aten.chunk.default", "aten.flatten.using_ints", "aten.addmm.default"} & names
    for run in (made.module(), again(made).module()):
        for found, wanted in zip(run(x), net(x), strict=True):
            torch.testing.assert_close(found, wanted)


def test_a_norm_that_trains_stays():
    program = export(nn.Sequential(nn.Conv1d(2, 2, 3), nn.BatchNorm1d(2), nn.Dropout()), (torch.randn(2, 2, 5),))
    targets = [str(n.target) for n in program.run_decompositions().graph.nodes if n.op == "call_function"]
    assert "aten.convolution.default" in targets and "aten.batch_norm.default" in targets
    assert "aten.dropout.default" in targets


def test_operators_taken_out_of_the_table_stay():
    kept = default_decompositions()
    del kept[aten.linear.default]
    assert kept.pop(aten.relu.default) is None and aten.linear.default not in kept.copy()
    with pytest.raises(KeyError):
        del kept[aten.linear.default]
    program = export(nn.Sequential(nn.Linear(2, 2), nn.Softmax(-1)), (torch.ones(1, 2),)).run_decompositions(kept)
    targets = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert targets == ["aten.linear.default", "aten._softmax.default"]
    x = torch.randn(2, 3)
    assert torch.equal(default_decompositions()[aten.t.default](x), x.t())


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


#: what the programs above do not tell apart
CALLS = {
    "relu6 above six": lambda x: nn.functional.relu6(9 * x),
    "padding of a window of two": lambda x: nn.functional.conv1d(x, x[:, :, :2] + 1, padding="same"),
    "padding and dilation": lambda x: nn.functional.conv1d(x, x[:, :, :2] + 1, padding="same", dilation=3),
    "maxima of a line": lambda x: nn.functional.max_pool1d(x, 3, 2, 1),
    "products of batches": lambda x: x[:1] @ x.mT + x[0] @ x.mT,
    "a product with a matrix": lambda x: x.softmax(-1, torch.float64) @ x[0].double().t(),
    "products of two in a batch": lambda x: torch.einsum("bij,bkj->bik", x, 2 * x),
    "products in another order": lambda x: torch.einsum("bij,bkj,b->kib", x, x + 1, x[:, 0, 0]),
    "sums of one": lambda x: torch.einsum("bij->jb", x) + torch.einsum("bij,kj->jb", x, x[0]),
    "products without a sum": lambda x: torch.einsum("bij,bkj->bikj", x, x[:1].expand(3, 3, 8)).sum(1),
    "nearest in a line": lambda x: nn.functional.interpolate(x, 5),
    "exactly nearest": lambda x: nn.functional.interpolate(x, scale_factor=1.7, mode="nearest-exact"),
    "a line": lambda x: nn.functional.interpolate(x, scale_factor=1.7, mode="linear"),
    "a line with corners": lambda x: nn.functional.interpolate(x, 5, mode="linear", align_corners=True),
    "an image": lambda x: nn.functional.interpolate(x[None], scale_factor=(2, 1.5), mode="bilinear"),
    "an image with corners": lambda x: nn.functional.interpolate(x[None], (5, 7), mode="bilinear", align_corners=True),
    "an image of nearest pixels": lambda x: nn.functional.interpolate(x[None], scale_factor=2),
    "an image by a factor that is computed again": lambda x: nn.functional.interpolate(
        x[None], scale_factor=1.3, mode="bilinear", recompute_scale_factor=True
    ),
    "a cubic image": lambda x: nn.functional.interpolate(x[None], (5, 8), mode="bicubic"),
    "a cubic image with corners": lambda x: nn.functional.interpolate(
        x[None], (7, 3), mode="bicubic", align_corners=True
    ),
    "a volume": lambda x: nn.functional.interpolate(x[None, None], (2, 5, 9), mode="trilinear"),
    "means of areas": lambda x: nn.functional.interpolate(x[None], (2, 3), mode="area"),
    "parts and a stack of them": lambda x: torch.stack([part * 2 for part in x.unbind(1)], -1),
    "views of what is turned": lambda x: x.transpose(0, 2).reshape(-1) + x.swapaxes(0, 2).flatten(),
}


@pytest.mark.parametrize("function", CALLS.values(), ids=CALLS.keys())
def test_a_call_becomes_core_operators(function):
    torch.manual_seed(0)
    net, x = Calls(function), torch.randn(3, 3, 8)
    made = export(net, (x,)).run_decompositions()
    whole = ("relu6", "conv1d", "matmul", "max_pool1d", "_einsum", "unbind", "stack", "adaptive_avg_pool")
    targets = {str(n.target) for n in made.graph.nodes if n.op == "call_function"}
    assert not targets & {f"aten.{name}.default" for name in whole}
    assert all(target.startswith(("aten.", "<built-in")) for target in targets), targets
    torch.testing.assert_close(made.module()(x), net(x))


def test_a_decomposed_program_has_the_tensors_of_the_first():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x):
            self.n.add_(1)
            return self.layer(x) + self.n

    program = torch.export.export(Counts(), (torch.ones(1, 1),))
    decomposed = program.run_decompositions()
    assert all(decomposed.state_dict[name] is tensor for name, tensor in program.state_dict.items())
    assert decomposed.graph is not program.graph and decomposed.state_dict is not program.state_dict
    for module in (program.module(), decomposed.module(), program.module()):
        module(torch.ones(1, 1))
    assert program.state_dict["n"].item() == 3
