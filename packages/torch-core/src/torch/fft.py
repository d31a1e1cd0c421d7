"""The operators of torch.fft; their rows say that they belong here. The module is also the function of 2018.

>>> torch.fft.fft(torch.tensor([1.0, 0.0]))
tensor([1.+0.j, 1.+0.j])
>>> torch.fft(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), 1)  # pairs of real and imaginary part
tensor([[1., 0.],
        [1., 0.]])
"""

from __future__ import annotations

import sys
from types import ModuleType

from ._C import Tensor, _functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Callable(ModuleType):
    """`torch.fft` was a function before it became a module in 1.8; it is both here."""

    def __call__(self, input: Tensor, signal_ndim: Any, normalized: bool = False) -> Any:
        from ._compat.fft import fft

        return fft(input, signal_ndim, normalized)


sys.modules[__name__].__class__ = _Callable
globals().update(_functions().get("fft", {}))
del _functions
