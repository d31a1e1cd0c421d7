"""Where a call comes from: the frames of the user's program, and the modules whose forward runs."""

from __future__ import annotations

import contextlib
import os
import sys

import torch

from ._tape import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_KEEP = 6  # frames: the rest of a deep stack says the same for each call


def _ours() -> tuple[str, ...]:
    """Folders of torch: each part may lie in one of its own."""
    return tuple(os.path.join(os.path.abspath(folder), "") for folder in torch.__path__)


class Places:
    """Asks where the program is."""

    def __init__(self, root: torch.nn.Module | None) -> None:
        self._ours = _ours()
        self._names = {id(m): name for name, m in root.named_modules()} if root is not None else {}
        self._stack: list[tuple[str, str]] = []

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

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """While the block runs, note which modules of the root are being called."""
        call = torch.nn.Module.__call__
        names, stack = self._names, self._stack

        def named(module, *args, **kwargs):
            name = names.get(id(module))
            if name is None:
                return call(module, *args, **kwargs)
            stack.append((name, f"{type(module).__module__}.{type(module).__qualname__}"))
            try:
                return call(module, *args, **kwargs)
            finally:
                stack.pop()

        torch.nn.Module.__call__ = named
        try:
            yield
        finally:
            torch.nn.Module.__call__ = call
