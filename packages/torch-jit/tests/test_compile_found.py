"""Tensors with as many rows as values say, in programs that are wanted whole: taken as long as nothing asks for their number."""

import functools
import itertools
import re

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
    "unique": lambda x: torch.unique(x // 2) * 2,
    "how many are unique": lambda x: x * torch.unique(x // 2).numel(),
    "unique with places": lambda x: torch.cat(x.unique(return_inverse=True, return_counts=True)),
    "unique rows": lambda x: x * torch.unique((x // 2).reshape(-1, 1), dim=0).shape[0],
    "runs": lambda x: torch.cat(torch.unique_consecutive(x // 3, return_inverse=True, return_counts=True)),
    "how many runs": lambda x: x * len((x // 3).unique_consecutive()),
    "repeated": lambda x: x.repeat_interleave(x.long().clamp(0)) + 1,
    "rows repeated": lambda x: x.reshape(3, 2).repeat_interleave(x.long().clamp(0)[:3], dim=0).sum(0),
    "positions repeated": lambda x: x * torch.repeat_interleave(x.long().clamp(0)).shape[0],
    "counted": lambda x: x * torch.bincount(x.long().clamp(0)).shape[0] + torch.bincount(x.long().clamp(0)).sum(),
    "where": lambda x: x * torch.where(x > 2)[0].shape[0],
    "places by dim": lambda x: torch.stack(torch.nonzero(x.reshape(2, 3) > 1, as_tuple=True)),
    "where as an index": lambda x: x.index_select(0, torch.where(x > 1)[0]),
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


VALUES = [
    lambda n: torch.arange(n) % 3,
    lambda n: torch.zeros(n),
    lambda n: torch.ones(n),
    lambda n: torch.arange(n) * 7 % 5,
]


def _arguments(parameters, tensor, number):
    """Arguments for the parameters of a schema, all tensors one, all numbers one; None where others are asked for."""
    args, kwargs, by_name = [], {}, False
    for each in re.split(r", (?![^\[(]*[\])])", parameters):
        by_name = by_name or each == "*"
        kind, _, name = each.partition(" ")
        if kind == "*" or "=" in name:
            continue
        if kind.startswith("Tensor"):
            value = [tensor] if "[]" in kind else tensor
        elif kind.startswith(("int", "Number", "float", "bool")):
            value = [number] * tensor.dim() if "[" in kind else bool(number) if kind == "bool" else number
        else:
            return None
        (kwargs.__setitem__(name, value) if by_name else args.append(value))
    return args, kwargs


def _sizes(operator, arguments):
    args, kwargs = arguments
    found = operator(*args, **kwargs)
    return [
        tuple(t.shape) for t in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(t, torch.Tensor)
    ]


def _calls_by_values():
    """Calls of operators whose results have other sizes for other values."""
    for row in torch._C._rows():
        name, _, rest = row["schema"].partition("(")
        if name.endswith("_"):
            continue
        operator, parameters = torch._C._operator(name.partition(".")[0]), rest[: rest.rindex(") ->")]
        for shape, dtype, number in itertools.product([(6,), (2, 3)], [torch.int64, torch.bool], [0, 1]):
            made = [_arguments(parameters, of(6).reshape(shape).to(dtype), number) for of in VALUES]
            try:
                found = [_sizes(operator, each) for each in made]
            except (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError):
                continue
            if any(each != found[0] for each in found):
                yield name, operator, made


def test_every_operator_whose_sizes_follow_from_values_is_known_for_it():
    tried = set()
    with config.patch(choose_faster=False):
        for name, operator, made in _calls_by_values():
            tried.add(name)
            compiled = torch.compile(functools.partial(_sizes, operator))
            for arguments in made:
                assert compiled(arguments) == _sizes(operator, arguments), name
    assert tried >= {"nonzero", "where", "_unique_consecutive", "repeat_interleave", "bincount", "one_hot"}
