"""Activations: element-wise functions, softmax and the like."""

from __future__ import annotations

import warnings

import torch

from ._ops import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = [
    "celu", "elu", "glu", "gumbel_softmax", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_softmax", "mish",
    "relu", "relu6", "rrelu", "rrelu_", "selu", "silu", "softmax", "softmin", "softsign", "tanhshrink", "threshold",
]  # fmt: skip


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(0, x)``.

    >>> relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return ops.relu_(input) if inplace else ops.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(0, x), 6)``.

    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 3.0, 8.0]))
    tensor([0., 3., 6.])
    """
    return ops.relu6_(input) if inplace else ops.relu6(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where it is greater than ``threshold``, elsewhere ``value``.

    >>> torch.nn.functional.threshold(torch.tensor([1.0, 3.0]), 2.0, -9.0)
    tensor([-9.,  3.])
    """
    return ops.threshold_(input, threshold, value) if inplace else ops.threshold(input, threshold, value)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` clamped to ``[min_val, max_val]``.

    >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} cannot be greater than max_val {max_val}")
    return ops.hardtanh_(input, min_val, max_val) if inplace else ops.hardtanh(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, elsewhere ``alpha * (exp(x) - 1)``.

    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return ops.elu_(input, alpha) if inplace else ops.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``scale * elu(x, alpha)`` with the constants under which activations keep mean 0 and variance 1 (Klambauer 2017).

    >>> torch.nn.functional.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return ops.selu_(input) if inplace else ops.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, elsewhere ``alpha * (exp(x / alpha) - 1)``."""
    return ops.celu_(input, alpha) if inplace else ops.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where positive, elsewhere ``negative_slope * x``.

    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return ops.leaky_relu_(input, negative_slope) if inplace else ops.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky ReLU whose slope is drawn from ``[lower, upper]`` for every element in training, and is their mean else.

    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    if lower > upper:
        raise RuntimeError(f"rrelu: lower {lower} cannot be greater than upper {upper}")
    if training:
        slope = torch.empty_like(input).uniform_(lower, upper)
        output = torch.where(input > 0, input, input * slope)
        return input.copy_(output) if inplace else output
    return leaky_relu(input, (lower + upper) / 2, inplace)


def rrelu_(input: Tensor, lower: Any = 1.0 / 8, upper: Any = 1.0 / 3, training: bool = False) -> Tensor:
    """:func:`rrelu` in place.

    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.nn.functional.rrelu_(x, 0.1, 0.3) is x
    True
    """
    return rrelu(input, lower, upper, training, inplace=True)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(x + 3) / 6``."""
    return ops.hardsigmoid_(input) if inplace else ops.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * relu6(x + 3) / 6``."""
    return ops.hardswish_(input) if inplace else ops.hardswish(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also known as swish."""
    return ops.silu_(input) if inplace else ops.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return ops.mish_(input) if inplace else ops.mish(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a * sigmoid(b)`` where ``a`` and ``b`` are the halves of ``input`` along ``dim``.

    RuntimeError when that dim is odd.

    >>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 100.0]))
    tensor([0.5000, 2.0000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu: input has 0 dims and cannot be halved")
    return ops.glu(input, dim)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``.

    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``.

    >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2384,  0.0000,  0.2384])
    """
    return input - input.tanh()


def _softmax_dim(name, ndim):
    """The dim of 2016, when it could be left out: 0 for 0, 1 and 3 dims, else 1."""
    dim = 0 if ndim in (0, 1, 3) else 1
    warnings.warn(f"{name}: dim was left out and is taken to be {dim}; write dim={dim}", stacklevel=3)
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``, computed without overflow.

    >>> softmax(torch.zeros(1, 4), dim=1)
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    return ops.softmax(input, _softmax_dim("softmax", input.dim()) if dim is None else dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """``softmax(-x)``.

    >>> torch.nn.functional.softmin(torch.tensor([0.0, 100.0]), dim=0)
    tensor([1.0000e+00, 3.7835e-44])
    """
    return ops.softmax(-input, _softmax_dim("softmin", input.dim()) if dim is None else dim, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> Tensor:
    """``log(softmax(x))`` in one step, exact where the two alone would give ``-inf``.

    >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return ops.log_softmax(input, _softmax_dim("log_softmax", input.dim()) if dim is None else dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample from the Gumbel-softmax distribution (Jang 2017): nearly one-hot, and differentiable.

    With ``hard`` it is one-hot, with the gradient of the soft sample.

    >>> torch.nn.functional.gumbel_softmax(torch.randn(4, 3), hard=True).sum(dim=1)
    tensor([1., 1., 1., 1.])
    """
    gumbels = -torch.empty_like(logits).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
