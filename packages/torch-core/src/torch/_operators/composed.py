"""Operators composed of others in Python: statistics, distances, differences. Gradients follow from what they call."""

from __future__ import annotations

import itertools
import math
import warnings

import torch

from .. import _C
from .._functorch._batches import is_seen
from .casting import in_float32
from .out import check_tensor, into

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the matrices transposed; RuntimeError for a vector. A number's is deprecated.

    >>> torch.adjoint(torch.tensor([[1j, 2.0]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    check_tensor("adjoint", input=input)
    if input.dim() == 0:
        warnings.warn("adjoint() is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=2)
        return input.conj()
    if input.dim() < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    swapped = input.transpose(-2, -1)
    return swapped.conj() if input.is_complex() else swapped


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The combinations of ``r`` elements of a vector, as rows.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    check_tensor("combinations", input=input)
    if input.dim() != 1:
        raise RuntimeError(f"combinations: expected a 1-D tensor, got shape {tuple(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: r must not be negative, got {r}")
    if r == 0:
        return input.new_empty(0)
    count = math.comb(len(input) + r - 1, r) if with_replacement and len(input) else math.comb(len(input), r)
    if count * r >= 1 << 60:
        raise RuntimeError(f"combinations: {count} rows of {r} of {len(input)} elements do not fit into memory")
    if count * r > 1 << 20:
        torch.empty((count, r), dtype=_C.int64)  # raises where there is no room: the loop below hears no interrupts
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(len(input)), r))
    return input[_C.tensor(rows, dtype=_C.int64, device=input.device).reshape(-1, r)]


def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of the rows of a matrix, whose columns are observations, with weights of either kind.

    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    check_tensor("cov", input=input)
    if input.dim() > 2:
        raise RuntimeError(f"cov: expected input to have two or fewer dimensions, got shape {tuple(input.shape)}")
    if input.dtype == _C.bool:
        raise RuntimeError("cov: bool dtype is not supported for input")
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    count = rows.shape[1]
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, count, fweights.dtype.is_floating_point, "an integral")
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, count, not aweights.dtype.is_floating_point, "a floating point")
        weights = aweights if weights is None else weights * aweights
    total = count if weights is None else weights.sum()
    if weights is None:
        mean = rows.sum(1, keepdim=True) / count
    else:
        mean = (rows * weights).sum(1, keepdim=True) / total
    if correction and weights is not None and aweights is not None:
        freedom = total - correction * (weights * aweights).sum() / total
    else:
        freedom = total - correction
    freedom = max(freedom, 0) if isinstance(freedom, int) else freedom.clamp(min=0)
    centred = rows - mean
    weighted = centred if weights is None else centred * weights
    result = weighted @ (centred.conj() if centred.is_complex() else centred).t() / freedom
    return result.squeeze()


def _check_weights(name, weights, count, wrong_kind, kind):
    if weights.dim() > 1:
        raise RuntimeError(f"cov: expected {name} to have one or fewer dimensions, got shape {tuple(weights.shape)}")
    if wrong_kind:
        raise RuntimeError(f"cov: expected {name} to have {kind} dtype, got {weights.dtype}")
    if weights.numel() != count:
        raise RuntimeError(
            f"cov: expected {name} to have {count} elements, as there are observations, got {weights.numel()}"
        )
    if not _C._operator("_holds")(weights >= 0):
        raise RuntimeError(f"cov: {name} cannot be negative")


