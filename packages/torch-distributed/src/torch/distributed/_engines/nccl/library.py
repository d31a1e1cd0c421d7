"""The binding to NCCL: compiled against the header of the installed library when it is first used, and kept."""

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import torch

from ..gloo.library import MESSAGE, _compiler

SOURCE = Path(__file__).with_name("binding.cpp")
WHEELS = ("nvidia-nccl-cu13", "nvidia-nccl-cu12")


class Failed(Exception):
    """What NCCL said."""


@functools.cache
def found():
    """The header's folder and the library, of a wheel or of the system; None if there is none."""
    for name in WHEELS:
        try:
            base = Path(str(distribution(name).locate_file("nvidia/nccl")))
        except PackageNotFoundError:
            continue
        if (base / "include/nccl.h").exists() and (base / "lib/libnccl.so.2").exists():
            return base / "include", str(base / "lib/libnccl.so.2")
    if Path("/usr/include/nccl.h").exists():
        return Path("/usr/include"), "libnccl.so.2"
    return None


def has_driver() -> bool:
    """Whether NVIDIA's driver is there, without which NCCL reaches no GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def missing() -> str | None:
    """Why backend ``nccl`` cannot be used here; None where it can."""
    if found() is None:
        return f"NCCL is not installed (pip install {WHEELS[1]})"
    if _compiler() is None:
        return "the binding to NCCL is compiled when it is first used, and there is no C++ compiler"
    if not has_driver():
        return (
            "NCCL is installed, but there is no GPU that it could reach (libcuda.so.1, NVIDIA's driver, is not there)"
        )
    if not torch.cuda.is_available():
        return "NCCL is installed, but torch reaches no GPU: torch-core-cuda is not installed, or finds none"
    return None


@functools.cache
def load() -> ctypes.CDLL:
    """The binding, with the library open; Failed that says what is missing or what the compiler said."""
    place = found()
    if place is None or _compiler() is None:
        raise Failed(missing() or "NCCL is not installed")
    include, library = place
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(os.environ.get("TORCH_EXTENSIONS_DIR", Path(base, "torch_extensions"))) / "nccl"
    key = SOURCE.read_bytes() + (include / "nccl.h").read_bytes() + _compiler().encode()
    made = folder / f"binding-{hashlib.sha256(key).hexdigest()[:16]}.so"
    if not made.exists():
        _compile(made, include)
    binding = ctypes.CDLL(str(made))
    call(binding.torch_nccl_open, os.fsencode(library))
    return binding


def _compile(place, include):
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder, place.name)
        command = [_compiler(), "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{SOURCE.parent / 'cuda'}",
                   f"-I{include}", str(SOURCE), "-o", str(made), "-ldl"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
        os.replace(made, place)


def call(function, *arguments) -> None:
    """Call a function of the binding, without the GIL; Failed with its message."""
    message = ctypes.create_string_buffer(MESSAGE)
    if function(*arguments, message):
        raise Failed(message.value.decode(errors="replace"))


def versions() -> tuple:
    """Of the library, and of the header that the binding was compiled with: 22803 is 2.28.3."""
    library, header = ctypes.c_int(), ctypes.c_int()
    call(load().torch_nccl_version, ctypes.byref(library), ctypes.byref(header))
    return library.value, header.value


def unique_id() -> bytes:
    """What the first rank makes and all ranks join by."""
    size = ctypes.c_int()
    load().torch_nccl_types(ctypes.byref(size), ctypes.byref(ctypes.c_int()), ctypes.byref(ctypes.c_int()))
    made = ctypes.create_string_buffer(size.value)
    call(load().torch_nccl_id, made)
    return made.raw
