"""Which devices there are, and which is the current one."""

from __future__ import annotations

import os
import uuid
import warnings

import torch

from . import _native

__all__ = [
    "can_device_access_peer", "current_blas_handle", "current_device", "device", "device_count", "device_of", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "get_gencode_flags", "get_sync_debug_mode", "index_of", "init", "ipc_collect",
    "is_available", "is_bf16_supported", "is_initialized", "is_tf32_supported", "set_device", "set_sync_debug_mode",
    "synchronize", "_CudaDeviceProperties", "_is_in_bad_fork", "_lazy_call", "_lazy_init", "_sleep",
]  # fmt: skip


def index_of(device=None, what: str = "torch.cuda") -> int:
    """The ordinal that a device of CUDA, its name or an int stands for; None is the current one.

    >>> torch.cuda.index_of("cuda:0"), torch.cuda.index_of(0)
    (0, 0)
    """
    if isinstance(device, int):
        return _native.current_device() if device < 0 else device
    if device is None:
        return _native.current_device()
    device = torch.device(device)
    if device.type != "cuda":
        raise ValueError(f"{what}: expected a CUDA device, got {device}")
    return _native.current_device() if device.index is None else device.index


def is_available() -> bool:
    """Whether there is a device to compute on."""
    return _native.device_count() > 0


def device_count() -> int:
    """Number of CUDA devices."""
    return _native.device_count()


def init() -> None:
    """Nothing is left to do: CUDA begins when this distribution is loaded."""


def is_initialized() -> bool:
    """True: CUDA has begun."""
    return True


def ipc_collect() -> None:
    """Let go of memory that was sent to other processes and that they no longer use."""
    from . import sharing

    sharing.collect()


def current_device() -> int:
    """The ordinal of the current device.

    >>> torch.cuda.current_device()
    0
    """
    return _native.current_device()


def set_device(device) -> None:
    """Choose the current device; a negative number chooses none."""
    if isinstance(device, int) and device < 0:
        return
    _native.set_device(index_of(device, "torch.cuda.set_device"))


def _sleep(cycles: int) -> None:
    """Keep the current stream busy for so many clocks of the device."""
    _native.sleep(cycles)


def _lazy_init() -> None:
    """Nothing is left to do once the device is there."""


def _lazy_call(callable, **options) -> None:
    """Call what wants CUDA to be there, which it is."""
    callable()


_bad_fork = False


def _forked() -> None:
    global _bad_fork
    _bad_fork = True


os.register_at_fork(after_in_child=_forked)


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that used CUDA, and so cannot."""
    return _bad_fork


def synchronize(device=None) -> None:
    """Wait for everything that was started on the device; what went wrong there is raised."""
    _native.synchronize(index_of(device, "torch.cuda.synchronize"))


class _CudaDeviceProperties:
    """What CUDA tells of a device."""

    def __init__(self, values: dict):
        values["uuid"] = uuid.UUID(bytes=values["uuid"])
        self.__dict__.update(values, gcnArchName="")

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )

    def __eq__(self, other):
        return isinstance(other, _CudaDeviceProperties) and self.__dict__ == other.__dict__

    __hash__ = None


def get_device_properties(device=None) -> _CudaDeviceProperties:
    """Name, memory, multiprocessors and limits of a device."""
    return _CudaDeviceProperties(_native.properties(index_of(device, "torch.cuda.get_device_properties")))


def get_device_name(device=None) -> str:
    """The name of a device."""
    return get_device_properties(device).name


def get_device_capability(device=None) -> tuple[int, int]:
    """Major and minor number of what a device can do.

    >>> torch.cuda.get_device_capability() >= (8, 0)
    True
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_arch_list() -> list[str]:
    """Architectures that the kernels were compiled for; none where an execution layer runs them."""
    if _native.HOST:
        return []
    from ._built import ARCHITECTURES

    return [f"sm_{number}" for number in ARCHITECTURES]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes in bfloat16: all that this distribution runs on do."""
    return True


def is_tf32_supported() -> bool:
    """Whether the current device computes in TF32: all that this distribution runs on do."""
    return True


def get_gencode_flags() -> str:
    """Flags of nvcc that the kernels were compiled with."""
    return " ".join(f"-gencode compute=compute_{get_arch_list()[0][3:]},code={a}" for a in get_arch_list())


def can_device_access_peer(device, peer_device) -> bool:
    """Whether one device reads another one's memory by itself. AssertionError for an ordinal that there is not."""
    pair = []
    for what, given in (("device", device), ("peer device", peer_device)):
        index = given if isinstance(given, int) else index_of(given, "can_device_access_peer")
        if not 0 <= index < device_count():
            raise AssertionError(
                f"can_device_access_peer: invalid {what} id {index}; there are cuda:0 to cuda:{device_count() - 1}"
            )
        pair.append(index)
    return _native.can_access_peer(*pair)


def current_blas_handle() -> int:
    """Raises NotImplementedError: products are kernels of this distribution, and no handle of cuBLAS is made."""
    raise NotImplementedError(
        "torch.cuda.current_blas_handle: torch-core-cuda multiplies with kernels of its own and opens no cuBLAS"
    )


_sync_debug_mode = 0
_SYNC_DEBUG_MODES = ("default", "warn", "error")


def set_sync_debug_mode(debug_mode) -> None:
    """What happens where an operator waits for the device: nothing (0, "default"), a warning (1, "warn") or an error
    (2, "error")."""
    global _sync_debug_mode
    if isinstance(debug_mode, str):
        if debug_mode not in _SYNC_DEBUG_MODES:
            raise RuntimeError(
                f"set_sync_debug_mode: expected one of {', '.join(map(repr, _SYNC_DEBUG_MODES))}, got {debug_mode!r}"
            )
        debug_mode = _SYNC_DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"set_sync_debug_mode: expected 0, 1 or 2, got {debug_mode!r}")
    _sync_debug_mode = int(debug_mode)
    _native.on_wait(None if debug_mode == 0 else _about_wait)


def get_sync_debug_mode() -> int:
    """What ``set_sync_debug_mode`` chose."""
    return _sync_debug_mode


def _about_wait() -> None:
    text = "called a synchronizing CUDA operation"
    if _sync_debug_mode == 2:
        raise RuntimeError(f"{text}; torch.cuda.set_sync_debug_mode(0) allows it")
    warnings.warn(text, stacklevel=2)


class device:
    """A block with another current device; with None or a negative number it changes nothing.

    >>> with torch.cuda.device(0):
    ...     torch.empty(2, device="cuda").device
    device(type='cuda', index=0)
    """

    def __init__(self, device):
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = _native.current_device()
            _native.set_device(self.idx)
        return self

    def __exit__(self, *error):
        if self.idx >= 0:
            _native.set_device(self.prev_idx)


class device_of(device):
    """A block with a tensor's device as the current one; a tensor of the CPU changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if isinstance(obj, torch.Tensor) and obj.is_cuda else None)
