"""``Variable``: since 0.4 a tensor is one."""

from __future__ import annotations

from torch import Tensor, tensor

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> Any:
        return isinstance(other, Tensor)


class _Engine:
    """What runs backward passes, under the name by which libraries reach it."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Calls ``callback`` when the backward pass that runs now has computed all its gradients, after those queued
        before; RuntimeError outside of a pass.

        >>> import torch
        >>> x = torch.ones(1, requires_grad=True)
        >>> engine = torch.autograd.Variable._execution_engine
        >>> handle = x.register_hook(lambda g: engine.queue_callback(lambda: print("grad is", x.grad)))
        >>> (2 * x).backward()
        grad is tensor([2.])
        """
        _C._queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether a pass may be started within those that run now and still give every leaf its gradient: False within
        :func:`torch.autograd.grad` and ``backward(inputs=...)``.

        >>> import torch
        >>> torch.autograd.Variable._execution_engine.is_checkpoint_valid()
        True
        """
        return _C._passes_reach_all_leaves()


class Variable(metaclass=_VariableMeta):
    """Gives a tensor over the same memory, as old programs expect; ``requires_grad`` as asked.

    >>> import torch
    >>> type(torch.autograd.Variable(torch.ones(2), requires_grad=True))
    <class 'torch.Tensor'>
    """

    _execution_engine = _Engine()

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
