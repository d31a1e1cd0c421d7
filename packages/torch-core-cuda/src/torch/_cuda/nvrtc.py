"""Kernels of the program's own, compiled while it runs by NVIDIA's library NVRTC and launched by the driver."""

from __future__ import annotations

import ctypes
import functools

import torch

from . import _native
from .nvidia import open_library
from .streams import current_stream

__all__ = ["_compile_kernel"]


def _nvrtc_check(nvrtc, code: int) -> None:
    if code:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(f"NVRTC: {nvrtc.nvrtcGetErrorString(code).decode()}")


def compile_to_cubin(source: str, name: str, architecture: str, options=()) -> tuple[bytes, str]:
    """The machine code of a kernel's source, and the name that the compiler gave the kernel."""
    nvrtc = open_library("nvrtc", "torch.cuda._compile_kernel")
    program = ctypes.c_void_p()
    text = source.encode()
    _nvrtc_check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, f"{name}.cu".encode(), 0, None, None))
    try:
        _nvrtc_check(nvrtc, nvrtc.nvrtcAddNameExpression(program, name.encode()))
        flags = [f"--gpu-architecture=sm_{architecture}", "--std=c++17", *options]
        given = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        if nvrtc.nvrtcCompileProgram(program, len(flags), given):
            raise RuntimeError(f"_compile_kernel: {name!r} does not compile:\n{_text(nvrtc, program, 'ProgramLog')}")
        lowered = ctypes.c_char_p()
        _nvrtc_check(nvrtc, nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered)))
        return _bytes(nvrtc, program, "CUBIN"), lowered.value.decode()
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(nvrtc, program, what: str) -> bytes:
    size = ctypes.c_size_t()
    _nvrtc_check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    room = ctypes.create_string_buffer(size.value)
    _nvrtc_check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, room))
    return room.raw


def _text(nvrtc, program, what: str) -> str:
    return _bytes(nvrtc, program, what).rstrip(b"\0").decode(errors="replace").strip()


class _Driver:
    """The driver's own interface, of which launches need four functions."""

    def __init__(self):
        self._library = open_library("driver", "launching a kernel of torch.cuda._compile_kernel")

    def __getattr__(self, name):
        function = getattr(self._library, name)

        def call(*args):
            if code := function(*args):
                text = ctypes.c_char_p()
                self._library.cuGetErrorString(code, ctypes.byref(text))
                raise RuntimeError(f"CUDA driver: {name}: {(text.value or b'unknown error').decode()}")

        return call


@functools.cache
def _driver() -> _Driver:
    return _Driver()


class _Kernel:
    """A compiled kernel: ``kernel(grid=(x, y, z), block=(x, y, z), args=[...], shared_mem=0, stream=None)``. Arguments are
    CUDA tensors, which pass their address, ints (as 32 bits, or 64 where they need it), floats (as float), and bools."""

    def __init__(self, cubin: bytes, name: str, shown: str):
        self._cubin, self._name, self.name, self._functions = cubin, name, shown, {}

    def _on(self, device: int):
        if device not in self._functions:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            _driver().cuModuleLoadData(ctypes.byref(module), self._cubin)
            _driver().cuModuleGetFunction(ctypes.byref(function), module, self._name.encode())
            self._functions[device] = function
        return self._functions[device]

    def __call__(self, grid=(1, 1, 1), block=(1, 1, 1), args=None, shared_mem: int = 0, stream=None) -> None:
        grid, block = _extent(grid, "grid", self.name), _extent(block, "block", self.name)
        values, device = [], None
        for i, value in enumerate(args or ()):
            if isinstance(value, torch.Tensor):
                if not value.is_cuda and not (value.device.type == "cpu" and value.is_pinned()):
                    raise ValueError(
                        f"kernel {self.name!r}: argument {i} is a tensor on {value.device}; kernels take CUDA tensors, and "
                        "those of the CPU in pinned memory"
                    )
                if value.is_cuda and device is not None and value.device != device:
                    raise ValueError(
                        f"kernel {self.name!r}: tensors on {device} and {value.device}; move one with .to()"
                    )
                if not value.is_contiguous():
                    raise ValueError(
                        f"kernel {self.name!r}: argument {i} of shape {tuple(value.shape)} is not contiguous, and a kernel "
                        "sees only its address; pass x.contiguous()"
                    )
                device = value.device if value.is_cuda else device
                values.append(ctypes.c_void_p(value.data_ptr()))
            elif isinstance(value, bool):
                values.append(ctypes.c_bool(value))
            elif isinstance(value, int):
                values.append(ctypes.c_int(value) if -(2**31) <= value < 2**31 else ctypes.c_longlong(value))
            elif isinstance(value, float):
                values.append(ctypes.c_float(value))
            elif isinstance(value, ctypes._SimpleCData):
                values.append(value)
            else:
                raise TypeError(f"kernel {self.name!r}: argument {i} is of type {type(value).__name__}")
        with torch.cuda.device(device):
            index = _native.current_device()
            stream = current_stream() if stream is None else stream
            if stream._index != index:
                raise ValueError(
                    f"kernel {self.name!r}: the stream is of cuda:{stream._index}, the tensors of cuda:{index}"
                )
            pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
            handle = ctypes.c_void_p(stream.cuda_stream)
            _driver().cuLaunchKernel(self._on(index), *grid, *block, int(shared_mem), handle, pointers, None)


def _extent(given, what: str, name: str) -> tuple[int, int, int]:
    extent = (given,) if isinstance(given, int) else tuple(given)
    if not 1 <= len(extent) <= 3 or not all(isinstance(n, int) and n > 0 for n in extent):
        raise ValueError(f"kernel {name!r}: {what} must be one to three positive ints, got {given!r}")
    return (*extent, 1, 1)[:3]


def _compile_kernel(
    kernel_source: str,
    kernel_name: str,
    compute_capability: str | None = None,
    cuda_include_dirs: list | None = None,
    nvcc_options: list[str] | None = None,
) -> _Kernel:
    """The kernel of that name in a source of CUDA, compiled for the current device or for ``compute_capability``, such as
    "90". RuntimeError has the compiler's words, or says what to install."""
    if not isinstance(kernel_source, str) or not kernel_source.strip():
        raise ValueError("_compile_kernel: kernel_source must be a text of CUDA that is not empty")
    if compute_capability is None:
        compute_capability = "{}{}".format(*torch.cuda.get_device_capability())
    options = [*(f"-I{folder}" for folder in cuda_include_dirs or ()), *(nvcc_options or ())]
    cubin, lowered = compile_to_cubin(kernel_source, kernel_name, str(compute_capability), options)
    return _Kernel(cubin, lowered, kernel_name)
