"""The test device ``nowhere``: memory that can be neither read nor written, and no kernels.

A plug-in written with ctypes against ``torch/core/backend.h``. What looks at its memory from the CPU ends the process,
so it is used in processes of its own: ``python nowhere.py`` calls every operator on it (test_nowhere.py).
"""

import ctypes
import sys
from pathlib import Path

import conftest  # noqa: F401  (finds the samples)
import torch
from operator_samples import INFO, cases, name_of
from operator_samples.found import copied, has_tensor, is_factory

PRIVATE_USE_1 = 3
PROT_NONE, MAP_PRIVATE, MAP_ANONYMOUS = 0, 2, 0x20


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint8), ("index", ctypes.c_int8)]


pointer, size, yes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool
FIELDS = [
    ("name", ctypes.c_char_p),
    ("current", ctypes.CFUNCTYPE(ctypes.c_int)),
    ("allocate", ctypes.CFUNCTYPE(pointer, size, Device)),
    ("free", ctypes.CFUNCTYPE(None, pointer, size, Device)),
    ("copy", ctypes.CFUNCTYPE(yes, pointer, Device, pointer, Device, size)),
    ("fill", ctypes.CFUNCTYPE(yes, pointer, size, pointer, size, Device)),
    ("read_scalar", ctypes.CFUNCTYPE(yes, pointer, pointer, size, Device)),
    ("synchronize", ctypes.CFUNCTYPE(yes, Device)),
    ("generator", ctypes.CFUNCTYPE(pointer, Device)),
]


class DeviceBackend(ctypes.Structure):
    _fields_ = FIELDS


def register() -> None:
    """Makes ``torch.device("nowhere")`` a device with tensors, for the rest of the process."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = pointer
    libc.mmap.argtypes = [pointer, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    (library,) = Path(torch.__file__).parent.glob("lib/libtorch_core.so.?")
    core = ctypes.CDLL(str(library))
    default_generator = core._ZN5torch17default_generatorEv
    default_generator.restype = pointer
    functions = {
        "current": lambda: 0,
        "allocate": lambda n, _: libc.mmap(None, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        "copy": lambda to, to_device, source, device, n: to_device.type == PRIVATE_USE_1,
        "fill": lambda *_: True,
        "read_scalar": lambda *_: False,
        "synchronize": lambda _: True,
        "generator": lambda _: default_generator(),
    }
    types = dict(FIELDS)
    wrapped = {name: types[name](f) for name, f in functions.items()}
    # A tensor may be freed while an exception is on its way, when no Python may run: munmap itself takes what it needs.
    wrapped["free"] = ctypes.cast(libc.munmap, types["free"])
    register.backend = backend = DeviceBackend(name=b"nowhere", **wrapped)  # lives as long as the process
    core._ZN5torch16register_backendENS_10DeviceTypeEPKNS_13DeviceBackendE(PRIVATE_USE_1, ctypes.byref(backend))


def moved(x, device):
    """Arguments or results with their tensors on a device."""
    if isinstance(x, torch.Tensor):
        return x.to(device)
    return type(x)(moved(y, device) for y in x) if isinstance(x, (list, tuple)) else x


def kinds(x):
    """What a result is without its values."""
    if isinstance(x, torch.Tensor):
        return (x.shape, x.dtype, x.is_sparse)
    return [kinds(y) for y in x] if isinstance(x, (list, tuple)) else type(x)


def outcome(schema, args, kwargs):
    """'runs', 'lacks', 'refuses' a number in the place of a tensor, or a sentence about what is wrong."""
    operator = torch._C._operator(name_of(schema))
    expected = operator(*copied(args), **kwargs)
    there = {k: moved(v, "nowhere") for k, v in kwargs.items()}
    if is_factory(schema) and not has_tensor([*args, *kwargs.values()]):
        there["device"] = "nowhere"
    try:
        result = operator(*moved(args, "nowhere"), **there)
    except Exception as e:
        text = f"{type(e).__name__}: {e}".splitlines()[0]
        if isinstance(e, NotImplementedError) and "nowhere" in text:
            return "lacks"
        if "Expected all tensors to be on the same device" in text and isinstance(args[0], (int, float)):
            return "refuses"
        return text
    if kinds(result) != kinds(expected):
        return f"gives {kinds(result)} and on the CPU {kinds(expected)}"
    return "runs"


if __name__ == "__main__":
    register()
    for schema in INFO:
        for args, kwargs in cases(schema):
            print(name_of(schema), end=" ", flush=True)  # the last name printed is whose call ended the process
            print(outcome(schema, args, kwargs), flush=True)
    sys.exit()
