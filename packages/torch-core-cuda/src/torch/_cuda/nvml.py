"""What NVIDIA's management library knows of a device: how busy, warm and full it is, and who uses it.

The library comes with the driver, and is opened when it is first asked.
"""

from __future__ import annotations

import ctypes
import functools

import torch

from .devices import index_of
from .nvidia import open_library

__all__ = [
    "clock_rate",
    "device_memory_used",
    "list_gpu_processes",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
]


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


@functools.cache
def _open():
    nvml = open_library("nvml", "what torch.cuda asks of NVIDIA's management library")
    nvml.nvmlErrorString.restype = ctypes.c_char_p
    _check(nvml, nvml.nvmlInit_v2())
    return nvml


def _check(nvml, code: int) -> None:
    if code:
        raise RuntimeError(f"NVIDIA's management library: {nvml.nvmlErrorString(code).decode()}")


def _ask(device, function: str, *args, what: str):
    """Calls a function on the device, which is found by its identity: numbers may differ from CUDA's."""
    index = index_of(device, f"torch.cuda.{what}")
    identity = torch.cuda.get_device_properties(index).uuid
    nvml, handle = _open(), ctypes.c_void_p()
    _check(nvml, nvml.nvmlDeviceGetHandleByUUID(f"GPU-{identity}".encode(), ctypes.byref(handle)))
    _check(nvml, getattr(nvml, function)(handle, *args))


def _utilization(device, what):
    answer = _Utilization()
    _ask(device, "nvmlDeviceGetUtilizationRates", ctypes.byref(answer), what=what)
    return answer


def utilization(device=None) -> int:
    """Of the last sampling period, the percentage in which kernels ran on the device."""
    return _utilization(device, "utilization").gpu


def memory_usage(device=None) -> int:
    """Of the last sampling period, the percentage in which device memory was read or written."""
    return _utilization(device, "memory_usage").memory


def _number(device, function, *args, what):
    answer = ctypes.c_uint()
    _ask(device, function, *args, ctypes.byref(answer), what=what)
    return answer.value


def temperature(device=None) -> int:
    """Degrees Celsius of the device."""
    return _number(device, "nvmlDeviceGetTemperature", 0, what="temperature")


def power_draw(device=None) -> int:
    """Milliwatts that the device takes."""
    return _number(device, "nvmlDeviceGetPowerUsage", what="power_draw")


def clock_rate(device=None) -> int:
    """The clock of the multiprocessors in MHz."""
    return _number(device, "nvmlDeviceGetClockInfo", 1, what="clock_rate")


def device_memory_used(device=None) -> int:
    """Bytes of the device that all processes together use."""
    answer = _Memory()
    _ask(device, "nvmlDeviceGetMemoryInfo", ctypes.byref(answer), what="device_memory_used")
    return answer.used


def list_gpu_processes(device=None) -> str:
    """The processes that compute on the device, and the memory that each holds, as text."""
    index, room = index_of(device, "torch.cuda.list_gpu_processes"), 256
    count, processes = ctypes.c_uint(room), (_Process * room)()
    function = "nvmlDeviceGetComputeRunningProcesses_v3"
    _ask(device, function, ctypes.byref(count), processes, what="list_gpu_processes")
    lines = [f"GPU:{index}"]
    lines += [f"process {p.pid:>10d} uses {p.used / 2**20:>12.3f} MB GPU memory" for p in processes[: count.value]]
    return "\n".join(lines if count.value else [*lines, "no processes are running"])
