"""NVIDIA's libraries, opened when they are first needed: from its wheels, or where the system has them."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path
from types import ModuleType

#: The file, and the wheel that brings it; None: the driver does. A file named in the environment takes its place.
LIBRARIES = {
    "cublasLt": ("libcublasLt.so.13", "nvidia-cublas"),
    "cudnn": ("libcudnn.so.9", "nvidia-cudnn-cu13"),
    "cufft": ("libcufft.so.12", "nvidia-cufft"),
    "cusolver": ("libcusolver.so.12", "nvidia-cusolver"),
    "cusparse": ("libcusparse.so.12", "nvidia-cusparse"),
    "nvrtc": ("libnvrtc.so.13", "nvidia-cuda-nvrtc"),
    "nvml": ("libnvidia-ml.so.1", None),
    "driver": ("libcuda.so.1", None),
}
#: opened by the compiled part when it first needs them, and done without where they are not found
OFFERED = ("cublasLt", "cufft", "cusolver")


def candidates(name: str) -> list[str]:
    """Where a library may lie, the likeliest first."""
    file, _ = LIBRARIES[name]
    given = os.environ.get(f"TORCH_{name.upper()}_LIBRARY")
    if given is not None:  # empty: none
        return [given] if given else []
    wheels = importlib.util.find_spec("nvidia")
    places = wheels.submodule_search_locations if wheels else ()
    return [*(str(p) for place in places for p in sorted(Path(place).glob(f"*/lib/{file}"))), file]


def offer(native: ModuleType) -> None:
    """Tell the compiled part where the libraries are that it opens itself. Over an execution layer, only those of the environment."""
    for name in OFFERED:
        wanted = not native.HOST or f"TORCH_{name.upper()}_LIBRARY" in os.environ
        native.offer_library(name, candidates(name) if wanted else [])


@functools.cache
def open_library(name: str, what: str) -> ctypes.CDLL:
    """The library. RuntimeError says what asks for it, what is missing, and what to install."""
    file, wheel = LIBRARIES[name]
    reasons = []
    for path in candidates(name):
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
    remedy = f"pip install {wheel}" if wheel else "it comes with NVIDIA's driver"
    reason = reasons[0] if reasons else f"TORCH_{name.upper()}_LIBRARY is empty"
    raise RuntimeError(f"{what} needs {file}, which cannot be opened ({reason}); {remedy}")
