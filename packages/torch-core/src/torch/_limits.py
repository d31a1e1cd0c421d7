"""What a dtype can hold: torch.finfo and torch.iinfo."""

from . import _C

#: bits of the significand without the hidden one, and of the exponent (IEEE 754-2019; bfloat16 is the upper half of binary32)
FLOATS = {_C.float16: (10, 5), _C.bfloat16: (7, 8), _C.float32: (23, 8), _C.float64: (52, 11)}


class finfo:
    """Limits of a floating point dtype: bits, eps, max, min, tiny, smallest_normal, smallest_subnormal, resolution.

    Complex dtypes have the limits of their parts. Raises TypeError for other dtypes.

    >>> torch.finfo(torch.float16).max
    65504.0
    """

    __slots__ = (
        "bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "smallest_subnormal", "tiny",
    )  # fmt: skip

    def __init__(self, type=None):
        dtype = _C.get_default_dtype() if type is None else type
        if not isinstance(dtype, _C.dtype) or not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle {dtype!r}")
        dtype = dtype.to_real()
        fraction, exponent = FLOATS[dtype]
        bias = 2 ** (exponent - 1) - 1
        self.dtype = str(dtype).removeprefix("torch.")
        self.bits = 8 * dtype.itemsize
        self.eps = 2.0**-fraction
        self.max = (2 - self.eps) * 2.0**bias
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0 ** (1 - bias)
        self.smallest_subnormal = 2.0 ** (1 - bias - fraction)
        digits = int(fraction * 0.3010299956639812)  # log10(2): decimal digits that survive
        self.resolution = 10.0**-digits

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: bits, max, min. Raises TypeError for other dtypes.

    >>> torch.iinfo(torch.int8).max
    127
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type):
        if not isinstance(type, _C.dtype) or type.is_floating_point or type.is_complex or type == _C.bool:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle {type!r}")
        self.dtype = str(type).removeprefix("torch.")
        self.bits = 8 * type.itemsize
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(self.max + 1) if type.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
