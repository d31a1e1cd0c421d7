"""How the allocator of device memory works, as ``PYTORCH_CUDA_ALLOC_CONF`` says it: ``"max_split_size_mb:200,..."``."""

from __future__ import annotations

import os
import re
import warnings

__all__ = ["set_allocator_settings"]

_MB = 1 << 20
#: Of other allocators, or of how pinned memory is made: programs that ask for them run as well without.
_WITHOUT_EFFECT = {
    "expandable_segments", "graph_capture_record_stream_reuse", "pinned_num_register_threads", "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads", "pinned_use_cuda_host_register", "release_lock_on_cudamalloc",
}  # fmt: skip


def set_allocator_settings(settings: str) -> None:
    """Set what the text names, and all else as it is without.

    ``max_split_size_mb``: larger blocks are not split. ``garbage_collection_threshold``: above this share of the memory that
    the process may take, idle segments are given back. ``roundup_power2_divisions``: sizes are rounded up to this part of the
    way between two powers of 2; a list has a number from each size in MB on (``[256:1,512:2,>:4]``).

    >>> set_allocator_settings("max_split_size_mb:200,roundup_power2_divisions:4")
    >>> set_allocator_settings("")
    """
    from . import _native  # which this module is loaded for

    largest, threshold, divisions, fraction = 0, 0.0, [], None
    for name, value in re.findall(r"\s*([^:,\s]*)\s*:?\s*(\[[^\]]*\]|[^,]*)", settings):
        if not name:
            continue
        if name == "max_split_size_mb":
            largest = _number(name, value, int, lambda n: n > 20, "a number of MB above 20") * _MB
        elif name == "garbage_collection_threshold":
            threshold = _number(name, value, float, lambda x: 0 < x < 1, "a number between 0 and 1")
        elif name == "per_process_memory_fraction":
            fraction = _number(name, value, float, lambda x: 0 <= x <= 1, "a number in [0, 1]")
        elif name == "roundup_power2_divisions":
            divisions = _divisions(name, value)
        elif name == "backend" and value.strip() != "native":
            raise NotImplementedError(
                f"allocator settings: torch-core-cuda has only the backend 'native', got {value!r}"
            )
        elif name in _WITHOUT_EFFECT:
            if value.strip() != "False":
                warnings.warn(f"allocator settings: {name} has no effect in torch-core-cuda", stacklevel=3)
        elif name != "backend":
            raise ValueError(f"allocator settings: there is no {name!r} (in {settings!r})")
    _native.set_allocator(largest, threshold, divisions)
    if fraction is not None:
        for device in range(_native.device_count()):
            _native.set_memory_fraction(device, fraction)


def _number(name, text, kind, fits, expected):
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not fits(number):
        raise ValueError(f"allocator settings: {name} must be {expected}, got {text!r}")
    return number


def _divisions(name, text) -> list[tuple[int, int]]:
    """Pairs of a size in bytes and the number of divisions from there on."""

    def count(n):
        return _number(name, n, int, lambda n: n > 0 and n & (n - 1) == 0, "powers of 2")

    if not text.startswith("["):
        return [(0, count(text))]
    pairs, last = [], 0
    for part in filter(None, text[1:-1].split(",")):
        size, _, n = part.partition(":")
        if size.strip() == ">":
            size = last * 2
        else:
            last = size = _number(name, size, int, lambda n: n > 0 and n & (n - 1) == 0, "powers of 2 by sizes in MB")
        pairs.append((int(size) * _MB, count(n)))
    return sorted(pairs)


def from_environment() -> None:
    """What the variables of the environment set."""
    name = next(filter(os.environ.get, ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")), None)
    if name is not None:
        try:
            set_allocator_settings(os.environ[name])
        except (NotImplementedError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
