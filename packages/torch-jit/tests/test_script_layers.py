"""Every layer of torch.nn is compiled, computes the same, and is saved."""

import copy
import io

import pytest
import script_layers
import torch
from test_script import same
from torch import nn


def made(name, training):
    torch.manual_seed(0)
    make, args = script_layers.LAYERS[name]
    return make().train(training), copy.deepcopy(args)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", list(script_layers.LAYERS))
def test_a_layer_is_compiled(name, training):
    layer, args = made(name, training)
    plain = copy.deepcopy(layer)
    compiled = torch.jit.script(layer)
    torch.manual_seed(1)
    want = plain(*args)
    torch.manual_seed(1)
    got = compiled(*args)
    for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (want, got))):
        if isinstance(a, torch.Tensor):
            assert torch.allclose(a, b, atol=1e-5, equal_nan=True)
        else:
            assert same(tuple(a), tuple(b)) if isinstance(a, tuple) else a == b


@pytest.mark.parametrize("name", list(script_layers.LAYERS))
def test_a_layer_is_saved_and_loaded(name):
    layer, args = made(name, False)
    compiled = torch.jit.script(layer)
    out = io.BytesIO()
    torch.jit.save(compiled, out)
    loaded = torch.jit.load(io.BytesIO(out.getvalue()))
    want, got = compiled(*args), loaded(*args)
    first = [each[0] if isinstance(each, tuple) else each for each in (want, got)]
    assert torch.allclose(*first, atol=1e-6, equal_nan=True)


def test_the_layout_of_an_image_is_asked_for():
    @torch.jit.script
    def lies(x):
        return x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last)

    x = torch.ones(2, 3, 4, 5)
    assert lies(x) == (True, False)
    assert lies(x.contiguous(memory_format=torch.channels_last)) == (False, True)
    assert lies(x[0]) == (True, False)


def test_whether_autocast_is_on_is_asked_for_when_it_runs():
    @torch.jit.script
    def asked(x):
        return torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")

    assert asked(torch.ones(1)) == (False, False)
    with torch.autocast("cpu", torch.bfloat16):
        assert asked(torch.ones(1)) == (True, False)


@pytest.mark.parametrize(
    "layer, shape",
    [(nn.Dropout1d, (5, 3)), (nn.Dropout1d, (2, 5, 3)), (nn.Dropout3d, (5, 4, 2, 2)), (nn.Dropout3d, (2, 5, 4, 2, 2))],
)
def test_whole_channels_are_dropped_with_a_batch_and_without(layer, shape):
    x, found = torch.ones(shape), []
    for each in (layer(0.5), torch.jit.script(layer(0.5))):
        torch.manual_seed(3)
        found.append(each(x))
    assert torch.equal(*found)


class Packs(nn.Module):
    """Sequences of any order, packed, through a layer, and padded again."""

    def __init__(self, kind):
        super().__init__()
        self.layer = kind(2, 3, 2, bidirectional=True, batch_first=True)

    def forward(self, x: torch.Tensor, n: torch.Tensor):
        packed = nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False)
        out, h = self.layer(packed)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, padding_value=-1.0, total_length=6)
        return padded, lengths, h


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_layers_take_packed_sequences_and_are_saved(kind):
    torch.manual_seed(0)
    layer, x, n = Packs(kind), torch.randn(3, 5, 2), torch.tensor([2, 5, 3])
    want, compiled, file = layer(x, n), torch.jit.script(layer), io.BytesIO()
    same(compiled(x, n), want)
    torch.jit.save(compiled, file)
    file.seek(0)
    same(torch.jit.load(file)(x, n), want)
    # each sequence by itself, in both directions of time
    for i, steps in enumerate(n.tolist()):
        same(want[0][i, :steps], layer.layer(x[i : i + 1, :steps])[0][0])
        assert (want[0][i, steps:] == -1).all()


