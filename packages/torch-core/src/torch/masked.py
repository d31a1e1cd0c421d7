"""Reductions and normalisations of the elements that a mask keeps: ``torch.masked.sum(x, 1, mask=x > 0)``.

A mask is a bool tensor that broadcasts to the input, true where an element counts; without one all do. Each function
puts what changes nothing (0 into a sum, -inf into a maximum) in the place of the others and calls the plain operator, so
gradients follow. Where a whole line is masked out, its result is that of no elements.

Of a sparse tensor the elements that it lacks are masked out: `sum`, `prod`, `amax` and `amin` take tensors of coordinates and
of rows (`_masked_sparse`), `mean` those of rows.
"""

from __future__ import annotations

from . import _C
from ._lazy import later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import torch
    from torch import Tensor

    from ._masked_tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor


__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor", "log_softmax",
    "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_bool, _op = bool, _C._operator
_INF = float("inf")


def _expanded(op, input, mask):
    """The mask in the shape of the input, or None."""
    if not isinstance(input, _C.Tensor):
        raise TypeError(f"masked.{op}: expected a tensor, got {type(input).__name__}")
    if mask is None:
        return None
    if not isinstance(mask, _C.Tensor):
        raise TypeError(f"masked.{op}: the mask must be a bool tensor, got {type(mask).__name__}")
    if mask.dim() > input.dim():
        raise IndexError(
            f"masked.{op}: a mask of shape {tuple(mask.shape)} does not broadcast to an input of shape {tuple(input.shape)}"
        )
    return (mask if mask.layout == _C.strided else mask.to_dense()).bool().expand(input.shape)


def _is_sparse(op, input, layouts=("sparse_coo", "sparse_csr")):
    """Whether the input is of a sparse layout; ValueError when that is none of those."""
    layout = str(getattr(input, "layout", _C.strided)).removeprefix("torch.")
    if layout == "strided":
        return False
    if layout not in layouts:
        takes = " or ".join(["strided", *layouts])
        raise ValueError(
            f"masked {op} expects {takes} tensor (got torch.{layout} tensor): convert with .to_dense() first"
        )
    return True


def _reduced(op, input, mask, dim, keepdim, layouts=("sparse_coo", "sparse_csr")):
    """The reduction of a sparse tensor; None of others."""
    if not _is_sparse(op, input, layouts):
        return None
    if mask is None and op != "sum":
        raise ValueError(f"masked {op} expects explicit mask for {str(input.layout)[6:]} tensor input")
    from ._masked_sparse import reduced

    return reduced(op, input, mask, _dims(op, input, dim), keepdim)


def _filled(op, input, mask, value):
    """The input with a number, or what a function of operator and dtype gives, where it is masked out."""
    _is_sparse(op, input, ())
    mask = _expanded(op, input, mask)
    if mask is None:
        return input
    return input.masked_fill(~mask, value(op, input.dtype) if callable(value) else value)


def _typed(input, dtype):
    return input if dtype is None else input.to(dtype)


def _dims(op, input, dim):
    """All dims that are meant, counted from the front."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(input.dim()))
    given, dims = (dim,) if isinstance(dim, int) else tuple(dim), []
    for d in given:
        n = max(input.dim(), 1)
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        dims.append(d % n)
    if len({*dims}) < len(dims):
        raise RuntimeError(f"masked.{op}: dim appears multiple times in the list of dims {given}")
    return sorted(dims) if input.dim() else []


def _lowest(op, dtype):
    if dtype == _C.bool:
        raise NotImplementedError(f"masked.{op}: not implemented for torch.bool")
    if dtype.is_floating_point:
        return -_INF
    from ._limits import iinfo

    return iinfo(dtype).min


def _highest(op, dtype):
    if dtype == _C.bool:
        raise NotImplementedError(f"masked.{op}: not implemented for torch.bool")
    if dtype.is_floating_point:
        return _INF
    from ._limits import iinfo

    return iinfo(dtype).max


def _one(op, dim):
    """A dim, or the only one of a list; the first where none is given."""
    if isinstance(dim, (tuple, list)):
        if len(dim) != 1:
            raise TypeError(f"masked.{op}: dim must be one int, got {dim}")
        return dim[0]
    return 0 if dim is None else dim


def sum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum over dims, all where none is given.

    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    if (found := _reduced("sum", _typed(input, dtype), mask, dim, keepdim)) is not None:
        return found
    return _op("sum")(_filled("sum", input, mask, 0), _dims("sum", input, dim), keepdim, dtype=dtype)


def prod(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product over dims, all where none is given."""
    if (found := _reduced("prod", _typed(input, dtype), mask, dim, keepdim)) is not None:
        return found
    result = _filled("prod", input, mask, 1)
    dims = _dims("prod", input, dim)
    if not dims:
        return _op("prod")(result, dtype=dtype)
    for d in reversed(dims):
        result = _op("prod")(result, d, keepdim, dtype=dtype)
    return result


