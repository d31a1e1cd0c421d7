"""Tensors with GPU kernels, and the parts that other distributions put beside them: autograd, nn, optim, ...

>>> import torch
>>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> (a @ a).sum()
tensor(54.)
"""

from . import _C
from ._C import *  # noqa: F403  (every public name of the compiled module: it has no other)
from ._C import Tensor
from ._constants import e, inf, nan, newaxis, pi

del UntypedStorage  # noqa: F821  (torch.storage completes it before it is seen)
globals().update(_C._functions()[""])

from . import _names, _parts, _start, _tensor, torch_version  # noqa: E402
from ._tensor import nonzero  # noqa: E402

_start.start()
_parts.install()
_tensor.complete(Tensor)

__version__ = "2.14.0+core.0.1.0"
__version__ = torch_version.__version__ = torch_version.TorchVersion(__version__)  # the same, comparable


def __getattr__(name):
    return _names.attribute(name)


def __dir__():
    return _names.names()
