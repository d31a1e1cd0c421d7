"""What counts as close: ``assert_close``, its tolerances, and what it says of values that differ."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from numbers import Number

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


# (rtol, atol) of values that went through a few operations of the dtype.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere, in tensors, numbers, or sequences
    and mappings of them. Tolerances follow from the dtype where not given; ``msg`` replaces the text, or makes it from it.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.2 at index (1,) (up to 1.3e-06 allowed)
    """
    _both_or_neither(rtol, atol)
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    for where, a, b in _pairs(actual, expected, ""):
        if not allow_subclasses and type(a) is not type(b):
            raise TypeError(f"{where}types differ: {type(a).__name__} and {type(b).__name__}")
        problem = _difference(a, b, rtol, atol, equal_nan, checks)
        if problem:
            text = where + problem
            raise AssertionError(msg(text) if callable(msg) else msg or text)


def default_tolerances(*values: Tensor | torch.dtype) -> tuple[float, float]:
    """The (rtol, atol) that ``assert_close`` takes for tensors or dtypes when none are given: the widest of them.

    >>> from torch.testing._comparison import default_tolerances
    >>> default_tolerances(torch.float64, torch.float32)
    (1.3e-06, 1e-05)
    """
    if not values:
        raise ValueError("default_tolerances: expected at least one tensor or dtype")
    dtypes = [v if isinstance(v, torch.dtype) else v.dtype for v in values]
    known = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(r for r, _ in known), max(a for _, a in known)


def get_tolerances(*values: Tensor | torch.dtype, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """``rtol`` and ``atol`` where given, both or neither, and else those of the dtypes.

    >>> from torch.testing._comparison import get_tolerances
    >>> get_tolerances(torch.float32, rtol=0.1, atol=0.2)
    (0.1, 0.2)
    """
    _both_or_neither(rtol, atol)
    return default_tolerances(*values) if rtol is None or atol is None else (rtol, atol)


def _both_or_neither(rtol, atol):
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"rtol and atol must both be specified or both be unspecified, but got no {'rtol' if rtol is None else 'atol'}"
        )


