"""The command ``torch-run``: starts the program of that name, which needs no Python, in place of this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["core_library", "environment", "main", "path"]


def path() -> str:
    """Where the program lies.

    >>> from torch.jit import _tool
    >>> _tool.path().endswith("torch-run")
    True
    """
    return str(Path(__file__).parent / "bin" / "torch-run")


def core_library() -> str:
    """Where libtorch_core lies, which the program and the C interface need.

    >>> from torch.jit import _tool
    >>> "libtorch_core.so" in _tool.core_library()
    True
    """
    import torch_core

    (library,) = (Path(torch_core.get_cmake_dir()).parents[1] / "lib").glob("libtorch_core.so.*")
    return str(library)


def environment() -> dict[str, str]:
    """What it needs to find libtorch_core where the parts do not share a folder, as in an editable install."""
    where = str(Path(core_library()).parent)
    before = os.environ.get("LD_LIBRARY_PATH")
    return {**os.environ, "LD_LIBRARY_PATH": where + (":" + before if before else "")}


def main() -> None:
    """Become ``torch-run``."""
    os.execve(path(), ["torch-run", *sys.argv[1:]], environment())
