"""The binding to Gloo: compiled when it is first used, and kept for the next time."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("binding.cpp")
HEADERS = ("/usr/include", "/usr/local/include")
MESSAGE = 512  # bytes of an error's text, as in the source
SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
GET = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
COMBINE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def missing() -> str | None:
    """Why Gloo cannot be used here, or None."""
    if not any(os.path.exists(f"{folder}/gloo/allreduce.h") for folder in HEADERS):
        return "the headers of Gloo are not installed (Debian and Ubuntu: apt-get install libgloo-dev)"
    if _compiler() is None:
        return "the binding to Gloo is compiled when it is first used, and there is no C++ compiler"
    return None


def _compiler():
    return shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++") or shutil.which("clang++")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("TORCH_EXTENSIONS_DIR", Path(base, "torch_extensions"))) / "gloo"


@functools.cache
def load() -> ctypes.CDLL:
    """The binding; NotImplementedError that says what is missing, RuntimeError with what the compiler said."""
    reason = missing()
    if reason is not None:
        raise NotImplementedError(f"backend 'libgloo': {reason}; backend 'gloo' needs nothing")
    name = hashlib.sha256(SOURCE.read_bytes() + _compiler().encode()).hexdigest()[:16]
    place = _cache() / f"binding-{name}.so"
    if not place.exists():
        _compile(place)
    return ctypes.CDLL(str(place))


def _compile(place):
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder, place.name)
        command = [_compiler(), "-std=c++17", "-O2", "-fPIC", "-shared", str(SOURCE), "-o", str(made), "-lgloo"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"backend 'libgloo': {' '.join(command)} failed:\n{done.stderr[-2000:]}")
        os.replace(made, place)  # whole or not at all, whoever else compiles it


class Failed(Exception):
    """What Gloo said."""


def call(function, *arguments) -> None:
    """Call a function of the binding, without the GIL; Failed with its message."""
    message = ctypes.create_string_buffer(MESSAGE)
    if function(*arguments, message):
        raise Failed(message.value.decode(errors="replace"))
