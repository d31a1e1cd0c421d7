"""Which operator a function of torch is."""

from __future__ import annotations

from typing import Any

__all__ = ["_find_builtin"]


def _find_builtin(fn: Any) -> str | None:
    """The qualified name of the operator that a function of torch is in a script, or None.

    >>> torch.jit._builtins._find_builtin(torch.relu), torch.jit._builtins._find_builtin(print)
    ('aten::relu', None)
    """
    from torch.jit._script import library

    name = library.row_of(fn)
    return None if name is None else f"aten::{library.row_name(name)}"