class Given(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(2, 3)

    def forward(
        self, packed: nn.utils.rnn.PackedSequence, h: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[nn.utils.rnn.PackedSequence, tuple[torch.Tensor, torch.Tensor]]:
        return self.layer(packed, h)


def test_packed_sequences_are_arguments_and_results_of_scripts():
    torch.manual_seed(0)
    layer, h = Given(), (torch.randn(1, 2, 3), torch.randn(1, 2, 3))
    packed = nn.utils.rnn.pack_sequence([torch.randn(2, 2), torch.randn(4, 2)], enforce_sorted=False)
    found, want = torch.jit.script(layer)(packed, h), layer(packed, h)
    assert type(found[0]) is nn.utils.rnn.PackedSequence
    same(tuple(found[0]), tuple(want[0]))
    same(found[1], want[1])


def padded(x: list[torch.Tensor]) -> torch.Tensor:
    return nn.utils.rnn.pad_sequence(x, batch_first=True, padding_value=2.0, padding_side="left")


def packed_by_a_list(x: torch.Tensor, n: list[int]) -> torch.Tensor:
    return nn.utils.rnn.pack_padded_sequence(x, n).data


def test_sequences_are_padded_and_packed_by_lists_in_scripts():
    sequences = [torch.arange(3.0), torch.arange(5.0)]
    same(torch.jit.script(padded)(sequences), padded(sequences))
    x = torch.arange(6.0).reshape(3, 2)
    assert torch.jit.script(packed_by_a_list)(x, [3, 1]).tolist() == [0, 1, 2, 4]
    with pytest.raises(torch.jit.Error, match="total_length"):
        torch.jit.script(too_short)(x, torch.tensor([3, 1]))


def too_short(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    packed = nn.utils.rnn.pack_padded_sequence(x, n)
    return nn.utils.rnn.pad_packed_sequence(packed, total_length=1)[0]


def text_of(fn):
    """A function of torch compiled by itself, written and read again."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(fn), file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


X, Y = torch.linspace(-2, 2, 12).reshape(3, 4), torch.linspace(0.1, 0.9, 12).reshape(3, 4)
OF_TORCH = {
    "mse_loss": [(X, Y), (X, Y, None, None, "sum")], "l1_loss": [(X, Y), (X, Y, None, None, "none", Y)],
    "smooth_l1_loss": [(X, Y, None, None, "mean", 0.5), (X, Y, None, None, "sum")],
    "hinge_embedding_loss": [(X, Y.round() * 2 - 1), (X, Y.round() * 2 - 1, 0.5, False, None)],
    "triplet_margin_loss": [(X, Y, X + 1), (X, Y, X + 1, 0.5, 2.0, 1e-6, True, None, None, "none")],
    "pad": [(X, [1, 2]), (X, [1, 1], "reflect"), (X, [1, 1], "constant", 2.0)],
    "softmax": [(X, 1), (X, 0, 3, torch.float64)], "instance_norm": [(X[None],), (X[None], None, None, Y[0, :3], Y[1, :3])],
    "lp_pool1d": [(X.abs(), 2.0, [2]), (X.abs(), 1.0, [2], [1])], "adaptive_avg_pool2d": [(X[None], [2, 2]), (X[None], [1, 3])],
    "dropout2d": [(X[None], 0.5, False), (X[None], 1.0)], "alpha_dropout": [(X, 0.5), (X, 1.0, True)], "rms_norm": [(X, [4])],
    "threshold": [(X, 0.1, 20.0)], "layer_norm": [(X, [4], Y[0]), (X, [3, 4])], "group_norm": [(X[None].expand(2, 3, 4), 3)],
}  # fmt: skip


@pytest.mark.parametrize("name", OF_TORCH)
def test_functions_of_torch_are_compiled_by_themselves(name):
    fn = getattr(nn.functional, name)
    loaded = text_of(fn)
    for args in OF_TORCH[name]:
        torch.manual_seed(0)
        want = fn(*args)
        torch.manual_seed(0)
        assert torch.allclose(torch.jit.script(fn)(*args), want)
        torch.manual_seed(0)
        assert torch.allclose(loaded(*args), want)


def test_one_number_stands_for_several_of_a_function_compiled_by_itself():
    assert torch.jit.script(nn.functional.adaptive_avg_pool2d)(X[None], 2).shape == (1, 2, 2)
    assert torch.equal(torch.jit.script(nn.functional.lp_pool2d)(X[None], 1, 2), nn.functional.lp_pool2d(X[None], 1, 2))


def test_a_text_that_only_the_run_tells_chooses_among_what_a_function_takes():
    @torch.jit.script
    def loss(x, y, how: str):
        return nn.functional.soft_margin_loss(x, y, reduction=how)

    for how in ("none", "mean", "sum"):
        assert torch.allclose(loss(X, Y, how), nn.functional.soft_margin_loss(X, Y, reduction=how))
    assert not loss.graph.findAllNodes("prim::PythonOp")
    with pytest.raises(Exception, match="'other' is not a valid value for reduction"):
        loss(X, Y, "other")


def test_the_inlined_graph_of_a_slice_of_a_list_is_shown():
    @torch.jit.script
    def shape(x):
        return x.shape[1:]

    assert "aten::slice" in str(shape.inlined_graph) and shape(X) == [4]
