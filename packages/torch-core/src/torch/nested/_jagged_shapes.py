"""Shapes of jagged tensors: dim 0 stays the rows, and the ragged dim may move among the others."""

from __future__ import annotations

from math import prod

from .. import _C
from ._jagged import Jagged
from ._jagged_rules import handles, like
from ._length import Length


def _inner(self, dim, name):
    """A dim of the values, which is neither the rows' nor the ragged one."""
    dim = self._dim(dim)
    if dim in (0, self._ragged):
        raise RuntimeError(f"{name}: not along dim {dim} of a nested tensor of shape {tuple(self.shape)}")
    return dim - 1


def _permuted(self, order):
    if order[0] != 0:
        raise RuntimeError(f"permute: the rows of a nested tensor stay dim 0, got {tuple(order)}")
    return like(self, self._values.permute([d - 1 for d in order[1:]]), order.index(self._ragged))


@handles("permute")
def permute(func, self, *dims, **kwargs):
    dims = kwargs.get("dims", dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)
    return _permuted(self, [self._dim(d) for d in dims])


@handles("transpose", "swapaxes", "swapdims")
def transpose(func, self, dim0, dim1):
    order = list(range(self.dim()))
    a, b = self._dim(dim0), self._dim(dim1)
    order[a], order[b] = order[b], order[a]
    return _permuted(self, order)


@handles("movedim", "moveaxis")
def movedim(func, self, source, destination):
    order = list(range(self.dim()))
    order.insert(self._dim(destination), order.pop(self._dim(source)))
    return _permuted(self, order)


@handles("unsqueeze")
def unsqueeze(func, self, dim):
    size = self.dim() + 1
    dim = dim % size if -size <= dim < size else self._dim(dim)
    if dim == 0:
        raise RuntimeError("unsqueeze: the rows of a nested tensor stay dim 0")
    return like(self, func(self._values, dim - 1), self._ragged + (dim <= self._ragged))


@handles("squeeze")
def squeeze(func, self, dim=None):
    if dim is None:
        raise RuntimeError("squeeze: name the dims of a nested tensor that go")
    dims = sorted((self._dim(d) for d in ((dim,) if isinstance(dim, int) else dim)), reverse=True)
    for d in dims:
        inner = _inner(self, d, "squeeze")
        if self._values.shape[inner] == 1:
            self = like(self, self._values.squeeze(inner), self._ragged - (d < self._ragged))
    return self


@handles("view", "reshape", "view_as", "reshape_as")
def reshape(func, self, *shape, **kwargs):
    shape = kwargs.get("shape", kwargs.get("size", shape[0] if len(shape) == 1 else shape))
    if isinstance(shape, _C.dtype):
        return like(self, self._values.view(shape))
    if isinstance(shape, Jagged):
        shape = shape.shape
    shape = [shape] if isinstance(shape, int) else list(shape)
    at = next((i for i, s in enumerate(shape) if s is self._length), None)
    at = next((i for i, s in enumerate(shape) if s == -1), None) if at is None else at
    if (
        not shape
        or shape[0] not in (self.size(0), -1)
        or not at
        or any(isinstance(s, Length) for s in shape if s is not shape[at])
    ):
        raise RuntimeError(
            f"{func.__name__}: shape {tuple(shape)} of a nested tensor of {tuple(self.shape)} has no place for its rows: keep dim 0, "
            "and -1 or size() for the ragged dim"
        )
    before, behind = self._values.shape[: self._ragged - 1], self._values.shape[self._ragged :]
    sides = [_resolved(shape[1:at], prod(before)), _resolved(shape[at + 1 :], prod(behind))]
    if None in sides:
        raise RuntimeError(
            f"{func.__name__}: shape {tuple(shape)} is invalid for a nested tensor of {tuple(self.shape)}"
        )
    wanted = [*sides[0], self._values.shape[self._ragged - 1], *sides[1]]
    return like(self, self._values.reshape(wanted), at)


def _resolved(sizes, total):
    """Sizes whose product is a total, one of them may be -1; None when there are none."""
    sizes = list(sizes)
    if -1 in sizes:
        rest = prod(s for s in sizes if s != -1)
        if not rest or total % rest or sizes.count(-1) > 1:
            return None
        sizes[sizes.index(-1)] = total // rest
    return sizes if prod(sizes) == total else None


@handles("unflatten")
def unflatten(func, self, dim, sizes):
    dim = self._dim(dim)
    inner = _inner(self, dim, "unflatten")
    return like(self, func(self._values, inner, sizes), self._ragged + (len(sizes) - 1) * (dim < self._ragged))


