"""The dtypes that operators chose when a part ran at first, for its second run."""

from __future__ import annotations

import contextlib

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def autocast_states() -> list[tuple]:
    """What ``torch.autocast`` says just now: for each type of device whether it is on, with which dtype, and its cache."""
    caches = torch.is_autocast_cache_enabled()
    return [
        (device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device), caches)
        for device in ("cpu", "cuda")
    ]


@contextlib.contextmanager
def autocast_as(states: list[tuple]) -> Iterator[Any]:
    """Operators within choose their dtypes as where `autocast_states` was called."""
    with contextlib.ExitStack() as stack:
        for device, dtype, enabled, caches in states:
            stack.enter_context(torch.autocast(device, dtype, enabled, caches))
        yield
