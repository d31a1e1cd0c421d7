"""What ``TestCase.assertEqual`` takes for equal: more than ``assert_close`` does.

A number equals a tensor of one element, a truth value any number that is as true, an array a tensor, a list a tensor
of its numbers; devices and layouts may differ; NaN equals NaN; strings, sets and other objects are compared by ``==``.
"""

from __future__ import annotations

import sys
import unittest
from collections.abc import Mapping, Sequence
from numbers import Number

import torch
from torch.testing import _comparison
from torch.testing._comparison import _difference, _number_difference, get_tolerances

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    class Rules(NamedTuple):
        rtol: float | None
        atol: float | None
        least_rtol: float
        least_atol: float
        equal_nan: bool
        checks: dict[str, bool]
        exact_is_coalesced: bool
else:
    from collections import namedtuple

    Rules = namedtuple("Rules", "rtol atol least_rtol least_atol equal_nan checks exact_is_coalesced")


def _array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _truth(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return isinstance(value, bool) or (numpy is not None and isinstance(value, numpy.bool_))


def _of_layers(*names: str) -> tuple[type, ...]:
    """Containers of torch.nn, where it is loaded."""
    nn = sys.modules.get("torch.nn")
    return tuple(getattr(nn, name) for name in names) if nn is not None else ()


def assert_equal(x: Any, y: Any, rules: Rules) -> None:
    """AssertionError where two values differ under the rules; ValueError where they cannot be compared."""
    if any(_array(value) and not _known(value) for value in (x, y)):
        x, y = (value.tolist() if _array(value) or isinstance(value, torch.Tensor) else list(value) for value in (x, y))
    elif isinstance(x, torch.Tensor) and isinstance(y, Sequence):
        y = torch.as_tensor(y, dtype=x.dtype, device=x.device)
    elif isinstance(y, torch.Tensor) and isinstance(x, Sequence):
        x = torch.as_tensor(x, dtype=y.dtype, device=y.device)
    x, y = (value.unbind() if _nested(value) else value for value in (x, y))
    _walk(x, y, rules, "")


def _known(array):
    from torch.testing._internal._numpy_dtypes import has_corresponding_torch_dtype

    return has_corresponding_torch_dtype(array.dtype)


def _nested(value):
    return isinstance(value, torch.Tensor) and value.is_nested and value.layout == torch.strided


def _walk(x, y, rules, where):
    sequences = (Sequence, *_of_layers("Sequential", "ModuleList", "ParameterList"))
    mappings = (Mapping, *_of_layers("ModuleDict", "ParameterDict"))
    if all(isinstance(v, sequences) and not isinstance(v, str) for v in (x, y)):
        if len(x) != len(y):
            raise AssertionError(f"{where}The length of the sequences mismatch: {len(x)} != {len(y)}")
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            _walk(a, b, rules, f"{where}At index {i}: ")
    elif all(isinstance(v, mappings) for v in (x, y)):
        if set(x.keys()) != set(y.keys()):
            odd = sorted(map(str, set(x.keys()) ^ set(y.keys())))
            raise AssertionError(f"{where}The keys of the mappings do not match: {odd} are in one of them")
        for key in x:
            _walk(x[key], y[key], rules, f"{where}At key {key!r}: ")
    else:
        problem = _apart(x, y, rules)
        if problem:
            raise AssertionError(where + problem)


def _apart(x, y, rules):
    """What sets two values apart that hold no others, or None."""
    one = (Number, bool, torch.Tensor)
    if x is None or y is None:
        return None if x is y else f"None mismatch: {x} is not {y}"
    if (_truth(x) or _truth(y)) and all(isinstance(v, one) or _array(v) or _truth(v) for v in (x, y)):
        a, b = (bool(_single(v, "a boolean")) for v in (x, y))
        return None if a is b else f"Booleans mismatch: {a} is not {b}"
    if (isinstance(x, Number) or isinstance(y, Number)) and all(isinstance(v, one) or _array(v) for v in (x, y)):
        return _numbers(x, y, rules)
    if all(isinstance(v, torch.Tensor) or _array(v) for v in (x, y)):
        return _tensors(x, y, rules)
    if isinstance(x, torch.storage.TypedStorage) and isinstance(y, torch.storage.TypedStorage):
        return _tensors(*(torch.tensor(v.tolist(), dtype=v.dtype) for v in (x, y)), rules)
    try:
        unittest.TestCase().assertEqual(x, y)
    except AssertionError as error:
        return f"{type(x).__name__} and {type(y).__name__} differ: {error}"
    return None


def _single(value, beside):
    if not isinstance(value, torch.Tensor) and not _array(value):
        return value.item() if hasattr(value, "item") else value
    count = value.numel() if isinstance(value, torch.Tensor) else value.size
    if count > 1:
        raise ValueError(f"Only tensors of a single element can be compared with {beside}: got {count} elements")
    return value.item()


def _numbers(x, y, rules):
    a, b = (_single(v, "a number") for v in (x, y))
    a, b = (int(v) if isinstance(v, bool) else v for v in (a, b))
    known = {float: torch.float32, complex: torch.complex64}
    dtypes = [next((d for kind, d in known.items() if isinstance(v, kind)), torch.int64) for v in (a, b)]
    rtol, atol = _tolerances(dtypes, rules)
    return _number_difference(a, b, rtol, atol, rules.equal_nan, check_dtype=False)


def _tolerances(of, rules):
    rtol, atol = get_tolerances(*of, rtol=rules.rtol, atol=rules.atol)
    return max(rtol, rules.least_rtol), max(atol, rules.least_atol)


def _tensors(x, y, rules):
    a, b = (_comparison._tensor(v) for v in (x, y))
    if rules.exact_is_coalesced and a.is_sparse and b.is_sparse and a.is_coalesced() != b.is_coalesced():
        return f"The values for attribute 'is_coalesced()' do not match: {a.is_coalesced()} != {b.is_coalesced()}."
    return _difference(a, b, *_tolerances((a, b), rules), rules.equal_nan, rules.checks)
