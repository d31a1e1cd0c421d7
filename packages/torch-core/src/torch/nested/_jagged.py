"""Layout ``torch.jagged``: packed values and the offsets of the rows. One dim, ``_ragged``, has another size in each row."""

from __future__ import annotations

from .. import _C
from ._class import Nested, same_dims, seal
from ._length import Length


class Jagged(Nested):
    """A nested tensor with one ragged dim.

    ``values`` has the dims of a row, of which number ``ragged - 1`` holds the rows one after another: row i goes from
    ``offsets[i]`` to ``offsets[i + 1]``, or is ``lengths[i]`` long.
    """

    layout = _C.jagged
    handlers: dict = {}

    def __new__(cls, values, offsets, lengths=None, ragged=1, seqlens=(None, None)):
        if not isinstance(values, _C.Tensor) or not isinstance(offsets, _C.Tensor):
            raise TypeError("a jagged tensor is made of tensors: values and offsets")
        if offsets.dim() != 1 or offsets.numel() < 2 or offsets.dtype not in (_C.int64, _C.int32):
            raise RuntimeError(
                f"offsets must be whole numbers in one dim, a row's begin and the end: got {tuple(offsets.shape)}"
            )
        if not 1 <= ragged <= values.dim():
            raise RuntimeError(f"jagged_dim must lie between 1 and {values.dim()}, got {ragged}")
        made = _C._operator("empty")((0,), dtype=values.dtype, device=values.device).as_subclass(cls)
        made._values, made._offsets, made._lengths, made._ragged = values, offsets, lengths, ragged
        made._length, made._seqlens = length_of(offsets if lengths is None else lengths), seqlens
        return made

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def other(cls, name):
        from . import _jagged_rules as rules

        return rules.pointwise if rules.is_pointwise(name) else super().other(name)

    def _sample(self):
        return self._values

    def _tensors(self):
        return [self._values]

    def _with(self, tensors, ragged=None):
        """The same rows of other values."""
        return Jagged(
            tensors[0], self._offsets, self._lengths, self._ragged if ragged is None else ragged, self._seqlens
        )

    # --- sizes ---

    def _bounds(self):
        """Of each row, where it begins and how long it is."""
        offsets = self._offsets.tolist()
        if self._lengths is None:
            found = list(zip(offsets[:-1], self._offsets.diff().tolist(), strict=True))
        else:
            found = list(zip(offsets[:-1], self._lengths.tolist(), strict=True))
        end = self._values.shape[self._ragged - 1]
        for begin, length in found:
            if begin < 0 or length < 0 or begin + length > end:
                raise RuntimeError(f"a row of {length} elements from {begin} on leaves the {end} values")
        return found

    @property
    def shape(self):
        sizes = list(self._values.shape)
        sizes[self._ragged - 1] = self._length
        return _C.Size([self._offsets.numel() - 1, *sizes])

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[self._dim(dim)]

    def stride(self, dim=None):
        raise NotImplementedError("stride: rows of a nested tensor lie at distances of their own: ask values()")

    def dim(self):
        return self._values.dim() + 1

    def numel(self):
        if self._lengths is None:
            return self._values.numel()
        return sum(t.numel() for t in self.unbind())

    def _dim(self, dim):
        if not -self.dim() <= dim < self.dim():
            raise IndexError(f"Dimension out of range (expected -{self.dim()} to {self.dim() - 1}, but got {dim})")
        return dim % self.dim()

    def values(self):
        """The packed elements."""
        return self._values

    def offsets(self):
        """Where the rows begin, and the end."""
        return self._offsets

    def lengths(self):
        """The lengths of the rows where there are holes between them, else None."""
        return self._lengths

    def _min_max(self, which):
        known = self._seqlens[which]
        return known if known is not None else (min, max)[which]([length for _, length in self._bounds()])

    def _get_min_seqlen(self):
        return self._min_max(0)

    def _get_max_seqlen(self):
        return self._min_max(1)

    _min_seqlen = property(_get_min_seqlen)
    _max_seqlen = property(_get_max_seqlen)
    _maybe_min_seqlen = _min_seqlen
    _maybe_max_seqlen = _max_seqlen
    _ragged_idx = property(lambda self: self._ragged)

    def is_contiguous(self, memory_format=_C.contiguous_format):
        return self._lengths is None and self._ragged == 1 and self._values.is_contiguous()

    def contiguous(self, memory_format=_C.contiguous_format):
        """Packed without holes, the ragged dim first in memory."""
        if self._lengths is not None:
            return pack(self.unbind(), self._ragged)
        return self if self._values.is_contiguous() else self._with([self._values.contiguous()])

    def unbind(self, dim=0):
        """The rows, views of the values."""
        if self._dim(dim) != 0:
            raise RuntimeError(f"unbind: only dim 0 of a nested tensor, got {dim}")
        values = self._values
        return tuple(values.narrow(self._ragged - 1, begin, length) for begin, length in self._bounds())

    def to_padded_tensor(self, padding, output_size=None):
        """A plain tensor with ``padding`` behind the rows that are shorter than the longest."""
        ragged = self._ragged - 1
        longest = self._max_seqlen
        if output_size is not None:
            if len(output_size) != self.dim():
                raise RuntimeError(
                    f"to_padded_tensor: output_size must have {self.dim()} sizes, got {tuple(output_size)}"
                )
            longest = output_size[self._ragged]
        rows = []
        for row in self.unbind():
            row = row.narrow(ragged, 0, min(longest, row.shape[ragged]))
            shape = [longest - row.shape[ragged] if d == ragged else size for d, size in enumerate(row.shape)]
            rows.append(_C._operator("cat")([row, row.new_full(shape, padding)], ragged))
        return _C._operator("stack")(rows)

    def __repr__(self, *, tensor_contents=None):
        extra = f", grad_fn={self.grad_fn!r}" if self.grad_fn is not None else ""
        if not extra and self.requires_grad:
            extra = ", requires_grad=True"
        sizes = ", ".join(map(str, self.shape))
        return f"NestedTensor(size=({sizes}), offsets={self._offsets!r}{extra}, contiguous={self.is_contiguous()})"

    __str__ = __repr__

    def __reduce_ex__(self, protocol):
        return Jagged, (self._values, self._offsets, self._lengths, self._ragged)


