"""Halide, asked for where it is first needed."""

from __future__ import annotations

from typing import Any


def load() -> Any:
    """The module ``halide``, or an error that says what to install."""
    try:
        import halide
    except ModuleNotFoundError as error:
        if error.name not in ("halide", "numpy", "imageio"):
            raise
        text = f"torch.tc compiles with Halide, and {error.name} is not installed: pip install 'halide>=21'"
        raise ModuleNotFoundError(text, name=error.name) from None
    return halide


def type_of(hl: Any, dtype: str) -> Any:
    """Halide's type for one of torch's names.

    >>> import halide
    >>> type_of(halide, "uint8"), type_of(halide, "bool")
    (<halide.Type uint8>, <halide.Type bool>)
    """
    if dtype == "bool":
        return hl.Bool()
    make = {"f": hl.Float, "u": hl.UInt, "i": hl.Int}[dtype[0]]
    return make(int("".join(c for c in dtype if c.isdigit())))


def least(dtype: str) -> float | int:
    """The least value of a type, from which a maximum begins.

    >>> least("int8"), least("float16")
    (-128, -65504.0)
    """
    if dtype == "bool":
        return 0
    import torch
    from torch import finfo, iinfo

    kind = getattr(torch, dtype)
    return finfo(kind).min if dtype.startswith("float") else iinfo(kind).min


def greatest(dtype: str) -> float | int:
    """The greatest value of a type."""
    if dtype == "bool":
        return 1
    import torch
    from torch import finfo, iinfo

    kind = getattr(torch, dtype)
    return finfo(kind).max if dtype.startswith("float") else iinfo(kind).max
