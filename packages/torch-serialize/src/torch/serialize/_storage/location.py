"""Where a stored tensor goes: `map_location` in all its forms, and the registry of devices behind the default."""

from __future__ import annotations

import importlib
import re
from bisect import insort
from collections.abc import Callable
from typing import Any, Union

from .._arrays.numpy_arrays import is_numpy_array
from .._arrays.stored import NO_META, MetaStorage
from .._errors import CallersError

#: what `map_location` may be, for annotations
MAP_LOCATION = Union[Callable[[Any, str], Any], "torch.device", str, dict[str, str], None]  # noqa: F821

_packages: list[tuple[int, int, Callable, Callable]] = []


def register_package(priority: int, tagger: Callable, deserializer: Callable) -> None:
    """Adds a kind of device: `tagger(storage)` names where a storage lives, `deserializer(storage, location)` moves one there.

    Both return None for storages and locations that are not theirs. The lowest priority is asked first.

    >>> torch.serialization.register_package(90, lambda storage: None, lambda storage, location: None) is None
    True
    """
    insort(_packages, (priority, len(_packages), tagger, deserializer))


def location_tag(storage) -> str:
    """The name of a storage's device as files spell it: "cpu", "cuda:0"."""
    for _, _, tagger, _ in _packages:
        if (location := tagger(storage)) is not None:
            return location
    raise RuntimeError(f"save: no one knows how to name the device of {type(storage).__name__}; see register_package")


def default_restore_location(storage, location: str):
    """The storage on the device that `location` names; raises where that device is not there.

    >>> default_restore_location(b"data", "cpu")
    b'data'
    """
    for _, _, _, deserializer in _packages:
        if (moved := deserializer(storage, location)) is not None:
            return moved
    raise RuntimeError(
        f"load: no one knows how to put a storage on the device {location!r}; "
        "load it elsewhere with torch.load(f, map_location='cpu')"
    )


def _cpu_tag(storage):
    return "cpu" if getattr(getattr(storage, "device", None), "type", "cpu") == "cpu" else None


def _cpu_restore(storage, location):
    return storage if location == "cpu" or location.startswith("cpu:") else None


def validate_cuda_device(location: str) -> int:
    """The number of the CUDA device that `location` names, such as "cuda:0"; raises where there is no such device."""
    if not re.fullmatch(r"cuda(:\d+)?", location):
        raise RuntimeError(f"load: Invalid device string: {location!r}; a device of CUDA is named 'cuda' or 'cuda:0'")
    cuda = getattr(importlib.import_module("torch"), "cuda", None)
    if cuda is None or not cuda.is_available():
        raise RuntimeError(
            f"load: tensors go to {location!r}, as the file or map_location says, and this machine or build has no CUDA device; "
            "load them into main memory with torch.load(f, map_location='cpu')"
        )
    index = int(location[5:] or 0)
    if index >= cuda.device_count():
        raise RuntimeError(
            f"load: tensors go to {location!r}, as the file or map_location says, and there are {cuda.device_count()} CUDA devices; "
            "choose one with torch.load(f, map_location='cuda:0')"
        )
    return index


def _cuda_tag(storage):
    device = getattr(storage, "device", None)
    return f"cuda:{device.index or 0}" if getattr(device, "type", None) == "cuda" else None


def _cuda_restore(storage, location):
    if not location.startswith("cuda"):
        return None
    from .._arrays.backends import arrays

    backend = arrays()
    if backend.name == "numpy":
        return storage
    index = validate_cuda_device(location)
    return storage.cuda(index)


def _meta_restore(storage, location):
    if location != "meta":
        return None
    if is_numpy_array(storage):
        raise NotImplementedError(NO_META)
    return MetaStorage(len(storage))


register_package(10, _cpu_tag, _cpu_restore)
register_package(20, _cuda_tag, _cuda_restore)
register_package(30, lambda storage: None, _meta_restore)


def placement(map_location) -> Callable:
    """`place(storage, location)` for a `map_location`: None, a function, a dict, a device or its name."""
    if map_location is None:
        return default_restore_location
    if is_function(map_location):

        def place(storage, location):
            try:
                moved = map_location(storage, location)
            except Exception as e:  # not a fault of the file, as which a TypeError would be reported
                raise CallersError from e
            return default_restore_location(storage, location) if moved is None else moved

        return place
    if isinstance(map_location, dict):
        names = {str(key): str(value) for key, value in map_location.items()}
        return lambda storage, location: default_restore_location(storage, names.get(location, location))
    name = str(map_location)
    if not isinstance(map_location, str) and not _is_device(map_location):
        raise TypeError(
            f"load: map_location must be a device, its name, a dict or a function, got {type(map_location).__name__}"
        )
    return lambda storage, location: default_restore_location(storage, name)


def is_function(map_location) -> bool:
    """Whether this places storages itself; a device may be called too, as a decorator."""
    return callable(map_location) and not _is_device(map_location)


def _is_device(map_location) -> bool:
    return type(map_location).__name__ == "device"


def is_plain(map_location) -> bool:
    """Whether storages of the CPU stay where they are."""
    return map_location is None or str(map_location) == "cpu"
