"""``torch._cast_Long`` and the like: conversions by the names of types, of 2017.

>>> torch._cast_Long(torch.tensor([1.5, 2.5]))
tensor([1, 2])
"""

from __future__ import annotations

from .classes import PREFIXES


def _cast(prefix, dtype):
    def cast(input, non_blocking=False):
        return input.to(dtype)

    cast.__name__ = cast.__qualname__ = f"_cast_{prefix}"
    cast.__doc__ = f"The tensor converted to {dtype}."
    return cast


globals().update((f"_cast_{prefix}", _cast(prefix, dtype)) for prefix, dtype in PREFIXES.items())
