"""A part of a program that runs with or without recording of gradients, whatever the mode around it."""

import torch

from .._ops import HigherOrderOperator

__all__ = ["WrapWithSetGradEnabled", "wrap_with_set_grad_enabled"]


class WrapWithSetGradEnabled(HigherOrderOperator):
    """``wrap_with_set_grad_enabled(enabled, function, *operands)``: what the function gives, in that mode.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.ops.higher_order.wrap_with_set_grad_enabled(False, lambda x: (x * 2,), x)[0].requires_grad
    False
    """

    __module__ = HigherOrderOperator.__module__

    def __call__(self, enable_grad, wrapped_func, *args, **kwargs):
        with torch.set_grad_enabled(enable_grad):
            return wrapped_func(*args, **kwargs)


wrap_with_set_grad_enabled = WrapWithSetGradEnabled("wrap_with_set_grad_enabled")
