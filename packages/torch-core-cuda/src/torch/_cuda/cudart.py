"""Functions of CUDA's runtime as programs call them by hand: ``torch.cuda.cudart()``. They return codes, which
``torch.cuda.check_error`` looks at."""

from __future__ import annotations

from enum import IntEnum

import torch

from . import _native

__all__ = ["check_error", "cudart"]


class cudaError(IntEnum):
    """A code of CUDA's runtime.

    >>> torch.cuda.cudart().cudaError.success
    <cudaError.success: 0>
    """

    success = 0
    invalidValue = 1
    memoryAllocation = 2
    initializationError = 3
    invalidDevice = 101
    invalidResourceHandle = 400
    notReady = 600
    hostMemoryAlreadyRegistered = 712
    hostMemoryNotRegistered = 713

    @classmethod
    def _missing_(cls, value):
        member = int.__new__(cls, value)
        member._name_, member._value_ = _native.error_name(value), value
        return member


class cudaOutputMode:
    """Kinds of files that CUDA's profiler wrote up to version 10."""

    KeyValuePair, CSV = 0, 1


class _Runtime:
    """What ``cudart()`` gives."""

    cudaError, cudaOutputMode = cudaError, cudaOutputMode

    @staticmethod
    def cudaGetErrorString(code) -> str:
        """What a code means."""
        return _native.error_string(int(code))

    @staticmethod
    def cudaProfilerStart() -> cudaError:
        """NVIDIA's profiler records from here on."""
        return cudaError(_native.profiler_start())

    @staticmethod
    def cudaProfilerStop() -> cudaError:
        """NVIDIA's profiler stops recording."""
        return cudaError(_native.profiler_stop())

    @staticmethod
    def cudaHostRegister(ptr: int, size: int, flags: int = 0) -> cudaError:
        """Memory of the program stays in place, so that copies from and to it need none of CUDA's own."""
        return cudaError(_native.host_register(ptr, size, flags))

    @staticmethod
    def cudaHostUnregister(ptr: int) -> cudaError:
        """The reverse of ``cudaHostRegister``."""
        return cudaError(_native.host_unregister(ptr))

    @staticmethod
    def cudaStreamCreate(ptr: int) -> cudaError:
        """A new stream, whose handle is written to the address ``ptr``."""
        import ctypes

        code, stream = _native.stream_create()
        if not code:
            ctypes.c_size_t.from_address(ptr).value = stream
        return cudaError(code)

    @staticmethod
    def cudaStreamDestroy(stream: int) -> cudaError:
        """Frees a stream of ``cudaStreamCreate``, which must not be used again."""
        return cudaError(_native.stream_destroy(stream))

    @staticmethod
    def cudaMemGetInfo(device: int) -> tuple[int, int]:
        """Free and total bytes of a device."""
        return _native.mem_get_info(device)


_runtime = _Runtime()


def cudart() -> _Runtime:
    """Functions of CUDA's runtime.

    >>> torch.cuda.cudart().cudaGetErrorString(2)
    'out of memory'
    """
    return _runtime


def check_error(res: int) -> None:
    """CudaError for a code other than 0.

    >>> torch.cuda.check_error(torch.cuda.cudart().cudaProfilerStart())
    """
    if int(res) != 0:
        raise torch.cuda.CudaError(int(res))
