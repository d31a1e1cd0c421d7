"""Reductions of jagged tensors, and what goes along one dim: over other dims on the packed values, over the ragged one row
by row."""

from __future__ import annotations

from .. import _C
from ._jagged import Jagged, pack
from ._jagged_rules import handles, like

#: the position of ``dim`` among the arguments
DIM = {
    **dict.fromkeys(
        (
            "sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "all", "any", "var", "std", "logsumexp", "nansum",
            "nanmean", "median", "count_nonzero", "softmax", "log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "argsort", "sort",
            "flip",
        ),
        1,
    ),
    **dict.fromkeys(("norm", "linalg_vector_norm", "vector_norm", "topk", "kthvalue"), 2),
}  # fmt: skip
KEEPS_SIZE = {"softmax", "log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "argsort", "sort", "flip"}


def _dims(self, dim):
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(self._dim(d) for d in dims)


def _put(name, args, kwargs, dim):
    """The arguments behind the tensor with another ``dim``."""
    at = DIM[name] - 1
    if len(args) > at:
        return (*args[:at], dim, *args[at + 1 :]), kwargs
    return args, {**kwargs, "dim": dim}


def _along(func, self, *args, **kwargs):
    name = func.__name__
    at = DIM[name] - 1
    dim = args[at] if len(args) > at else kwargs.get("dim")
    if isinstance(dim, bool):  # var(unbiased)
        dim = None
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return func((self if self._lengths is None else self.contiguous())._values, *args, **kwargs)
    if isinstance(dim, Jagged):
        raise RuntimeError(f"{name}: of two nested tensors use maximum or minimum")
    dims = _dims(self, dim)
    keepdim = kwargs.get("keepdim", next((a for a in args[at + 1 :] if isinstance(a, bool)), False))
    if 0 in dims:
        if self._ragged not in dims or name in KEEPS_SIZE:
            raise RuntimeError(
                f"{name}: over the rows of a nested tensor only together with their ragged dim {self._ragged}"
            )
        packed = self if self._lengths is None else self.contiguous()
        args, kwargs = _put(name, args, kwargs, tuple(d - 1 for d in dims if d))
        made = func(packed._values, *args, **kwargs)
        return made.unsqueeze(0) if keepdim else made
    inner = tuple(d - 1 for d in dims)
    inner = inner[0] if isinstance(dim, int) else inner
    args, kwargs = _put(name, args, kwargs, inner)
    if self._ragged in dims:
        made = [func(row, *args, **kwargs) for row in self.unbind()]
        if name in KEEPS_SIZE:
            if isinstance(made[0], tuple):
                return tuple(_same_rows(self, list(parts)) for parts in zip(*made, strict=True))
            return _same_rows(self, made)
        if isinstance(made[0], tuple):
            stack = _C._operator("stack")
            return _C._return_type(name)([stack(list(parts)) for parts in zip(*made, strict=True)])
        return _C._operator("stack")(made)
    made = func(self._values, *args, **kwargs)
    lost = 0 if keepdim or name in KEEPS_SIZE or name in ("topk",) else sum(d < self._ragged for d in dims)
    if isinstance(made, tuple):
        return type(made)(like(self, part, self._ragged - lost) for part in made)
    return like(self, made, self._ragged - lost)


def _same_rows(self, rows):
    """Rows of the sizes that they had, with the offsets they had."""
    if self._lengths is None:
        return like(self, _C._operator("cat")(rows, self._ragged - 1))
    return pack(rows, self._ragged)


handles(*DIM)(_along)


@handles("layer_norm", "rms_norm")
def normalized(func, self, normalized_shape, *args, **kwargs):
    """Normalization over the last dims, behind the ragged one."""
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    if self.dim() - count <= self._ragged:
        raise RuntimeError(
            f"{func.__name__}: the normalized dims {normalized_shape} reach the ragged dim of {tuple(self.shape)}"
        )
    return like(self, func(self._values, normalized_shape, *args, **kwargs))
