"""Tensors in a subscript behind ``...``, lists that are repeated in place, complex numbers, and texts that say a dict's type."""

from __future__ import annotations

import cmath
import io
from typing import Dict, List, Optional, Tuple  # noqa: UP035

import pytest
import torch
from torch.jit import _ir

X = torch.arange(120.0).reshape(2, 3, 4, 5)
I, J = torch.tensor([0, 2]), torch.tensor([1, 0])


def last(x, i, j):
    return x[..., i]


def before_last(x, i, j):
    return x[..., i, :]


def behind_a_number(x, i, j):
    return x[0, ..., i]


def on_both_sides(x, i, j):
    return x[j, ..., i]


def two(x, i, j):
    return x[..., i, j]


def beside_a_number(x, i, j):
    return x[..., i, 0]


def between_numbers(x, i, j):
    return x[..., i, 0, j]


def beside_a_slice(x, i, j):
    return x[:, ..., 1:, i]


def with_new_dims(x, i, j):
    return x[None, ..., i, None, j, None]


def a_mask(x, i, j):
    return x[..., x[0, 0] > 62, :] if x.dim() == 9 else x[..., x[0] > 30]


def a_mask_of_all(x, i, j):
    return x[..., x > 30]


def a_list(x, i, j):
    return x[..., [0, 1]]


def written(x, i, j):
    y = x.clone()
    y[..., i] = -1.0
    y[..., j, :] += 100.0
    y[0, ..., 1, i] *= 3.0
    y[..., i, j] = torch.ones(2)
    return y


CASES = (last, before_last, behind_a_number, on_both_sides, two, beside_a_number, between_numbers, beside_a_slice, with_new_dims,
         a_mask, a_mask_of_all, a_list, written)  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_tensors_stand_behind_an_ellipsis(function):
    script = torch.jit.script(function)
    expected = function(X, I, J)
    assert torch.equal(script(X, I, J), expected)
    file = io.BytesIO()
    script.save(file)
    assert torch.equal(torch.jit.load(io.BytesIO(file.getvalue()))(X, I, J), expected)
    assert torch.equal(_ir._native.load_program(file.getvalue()).run("forward", X, I, J), expected)


def test_too_many_indices_are_refused():
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 1"):
        torch.jit.script(two)(torch.arange(3), I, J)


def mask_and_number(x, mask):
    return x[..., 0, mask]


def test_a_mask_of_several_dims_beside_a_number_is_refused():
    script = torch.jit.script(mask_and_number)
    mask = torch.tensor([True, False, True, True, True])
    assert torch.equal(script(X, mask), X[..., 0, mask])
    with pytest.raises(IndexError, match=r"a mask of 2 dims behind \.\.\."):
        script(X, X[0, 0] > 3)


def repeated(n: int) -> Tuple[List[int], bool]:  # noqa: UP006
    values = [1, 2]
    same = values
    values *= n
    return same, values is same


@pytest.mark.parametrize("n", [-1, 0, 1, 3])
def test_a_list_is_repeated_in_place(n):
    assert torch.jit.script(repeated)(n) == repeated(n)


def named(words: List[str]) -> Dict[str, Optional[int]]:  # noqa: UP006, UP045
    found: Dict[str, Optional[int]] = {word: None for word in words}  # noqa: UP006, UP045, C420
    for word in words:
        found[word] = len(word)
    return found


def test_a_dict_comprehension_has_the_type_that_is_said():
    assert torch.jit.script(named)(["a", "bc"]) == named(["a", "bc"])


def functions(z: complex):
    return (
        cmath.exp(z), cmath.log(z), cmath.log10(z), cmath.log(z, 2), cmath.sqrt(z), cmath.sin(z), cmath.cos(z), cmath.tan(z),
        cmath.asin(z), cmath.acos(z), cmath.atan(z), cmath.sinh(z), cmath.cosh(z), cmath.tanh(z), cmath.asinh(z),
        cmath.acosh(z), cmath.atanh(z), cmath.phase(z), cmath.polar(z), cmath.rect(2.0, 0.5), cmath.sqrt(-1), cmath.isnan(z),
        cmath.isinf(z), cmath.isfinite(z),
    )  # fmt: skip


def flat(values):
    return [each for value in values for each in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize("z", [1 + 2j, -0.5 - 0.25j, 3 + 0j])
def test_functions_of_complex_numbers(z):
    found, expected = flat(torch.jit.script(functions)(z)), flat(functions(z))
    assert [type(each) for each in found] == [type(each) for each in expected]
    assert all(cmath.isclose(a, b, abs_tol=1e-14) for a, b in zip(found, expected, strict=True))


def logarithm(z: complex) -> complex:
    return cmath.log(z)


def test_the_logarithm_of_zero_is_refused():
    with pytest.raises(ValueError, match="math domain error"):
        torch.jit.script(logarithm)(0j)


def total(values: List[complex]) -> complex:  # noqa: UP006
    return sum(values) + sum(values, 1 + 0j)


def test_complex_numbers_are_summed():
    assert torch.jit.script(total)([1 + 1j, 2 - 3j]) == total([1 + 1j, 2 - 3j])


def hashed(pair: Tuple[int, List[int]]) -> int:  # noqa: UP006
    return hash(pair)


def test_a_tuple_with_a_list_in_it_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        torch.jit.script(hashed)((1, [2]))


def dotted(a, b, dims: int):
    return torch.tensordot(a, b, dims)


def test_tensordot_takes_a_number_that_the_run_tells():
    a, b = torch.ones(2, 3, 4), torch.ones(3, 4, 5)
    assert torch.equal(torch.jit.script(dotted)(a, b, 2), torch.full((2, 5), 12.0))