def _pairs(a, b, where):
    """The pairs of tensors and numbers in two structures."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            raise AssertionError(
                f"{where}The keys of the mappings do not match: {sorted(map(str, a.keys() ^ b.keys()))} are in one of them"
            )
        for key in a:
            yield from _pairs(a[key], b[key], f"{where}At key {key!r}: ")
    elif isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
        if len(a) != len(b):
            raise AssertionError(f"{where}The length of the sequences mismatch: {len(a)} != {len(b)}")
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _pairs(x, y, f"{where}At index {i}: ")
    else:
        yield where, a, b


def _difference(actual, expected, rtol, atol, equal_nan, checks):
    """What sets two values apart, or None."""
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    numbers = isinstance(actual, (Number, bool)) and isinstance(expected, (Number, bool))
    if numbers:
        return _number_difference(actual, expected, rtol, atol, equal_nan, checks["dtype"])
    a, b = _tensor(actual), _tensor(expected)
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    for name in ("device", "dtype", "layout"):
        if checks[name] and getattr(a, name) != getattr(b, name):
            return f"The values for attribute '{name}' do not match: {getattr(a, name)} != {getattr(b, name)}."
    if checks["stride"] and a.stride() != b.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}."
    if "meta" in (a.device.type, b.device.type):
        return None  # there are no values
    if a.is_quantized or b.is_quantized:
        schemes = [t.qscheme() if t.is_quantized else None for t in (a, b)]
        if schemes[0] != schemes[1]:
            return f"The quantization schemes do not match: {schemes[0]} != {schemes[1]}."
        a, b = a.dequantize(), b.dequantize()
    if rtol is None:
        rtol, atol = default_tolerances(a, b)
    a, b = a.detach().to(device="cpu"), b.detach().to(device="cpu")
    if a.layout == b.layout == torch.strided:
        return _mismatch(a, b, rtol, atol, equal_nan)
    if a.layout != b.layout:
        return _mismatch(*(t if t.layout == torch.strided else t.to_dense() for t in (a, b)), rtol, atol, equal_nan)
    for what, x, y in _members(a, b):
        if x.shape != y.shape:
            return f"The {what} of the {a.layout} tensors do not match in shape: {x.shape} != {y.shape}."
        problem = _mismatch(x, y, rtol, atol, equal_nan) if what == "values" else _mismatch(x, y, 0.0, 0.0, False)
        if problem:
            return f"The {what} of the {a.layout} tensors differ. {problem}"
    return None


def _members(a, b):
    """What two sparse tensors of one layout hold: indices, then values, each with a word for it."""
    if a.layout == torch.sparse_coo:
        if a.is_coalesced() != b.is_coalesced():
            a, b = a.coalesce(), b.coalesce()
        yield "indices", a._indices(), b._indices()
        yield "values", a._values(), b._values()
        return
    by_row = a.layout in (torch.sparse_csr, torch.sparse_bsr)
    for name in ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices"):
        yield name, getattr(a, name)(), getattr(b, name)()
    yield "values", a.values(), b.values()


def _mismatch(a, b, rtol, atol, equal_nan):
    """What sets two strided tensors of one shape apart, or None."""
    common = torch.promote_types(a.dtype, b.dtype)
    if common == torch.complex32 or (common.is_floating_point and common.itemsize == 1):  # these only store numbers
        common = torch.complex64 if common.is_complex else torch.float32
    actual, expected = a, b
    a, b = a.to(common), b.to(common)
    wrong = ~torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    count = int(wrong.sum())
    if not count:
        return None
    wide = torch.complex128 if common.is_complex else torch.float64
    a, b = a.to(wide), b.to(wide)
    absolute = torch.where(wrong, (a - b).abs(), 0.0)
    relative = torch.where(wrong, (a - b).abs() / b.abs(), 0.0)
    name = "Scalars" if a.dim() == 0 else "Tensor-likes"
    if a.dim() == 0:
        lines = [f"Expected {expected.item()} but got {actual.item()}."]
    else:
        lines = [f"Mismatched elements: {count} / {a.numel()} ({100 * count / a.numel():.1f}%)"]
    for kind, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        place = int(values.nan_to_num(math.inf).argmax())
        at = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), a.shape)) if a.dim() else ()
        where = f" at index {at}" if a.dim() else ""
        lines.append(
            f"Greatest {kind} difference: {float(values.reshape(-1)[place]):.7g}{where} (up to {allowed} allowed)"
        )
    same = "equal" if rtol == atol == 0 else "close"
    return f"{name} are not {same}!\n\n" + "\n".join(lines)


def _tensor(value):
    if isinstance(value, torch.Tensor):
        return value
    try:
        return torch.as_tensor(value)
    except Exception as error:
        raise TypeError(f"assert_close: no tensor, number or sequence of them: {type(value).__name__}") from error


def _number_difference(actual, expected, rtol, atol, equal_nan, check_dtype):
    if check_dtype and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    if rtol is None:
        is_float = any(isinstance(v, (float, complex)) for v in (actual, expected))
        rtol, atol = TOLERANCES[torch.float64] if is_float else (0.0, 0.0)
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return None
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return None
    same = "equal" if rtol == atol == 0 else "close"
    relative = difference / abs(expected) if expected else math.inf
    return (
        f"Scalars are not {same}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference} (up to {atol} allowed)\n"
        f"Relative difference: {relative} (up to {rtol} allowed)"
    )


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """``assert_close`` of 2018: dtypes and devices may differ, numbers and lists become tensors, NaN equals NaN.

    >>> torch.testing.assert_allclose(torch.ones(2), torch.ones(2) + 1e-9) is None
    True
    """
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = TOLERANCES.get(actual.dtype, (0.0, 0.0))
        rtol, atol = max(rtol, TOLERANCES.get(expected.dtype, (0.0, 0.0))[0]), max(atol, 1e-5 if rtol else 0.0)
    assert_close(
        actual, expected.expand_as(actual) if expected.dim() == 0 else expected, rtol=rtol, atol=atol, equal_nan=equal_nan,
        check_device=False, check_dtype=False, msg=msg or None,
    )  # fmt: skip