@handles("flatten")
def flatten(func, self, start_dim=0, end_dim=-1):
    first, last = self._dim(start_dim), self._dim(end_dim)
    if first == 0 or first <= self._ragged <= last:
        raise RuntimeError(f"flatten: dims {first} to {last} hold the rows or the ragged dim of {tuple(self.shape)}")
    return like(self, func(self._values, first - 1, last - 1), self._ragged - (last - first) * (last < self._ragged))


@handles("split", "chunk", "split_with_sizes", "tensor_split")
def split(func, self, sizes, dim=0):
    if self._dim(dim) == 0 and func.__name__ in ("split", "chunk"):
        from ._jagged import pack

        rows = self.unbind()
        groups = func(_C._operator("arange")(len(rows)), sizes)
        return tuple(pack([rows[i] for i in group.tolist()], self._ragged) for group in groups)
    return like(self, func(self._values, sizes, _inner(self, dim, func.__name__)))


@handles("select")
def select(func, self, dim, index):
    if self._dim(dim) == 0:
        return self[index]
    return like(
        self, func(self._values, _inner(self, dim, "select"), index), self._ragged - (self._dim(dim) < self._ragged)
    )


@handles("narrow", "slice", "index_select", "repeat_interleave")
def along(func, self, dim, *args, **kwargs):
    return like(self, func(self._values, _inner(self, dim, func.__name__), *args, **kwargs))


@handles("cat", "concat", "concatenate")
def cat(func, tensors, dim=0):
    first = next(t for t in tensors if isinstance(t, Jagged))
    if not all(isinstance(t, Jagged) for t in tensors):
        raise RuntimeError("cat: expected nested tensors only")
    if first._dim(dim) == 0:
        from ._jagged import pack

        return pack([row for t in tensors for row in t.unbind()], first._ragged)
    if any(t._length is not first._length or t._ragged != first._ragged for t in tensors):
        raise RuntimeError("cat: the nested tensors have other rows: all must share their offsets")
    return like(first, func([t._values for t in tensors], _inner(first, dim, "cat")))


@handles("stack")
def stack(func, tensors, dim=0):
    return cat(_C._operator("cat"), [t.unsqueeze(dim) for t in tensors], dim)


@handles("expand", "expand_as", "broadcast_to")
def expand(func, self, *shape):
    shape = shape[0] if len(shape) == 1 else shape
    shape = list(shape.shape if isinstance(shape, _C.Tensor) else shape)
    if len(shape) != self.dim() or any(
        s not in (-1, mine) and not (mine == 1 and d not in (0, self._ragged))
        for d, (s, mine) in enumerate(zip(shape, self.shape))
    ):
        raise RuntimeError(f"expand: a nested tensor of shape {tuple(self.shape)} does not become {tuple(shape)}")
    shape[self._ragged] = -1
    return like(self, self._values.expand(shape[1:]))


@handles("__getitem__")
def item(func, self, key):
    """Rows by number; whole dims, slices and numbers in the others."""
    key = key if isinstance(key, tuple) else (key,)
    if any(not isinstance(k, (int, slice, type(None), type(Ellipsis))) or isinstance(k, bool) for k in key):
        raise NotImplementedError(
            "a nested tensor is indexed by numbers and slices: take the tensors by unbind() for others"
        )
    if isinstance(key[0], int):
        rows = self.unbind()
        if not -len(rows) <= key[0] < len(rows):
            raise IndexError(f"index {key[0]} is out of bounds for dimension 0 with size {len(rows)}")
        return rows[key[0]][key[1:]] if len(key) > 1 else rows[key[0]]
    if Ellipsis in key:
        at = key.index(Ellipsis)
        missing = self.dim() - sum(k is not None for k in key) + 1
        key = key[:at] + (slice(None),) * missing + key[at + 1 :]
    key = key + (slice(None),) * (self.dim() - sum(k is not None for k in key))
    place, ragged, inner = 0, 0, []
    for k in key:
        if k is not None:
            if place in (0, self._ragged) and k != slice(None):
                raise RuntimeError(f"slice: not along dim {place} of a nested tensor of shape {tuple(self.shape)}")
            if place == self._ragged:
                ragged = sum(not isinstance(i, int) for i in inner)
            place += 1
        elif place == 0:
            raise RuntimeError("the rows of a nested tensor stay dim 0")
        inner.append(k)
    return like(self, self._values[tuple(inner[1:])], ragged)
