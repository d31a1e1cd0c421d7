"""Generators of devices."""

from __future__ import annotations

from ._absent import functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor


def manual_seed(seed: int) -> None:
    """Seed the current device's generator; nothing to seed without a device.

    >>> torch.cuda.manual_seed(0) is None
    True
    """


def manual_seed_all(seed: int) -> None:
    """Seed all devices' generators; nothing to seed without a device.

    >>> torch.cuda.manual_seed_all(0) is None
    True
    """


def seed() -> None:
    """Seed the current device's generator from entropy; nothing to seed without a device.

    >>> torch.cuda.seed() is None
    True
    """


def seed_all() -> None:
    """Seed all devices' generators from entropy; nothing to seed without a device.

    >>> torch.cuda.seed_all() is None
    True
    """


def get_rng_state_all() -> list[Tensor]:
    """States of all devices' generators: none.

    >>> torch.cuda.get_rng_state_all()
    []
    """
    return []


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Restore the states of all devices' generators; ValueError for states of devices that are not there.

    >>> torch.cuda.set_rng_state_all([]) is None
    True
    """
    if states := list(new_states):
        raise ValueError(f"torch.cuda.set_rng_state_all: {len(states)} states for 0 devices")


functions(globals(), "get_rng_state", "initial_seed", "set_rng_state")
