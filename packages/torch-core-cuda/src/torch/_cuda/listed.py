"""Element-wise operators for many tensors, in few launches (core/src/cuda/listed.h).

>>> with in_list():  # on a device; calls of one operator wait for each other, for up to 64 tensors a launch
...     for p in parameters:
...         p.mul_(0.9)
"""

from . import _native

__all__ = ["in_list"]


class in_list:
    """A block whose element-wise calls may wait until something else is put into a stream, or until its end."""

    def __enter__(self) -> None:
        _native.open_list()

    def __exit__(self, *_) -> None:
        _native.close_list()
