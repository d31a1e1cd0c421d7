"""Keeping gradients small."""

from __future__ import annotations

import contextlib
import math
import warnings

import torch
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from torch import Tensor


__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


def _iterable(op, parameters):
    if not hasattr(parameters, "__iter__"):
        hint = "; give its parameters()" if hasattr(parameters, "parameters") else ""
        raise TypeError(f"{op}: parameters must be a tensor or tensors, got {type(parameters).__name__}{hint}")
    return parameters


def _in_list(grads):
    """On CUDA, what is done to each gradient is a few launches for all."""
    return _seams.in_list_on_cuda() if any(g.is_cuda for g in grads) else contextlib.nullcontext()


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None) -> Any:
    """The norm of all tensors as if they were one vector, as a 0-dim tensor.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    with torch.no_grad():
        first = tensors[0].device
        if all(t.is_cuda and t.device == first and t.layout is torch.strided for t in tensors):
            norms = torch._foreach_norm([tensor.detach() for tensor in tensors], norm_type)
        else:
            norms = [torch.norm(tensor.detach(), p=norm_type).to(first) for tensor in tensors]
        total = norms[0] if len(norms) == 1 else torch.norm(torch.stack(norms), p=norm_type)
    if error_if_nonfinite and not math.isfinite(float(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite ({float(total)}), so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Iterable[Tensor], max_norm: float, total_norm: Any, foreach: Any = None) -> None:
    """Multiply all gradients by ``min(1, max_norm / total_norm)``."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    grads = _gradients(parameters)
    with torch.no_grad(), _in_list(grads):
        for grad in grads:
            grad.detach().mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of ``parameters`` down so that the norm of all of them together is at most ``max_norm``.

    Returns the norm before (Pascanu 2012).

    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    parameters = (
        [parameters] if isinstance(parameters, torch.Tensor) else list(_iterable("clip_grad_norm_", parameters))
    )
    total_norm = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total_norm)
    return total_norm


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """:func:`clip_grad_norm_` under its 2016 name.

    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm([w], 1.0)
    tensor(5.)
    """
    warnings.warn(
        "torch.nn.utils.clip_grad_norm is now deprecated in favor of torch.nn.utils.clip_grad_norm_.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients of ``parameters`` to ``[-clip_value, clip_value]``.

    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, -4.0])
    >>> torch.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1., -1.])
    """
    clip_value = float(clip_value)
    grads = _gradients(parameters)
    with torch.no_grad(), _in_list(grads):
        for grad in grads:
            grad.detach().clamp_(min=-clip_value, max=clip_value)
