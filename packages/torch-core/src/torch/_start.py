"""What ``import torch`` does once, beside finding the parts: the names that PyTorch's compiled module has, and where OpenBLAS lies."""

import sys
from os.path import isfile, join

from . import _C
from ._parts import import_module


def start() -> None:
    """Called at the end of ``torch/__init__.py``; ImportError where the files of PyTorch lie over ours."""
    torch = sys.modules["torch"]
    if isfile(join(torch.__path__[0], "lib", "libtorch_cpu.so")):
        from ._install import overwritten

        raise ImportError(overwritten())
    # Pickled models name functions and the base of Tensor by where PyTorch has them.
    _C.TensorBase, _C._VariableFunctionsClass, _C.__path__ = _C.Tensor, torch, []
    _C.__getattr__ = lambda name: getattr(import_module("torch._internals"), name)
    # The core opens OpenBLAS at first need; where the package lies is known only here.
    found = (join(entry, "scipy_openblas32", "lib", "libscipy_openblas.so") for entry in sys.path)
    if path := next(filter(isfile, found), None):
        _C._set_blas_library(path)
