"""Sets up what this repository's commands need on a machine with python3, git and a C++20 compiler, nothing else.

`tools` is an environment with tox; tox makes all others. `stack` is an environment with our wheels installed.
"""

from __future__ import annotations  # an older python3 gets as far as check_machine

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".cache" / "tools"
STACK = ROOT / ".venv"


def _make(folder: Path) -> Path:
    python = folder / "bin" / "python"
    works = python.exists() and subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0
    if not works:
        shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True)
        if done.returncode:
            sys.exit(
                f"{done.stdout}{done.stderr}\npython3 cannot make a virtual environment; Debian: apt install python3-venv"
            )
    return python


def check_machine() -> None:
    """End with one sentence about what is missing, before anything is downloaded."""
    if sys.version_info < (3, 10):  # noqa: UP036
        sys.exit(f"Python 3.10 or newer is needed, this is {sys.version.split()[0]}: run this with a newer python3")
    if not any(shutil.which(c) for c in (os.environ.get("CXX", "").split(" ")[0], "c++", "g++", "clang++") if c):
        sys.exit("no C++ compiler on PATH: g++ 12 or clang++ 14 or newer is needed (Debian: apt install g++)")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit(f"Python.h of {sys.executable} is missing (Debian: apt install python3-dev)")


def tools() -> Path:
    """The interpreter that has tox."""
    check_machine()
    python = _make(TOOLS)
    if subprocess.run([python, "-c", "import tox"], capture_output=True).returncode:
        print("setting up tox ...", flush=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-U", "pip>=23", "tox>=4.20"], check=True)
    return python


def environment() -> dict[str, str]:
    """The environment for builds: ccache when it is there, and no more compilers at once than processors."""
    found = {"CMAKE_BUILD_PARALLEL_LEVEL": str(len(os.sched_getaffinity(0))), **os.environ}
    if "CMAKE_CXX_COMPILER_LAUNCHER" not in found and (ccache := shutil.which("ccache")):
        found["CMAKE_CXX_COMPILER_LAUNCHER"] = ccache
    return found


def wheels(python: Path) -> None:
    print("building the wheels; the first time this takes some minutes ...", flush=True)
    command = [python, "-m", "tox", "run", "-q", "-e", "wheels"]
    if subprocess.run(command, cwd=ROOT, env=environment()).returncode:
        sys.exit("the build failed; its output is above")


def stack(requirements: Path | None = None) -> Path:
    """The interpreter that has the whole stack, installed from the wheelhouse."""
    tool = tools()
    wheels(tool)
    python = _make(STACK)
    if requirements is not None:
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True)
    subprocess.run([python, ROOT / "ci" / "install.py", "torch"], check=True)
    return python
