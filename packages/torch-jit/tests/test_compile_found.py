"""Tensors with as many rows as values say, in programs that are wanted whole: taken as long as nothing asks for their number."""

import pytest
import torch
from torch._dynamo import config, exc

F = torch.nn.functional
X = torch.arange(6.0)
CASES = {
    "a mask": lambda x: x[x > 2] * 2,
    "nonzero": lambda x: x.nonzero() + 1,
    "torch.nonzero": lambda x: torch.nonzero(x > 1),
    "argwhere": lambda x: torch.argwhere(x > 2),
    "masked_select": lambda x: x.masked_select(x > 1).sum(),
    "an index": lambda x: x[x.nonzero()[:, 0]],
    "reshaped": lambda x: (x[x > 2].exp().reshape(-1, 1) * torch.ones(3)).sum(0),
    "zeros like it": lambda x: torch.zeros_like(x[x > 2]) + 1,
    "softmax": lambda x: F.softmax(x[x > 1], 0),
    "normalized": lambda x: F.normalize(x[x > 1], dim=0),
    "padded": lambda x: F.pad(x[x > 1], (1, 1)),
    "joined": lambda x: torch.cat([x[x > 1], x]),
    "two masks": lambda x: x[(x > 1) & (x < 4)] @ x[(x > 1) & (x < 4)],
    "columns": lambda x: x.reshape(2, 3)[:, x[:3] > 0],
    "shape": lambda x: x[x > 2] * x[x > 2].shape[0],
    "size": lambda x: x * x[x > 2].size(0),
    "len": lambda x: x * len(x.nonzero()),
    "numel": lambda x: x * (x[x > 2] * 2).numel(),
    "sorted": lambda x: x[x > 1].sort(descending=True)[0].cumsum(0),
}
REFUSED = {
    "a loop": lambda x: sum(row for row in x[x > 2]),
    "pieces": lambda x: x[x > 2].chunk(2)[0],
    "rows": lambda x: x[x > 2].unbind(0)[0],
    "a branch": lambda x: x if x[x > 9].numel() else -x,
    "a function's own": lambda x: F.interpolate(x[x > 1][None, None], scale_factor=2),
}
WHY = r"(values decide( is a condition)?|a number becomes a float) \(.*:\d+ in .*; (what depends on the number of rows|torch.where chooses|without)"


@pytest.mark.parametrize("name", CASES)
def test_one_program_serves_however_many_rows_there_are(name):
    compiled = torch.compile(CASES[name], fullgraph=True)
    with config.patch(choose_faster=False):
        for x in (X, X - 3, X * 0, X + 9, X.flip(0)):
            expected = CASES[name](x)
            found = compiled(x)
            assert found.dtype == expected.dtype and torch.equal(found, expected)
        assert len(compiled._compiled.programs) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_of_rows_that_is_asked_for_is_refused_with_its_line(name):
    with pytest.raises(exc.Unsupported, match=WHY):
        torch.compile(REFUSED[name], fullgraph=True)(X)
    partly = torch.compile(REFUSED[name])
    for x in (X, X + 9):
        assert torch.equal(torch.as_tensor(partly(x)), torch.as_tensor(REFUSED[name](x)))


def test_gradients_and_other_sizes_and_numbers():
    compiled = torch.compile(lambda x, n: (x[x > n] * n).sum() / x.shape[0], fullgraph=True)
    with config.patch(choose_faster=False):
        for n, size in ((0.5, 4), (1.5, 5), (2.5, 9), (7.0, 3), (1.0, 6)):
            x = torch.arange(float(size), requires_grad=True)
            (found,) = torch.autograd.grad(compiled(x, n), x)
            (expected,) = torch.autograd.grad((x[x > n] * n).sum() / x.shape[0], x)
            assert torch.equal(found, expected)
        assert len(compiled._compiled.programs) <= 3


def test_without_fullgraph_a_setting_captures_them():
    f = lambda x: x[x > 2] * 2 + 1
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    assert torch.equal(torch.compile(f, backend=backend)(X), f(X)) and not any("index" in g.code for g in graphs)
    with config.patch(capture_dynamic_output_shape_ops=True):
        assert torch.equal(torch.compile(f, backend=backend)(X), f(X))
    assert "index" in graphs[-1].code
