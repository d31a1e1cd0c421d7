"""The face of CUDA. The kernels live in the distribution torch-core-cuda; without it, one sentence says so."""

from ._C import Tensor  # noqa: F401

REASON = "CUDA needs the distribution 'torch-core-cuda', which is not installed: pip install torch-core-cuda"


def is_available():
    """True when the plug-in is installed and finds a device."""
    return False


def is_initialized():
    """True when a device has been used."""
    return False


def device_count():
    """Number of CUDA devices."""
    return 0


def is_bf16_supported(including_emulation=True):
    """True when the current device computes in bfloat16."""
    return False


def empty_cache():
    """Give cached device memory back; nothing is held without the plug-in."""


def manual_seed(seed):
    """Seed the current device's generator; nothing to seed without a device."""


def manual_seed_all(seed):
    """Seed all devices' generators; nothing to seed without a device."""


def seed_all():
    """Seed all devices' generators from entropy; nothing to seed without a device."""


def init():
    """Set up CUDA now instead of at first use."""
    raise RuntimeError(REASON)


class _Sparse:
    """``torch.cuda.sparse``: the legacy classes of sparse CUDA tensors."""

    def __getattr__(self, name):
        from . import _legacy

        if name.endswith("Tensor") and name.removesuffix("Tensor") in _legacy.PREFIXES:
            return _legacy.make(name, cuda=True, sparse=True)
        raise AttributeError(f"module 'torch.cuda.sparse' has no attribute {name!r}")


sparse = _Sparse()


def __getattr__(name):
    if name.endswith("Tensor") and not name.startswith("_"):
        from . import _legacy

        if name.removesuffix("Tensor") in _legacy.PREFIXES:
            return _legacy.make(name, cuda=True)
    if name in NEEDS_DEVICE:

        def missing(*args, **kwargs):
            raise RuntimeError(f"torch.cuda.{name}: {REASON}")

        missing.__name__ = name
        return missing
    raise AttributeError(f"module 'torch.cuda' has no attribute {name!r}")


NEEDS_DEVICE = {
    "current_device", "set_device", "synchronize", "get_device_name", "get_device_properties", "get_device_capability",
    "current_stream", "default_stream", "stream", "Stream", "Event", "memory_allocated", "max_memory_allocated",
    "memory_reserved", "max_memory_reserved", "reset_peak_memory_stats", "mem_get_info", "get_rng_state", "set_rng_state",
    "seed", "initial_seed", "ipc_collect", "current_blas_handle", "can_device_access_peer",
}  # fmt: skip
