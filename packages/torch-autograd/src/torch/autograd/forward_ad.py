"""Dual numbers: tensors that carry a tangent along, for derivatives in forward mode.

>>> import torch
>>> import torch.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
...     y = fwAD.unpack_dual((x * x).sum())
>>> y.primal, y.tangent
(tensor(5.), tensor(2.))

Every operator takes part: a derivative of its own for forward mode is not needed (csrc/func/dual.h). Tangents are void
once their level has ended.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, _seams

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_current_level = -1  # none
_number = 0  # that of the level among those of vmap
_enabled = True


class UnpackedDualTensor(NamedTuple):
    """What :func:`unpack_dual` gives."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begins a level, and gives its number, 0. RuntimeError when one is running: levels do not nest."""
    global _current_level, _number
    if _current_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment: torch.func.jvp nests in any order")
    _number = _C._dual_enter()
    _current_level = 0
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: tangents made in it are void."""
    global _current_level
    if _current_level < 0 or (level is not None and level != _current_level):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
    _C._dual_leave(_number)
    _current_level = -1


class dual_level:
    """A block in which there are dual numbers."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor, in the same memory, with a tangent of its shape.

    RuntimeError outside of a level, for tangents of another shape, and for what has a tangent already; ValueError for
    tensors that are not floating point or complex.
    """
    level = _current_level if level is None else level
    if level < 0 or _current_level < 0:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")  # fmt: skip
    for what, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual(): argument '{what}' must be Tensor, not {type(value).__name__}")
    for what, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {value.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if not _enabled:
        return tensor.view_as(tensor)
    if unpack_dual(tensor).tangent is not None:
        raise RuntimeError(
            f"Making a dual Tensor based on a Tensor that already has a forward gradient at the same level {level} is not supported."
        )
    if unpack_dual(tangent).tangent is not None:
        raise RuntimeError(
            f"Setting a forward grad that itself has a forward gradient at the same level {level} is not supported."
        )
    return _C._dual_make(tensor, tangent.to(tensor.dtype), _number)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and that, or None.

    >>> torch.autograd.forward_ad.unpack_dual(torch.ones(1)).tangent is None
    True
    """
    level = _current_level if level is None else level
    parts = _C._dual_parts(tensor) if level >= 0 else None
    return UnpackedDualTensor(*(parts or (tensor, None)))


class _set_fwd_grad_enabled:
    """A block in which dual numbers are made, or are not: then :func:`make_dual` gives only the tensor."""

    def __init__(self, mode: bool) -> None:
        global _enabled
        self.prev, _enabled = _enabled, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        global _enabled
        _enabled = self.prev


def _is_fwd_grad_enabled() -> bool:
    return _enabled


def _text(tensor):
    """What ``repr`` says of a dual number; None for any other tensor."""
    if (parts := _C._dual_parts(tensor)) is None:
        return None
    primal, tangent = parts
    if tangent is None:
        return repr(primal)
    return f"{repr(primal).removesuffix(')')}, tangent={tangent!r})"


_seams.print_wrappers.append(_text)
