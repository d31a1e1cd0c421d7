"""Where a call comes from: the frames of the user's program, and the modules whose forward runs."""

from __future__ import annotations

import os
import re
import sys

import torch
from torch.jit import _native
from torch.jit._threads import here

from ._tape import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_KEEP = 6  # frames: the rest of a deep stack says the same for each call


def _ours() -> tuple[str, ...]:
    """Folders of torch: each part may lie in one of its own."""
    return tuple(os.path.join(os.path.abspath(folder), "") for folder in torch.__path__)


def plain(name: str) -> str:
    """The name of a module, of that of one of its calls.

    >>> plain("layers@1.0")
    'layers.0'
    """
    return re.sub(r"@\d+", "", name)


class Places:
    """Asks where the program is."""

    def __init__(self, root: torch.nn.Module | None) -> None:
        self._ours = _ours()
        self._names = {id(m): name for name, m in root.named_modules()} if root is not None else {}
        self._stack: list[tuple[str, str]] = []
        self._calls: dict[str, int] = {}

    def here(self) -> Place:
        """The place of the call that is being recorded."""
        frames: list[tuple[str, int, str]] = []
        frame = sys._getframe(1)
        while frame is not None and len(frames) < _KEEP:
            file = frame.f_code.co_filename
            if not file.startswith(self._ours) and not file.startswith("<"):
                frames.append((file, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return Place(tuple(reversed(frames)), tuple(self._stack))

    def following(self, called: Callable[[str, tuple, dict], Any]) -> Any:
        """While the block runs, note which modules of the root are being called: the second call of one is ``name@1``.

        ``called(name, args, kwargs)`` is told before each, and what it gives of the result.
        """
        call = torch.nn.Module.__call__
        names, stack = self._names, self._stack

        def named(module, *args, **kwargs):
            name = names.get(id(module))
            if name is None:
                return call(module, *args, **kwargs)
            around = next((key for key, _ in reversed(stack) if key and name.startswith(f"{plain(key)}.")), "")
            name = around + name[len(plain(around)) :]
            count = self._calls[name] = self._calls.get(name, -1) + 1
            name = f"{name}@{count}" if count and name else name
            stack.append((name, f"{type(module).__module__}.{type(module).__qualname__}"))
            try:
                done = called(name, args, kwargs)
                result = call(module, *args, **kwargs)
                done(result)
                return result
            finally:
                stack.pop()

        return _native.Replaced([(torch.nn.Module, "__call__", here(named, call))])
