"""The CPU, spoken to as any device is: what programs ask that run on each.

>>> torch.cpu.device_count(), torch.cpu.current_device()
(1, 'cpu')
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

from . import amp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch


__all__ = [
    "Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "get_capabilities",
    "is_available", "is_initialized", "set_device", "stream", "synchronize",
]  # fmt: skip


def is_available() -> Any:
    """True."""
    return True


def device_count() -> Any:
    """1."""
    return 1


def current_device() -> Any:
    """``"cpu"``."""
    return "cpu"


def set_device(device: torch.device | str | int | None) -> None:
    """Accepted for compatibility: there is one."""


def synchronize(device: torch.device | str | int | None = None) -> None:
    """Does nothing: what runs on the CPU is done when its call returns."""


def is_initialized() -> bool:
    """True."""
    return True


class Stream:
    """The order in which the CPU works: there is one, and what was called is done."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Does nothing: what the other was given is done."""

    def synchronize(self) -> None:
        """Does nothing: what was called is done."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event, which has happened."""
        return event or Event()

    def wait_event(self, event: Event) -> None:
        """Does nothing: the event has happened."""


class Event:
    """A moment in a stream of the CPU, which is past when it is recorded."""

    def __init__(self, enable_timing: bool = False) -> None:
        pass

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Does nothing."""

    def wait(self, stream: Stream | None = None) -> None:
        """Does nothing."""


_only = Stream()


def current_stream(device: torch.device | str | int | None = None) -> Stream:
    """The stream of the CPU."""
    return _only


@contextmanager
def stream(stream: Stream | None) -> Any:
    """A region that changes nothing: the CPU has one stream."""
    yield


StreamContext = stream


@cache
def _flags() -> frozenset[str]:
    """What the processor has, in the words of Linux; none on other systems."""
    try:
        with open("/proc/cpuinfo") as source:
            for line in source:
                if line.startswith(("flags", "Features")):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


#: names of PyTorch, and Linux's where they are others
_FEATURES = {
    name: name
    for name in [
        "aes", "amx_bf16", "amx_fp16", "amx_int8", "amx_tile", "avx", "avx2", "avx512_bf16", "avx512_bitalg",
        "avx512_fp16", "avx512_vbmi2", "avx512_vnni", "avx512_vp2intersect", "avx512_vpopcntdq", "avx_vnni", "clflush",
        "clflushopt", "clwb", "f16c", "popcnt", "sse", "sse2", "sse4_1", "sse4_2", "sse4a", "ssse3", "fma4"
    ]
} | {
    "avx512_bw": "avx512bw", "avx512_cd": "avx512cd", "avx512_dq": "avx512dq", "avx512_f": "avx512f", "avx512_ifma": "avx512ifma",
    "avx512_vbmi": "avx512vbmi", "avx512_vl": "avx512vl", "bmi": "bmi1", "bmi2": "bmi2", "fma3": "fma", "lzcnt": "abm", "sha": "sha_ni",
    "sse3": "pni",
}  # fmt: skip


def get_capabilities() -> dict[str, Any]:
    """What the processor can do, by the names of instruction sets, with its architecture and number of logical cores.

    >>> torch.cpu.get_capabilities()["avx512_vnni"] == torch.cpu._is_vnni_supported()
    True
    """
    import os
    import platform

    flags = _flags()
    return {name: flag in flags for name, flag in _FEATURES.items()} | {
        "architecture": platform.machine(),
        "num_logical_cores": os.cpu_count(),
    }


def _is_avx2_supported() -> bool:
    return "avx2" in _flags()


def _is_avx512_supported() -> bool:
    return "avx512f" in _flags()


def _is_avx512_bf16_supported() -> bool:
    return "avx512_bf16" in _flags()


def _is_vnni_supported() -> bool:
    return "avx512_vnni" in _flags()


def _is_amx_tile_supported() -> bool:
    return "amx_tile" in _flags()


def _is_amx_fp16_supported() -> bool:
    return "amx_fp16" in _flags()