def length_of(tensor):
    """The ragged size that belongs to a tensor of offsets or lengths: the same for the same tensor."""
    known = getattr(tensor, "_ragged_length", None)
    if known is None:
        known = tensor._ragged_length = Length()
    return known


def pack(tensors, ragged=None):
    """The jagged tensor of rows that differ in one dim, by default the one that differs, else the first."""
    if not tensors:
        raise RuntimeError("a jagged tensor has one row at least, got an empty list")
    first = same_dims(tensors)[0]
    if first.dim() == 0:
        raise RuntimeError("the rows of a jagged tensor have one dim at least")
    differ = [d for d in range(first.dim()) if len({t.shape[d] for t in tensors}) > 1]
    if len(differ) > 1 or (ragged is not None and differ not in ([], [ragged - 1])):
        raise RuntimeError(
            f"the rows of a jagged tensor differ in one dim only, got {[tuple(t.shape) for t in tensors]}: "
            "torch.strided takes any sizes"
        )
    if ragged is None:
        ragged = differ[0] + 1 if differ else 1
    counts = _C.tensor([0, *(t.shape[ragged - 1] for t in tensors)], device=first.device)
    return Jagged(_C._operator("cat")(tensors, ragged - 1), counts.cumsum(0), None, ragged)


Jagged.__name__ = Jagged.__qualname__ = "NestedTensor"
Jagged.__module__ = "torch.nested._internal.nested_tensor"
seal(Jagged)
