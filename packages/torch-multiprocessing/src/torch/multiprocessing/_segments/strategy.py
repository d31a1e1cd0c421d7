"""The two ways to share memory, and what to do when one of them has no room."""

from __future__ import annotations

import os
import resource

from . import reclaim
from .state import locked, retire, state

STRATEGIES = ("file_descriptor", "file_system") if hasattr(os, "memfd_create") else ("file_system",)
state.strategy = STRATEGIES[0]


def get_sharing_strategy() -> str:
    """The way this process shares memory: "file_descriptor" or "file_system".

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return state.strategy


@locked
def set_sharing_strategy(new_strategy: str) -> None:
    """Chooses how memory is shared from now on; what is shared already stays as it is.

    Processes that are started from now on begin with the same strategy.

    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    if new_strategy not in STRATEGIES:
        raise ValueError(f"set_sharing_strategy: expected one of {sorted(STRATEGIES)}, got {new_strategy!r}")
    state.is_chosen = True
    if new_strategy != state.strategy:
        retire()
        state.strategy = new_strategy
        reclaim.prune()


def get_all_sharing_strategies() -> set[str]:
    """The strategies that this system has.

    >>> "file_system" in torch.multiprocessing.get_all_sharing_strategies()
    True
    """
    return set(STRATEGIES)


def address_space() -> int:
    """The limit of addresses of this process (ulimit -v) in bytes, -1 for none."""
    return resource.getrlimit(resource.RLIMIT_AS)[0]


def remedy() -> str:
    """The sentence for who has no room."""
    others = [s for s in STRATEGIES if s != state.strategy]
    other = (
        f"; or choose the other strategy: torch.multiprocessing.set_sharing_strategy({others[0]!r})" if others else ""
    )
    limit = address_space()
    few = f"; or raise the limit of {limit >> 20} MB of addresses (ulimit -v)" if limit >= 0 else ""
    return f"In a container, run it with --ipc=host or a larger --shm-size{few}{other}"
