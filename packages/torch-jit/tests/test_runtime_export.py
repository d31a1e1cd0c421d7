"""Exported programs in the form that runs without Python: torch.jit.save takes them."""

import io

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.jit import _ir

load_program = _ir._native.load_program


def loaded(program):
    out = io.BytesIO()
    torch.jit.save(program, out)
    return load_program(out.getvalue()), torch.jit.load(io.BytesIO(out.getvalue()))


class Split(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, 1)
        values, indices = (a * b).max(1)
        return values, indices.to(torch.float64), torch.cat([a, b], 1).reshape(x.shape[0] * 2, -1)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.mask = torch.ones(5, 5).tril().log()

    def forward(self, x):
        return self.norm(x + self.attention(x, x, x, attn_mask=self.mask, need_weights=False)[0])


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return x * self.count


MODELS = {
    "linear": (lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), (torch.randn(3, 4),)),
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        (torch.randn(2, 1, 8, 8),),
    ),
    "attention": (Masked, (torch.randn(2, 5, 8),)),
    "split": (Split, (torch.randn(3, 6),)),
    "embedding": (lambda: nn.Sequential(nn.Embedding(7, 3), nn.Softmax(-1)), (torch.tensor([[1, 2], [3, 6]]),)),
}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_an_exported_program_gives_what_the_module_gives(name):
    torch.manual_seed(0)
    make, args = MODELS[name]
    module = make().eval()
    with torch.no_grad():
        wanted = module(*args)
        for each in loaded(torch.export.export(module, args)):
            found = each.run("forward", *args) if hasattr(each, "run") else each(*args)
            pairs = [(wanted, found)] if isinstance(wanted, torch.Tensor) else zip(wanted, found, strict=True)
            assert all(torch.allclose(a, b, atol=1e-6) and a.dtype == b.dtype for a, b in pairs)


def test_sizes_may_change_where_the_export_says_so():
    torch.manual_seed(0)
    module = Split()
    batch = torch.export.Dim("batch")
    program = torch.export.export(module, (torch.randn(3, 6),), dynamic_shapes=({0: batch},))
    run, _ = loaded(program)
    assert run.signature("forward") == "forward(Tensor x) -> (Tensor, Tensor, Tensor)"
    for n in (1, 4, 9):
        x = torch.randn(n, 6)
        assert all(torch.equal(a, b) for a, b in zip(module(x), run.run("forward", x)))


def test_a_buffer_that_the_program_writes_to_keeps_its_value_from_call_to_call():
    run, again = loaded(torch.export.export(Counter(), (torch.ones(2),)))
    assert [run.run("forward", torch.ones(2)).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
    assert [again(torch.ones(2)).tolist() for _ in range(2)] == [[1, 1], [2, 2]]


class Called(nn.Module):
    """A function of its arguments."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def attended(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)


WHOLE = {
    "lstm": (nn.LSTM(3, 4, 2, bidirectional=True), (torch.randn(5, 2, 3),)),
    "gru": (nn.GRU(3, 4, batch_first=True, bias=False), (torch.randn(5, 2, 3), torch.randn(1, 5, 4))),
    "rnn": (nn.RNN(3, 4, nonlinearity="relu"), (torch.randn(5, 2, 3),)),
    "instance_norm": (nn.InstanceNorm1d(4, affine=True), (torch.randn(2, 4, 6),)),
    "running_instance_norm": (nn.InstanceNorm2d(3, track_running_stats=True), (torch.randn(1, 3, 4, 4),)),
    "attention": (Called(attended), tuple(torch.randn(3, 1, 2, 5, 4))),
    "max_pool": (nn.MaxPool2d(2), (torch.randn(1, 2, 6, 6),)),
    "one_hot": (Called(lambda x: F.one_hot(x, 5)), (torch.tensor([1, 4]),)),
    "scaled": (nn.Upsample(scale_factor=2.5, mode="nearest"), (torch.randn(1, 2, 4, 5),)),
    "resized": (nn.Upsample((7, 3), mode="bicubic", align_corners=True), (torch.randn(1, 2, 4, 5),)),
    "line": (nn.Upsample(scale_factor=2, mode="linear"), (torch.randn(1, 2, 4),)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_functions_that_programs_keep_whole_are_operators(name):
    module, args = WHOLE[name]
    module = module.eval()
    with torch.no_grad():
        wanted = leaves(module(*args))
        run, again = loaded(torch.export.export(module, args))
        for found in (run.run("forward", *args), again(*args)):
            for a, b in zip(leaves(found), wanted, strict=True):  # attention sums its rows in another order
                torch.testing.assert_close(a, b, atol=1e-6 if name == "attention" else 0, rtol=0)


def leaves(value):
    return [value] if isinstance(value, torch.Tensor) else [part for each in value for part in leaves(each)]


def test_sizes_of_whole_functions_may_change():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LSTM(3, 4)

        def forward(self, x):
            y = self.layer(x)[0]
            return F.interpolate(y.permute(1, 2, 0), size=(x.shape[0] * 2,), mode="linear")

    module = Net().eval()
    program = torch.export.export(module, (torch.randn(5, 2, 3),), dynamic_shapes=({0: torch.export.Dim("time")},))
    run, again = loaded(program)
    with torch.no_grad():
        for steps in (5, 2, 9):
            x = torch.randn(steps, 2, 3)
            assert torch.equal(run.run("forward", x), module(x)) and torch.equal(again(x), module(x))


def test_a_function_of_python_is_refused():
    program = torch.export.export(
        Called(lambda x, grid: F.grid_sample(x, grid)), (torch.randn(1, 1, 3, 3), torch.zeros(1, 2, 2, 2))
    )
    with pytest.raises(NotImplementedError, match="torch.jit.save: a call of .*grid_sample"):
        torch.jit.save(program, io.BytesIO())


def test_an_input_that_the_program_writes_to_is_refused():
    class Writes(nn.Module):
        def forward(self, x):
            return x.add_(1)

    program = torch.export.export(Writes(), (torch.ones(2),))
    with pytest.raises(NotImplementedError, match="an output of kind USER_INPUT_MUTATION"):
        torch.jit.save(program, io.BytesIO())
