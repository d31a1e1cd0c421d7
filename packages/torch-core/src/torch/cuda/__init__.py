"""The face of CUDA. The kernels live in the distribution torch-core-cuda; without it, one sentence says so.

Questions are answered, what only tidies up does nothing, and what needs a device raises RuntimeError.

>>> torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated()
(False, 0, 0)
"""

from .._C import OutOfMemoryError, Tensor
from ._absent import REASON, Unavailable, functions, plugin
from .graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables
from .memory import *  # noqa: F403
from .random import get_rng_state_all, manual_seed, manual_seed_all, seed, seed_all, set_rng_state_all
from .streams import Event, EventHandle, ExternalStream, Stream

default_generators = ()
has_half = has_magma = plugin is not None  # linear algebra is there where the plug-in is
_initialized = False


class CudaError(RuntimeError):
    """A call of the CUDA runtime failed; of a code it says what that means.

    >>> issubclass(torch.cuda.CudaError, RuntimeError)
    True
    """

    def __init__(self, code):
        if isinstance(code, int) and plugin is not None:
            code = f"{plugin.error_string(code)} ({code})"
        super().__init__(code)


AcceleratorError = CudaError


class DeferredCudaCallError(Exception):
    """A call that waited for the first use of CUDA failed then."""


def is_available():
    """True when the plug-in is installed and finds a device.

    >>> device = "cuda" if torch.cuda.is_available() else "cpu"
    >>> device
    'cpu'
    """
    return False


def is_initialized():
    """True when a device has been used.

    >>> torch.cuda.is_initialized()
    False
    """
    return False


_waiting = []  # calls for the first use of a device, which does not come where there is none


def _lazy_call(callable, **kwargs):
    """Calls a function once there is CUDA to use: at once, where a device is there."""
    if is_available():
        callable()
    else:
        _waiting.append(callable)


def device_count():
    """Number of CUDA devices.

    >>> torch.cuda.device_count()
    0
    """
    return 0


def is_bf16_supported(including_emulation=True):
    """True when the current device computes in bfloat16."""
    return False


def is_tf32_supported():
    """True when the current device computes in TF32."""
    return False


def get_arch_list():
    """Architectures that the kernels were compiled for: none."""
    return []


def get_gencode_flags():
    """Flags of nvcc that the kernels were compiled with: none."""
    return ""


def set_device(device):
    """Choose the current device; a negative number chooses none, as ``--gpu -1`` in programs that can do without.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_device(0)
    """
    if isinstance(device, int) and device < 0:
        return
    raise Unavailable(f"torch.cuda.set_device({device!r}): {REASON}")


def _index(device):
    from .. import device as Device

    if device is None or isinstance(device, int):
        return -1 if device is None else device
    device = Device(device)
    if device.type != "cuda":
        raise ValueError(f"torch.cuda.device: expected a CUDA device, got {device}")
    return 0 if device.index is None else device.index


class device:
    """A block with another current device; with None or a negative number it changes nothing.

    >>> with torch.cuda.device(None):
    ...     print("None changes nothing")
    None changes nothing
    """

    def __init__(self, device):
        self.idx = _index(device)

    def __enter__(self):
        set_device(self.idx)

    def __exit__(self, *error):
        pass


class device_of(device):
    """A block with a tensor's device as the current one; a tensor of the CPU changes nothing.

    >>> with torch.cuda.device_of(torch.ones(1)):
    ...     print("a tensor of the CPU changes nothing")
    a tensor of the CPU changes nothing
    """

    def __init__(self, obj):
        self.idx = obj.get_device() if isinstance(obj, Tensor) and obj.is_cuda else -1


class StreamContext:
    """A block that works on a stream; None changes nothing.

    >>> with torch.cuda.stream(None):
    ...     print("None changes nothing")
    None changes nothing
    """

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            raise Unavailable(f"torch.cuda.stream: {REASON}")

    def __exit__(self, *error):
        pass


stream = StreamContext


def set_stream(stream):
    """Work on this stream from now on; None changes nothing."""
    if stream is not None:
        raise Unavailable(f"torch.cuda.set_stream: {REASON}")


functions(
    globals(),
    *(
        "can_device_access_peer",
        "check_error",
        "clock_rate",
        "cudart",
        "current_blas_handle",
        "current_device",
        "current_stream",
    ),
    *("default_stream", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state"),
    *("get_stream_from_external", "get_sync_debug_mode", "init", "initial_seed", "ipc_collect"),
    *(
        "device_memory_used",
        "memory_usage",
        "power_draw",
        "set_rng_state",
        "set_sync_debug_mode",
        "synchronize",
    ),
    *("temperature", "utilization"),
)

if plugin is not None:
    import sys

    plugin.take_over(sys.modules[__name__])

MODULES = ("amp", "comm", "nccl", "nvtx", "profiler", "sparse")


def __getattr__(name):
    if name in MODULES:
        from importlib import import_module

        return import_module(f"torch.cuda.{name}")
    for suffix in ("Tensor", "Storage"):
        if name.endswith(suffix) and not name.startswith("_"):
            from .. import storage
            from .._compat import classes

            if name.removesuffix(suffix) in classes.PREFIXES:
                globals()[name] = made = (classes if suffix == "Tensor" else storage).make(name, cuda=True)
                return made
    raise AttributeError(f"module 'torch.cuda' has no attribute {name!r}")


__all__ = [
    "CUDAGraph", "CudaError", "Event", "EventHandle", "ExternalStream", "OutOfMemoryError", "Stream", "StreamContext", "device",
    "device_count", "device_of", "get_rng_state_all", "graph", "graph_pool_handle", "is_available", "is_bf16_supported",
    "is_current_stream_capturing", "is_initialized", "make_graphed_callables", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_device", "set_rng_state_all", "set_stream", "stream",
]  # fmt: skip
