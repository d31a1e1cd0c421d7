"""The generators of devices. Each draws the CPU's sequence of its seed."""

from __future__ import annotations

import torch

from . import _native
from .devices import device_count, index_of

__all__ = [
    "default_generators", "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed",
    "seed_all", "set_rng_state", "set_rng_state_all",
]  # fmt: skip


default_generators = tuple(torch._C._default_generator_of(f"cuda:{i}") for i in range(device_count()))


def get_rng_state(device="cuda") -> torch.Tensor:
    """Seed and position of a device's generator as a torch.uint8 tensor."""
    return torch.tensor(list(_native.rng_state(index_of(device))), dtype=torch.uint8)


def set_rng_state(new_state: torch.Tensor, device="cuda") -> None:
    """Go on from a state that ``get_rng_state`` gave."""
    state = torch.Generator()
    state.set_state(new_state)  # says what is wrong with it
    _native.set_rng_state(index_of(device), bytes(new_state.tolist()))


def get_rng_state_all() -> list[torch.Tensor]:
    """States of all devices' generators."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states) -> None:
    """Restore the states of all devices' generators; ValueError for states of devices that are not there."""
    new_states = list(new_states)
    if len(new_states) > device_count():
        raise ValueError(f"torch.cuda.set_rng_state_all: {len(new_states)} states for {device_count()} devices")
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def _seed(device: int, number: int) -> None:
    generator = torch.Generator().manual_seed(number)  # takes what a seed may be
    _native.set_rng_state(device, bytes(generator.get_state().tolist()))


def manual_seed(seed: int) -> None:
    """Start the sequence of a seed on the current device.

    >>> torch.cuda.manual_seed(3)
    >>> torch.cuda.initial_seed()
    3
    """
    _seed(_native.current_device(), seed)


def manual_seed_all(seed: int) -> None:
    """Start the sequence of a seed on all devices."""
    for i in range(device_count()):
        _seed(i, seed)


def initial_seed() -> int:
    """The seed of the current device's sequence."""
    return int.from_bytes(_native.rng_state(_native.current_device())[:8], "little")


def seed() -> None:
    """Start an unpredictable sequence on the current device."""
    manual_seed(torch.Generator().seed())


def seed_all() -> None:
    """Start one unpredictable sequence on all devices."""
    manual_seed_all(torch.Generator().seed())
