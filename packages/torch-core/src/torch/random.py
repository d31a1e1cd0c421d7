"""The sequence of random numbers: its seed, its state, and doing something without disturbing it.

>>> _ = torch.manual_seed(3)
>>> a = torch.rand(2)
>>> _ = torch.manual_seed(3)
>>> bool((torch.rand(2) == a).all())
True
"""

from __future__ import annotations

import contextlib

import torch

from ._C import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Let the random numbers go on afterwards as if nothing had been drawn inside.

    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     _ = torch.rand(5)
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    if not enabled:
        yield
        return
    there = None
    if device_type == "cuda" and (devices or (devices is None and torch.cuda.is_initialized())):
        there = torch.cuda
        devices = range(there.device_count()) if devices is None else list(devices)
    elif devices:
        raise NotImplementedError(
            f"{_caller}: no generators on {device_type} devices in this build, got {_devices_kw}={devices}"
        )
    state = torch.get_rng_state()
    states = [(device, there.get_rng_state(device)) for device in devices] if there else []
    try:
        yield
    finally:
        torch.set_rng_state(state)
        for device, before in states:
            there.set_rng_state(before, device)
