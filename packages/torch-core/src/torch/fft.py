"""The operators of torch.fft; their rows say that they belong here. The module is also the function of 2018."""

import sys
from types import ModuleType

from ._C import _functions


class _Callable(ModuleType):
    """`torch.fft` was a function before it became a module in 1.8; it is both here."""

    def __call__(self, input, signal_ndim, normalized=False):
        from ._spectral import fft

        return fft(input, signal_ndim, normalized)


sys.modules[__name__].__class__ = _Callable
globals().update(_functions().get("fft", {}))
del _functions
