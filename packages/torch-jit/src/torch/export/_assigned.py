"""Attributes of modules that a program assigns to while it is recorded."""

from __future__ import annotations

import contextlib

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def module_of(function: Any) -> torch.nn.Module | None:
    """The module that is called, or whose method is."""
    found = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    return found if isinstance(found, torch.nn.Module) else None


@contextlib.contextmanager
def put_back(function: Any) -> Iterator[None]:
    """A block after which modules hold what they held, so that no run finds what another one has assigned (a count, a buffer)."""
    module = module_of(function)
    modules = [] if module is None else list(module.modules())
    before = [(each, type(each), [(held, dict(held)) for held in (vars(each), each._buffers)]) for each in modules]
    try:
        yield
    finally:
        for each, kind, tables in before:
            if type(each) is kind:  # a lazy one that has become another stays that
                for held, found in tables:
                    for name in [name for name in held if name not in found]:
                        del held[name]
                    held.update(found)
