"""The way of before 2022: the part runs without a graph, and again with one of its own inside the backward pass."""

from __future__ import annotations

import warnings

import torch
from torch.autograd import Function

from .casts import autocast_as, autocast_states
from .part import random_state, random_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from torch import Tensor


class CheckpointFunction(Function):
    """The reentrant way: the second run records a graph of its own and differentiates it inside the backward pass.

    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.utils.checkpoint.CheckpointFunction.apply(lambda x: 3 * x, True, x).backward()
    >>> x.grad
    tensor([3.])
    """

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve_rng_state: Any, *args: Any) -> Tensor:
        check_backward_validity(args)
        ctx.function = function
        ctx.random = random_states(args) if preserve_rng_state else None
        ctx.casts = autocast_states()
        ctx.tensors = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.others = [None if i in ctx.tensors else arg for i, arg in enumerate(args)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensors])
        with torch.no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError(
                "checkpoint: with use_reentrant=True it is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(), since the weights of the part would get gradients that were not asked for; "
                "give it use_reentrant=False, or call .backward() without inputs"
            )
        args = list(ctx.others)
        for i, tensor in zip(ctx.tensors, detach_variable(ctx.saved_tensors)):
            args[i] = tensor
        with random_state(ctx.random), torch.enable_grad(), autocast_as(ctx.casts):
            outputs = ctx.function(*args)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        wanted = [
            (output, grad)
            for output, grad in zip(outputs, grads)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not wanted:
            raise RuntimeError(
                "checkpoint: no output requires grad, so the part has no backward pass (use_reentrant=False would have told)"
            )
        torch.autograd.backward([output for output, _ in wanted], [grad for _, grad in wanted])
        return (None, None, *[arg.grad if isinstance(arg, torch.Tensor) else None for arg in args])


def detach_variable(inputs: tuple) -> tuple:
    """The tensors without their history, requiring grad as they did.

    >>> torch.utils.checkpoint.detach_variable((torch.ones(1, requires_grad=True) * 2, 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable: expected a tuple of tensors, got {type(inputs).__name__}")
    out = []
    for tensor in inputs:
        if isinstance(tensor, torch.Tensor):
            detached = tensor.detach()
            detached.requires_grad_(tensor.requires_grad)
            tensor = detached
        out.append(tensor)
    return tuple(out)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns when no input requires grad: the reentrant way then gives no gradients at all.

    >>> torch.utils.checkpoint.check_backward_validity([torch.ones(1, requires_grad=True)]) is None
    True
    """
    if not any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        warnings.warn(
            "checkpoint: no input requires grad, so with use_reentrant=True nothing gets a gradient; use use_reentrant=False",
            stacklevel=3,
        )
