"""Filling tensors with the values training begins from. All functions work in place, without recording, and return the tensor."""

from __future__ import annotations

import math
import warnings

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from torch import Tensor


__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
    "constant", "dirac", "eye", "kaiming_normal", "kaiming_uniform", "normal", "orthogonal", "sparse", "uniform",
    "xavier_normal", "xavier_uniform",
]  # fmt: skip

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def calculate_gain(
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ],
    param: int | float | None = None,
) -> float:
    """The factor by which a layer's weights must be larger so that the variance survives the nonlinearity.

    >>> torch.nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(
        f"Unsupported nonlinearity {nonlinearity}; known: {', '.join(_LINEAR)}, sigmoid, tanh, relu, leaky_relu, selu"
    )


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
    """Uniform in ``[a, b)``.

    >>> torch.nn.init.uniform_(torch.empty(100), 2.0, 3.0).floor().unique()
    tensor([2.])
    """
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
    """Normal with ``mean`` and ``std``.

    >>> torch.nn.init.normal_(torch.empty(100, 100), mean=5.0, std=0.1).mean().round()
    tensor(5.)
    """
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Normal with ``mean`` and ``std``, without the values outside ``[a, b]``: the inverse distribution function of a
    uniform variable between those of ``a`` and ``b``. An interval far from the mean is drawn from in float64.

    >>> values = torch.nn.init.trunc_normal_(torch.empty(100), mean=9.0, std=2.0)
    >>> bool((values >= -2).all() and (values <= 2).all() and values.unique().numel() > 90)
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "trunc_normal_: mean is more than 2 std from [a, b]; the distribution of values may be incorrect.",
            stacklevel=2,
        )

    def cdf(x):
        return math.erfc(-x / math.sqrt(2.0)) / 2.0

    with torch.no_grad():
        from_, to = (a - mean) / std, (b - mean) / std
        if min(abs(from_), abs(to)) > 3 and from_ * to > 0:  # float32 knows no numbers close enough to -1 and 1
            side = -1.0 if from_ > 0 else 1.0  # by the lower tail, where the function has all its digits
            near, far = (to, from_) if side > 0 else (-from_, -to)
            low, high = cdf(far), cdf(near)
            values = torch.full(tensor.shape, near, dtype=torch.float64, device=tensor.device)
            if high > 0:  # beyond 38 std all that is left is the end of the interval
                values = torch.special.ndtri(values.uniform_(low, high, generator=generator)).clamp_(far, near)
            return tensor.copy_(values.mul_(side * std).add_(mean)).clamp_(min=a, max=b)
        low, high = cdf(from_), cdf(to)
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """All ``val``.

    >>> torch.nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """All 1.

    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """All 0.

    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix; ValueError unless the tensor has 2 dims.

    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got shape {tuple(tensor.shape)}")
    with torch.no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight (3 to 5 dims) that passes as many channels as it can through unchanged, in each group.

    >>> torch.nn.init.dirac_(torch.empty(2, 2, 3))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
    <BLANKLINE>
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, got shape {tuple(tensor.shape)}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dim 0 must be divisible by groups, got {tensor.shape[0]} and {groups}")
    per_group = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _fans(tensor):
    """How many inputs an output sums up, and how many outputs an input reaches."""
    if tensor.dim() < 2:
        raise ValueError(
            f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got shape {tuple(tensor.shape)}"
        )
    field = 1
    for size in tensor.shape[2:]:
        field *= size
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = _fans  # third-party code imports it by this name


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
    """Uniform with variance ``gain^2 * 2 / (fan_in + fan_out)`` (Glorot 2010, equation 16).

    >>> torch.nn.init.xavier_uniform_(torch.empty(3, 3)).abs().max() <= 1
    tensor(True)
    """
    fan_in, fan_out = _fans(tensor)
    a = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
    """Normal with variance ``gain^2 * 2 / (fan_in + fan_out)`` (Glorot 2010).

    >>> w = torch.nn.init.xavier_normal_(torch.empty(300, 300))
    >>> abs(w.std() - (2 / 600) ** 0.5) < 0.01
    tensor(True)
    """
    fan_in, fan_out = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _correct_fan(tensor, mode):
    modes = ("fan_in", "fan_out")
    mode = mode.lower()
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {', '.join(modes)}")
    return _fans(tensor)[modes.index(mode)]


_calculate_correct_fan = _correct_fan


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ] = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Uniform with standard deviation ``gain / sqrt(fan)``; ``a`` is the slope of the leaky ReLU that follows (He 2015).

    >>> w = torch.nn.init.kaiming_uniform_(torch.empty(200, 400), nonlinearity="relu")
    >>> w.abs().max() <= (6 / 400) ** 0.5
    tensor(True)
    """
    if tensor.numel() == 0:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ] = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Normal with standard deviation ``gain / sqrt(fan)`` (He 2015, equation 14).

    >>> w = torch.nn.init.kaiming_normal_(torch.empty(200, 400))
    >>> abs(w.std() - (2 / 400) ** 0.5) < 0.01
    tensor(True)
    """
    if tensor.numel() == 0:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    with torch.no_grad():
        return tensor.normal_(0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: torch.Generator | None = None) -> Tensor:
    """A matrix with orthonormal rows or columns (whichever are fewer), times ``gain``; trailing dims are flattened (Saxe 2013).

    >>> q = torch.nn.init.orthogonal_(torch.empty(3, 3))
    >>> torch.allclose(q @ q.t(), torch.eye(3), atol=1e-5)
    True
    """
    if tensor.dim() < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, got shape {tuple(tensor.shape)}")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with torch.no_grad():
        flat = torch.empty(rows, columns, dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
        q, r = torch.linalg.qr(flat.t() if rows < columns else flat)
        q = q * torch.diagonal(r).sign()  # Q is then uniform over the orthogonal matrices (Mezzadri 2006)
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: torch.Generator | None = None) -> Tensor:
    """A matrix with the fraction ``sparsity`` of each column zero and the rest normal with ``std`` (Martens 2010).

    >>> (torch.nn.init.sparse_(torch.empty(10, 4), sparsity=0.3) == 0).sum(dim=0)
    tensor([3, 3, 3, 3])
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got shape {tuple(tensor.shape)}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


def _old_name(function):
    """The name of 2016, without the underscore."""

    def old(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{function.__name__[:-1]}` is now deprecated in favor of `nn.init.{function.__name__}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = function.__name__[:-1]
    old.__doc__ = f":func:`{function.__name__}` under its 2016 name."
    return old


constant = _old_name(constant_)
dirac = _old_name(dirac_)
eye = _old_name(eye_)
kaiming_normal = _old_name(kaiming_normal_)
kaiming_uniform = _old_name(kaiming_uniform_)
normal = _old_name(normal_)
orthogonal = _old_name(orthogonal_)
sparse = _old_name(sparse_)
uniform = _old_name(uniform_)
xavier_normal = _old_name(xavier_normal_)
xavier_uniform = _old_name(xavier_uniform_)

# Names that layers written elsewhere call.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
