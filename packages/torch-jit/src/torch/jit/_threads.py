"""Stand-ins that are those of one thread: what others compute meanwhile is no part of its program."""

from __future__ import annotations

import functools
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def here(stand_in: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is ``stand_in`` in the thread that asks for it, and ``own`` in all others."""
    thread = threading.get_ident()

    @functools.wraps(own)
    def called(*args: Any, **kwargs: Any) -> Any:
        return (stand_in if threading.get_ident() == thread else own)(*args, **kwargs)

    return called
