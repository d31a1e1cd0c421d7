"""The class of jagged tensors, and how libraries make and open one.

>>> from torch.nested._internal.nested_tensor import jagged_from_list
>>> made, offsets = jagged_from_list([torch.ones(2), torch.ones(1)], None)
>>> made.values(), offsets
(tensor([1., 1., 1.]), tensor([0, 2, 3]))
"""

from __future__ import annotations

from ... import _C
from .._jagged import Jagged as NestedTensor
from .._jagged import length_of, pack
from .._length import Length


class _Lengths:
    """The ragged sizes by the tensor of offsets or lengths that they belong to."""

    def __getitem__(self, tensor):
        return length_of(tensor)

    def __contains__(self, tensor):
        return isinstance(getattr(tensor, "_ragged_length", None), Length)

    def get(self, tensor, default=None):
        """The size that belongs to the tensor, if it has one already."""
        return length_of(tensor) if tensor in self else default

    def __setitem__(self, tensor, length):
        tensor._ragged_length = length


_tensor_symint_registry = _Lengths()


def get_tensor_symint(tensor, *, coeff=1):
    """The ragged size that belongs to a tensor of offsets or lengths."""
    if coeff != 1:
        raise NotImplementedError("get_tensor_symint: a multiple of a ragged size is not there")
    return length_of(tensor)


def jagged_from_list(tensors, offsets, dtype=None, device=None):
    """The jagged tensor of rows, with these offsets or new ones; and the offsets."""
    tensors = [t.to(dtype=dtype or t.dtype, device=device or t.device) for t in tensors]
    made = pack(tensors)
    if offsets is not None:
        made = NestedTensor(made._values, offsets, None, made._ragged)
    return made, made.offsets()


def jagged_from_tensor_and_lengths(tensor, starts, lengths):
    """Pieces of the rows of a plain tensor; with their offsets and lengths."""
    from .. import narrow

    made = narrow(tensor, 1, starts, lengths, layout=_C.jagged)
    return made, made.offsets(), made.lengths()


def nested_view_from_values_offsets(values, offsets, ragged_idx=1, min_seqlen=None, max_seqlen=None):
    """The jagged tensor over packed values."""
    return NestedTensor(values, offsets, None, ragged_idx, (min_seqlen, max_seqlen))


def nested_view_from_values_offsets_lengths(values, offsets, lengths, ragged_idx=1, min_seqlen=None, max_seqlen=None):
    """The jagged tensor over packed values with holes between the rows."""
    return NestedTensor(values, offsets, lengths, ragged_idx, (min_seqlen, max_seqlen))


def buffer_from_jagged(jagged):
    """The packed values."""
    return jagged.values()


def nested_from_padded(padded, offsets, ragged_idx=1, min_seqlen=None, max_seqlen=None, sum_S=None):
    """The jagged tensor of a padded one, whose rows are as long as the offsets say."""
    rows = [row.narrow(ragged_idx - 1, 0, n) for row, n in zip(padded.unbind(0), offsets.diff().tolist(), strict=True)]
    values = _C._operator("cat")(rows, ragged_idx - 1)
    return NestedTensor(values, offsets, None, ragged_idx, (min_seqlen, max_seqlen))