def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients (Pearson) of the rows of a matrix.

    >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    check_tensor("corrcoef", input=input)
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef: expected input to have two or fewer dimensions, got shape {tuple(input.shape)}")
    c = cov(input)
    if c.dim() == 0:
        return c / c
    spread = c.diagonal()
    spread = (spread.real if c.is_complex() else spread).sqrt()
    c = c / spread.unsqueeze(1) / spread
    return _C._operator("complex")(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.is_complex() else c.clamp(-1, 1)


def empty_permuted(
    size: int | Sequence[int],
    physical_layout: Any,
    *,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Uninitialised elements that lie in memory in the order of dims that ``physical_layout`` names, outermost first.

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    order = [d % len(size) if -len(size) <= d < len(size) else d for d in physical_layout]
    if len(order) != len(size):
        raise RuntimeError(
            f"empty_permuted: physical_layout {tuple(physical_layout)} must name each of the {len(size)} dims of size {tuple(size)}"
        )
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(f"empty_permuted: physical_layout {tuple(physical_layout)} is no order of {len(size)} dims")
    dense = _C._operator("empty")(
        [size[d] for d in order],
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
    )
    result = dense.permute([order.index(d) for d in range(len(size))])
    return result.detach().requires_grad_() if requires_grad else result


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimated derivatives along dims, one tensor each: central differences, one-sided at the edges.

    ``spacing`` is a distance, one for each dim, or a tensor of coordinates for each dim.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))[0]
    tensor([3., 4., 6., 7.])
    """
    check_tensor("gradient", input=input)
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    for d in dims:
        if not -input.dim() <= d < input.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {d})"
            )
    dims = [d % input.dim() for d in dims]
    if len({*dims}) < len(dims):
        raise RuntimeError(f"gradient: a dim appears more than once in {dim}")
    spacing = 1 if spacing is None else spacing
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    steps = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if isinstance(spacing, _C.Tensor) and spacing.dim():
        steps = [spacing]
    if len(steps) != len(dims):
        raise RuntimeError(f"gradient: {len(steps)} spacings were given for {len(dims)} dims")
    x = input if input.dtype.is_floating_point or input.dtype.is_complex else input.to(_C.get_default_dtype())
    wide = x.float() if x.dtype in (_C.float16, _C.bfloat16) else x  # rounded once
    found = (_gradient(wide, step, d, edge_order) for step, d in zip(steps, dims, strict=True))
    return tuple(g if g.dtype.is_complex else g.to(x.dtype) for g in found)


def _gradient(x, step, dim, edge_order):
    n = x.shape[dim]
    if n < edge_order + 1:
        raise RuntimeError(
            f"gradient: expected each dim to have at least edge_order + 1 = {edge_order + 1} elements, dim {dim} has {n}"
        )

    def at(begin, end):
        return x.narrow(dim, begin, end - begin)

    if not isinstance(step, _C.Tensor):
        parts = _over_equal_steps(at, n, step, edge_order)
    elif step.dim() == 0:
        parts = _over_equal_steps(at, n, step.item(), edge_order)
    elif step.numel() != n:
        raise RuntimeError(f"gradient: dim {dim} has {n} elements, its coordinates are {step.numel()}")
    else:
        step = step.to(x.dtype) if step.dtype.is_floating_point else step
        h = (step[1:] - step[:-1]).to(x.dtype).reshape([-1 if d == dim else 1 for d in range(x.dim())])
        parts = _over_coordinates(at, n, lambda begin, end: h.narrow(dim, begin, end - begin), edge_order)
    return _C._operator("cat")(parts, dim)


def _over_equal_steps(at, n, step, edge_order):
    """First, middle and last parts of a gradient; the middle is no weighted sum of three, which inf would spoil."""
    middle = (at(2, n) - at(0, n - 2)) / 2 / step
    if edge_order == 1:
        return (at(1, 2) - at(0, 1)) / step, middle, (at(n - 1, n) - at(n - 2, n - 1)) / step
    first = (2 * at(1, 2) - 1.5 * at(0, 1) - 0.5 * at(2, 3)) / step
    last = (1.5 * at(n - 1, n) - 2 * at(n - 2, n - 1) + 0.5 * at(n - 3, n - 2)) / step
    return first, middle, last


def _over_coordinates(at, n, steps, edge_order):
    left, right = steps(0, n - 2), steps(1, n - 1)
    a, b = steps(0, 1), steps(n - 2, n - 1)
    middle = (
        at(2, n) * (left / (right * (left + right)))
        + at(1, n - 1) * ((right - left) / (left * right))
        - at(0, n - 2) * (right / (left * (left + right)))
    )
    if edge_order == 1:
        return (at(1, 2) - at(0, 1)) / a, middle, (at(n - 1, n) - at(n - 2, n - 1)) / b
    c, d = steps(1, 2), steps(n - 3, n - 2)
    first = -at(0, 1) * (2 * a + c) / (a * (a + c)) + at(1, 2) * (a + c) / (a * c) - at(2, 3) * a / (c * (a + c))
    last = (
        at(n - 3, n - 2) * b / (d * (d + b))
        - at(n - 2, n - 1) * (d + b) / (d * b)
        + at(n - 1, n) * (2 * b + d) / (b * (d + b))
    )
    return first, middle, last


@in_float32
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The distances (p-norms of differences) between the rows of ``x1 (..., P, M)`` and of ``x2 (..., R, M)``.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    check_tensor("cdist", x1=x1, x2=x2)
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if _takes_pairs(x1, x2, p):
        return _pairs(x1, x2, p)
    return _distance(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def _distance(differences, p):
    """The p-norm of the last dim; p = 0 counts what differs, and NaN, which a norm would count, stays NaN."""
    if p == 0:
        return differences.abs().ceil().clamp(max=1).sum(-1)
    return _C._operator("norm")(differences, p, -1)


def _takes_pairs(x1, x2, p):
    """Whether a kernel takes the distances, with no one who would see an operator that stands for several."""
    return (
        x1.dtype is x2.dtype
        and x1.dtype in (torch.float32, torch.float64)
        and p in (1, 2)
        and x1.layout is x2.layout is torch.strided
        and not is_seen(x1, x2)
    )


def _pairs(x1, x2, p):
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1, x2 = (x.expand(*batch, *x.shape[-2:]) for x in (x1, x2))
    rows = [x.reshape(math.prod(batch), *x.shape[-2:]) for x in (x1, x2)]
    distances = _C._operator("_cdist_forward")(*rows, float(p), None)
    return distances.view(*batch, *distances.shape[1:])


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances between every pair of rows, in the order of ``combinations``.

    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    check_tensor("pdist", input=input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows, columns = _C._operator("triu_indices")(input.shape[0], input.shape[0], 1)
    if _takes_pairs(input, input, p):
        return _pairs(input, input, p)[rows, columns]
    return _distance(input[rows] - input[columns], p)


def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None) -> Tensor:
    """Each slice along ``dim`` scaled so that its p-norm is at most ``maxnorm``.

    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    check_tensor("renorm", input=input)
    if p <= 0 or maxnorm < 0:
        raise RuntimeError(f"renorm: expected p > 0 and maxnorm >= 0, got p={p} and maxnorm={maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    if not -input.dim() <= dim < input.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {dim})"
        )
    others = [d for d in range(input.dim()) if d != dim % input.dim()]
    is_half = input.dtype in (_C.float16, _C.bfloat16)  # whose norms may overflow where the slices do not
    dtype = _C.float32 if is_half else None
    reduced = input
    if input.requires_grad:  # a slice that stays as it is has nothing of a norm's gradient, which may be NaN
        stays = ~(_C._operator("norm")(input.detach(), p, others, True, dtype=dtype) > maxnorm)
        reduced = input.masked_fill(stays, 0)
    norm = _C._operator("norm")(reduced, p, others, True, dtype=dtype)
    factor = _C._operator("where")(norm > maxnorm, maxnorm / (norm + 1e-7), _C._operator("ones_like")(norm))
    factor = factor.to(input.dtype) if is_half else factor
    return into("renorm", (input * factor).contiguous(), out)