def cumsum(input: Tensor, dim: int | None, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The sums of all elements up to each, along a dim."""
    return _op("cumsum")(_filled("cumsum", input, mask, 0), _one("cumsum", dim), dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int | None, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The products of all elements up to each, along a dim."""
    return _op("cumprod")(_filled("cumprod", input, mask, 1), _one("cumprod", dim), dtype=dtype or input.dtype)


def amax(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest element over dims; of none the lowest number of the dtype."""
    x = _typed(input, dtype)
    if (found := _reduced("amax", x, mask, dim, keepdim)) is not None:
        return found
    return _op("amax")(_filled("amax", x, mask, _lowest), _dims("amax", x, dim), keepdim)


def amin(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest element over dims; of none the highest number of the dtype."""
    x = _typed(input, dtype)
    if (found := _reduced("amin", x, mask, dim, keepdim)) is not None:
        return found
    return _op("amin")(_filled("amin", x, mask, _highest), _dims("amin", x, dim), keepdim)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest element is, in the dtype of the input; without dim, in the flattened tensor."""
    x = _typed(input, dtype)
    return _op("argmax")(_filled("argmax", x, mask, _lowest), dim, keepdim).to(x.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the smallest element is, in the dtype of the input; without dim, in the flattened tensor."""
    x = _typed(input, dtype)
    return _op("argmin")(_filled("argmin", x, mask, _highest), dim, keepdim).to(x.dtype)


def _count(op, input, dims, keepdim, mask, dtype):
    """How many elements count, for each result."""
    mask = _expanded(op, input, mask)
    ones = input.new_ones((), dtype=dtype).expand(input.shape) if mask is None else mask.to(dtype)
    return _op("sum")(ones, dims, keepdim)


def mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean over dims; NaN of no elements."""
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"masked.mean: the input must be of a floating or complex dtype, got {input.dtype}; give dtype=torch.float32"
        )
    x = input.to(dtype)
    if (found := _reduced("mean", x, mask, dim, keepdim, ("sparse_csr",))) is not None:
        return found
    dims = _dims("mean", x, dim)
    total = _op("sum")(_filled("mean", x, mask, 0), dims, keepdim)
    return total / _count("mean", x, dims, keepdim, mask, dtype)


def median(
    input: Tensor,
    dim: int | None = -1,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The lower of the middle elements of a dim that are not NaN; NaN of none, for which integers have a ValueError."""
    _is_sparse("median", input, ())
    dim = _one("median", dim)
    x = _typed(input, dtype)
    if mask is None:
        return _op("nanmedian")(x, dim, keepdim)[0]
    if x.dtype.is_floating_point:
        return _op("nanmedian")(_filled("median", x, mask, float("nan")), dim, keepdim)[0]
    middle = _op("nanmedian")(_filled("median", x.to(_C.float64), mask, float("nan")), dim, keepdim)[0]
    if _bool(middle.isnan().any()):
        raise ValueError(f"masked.median: a line is masked out as a whole, which has no median of {x.dtype}")
    return middle.to(x.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The p-norm of the elements over dims, with ``ord`` for p; an infinite one is the largest magnitude."""
    ord = 2.0 if ord is None else ord
    x = _filled("norm", _typed(input, dtype), mask, _INF if ord < 0 else 0)
    return _op("vector_norm")(x, ord, _dims("norm", x, dim), keepdim)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements divided by the norm of their line, or by ``eps`` where that is larger."""
    _is_sparse("normalize", input, ())
    x = _typed(input, dtype)
    length = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled("normalize", x, mask, 0) / length.clamp(min=eps)


def _variance(op, input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise ValueError(f"masked.{op}: give unbiased or correction, not both")
    _is_sparse("std/var", input, ())
    if correction is None:
        correction = 0 if unbiased is False else 1
    x = _typed(input, dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = x.to(_C.get_default_dtype())
    dims = _dims(op, x, dim)
    real = x.real.dtype if x.dtype.is_complex else x.dtype
    centre = _op("sum")(_filled(op, x, mask, 0), dims, True) / _count(op, x, dims, True, mask, real)
    away = _filled(op, x - centre, mask, 0)
    squares = (away * away.conj()).real if x.dtype.is_complex else away * away
    freedom = _count(op, x, dims, keepdim, mask, real) - correction
    return (_op("sum")(squares, dims, keepdim) / freedom.clamp(min=0)).to(x.dtype)


def var(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction: int | float | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance over dims, divided by the number of elements less ``correction`` (1)."""
    return _variance("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square root of :func:`var`."""
    return _variance("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input: Tensor, dim: int | None, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """``exp(x)`` over its sum along a dim: 0 where masked out, NaN along a line that is so as a whole.

    >>> torch.masked.softmax(torch.zeros(3), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _op("softmax")(_filled("softmax", input, mask, -_INF), _one("softmax", dim), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None, *, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of :func:`softmax`."""
    return _op("log_softmax")(_filled("log_softmax", input, mask, -_INF), _one("log_softmax", dim), dtype=dtype)


def softmin(input: Tensor, dim: int | None, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """``softmax(-x)``."""
    return _op("softmax")(-_filled("softmin", input, mask, _INF), _one("softmin", dim), dtype=dtype)


def logsumexp(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """``log(sum(exp(x)))`` over dims, in the dtype of the input; -inf of no elements."""
    x = _typed(input, dtype)
    floats = x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(_C.get_default_dtype())
    result = _op("logsumexp")(_filled("logsumexp", floats, mask, -_INF), _dims("logsumexp", x, dim), keepdim)
    return result.to(x.dtype)


def logaddexp(
    input: Tensor,
    other: Any,
    *,
    dtype: torch.dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))`` of what each mask keeps; -inf where both are masked out."""
    a = _typed(input, dtype)
    b = other.to(a.dtype)
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        raise NotImplementedError(f"masked.logaddexp: not implemented for {a.dtype}")
    result = [_filled("logaddexp", a, input_mask, -_INF), _filled("logaddexp", b, other_mask, -_INF)]
    if input_mask is None or other_mask is None:
        return _op("logaddexp")(*result)
    neither = ~(input_mask | other_mask)  # a derivative of two infinities would be NaN
    return _op("logaddexp")(*(x.masked_fill(neither, 0) for x in result)).masked_fill(neither, -_INF)


__getattr__, __dir__ = later(
    globals(), names=dict.fromkeys(("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"), "_masked_tensor"),
    base="torch",
)  # fmt: skip
