"""Families of dtypes by name, as tests choose from them: ``floating_types_and(torch.half)``."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Dtypes = tuple[torch.dtype, ...]

_FLOATING: Dtypes = (torch.float32, torch.float64)
_COMPLEX: Dtypes = (torch.complex64, torch.complex128)
_INTEGRAL: Dtypes = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_FLOAT8: Dtypes = (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz)


def _checked(dtypes: Any) -> Dtypes:
    for dtype in dtypes:
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"expected dtypes, got {dtype!r}")
    return tuple(dtypes)


def _family(name: str, dtypes: Dtypes) -> Callable[[], Dtypes]:
    def family() -> Dtypes:
        return dtypes

    family.__name__ = family.__qualname__ = name
    family.__doc__ = f"{', '.join(str(dtype).split('.')[1] for dtype in dtypes) or 'None'}."
    return family


def _and(name: str, dtypes: Dtypes) -> Callable[..., Dtypes]:
    def family(*others: torch.dtype) -> Dtypes:
        return dtypes + _checked(others)

    family.__name__ = family.__qualname__ = name
    family.__doc__ = f"{', '.join(str(dtype).split('.')[1] for dtype in dtypes)}, and the given ones."
    return family


empty_types = _family("empty_types", ())
floating_types = _family("floating_types", _FLOATING)
floating_types_and = _and("floating_types_and", _FLOATING)
floating_types_and_half = _family("floating_types_and_half", (*_FLOATING, torch.half))
floating_and_complex_types = _family("floating_and_complex_types", _FLOATING + _COMPLEX)
floating_and_complex_types_and = _and("floating_and_complex_types_and", _FLOATING + _COMPLEX)
double_types = _family("double_types", (torch.float64, torch.complex128))
integral_types = _family("integral_types", _INTEGRAL)
integral_types_and = _and("integral_types_and", _INTEGRAL)
all_types = _family("all_types", _FLOATING + _INTEGRAL)
all_types_and = _and("all_types_and", _FLOATING + _INTEGRAL)
all_types_and_half = _family("all_types_and_half", (*_FLOATING, *_INTEGRAL, torch.half))
complex_types = _family("complex_types", _COMPLEX)
complex_types_and = _and("complex_types_and", _COMPLEX)
all_types_and_complex = _family("all_types_and_complex", _FLOATING + _INTEGRAL + _COMPLEX)
all_types_and_complex_and = _and("all_types_and_complex_and", _FLOATING + _INTEGRAL + _COMPLEX)
float8_types = _family("float8_types", _FLOAT8)
float8_types_and = _and("float8_types_and", _FLOAT8)
all_types_complex_float8_and = _and("all_types_complex_float8_and", _FLOATING + _INTEGRAL + _COMPLEX + _FLOAT8)

float_to_corresponding_complex_type_map = {
    torch.float16: torch.complex32,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}


def custom_types(*dtypes: torch.dtype) -> Dtypes:
    """The given ones."""
    return _checked(dtypes)


def get_all_int_dtypes() -> list[torch.dtype]:
    """The integers, without bool."""
    return list(_INTEGRAL)


def get_all_complex_dtypes(include_complex32: bool = False) -> list[torch.dtype]:
    """The complex dtypes."""
    return [torch.complex32, *_COMPLEX] if include_complex32 else list(_COMPLEX)


def get_all_qint_dtypes() -> list[torch.dtype]:
    """The quantized dtypes."""
    return [torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4]


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list[torch.dtype]:
    """The floats, with half and bfloat16 or without."""
    return [*_FLOATING, *[torch.float16] * include_half, *[torch.bfloat16] * include_bfloat16]


def get_all_dtypes(
    include_half: bool = True, include_bfloat16: bool = True, include_bool: bool = True,
    include_complex: bool = True, include_complex32: bool = False, include_qint: bool = False,
) -> list[torch.dtype]:  # fmt: skip
    """Integers, floats, bool, complex dtypes, quantized dtypes, as asked."""
    complexes = get_all_complex_dtypes(include_complex32) if include_complex else []
    floats = get_all_fp_dtypes(include_half, include_bfloat16)
    return [
        *get_all_int_dtypes(),
        *floats,
        *[torch.bool] * include_bool,
        *complexes,
        *get_all_qint_dtypes() * include_qint,
    ]


def get_all_math_dtypes(device: str) -> list[torch.dtype]:
    """The dtypes that a device computes with: half on CUDA only."""
    return [*get_all_int_dtypes(), *get_all_fp_dtypes(device.startswith("cuda"), False), *get_all_complex_dtypes()]


def highest_precision_float(device: Any) -> torch.dtype:
    """float64, or float32 on MPS."""
    return torch.float32 if torch.device(device).type == "mps" else torch.float64


def highest_precision_complex(device: Any) -> torch.dtype:
    """complex128, or complex64 on MPS."""
    return torch.complex64 if torch.device(device).type == "mps" else torch.complex128
