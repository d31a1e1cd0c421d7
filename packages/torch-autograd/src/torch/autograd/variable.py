"""``Variable``: since 0.4 a tensor is one."""

from __future__ import annotations

from torch import Tensor, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> Any:
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """Gives a tensor over the same memory, as old programs expect; ``requires_grad`` as asked.

    >>> import torch
    >>> type(torch.autograd.Variable(torch.ones(2), requires_grad=True))
    <class 'torch.Tensor'>
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        if volatile is not None:
            from warnings import warn

            warn(
                "volatile was removed (Variable.volatile is always False); use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
        if data is None:
            data = tensor([])
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        variable = data.detach()
        return variable.requires_grad_() if requires_grad else variable
