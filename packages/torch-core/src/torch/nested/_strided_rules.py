"""What operators do with nested tensors of layout ``torch.strided``: the same to each tensor, dims counted without the first."""

from __future__ import annotations

from .. import _C
from ._jagged_reductions import DIM, KEEPS_SIZE
from ._jagged_rules import is_pointwise as is_pointwise
from ._strided import Strided


def handles(*names):
    """Puts a function into the table of layout torch.strided."""

    def put(function):
        Strided.handlers.update(dict.fromkeys(names, function))
        return function

    return put


def _nested(arguments):
    found = [a for a in arguments if isinstance(a, Strided)]
    if any(len(a._items) != len(found[0]._items) for a in found):
        raise RuntimeError(f"nested tensors of {[len(a._items) for a in found]} tensors do not go together")
    return found[0]


def _beside(x, first, i, name):
    """What goes beside tensor i: of a plain tensor with as many dims as the nested one, its row."""
    if isinstance(x, Strided):
        return x._items[i]
    if not isinstance(x, _C.Tensor) or x.dim() < first.dim():
        return x
    if x.dim() > first.dim() or x.shape[0] not in (1, len(first._items)):
        raise RuntimeError(
            f"{name}: a plain tensor of shape {tuple(x.shape)} does not go beside a nested one of {len(first._items)} tensors "
            f"of {first.dim() - 1} dims"
        )
    return x[i if x.shape[0] > 1 else 0]


def _same_sizes(name, first, args):
    """RuntimeError where two nested tensors hold tensors of different shapes: as in PyTorch these do not broadcast."""
    for other in args:
        if not isinstance(other, Strided) or other is first:
            continue
        for i, (a, b) in enumerate(zip(first._items, other._items, strict=True)):
            if a.shape != b.shape:
                raise RuntimeError(
                    f"{name} does not support broadcasting when given a NestedTensor: tensors {i} have shapes {tuple(a.shape)} "
                    f"and {tuple(b.shape)}"
                )


def beside(func, *args, **kwargs):
    """Element-wise functions and products, which broadcast."""
    first = _nested((*args, *kwargs.values()))
    if func.__name__ != "matmul":
        _same_sizes(func.__name__, first, args)
    rows = [[_beside(a, first, i, func.__name__) for a in args] for i in range(len(first._items))]
    if any(isinstance(v, _C.Tensor) for v in kwargs.values()) or len(args) < 2:
        return each(func, *args, **kwargs)
    made = [func(*row, **kwargs) for row in rows]
    if isinstance(args[0], Strided) and all(a is b for a, b in zip(made, args[0]._items, strict=True)):
        return args[0]  # in place
    return Strided(made)


def each(func, *args, **kwargs):
    """The function of the tensors one by one; plain tensors go along with each."""
    if kwargs.get("out") is not None:
        raise RuntimeError(f"{func.__name__}: out= is not there for nested tensors")
    first = _nested((*args, *kwargs.values()))
    made = [
        func(
            *(a._items[i] if isinstance(a, Strided) else a for a in args),
            **{k: v._items[i] if isinstance(v, Strided) else v for k, v in kwargs.items()},
        )
        for i in range(len(first._items))
    ]
    if isinstance(args[0], Strided) and made and all(a is b for a, b in zip(made, args[0]._items, strict=True)):
        return args[0]  # in place
    if made and isinstance(made[0], (tuple, list)):
        return tuple(Strided(list(parts)) for parts in zip(*made, strict=True))
    return Strided(made)


handles(
    "linear", "layer_norm", "rms_norm", "embedding", "conv1d", "conv2d", "conv3d", "max_pool2d", "avg_pool2d",
    "scaled_dot_product_attention",
)(each)  # fmt: skip


@handles("matmul", "bmm")
def matmul(func, self, other):
    """Products one by one."""
    return beside(_C._operator("matmul"), self, other)


@handles("detach", "clone", "to")
def copied(func, self, *args, **kwargs):
    """The same tensors, in one buffer where they were in one."""
    args = [a._sample() if isinstance(a, Strided) else a for a in args]
    kwargs = {k: v for k, v in kwargs.items() if k != "layout"}
    return self._with([func(t, *args, **kwargs) for t in self._tensors()])


def _lower(self, dim):
    dim = self._dim(dim)
    if dim == 0:
        raise RuntimeError("dim 0 of a nested tensor holds its tensors: it is not reduced, moved or cut")
    return dim - 1


