"""Comparing tensors in tests, and making tensors to test with."""

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


__all__ = ["assert_allclose", "assert_close", "get_all_dtypes", "make_non_contiguous", "make_tensor"]

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
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"rtol and atol must both be specified or both be unspecified, but got no {'rtol' if rtol is None else 'atol'}"
        )
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    for where, a, b in _pairs(actual, expected, ""):
        if not allow_subclasses and type(a) is not type(b):
            raise TypeError(f"{where}types differ: {type(a).__name__} and {type(b).__name__}")
        problem = _difference(a, b, rtol, atol, equal_nan, checks)
        if problem:
            text = where + problem
            raise AssertionError(msg(text) if callable(msg) else msg or text)


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
    if rtol is None:
        known = [TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (a, b)]
        rtol, atol = max(r for r, _ in known), max(x for _, x in known)
    a, b = a.detach().to(device="cpu"), b.detach().to(device="cpu")
    common = torch.promote_types(a.dtype, b.dtype)
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


def make_tensor(
    *shape: int | torch.Size | list[int] | tuple[int, ...],
    dtype: torch.dtype,
    device: str | torch.device | int,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: torch.memory_format | None = None,
) -> Tensor:
    """A tensor of random values from [low, high): by default -9 to 9, or what the dtype can hold of that.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.int8, device="cpu").shape
    torch.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: noncontiguous and memory_format exclude each other")
    if dtype == torch.bool:
        low, high = 0, 2
    elif dtype == torch.uint8:
        low, high = 0 if low is None else low, 10 if high is None else high
    else:
        low, high = (
            -9 if low is None else low,
            10 if high is None and not dtype.is_floating_point else 9 if high is None else high,
        )
    if not low < high:
        raise ValueError(f"make_tensor: low must be less than high, got low={low} and high={high}")
    drawn = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if dtype.is_complex:
        real = dtype.to_real()
        values = torch.complex(*(torch.rand(drawn, dtype=real) * (high - low) + low for _ in range(2)))
    elif dtype.is_floating_point:
        values = (torch.rand(drawn, dtype=torch.float64) * (high - low) + low).to(dtype)
    else:
        values = torch.randint(math.ceil(low), math.ceil(high), drawn, dtype=torch.int64).to(dtype)
    if exclude_zero:
        values[values == 0] = 1 if not dtype.is_floating_point else torch.finfo(dtype).tiny
    values = values.to(device)
    if noncontiguous and shape:
        values = values[..., ::2]
    if memory_format is not None:
        values = values.contiguous(memory_format=memory_format)
    return values.requires_grad_() if requires_grad else values


def get_all_dtypes() -> list[torch.dtype]:
    """The dtypes of 2018.

    >>> torch.float32 in torch.testing.get_all_dtypes()
    True
    """
    return [
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
    ]  # fmt: skip


def make_non_contiguous(tensor: Tensor) -> Any:
    """The same values in memory with gaps, after an offset.

    >>> torch.testing.make_non_contiguous(torch.ones(2, 2)).is_contiguous()
    False
    """
    if tensor.numel() <= 1:
        return tensor.clone()
    room = tensor.new_zeros([n + 2 for n in tensor.shape])
    inner = room[tuple(slice(1, 1 + n) for n in tensor.shape)]
    return inner.copy_(tensor)
