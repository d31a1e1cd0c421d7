"""The states of random numbers that a part's devices are in, for checkpoints of one's own."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DefaultDeviceType:
    """The kind of device whose random state a part keeps when its arguments do not tell one: the CPU's."""

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        """Sets the kind; the CPU is the one there is."""
        if torch.device(device).type != "cpu":
            raise NotImplementedError(f"DefaultDeviceType: {device!r} waits for torch-core-cuda; parts run on the CPU")

    @staticmethod
    def get_device_type() -> str:
        """The kind that was set."""
        return "cpu"


def get_device_states(*args: Any) -> tuple[list[int], list[torch.Tensor]]:
    """The devices, beside the CPU, of the tensors in `args`, and the state of each one's random numbers.

    Example:
        >>> get_device_states(torch.ones(1))
        ([], [])
    """
    devices = sorted({a.device.index or 0 for a in _tensors(args) if a.device.type == "cuda"})
    return devices, [torch.cuda.get_rng_state(device) for device in devices]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Gives devices the states that `get_device_states` found."""
    devices, states = list(devices), list(states)
    if len(devices) != len(states):
        raise ValueError(f"set_device_states: {len(devices)} devices and {len(states)} states")
    for device, state in zip(devices, states):
        torch.cuda.set_rng_state(state, device)


def _tensors(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for one in inside for t in _tensors(one)]