@handles(*DIM)
def along(func, self, *args, **kwargs):
    """Reductions: of all elements, or along a dim of each tensor."""
    at = DIM[func.__name__] - 1
    dim = args[at] if len(args) > at else kwargs.get("dim")
    if dim is None or isinstance(dim, bool):
        if func.__name__ in KEEPS_SIZE:
            return each(func, self, *args, **kwargs)
        return func(self.values(), *args, **kwargs)
    lower = _lower(self, dim) if isinstance(dim, int) else tuple(_lower(self, d) for d in dim)
    if len(args) > at:
        return each(func, self, *args[:at], lower, *args[at + 1 :], **kwargs)
    return each(func, self, *args, **{**kwargs, "dim": lower})


@handles("transpose", "swapaxes", "movedim")
def transpose(func, self, dim0, dim1):
    return each(func, self, _lower(self, dim0), _lower(self, dim1))


@handles("permute")
def permute(func, self, *dims):
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    if self._dim(dims[0]) != 0:
        raise RuntimeError(f"permute: dim 0 of a nested tensor stays, got {tuple(dims)}")
    return each(func, self, [_lower(self, d) for d in dims[1:]])


@handles("unsqueeze")
def unsqueeze(func, self, dim):
    dim = dim % (self.dim() + 1)
    if dim == 0:
        raise RuntimeError("unsqueeze: dim 0 of a nested tensor stays")
    return each(func, self, dim - 1)


@handles("squeeze", "unflatten", "chunk", "split", "split_with_sizes", "flatten", "narrow", "select", "index_select")
def one_dim(func, self, *args, **kwargs):
    """Along one dim, or from one to another."""
    name = func.__name__
    at = 1 if name in ("chunk", "split", "split_with_sizes") else 0
    dim = args[at] if len(args) > at else kwargs.pop("dim", 0)
    rest = (*args[:at], *args[at + 1 :])
    if name == "select" and self._dim(dim) == 0:
        return self._items[rest[0]]
    if name == "narrow" and self._dim(dim) == 0:
        return Strided(list(self._items[rest[0] : rest[0] + rest[1]]))
    if name == "flatten":
        end = args[1] if len(args) > 1 else kwargs.pop("end_dim", -1)
        return each(func, self, _lower(self, kwargs.pop("start_dim", dim)), _lower(self, end))
    return each(func, self, *rest[:at], _lower(self, dim), *rest[at:], **kwargs)


@handles("view", "reshape")
def reshape(func, self, *shape):
    shape = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    if shape[0] not in (-1, len(self._items)):
        raise RuntimeError(f"{func.__name__}: dim 0 of a nested tensor stays {len(self._items)}, got {shape[0]}")
    inner, rows = shape[1:], []
    for t in self._items:  # -1 is the tensor's own size, where it has that dim
        sizes = [t.shape[d] if s == -1 and d < t.dim() and inner.count(-1) > 1 else s for d, s in enumerate(inner)]
        rows.append(func(t, sizes))
    return Strided(rows)


@handles("cat")
def cat(func, tensors, dim=0):
    first = _nested(tensors) if dim % tensors[0].dim() else tensors[0]
    if not all(isinstance(t, Strided) for t in tensors):
        raise RuntimeError("cat: expected nested tensors only")
    if first._dim(dim) == 0:
        return Strided([item for t in tensors for item in t._items])
    lower = _lower(first, dim)
    return Strided([func([t._items[i] for t in tensors], lower) for i in range(len(first._items))])


@handles("equal", "allclose")
def same(func, self, other, *args, **kwargs):
    """Whether the tensors are equal, or close, one by one."""
    if not (isinstance(self, Strided) and isinstance(other, Strided)):
        raise RuntimeError(f"{func.__name__}: expected two nested tensors")
    return self.is_same_size(other) and all(
        func(a, b, *args, **kwargs) for a, b in zip(self._items, other._items, strict=True)
    )


@handles("__getitem__")
def item(func, self, key):
    """A tensor by number; whole dims, slices and numbers in the others."""
    key = key if isinstance(key, tuple) else (key,)
    if isinstance(key[0], int) and not isinstance(key[0], bool):
        found = self._items[key[0]]
        return found[key[1:]] if len(key) > 1 else found
    if key[0] is Ellipsis:
        return each(func, self, key)
    if key[0] == slice(None):
        return each(func, self, key[1:] or (Ellipsis,))
    raise NotImplementedError(
        "a nested tensor is indexed by numbers and slices: take the tensors by unbind() for others"
    )