def hash_tensor(
    input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Tensor | None = None
) -> Tensor:
    """The exclusive or of the bits of all elements, or of those along ``dim``, each as 64-bit float or integer; uint64.

    >>> torch.hash_tensor(torch.tensor([[1, 2], [4, 8]]), 1)
    tensor([ 3, 12], dtype=torch.uint64)
    """
    check_tensor("hash_tensor", input=input)
    if mode != 0:
        raise RuntimeError(f"hash_tensor: mode must be 0, the exclusive or, got {mode}")
    if input.is_complex():
        raise NotImplementedError(f"hash_tensor: not implemented for {input.dtype}; hash torch.view_as_real(input)")
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    _C._operator("squeeze")(input, dims)  # names what is no dim of the input, or is there twice
    if not dims and input.numel() == 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. "
            f"Specify the reduction dim with the 'dim' argument; the input has shape {tuple(input.shape)}"
        )
    bits = input.detach().to(_C.float64).view(_C.int64) if input.is_floating_point() else input.to(_C.int64)
    for d in [d % bits.dim() for d in dims if bits.dim()] or range(bits.dim()):
        while (size := bits.size(d)) > 1:
            half = size // 2
            folded = bits.narrow(d, 0, half) ^ bits.narrow(d, half, half)
            bits = folded if size % 2 == 0 else _C._operator("cat")([folded, bits.narrow(d, size - 1, 1)], d)
        if bits.size(d) == 0:
            bits = bits.new_zeros([1 if e == d else n for e, n in enumerate(bits.shape)])
    if not keepdim:
        bits = bits.squeeze(dims) if dims else bits.reshape(())
    return into("hash_tensor", bits.view(_C.uint64), out)


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """Fills the main diagonal, in place; with ``wrap`` it begins anew below the end of a tall matrix."""
    if self.dim() < 2:
        raise RuntimeError(f"fill_diagonal_: dimensions must be larger than 1, got shape {tuple(self.shape)}")
    if self.dim() > 2 and len({*self.shape}) > 1:
        raise RuntimeError(f"fill_diagonal_: all dimensions must be of equal length, got shape {tuple(self.shape)}")
    if self.dim() > 2:
        self.as_strided((self.shape[0],), (sum(self.stride()),), self.storage_offset()).fill_(fill_value)
        return self
    rows, columns = self.shape
    for begin in range(0, rows if wrap else min(rows, 1), columns + 1):
        self[begin : begin + columns].diagonal().fill_(fill_value)
    return self


def _before_change(tensor, *others):
    """What an in-place form computes from: a gradient needs the values that are about to be overwritten."""
    return tensor.clone() if any(getattr(t, "requires_grad", False) for t in (tensor, *others)) else tensor


def float_power_(self: Any, exponent: Any) -> Tensor:
    """Raises to a power in double precision, in place: the tensor must be float64, or complex128 for complex numbers."""
    result = _C._operator("float_power")(_before_change(self, exponent), exponent)
    if self.dtype != result.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype {result.dtype}"
        )
    return self.copy_(result)


def renorm_(self: Any, p: Any, dim: int, maxnorm: Any) -> Tensor:
    """``renorm``, in place."""
    return self.copy_(renorm(_before_change(self), p, dim, maxnorm))
