"""What a dtype can hold: torch.finfo and torch.iinfo."""

from __future__ import annotations

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Limits:
    """Limits of a dtype; those of one dtype are equal."""

    __slots__ = ("dtype",)

    def __eq__(self, other: object) -> bool:
        return self.dtype == other.dtype if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))


#: bits of the significand without the hidden one, and of the exponent (IEEE 754-2019; bfloat16 is the upper half of binary32)
FLOATS = {_C.float16: (10, 5), _C.bfloat16: (7, 8), _C.float32: (23, 8), _C.float64: (52, 11)}

#: dtypes of 8 bits (OFP8 and MX of the Open Compute Project; arXiv:2206.02915 for those
#: without a negative zero): bits of the significand, bias of the exponent, largest number
SMALL = {
    "float8_e4m3fn": (3, 7, 448.0),
    "float8_e4m3fnuz": (3, 8, 240.0),
    "float8_e5m2": (2, 15, 57344.0),
    "float8_e5m2fnuz": (2, 16, 57344.0),
    "float8_e8m0fnu": (0, 128, 2.0**127),
}


def _dtype_of(type):
    """The dtype that one of Python's types of numbers stands for; else what was given."""
    return {float: _C.float64, complex: _C.complex128, int: _C.int64}.get(type, type)


class finfo(_Limits):
    """Limits of a floating point dtype: bits, eps, max, min, tiny, smallest_normal, smallest_subnormal, resolution.

    Complex dtypes have the limits of their parts. Raises TypeError for other dtypes.

    >>> torch.finfo(torch.float16).max
    65504.0
    """

    __slots__ = (
        "bits", "eps", "max", "min", "resolution", "smallest_normal", "smallest_subnormal", "tiny",
    )  # fmt: skip

    def __init__(self, type: Any = None) -> None:
        dtype = _C.get_default_dtype() if type is None else _dtype_of(type)
        if not isinstance(dtype, _C.dtype) or not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle {dtype!r}")
        dtype = dtype.to_real()
        self.dtype = str(dtype).removeprefix("torch.")
        self.bits = 8 * dtype.itemsize
        if dtype in FLOATS:
            fraction, exponent = FLOATS[dtype]
            bias = 2 ** (exponent - 1) - 1
            self.max = (2 - 2.0**-fraction) * 2.0**bias
        elif self.dtype in SMALL:
            fraction, bias, self.max = SMALL[self.dtype]
        else:
            raise NotImplementedError(f"torch.finfo has no limits for {type!r}")
        self.eps = 2.0**-fraction
        self.min = -self.max if dtype.is_signed else 2.0 ** (1 - bias)
        self.smallest_normal = self.tiny = 2.0 ** (1 - bias)
        self.smallest_subnormal = 2.0 ** (1 - bias - fraction)
        digits = int(fraction * 0.3010299956639812)  # log10(2): decimal digits that survive
        self.resolution = 10.0**-digits

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


def _only_a_name(dtype):
    from ._dtypes import NAMED

    return str(dtype).removeprefix("torch.") in NAMED


class iinfo(_Limits):
    """Limits of an integer dtype: bits, max, min. Raises TypeError for other dtypes.

    >>> torch.iinfo(torch.int8).max
    127
    """

    __slots__ = ("bits", "max", "min")

    def __init__(self, type: Any) -> None:
        from ._quantized.tensor import INTEGERS

        type = _dtype_of(type)
        name = str(type).removeprefix("torch.")
        if type in INTEGERS:
            type = INTEGERS[type][0]
        if (
            not isinstance(type, _C.dtype)
            or type.is_floating_point
            or type.is_complex
            or type == _C.bool
            or _only_a_name(type)
        ):
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle {type!r}")
        self.dtype = name
        self.bits = 8 * type.itemsize
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(self.max + 1) if type.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
