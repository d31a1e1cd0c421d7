"""CUDA, as ``torch.cuda`` has it when this distribution is installed: devices, memory, streams, generators.

``torch.cuda`` loads it when a program first asks for CUDA. Without a driver everything stays as it is without the
distribution, but for the reason that is given.

>>> import torch
>>> isinstance(torch.cuda.is_available(), bool)
True
"""

import importlib.util
import os
import sys

#: In tests, the path of a plug-in whose kernels are run by an execution layer on the CPU (core/cuda_host).
_HOST_FORM = os.environ.get("TORCH_CUDA_HOST_FORM")


def _load():
    """The compiled module. It is checked against the core's interface before its library is opened."""
    if _HOST_FORM:
        spec = importlib.util.spec_from_file_location("torch._cuda._native", _HOST_FORM)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    try:
        from . import _built
    except ImportError:
        raise ImportError(
            "torch-core-cuda was not compiled: building it needs nvcc (pip install nvidia-cuda-nvcc, or the CUDA toolkit)"
        ) from None
    from torch import _parts

    _parts.require("torch-core-cuda", _built.CORE_INTERFACE, _built.CORE_FEATURES)
    from . import _native

    return _native


_native = _load()
_native.start()


def _set_up() -> None:
    """What a device needs: NVIDIA's libraries, and the allocator as the environment asks for it."""
    from . import settings
    from .nvidia import offer

    offer(_native)
    settings.from_environment()


if _native.device_count() > 0:
    _set_up()
if "torch._operators.predicates" in sys.modules:
    _native.set_deterministic(sys.modules["torch._operators.predicates"]._deterministic)


def is_available() -> bool:
    """Whether there is a device to compute on."""
    return _native.device_count() > 0


def reason() -> str:
    """Why there is none; what the faces of ``torch.cuda`` say."""
    if is_available():
        return "torch-core-cuda has nothing for it yet"
    return f"CUDA cannot be used: {_native.why_unavailable()}"


def error_string(code: int) -> str:
    """What a code of CUDA's runtime means."""
    return _native.error_string(code)


def take_over(module) -> None:
    """Put what works on a device in the place of the faces of ``torch.cuda``."""
    if not is_available():
        return
    from . import cudart, devices, graphed, graphs, memory, nvml, nvrtc, pools, random, settings, streams

    faces = {graphed: "graphs", pools: "memory"}
    for part in (devices, streams, memory, pools, random, graphs, graphed, nvml, nvrtc, cudart):
        face = sys.modules.get(f"torch.cuda.{faces.get(part, part.__name__.rpartition('.')[2])}")
        for name in part.__all__:
            value = getattr(part, name)
            setattr(module, name, value)
            if face is not None:
                setattr(face, name, value)
    for name in ("_dump_snapshot", "_record_memory_history", "_snapshot"):
        setattr(sys.modules["torch.cuda.memory"], name, getattr(pools, name))
    sys.modules["torch.cuda.memory"]._set_allocator_settings = settings.set_allocator_settings


def toolkit_version() -> str:
    """Of the CUDA that the kernels are made with."""
    return "{}.{}".format(*divmod(_native.versions()[1] // 10, 100))
