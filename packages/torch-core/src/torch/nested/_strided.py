"""Layout ``torch.strided``: tensors of any sizes, of as many dims each. Operators go through them one by one."""

from __future__ import annotations

from math import prod

from .. import _C
from ._class import Nested, same_dims, seal


class Strided(Nested):
    """A nested tensor whose tensors may differ in every size."""

    layout = _C.strided
    handlers: dict = {}

    def __new__(cls, items, buffer=None):
        first = items[0] if items else _C._operator("empty")((0,))
        made = _C._operator("empty")((0,), dtype=first.dtype, device=first.device).as_subclass(cls)
        made._items, made._buffer = tuple(same_dims(items)), buffer
        return made

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def other(cls, name):
        from . import _strided_rules as rules

        return rules.beside if rules.is_pointwise(name) else super().other(name)

    def _sample(self):
        return self._items[0] if self._items else _C._operator("empty")((0,))

    def _tensors(self):
        return list(self._items) if self._buffer is None else [self._buffer]

    def _with(self, tensors):
        if self._buffer is None:
            return Strided(tensors)
        return from_buffer(tensors[0], [tuple(t.shape) for t in self._items])

    def requires_grad_(self, requires_grad=True):
        if self._buffer is None:
            return super().requires_grad_(requires_grad)
        self._buffer.requires_grad_(requires_grad)
        self._items = from_buffer(self._buffer, [tuple(t.shape) for t in self._items])._items  # views that follow it
        return self

    # --- sizes ---

    @property
    def shape(self):
        raise RuntimeError(
            "a nested tensor of layout torch.strided has no shape: ask size(dim), or the tensors of unbind()"
        )

    def size(self, dim=None):
        if dim is None:
            return self.shape
        dim = self._dim(dim)
        if dim == 0:
            return len(self._items)
        sizes = {t.shape[dim - 1] for t in self._items}
        if len(sizes) != 1:
            raise RuntimeError(
                f"size: dim {dim} is irregular and has no one size: {[t.shape[dim - 1] for t in self._items]}"
            )
        return sizes.pop()

    def stride(self, dim=None):
        raise RuntimeError("stride: the tensors of a nested one have strides of their own: ask unbind()")

    def dim(self):
        return (self._items[0].dim() if self._items else 0) + 1

    def numel(self):
        return sum(t.numel() for t in self._items)

    def _dim(self, dim):
        if not -self.dim() <= dim < self.dim():
            raise IndexError(f"Dimension out of range (expected -{self.dim()} to {self.dim() - 1}, but got {dim})")
        return dim % self.dim()

    def values(self):
        """All elements in one dim."""
        return self._buffer if self._buffer is not None else _C._operator("cat")([t.reshape(-1) for t in self._items])

    def _nested_tensor_size(self):
        return _C.tensor([list(t.shape) for t in self._items])

    def _nested_tensor_strides(self):
        return _C.tensor([list(t.contiguous().stride()) for t in self._items])

    def _nested_tensor_storage_offsets(self):
        counts = [t.numel() for t in self._items]
        return _C.tensor([sum(counts[:i]) for i in range(len(counts))])

    def is_contiguous(self, memory_format=_C.contiguous_format):
        return all(t.is_contiguous() for t in self._items)

    def contiguous(self, memory_format=_C.contiguous_format):
        return self if self.is_contiguous() else Strided([t.contiguous() for t in self._items])

    def unbind(self, dim=0):
        """The tensors."""
        if self._dim(dim) != 0:
            raise RuntimeError(f"unbind: only dim 0 of a nested tensor, got {dim}")
        return self._items

    def to_padded_tensor(self, padding, output_size=None):
        """A plain tensor with ``padding`` where a tensor ends before the longest."""
        if not self._items:
            raise RuntimeError("to_padded_tensor: the nested tensor is empty")
        longest = [max(sizes) for sizes in zip(*(t.shape for t in self._items), strict=True)]
        if output_size is not None:
            if len(output_size) != self.dim() or any(w < s for w, s in zip(output_size[1:], longest, strict=True)):
                raise RuntimeError(
                    f"to_padded_tensor: output_size {tuple(output_size)} is less than ({len(self._items)}, {', '.join(map(str, longest))}): "
                    "nothing is cut off"
                )
            longest = list(output_size[1:])
        pad = _C._operator("constant_pad_nd")
        rows = []
        for t in self._items:
            widths = [
                n for size, wanted in zip(reversed(t.shape), reversed(longest), strict=True) for n in (0, wanted - size)
            ]
            rows.append(pad(t, widths, padding))
        return _C._operator("stack")(rows)

    def __repr__(self, *, tensor_contents=None):
        lines = [f"  {line}" for t in self._items for line in (repr(t.detach()) + ",").splitlines()]
        if lines:
            lines[-1] = lines[-1][:-1]
        extra = f", grad_fn={self.grad_fn!r}" if self.grad_fn is not None else ""
        if not extra and self.requires_grad:
            extra = ", requires_grad=True"
        return "\n".join(["nested_tensor([", *lines, f"]{extra})"])

    __str__ = __repr__

    def __reduce_ex__(self, protocol):
        if self._buffer is None:
            return Strided, (list(self._items),)
        return from_buffer, (self._buffer, [tuple(t.shape) for t in self._items])


def from_buffer(buffer, shapes):
    """The nested tensor of views of one buffer, which is its leaf."""
    parts = buffer.split([prod(shape) for shape in shapes])
    return Strided([part.view(shape) for part, shape in zip(parts, shapes, strict=True)], buffer)


def _nested_view_from_buffer(buffer, sizes, strides, offsets):
    """The nested tensor of views of one buffer with these sizes, strides and offsets."""
    rows = zip(sizes.tolist(), strides.tolist(), offsets.tolist(), strict=True)
    return Strided([buffer.as_strided(size, stride, offset) for size, stride, offset in rows])


seal(Strided)
