"""Every row, given sparse tensors: it computes with them, or says that it does not. No row may look for their memory."""

import re

import pytest
import torch
from rows import ROWS

ORDINARY = (RuntimeError, TypeError, ValueError, IndexError)  # NotImplementedError is a RuntimeError
GIVEN = {
    "int": 0, "int?": 0, "int[]": [0], "int[]?": [0], "bool": False, "bool?": False, "float": 1.0, "float?": 1.0, "Scalar": 1,
    "Scalar?": 1, "str": "mean", "str?": None, "dtype": torch.float32, "dtype?": None, "device": "cpu", "device?": None,
    "layout": torch.strided, "layout?": None, "memory_format": torch.contiguous_format, "memory_format?": None,
    "generator": None, "generator?": None,
}  # fmt: skip


def split_schema(row):
    head = row.schema.partition("(")[2].rpartition(") -> ")[0]
    return re.split(r",\s*(?![^\[]*\])", head) if head else []


def parameters(row):
    """The types of the leading parameters: those that a call needs, and further tensors."""
    for p in split_schema(row):
        if p == "*" or ("=" in p and not re.match(r"(Tensor|Number)", p)):
            return
        yield re.sub(r"\([a-z]!?\)", "", p.split(" ")[0])


def keywords(row):
    """Values of those that a call needs by name."""
    named = "".join(f"{p}," for p in split_schema(row)).partition("*,")[2].split(",")
    return {p.split(" ")[1]: GIVEN[p.split(" ")[0]] for p in map(str.strip, named) if p and "=" not in p}


def sparse(kind):
    if kind == "hybrid":
        return torch.sparse_coo_tensor([[0, 1, 0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (2, 2))
    if kind == "empty":
        return torch.zeros(2, 2, layout=torch.sparse_coo)
    if kind == "scalar":
        return torch.sparse_coo_tensor(torch.zeros(0, 1, dtype=torch.int64), [1.0], ())
    s = torch.sparse_coo_tensor([[0, 1, 0], [1, 1, 1]], [1.0, 2.0, 3.0], (2, 2))
    return s.requires_grad_() if kind == "grad" else s.to("meta") if kind == "meta" else s


def arguments(row, which, kind):
    """Tensor number `which` sparse, or all of them for None; the others are dense."""
    count, args = 0, []
    for p in parameters(row):
        if p.startswith(("Tensor", "Number")):
            t = sparse(kind) if which is None or which == count else torch.ones(2, 2)
            args.append([t, t] if p.endswith("[]") else t)
            count += 1
        else:
            args.append(GIVEN[re.sub(r"\[\d+\]", "[]", p)])
    return args, count


TAKING = [r for r in ROWS if any(p.startswith(("Tensor", "Number")) for p in parameters(r))]


@pytest.mark.parametrize("kind", ["plain", "hybrid", "grad", "empty", "scalar", "meta"])
def test_a_row_computes_with_sparse_tensors_or_refuses_them(kind):
    if kind == "grad":
        pytest.importorskip("torch.autograd")
    for row in TAKING:
        _, count = arguments(row, None, kind)
        for which in [None, *range(count)]:
            args, _ = arguments(row, which, kind)
            try:
                row.call(*args, **keywords(row))
            except ORDINARY as error:
                assert str(error)
                continue


def test_a_row_that_knows_no_sparse_tensors_says_what_to_do():
    refused = 0
    for row in TAKING:
        if row.info["sparse"] or sum(r.name == row.name for r in ROWS) > 1:
            continue
        args, _ = arguments(row, None, "plain")
        try:
            row.call(*args, **keywords(row))
            continue  # zeros stay zeros: the layer of sparse tensors computes on the values
        except RuntimeError as error:
            text = str(error)
            if "can't be cast" in text:
                continue  # as above, into a tensor of numbers
            if "not implemented for torch.float32" in text:
                continue  # of bitwise operators the layer computes on whole numbers
        assert text.startswith(row.name.rstrip("_")) and "torch.sparse_coo" in text and ".to_dense()" in text, text
        refused += 1
    assert refused > 300
