"""Exported programs in the form that runs without Python: torch.jit.save takes them."""

import io

import pytest
import torch
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


def test_a_function_of_python_is_refused():
    program = torch.export.export(nn.GRU(3, 4), (torch.randn(2, 5, 3),))
    with pytest.raises(NotImplementedError, match="torch.jit.save: a call of .*recurrent"):
        torch.jit.save(program, io.BytesIO())


def test_an_input_that_the_program_writes_to_is_refused():
    class Writes(nn.Module):
        def forward(self, x):
            return x.add_(1)

    program = torch.export.export(Writes(), (torch.ones(2),))
    with pytest.raises(NotImplementedError, match="an output of kind USER_INPUT_MUTATION"):
        torch.jit.save(program, io.BytesIO())
