"""The functions that modules of one kind differ in."""

from __future__ import annotations

from .. import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Function:
    """A function of torch.nn.functional as an attribute of a module's class, found by its name at each call: a program that
    replaces ``F.conv2d`` replaces what Conv2d computes. ``staticmethod`` would read its documentation at import."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, module: object, owner: type) -> Callable[..., Any]:
        return getattr(F, self.name)  # type: ignore[no-any-return]
