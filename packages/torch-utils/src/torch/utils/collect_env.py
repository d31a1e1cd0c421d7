"""What a report of a fault should tell of the machine: ``python -m torch.utils.collect_env``."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from typing import NamedTuple

RELEVANT = ("torch", "numpy", "scipy-openblas32", "pybind11", "cffi", "tensorboard", "onnx", "safetensors", "pillow")
VARIABLES = ("TORCH_", "CXX", "CC", "CUDA_", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHON", "OMP_", "OPENBLAS_")


class SystemEnv(NamedTuple):
    """The parts of the report."""

    os: str
    libc_version: str
    gcc_version: str
    clang_version: str
    cmake_version: str
    python_version: str
    memory: str
    shared_memory: str
    pip_packages: str
    variables: str
    doctor: str


def get_env_info() -> SystemEnv:
    """Look at everything that is reported."""
    from torch import doctor

    return SystemEnv(
        os=_system(),
        libc_version=" ".join(platform.libc_ver()),
        gcc_version=_first_line("gcc", "--version"),
        clang_version=_first_line("clang", "--version"),
        cmake_version=_first_line("cmake", "--version"),
        python_version=f"{platform.python_version()} ({64 if sys.maxsize > 2**32 else 32}-bit) at {sys.executable}",
        memory=_memory(),
        shared_memory=_shared_memory(),
        pip_packages=_packages(),
        variables=_variables(),
        doctor=doctor.report(),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """The report as text."""
    labels = {
        "os": "system",
        "libc_version": "libc",
        "gcc_version": "gcc",
        "clang_version": "clang",
        "cmake_version": "cmake",
        "python_version": "Python",
        "memory": "memory",
        "shared_memory": "/dev/shm",
    }
    lines = [f"{label:14}{getattr(envinfo, name)}" for name, label in labels.items()]
    for title, text in (("packages", envinfo.pip_packages), ("environment", envinfo.variables)):
        lines += ["", f"{title}:", *(f"  {line}" for line in text.splitlines() or ["none"])]
    return "\n".join([envinfo.doctor, "", *lines])


def get_pretty_env_info() -> str:
    """The report on this machine."""
    return pretty_str(get_env_info())


def main() -> None:
    print(get_pretty_env_info())


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "not installed"
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.stdout.partition("\n")[0] or f"failed with status {done.returncode}"


def _system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        name = ""
    return ", ".join(filter(None, (name, platform.platform())))


def _memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total / 2**30:.1f} GiB"


def _shared_memory() -> str:
    if not os.path.isdir("/dev/shm"):
        return "not there"
    usage = shutil.disk_usage("/dev/shm")
    return f"{usage.total / 2**30:.1f} GiB, {usage.free / 2**30:.1f} GiB free"


def _packages() -> str:
    found = {(d.metadata["Name"] or "").lower(): d.version for d in distributions()}
    return "\n".join(f"{n}=={v}" for n, v in sorted(found.items()) if n.startswith(RELEVANT))


def _variables() -> str:
    return "\n".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(VARIABLES))


if __name__ == "__main__":
    main()
