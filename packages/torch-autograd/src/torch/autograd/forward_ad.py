"""Names of PyTorch's dual numbers, tensors that carry a tangent along. There are none here (torch.func.jvp gives products with
Jacobians): a tensor has no tangent, and making a dual number is refused.
"""

from collections import namedtuple

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

NONE = "dual numbers are not part of this stack: torch.func.jvp(function, primals, tangents) gives the same derivative"
UnpackedDualTensor = namedtuple("UnpackedDualTensor", ["primal", "tangent"])
_current_level = -1  # none


def enter_dual_level():
    """Raises NotImplementedError."""
    raise NotImplementedError(f"forward_ad.enter_dual_level: {NONE}")


def exit_dual_level(*, level=None):
    """Raises RuntimeError: no level was entered."""
    raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created: none was entered")


class dual_level:
    """A block with dual numbers. Raises NotImplementedError when entered."""

    def __enter__(self):
        enter_dual_level()

    def __exit__(self, *error):
        pass


def make_dual(tensor, tangent, *, level=None):
    """Raises NotImplementedError."""
    raise NotImplementedError(f"forward_ad.make_dual: {NONE}")


def unpack_dual(tensor, *, level=None):
    """The tensor and its tangent, which is None.

    >>> torch.autograd.forward_ad.unpack_dual(torch.ones(1)).tangent is None
    True
    """
    return UnpackedDualTensor(tensor, None)
