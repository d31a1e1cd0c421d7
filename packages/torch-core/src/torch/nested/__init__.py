"""Nested tensors: a batch of tensors of different lengths in one, without padding.

With ``layout=torch.jagged`` one dim is ragged, and the elements lie packed one after another in ``values()``; with
``torch.strided`` all sizes but the number of dims may differ. Both are classes of Python that take part in operators.

>>> words = torch.nested.nested_tensor([torch.tensor([1.0, 2.0]), torch.tensor([3.0])], layout=torch.jagged)
>>> (words * 2).to_padded_tensor(0.0)
tensor([[2., 4.],
        [6., 0.]])
"""

from __future__ import annotations

from .. import _C
from . import _internal as _internal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import torch
    from torch import Tensor

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def _kind(name, layout):
    if layout is None or layout == _C.strided:
        return "strided"
    if layout == _C.jagged:
        return "jagged"
    raise RuntimeError(f"{name}: layout must be torch.strided or torch.jagged, got {layout}")


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor with copies of the tensors, or of the numbers in lists: a leaf, whose ``grad`` is nested as well.

    >>> torch.nested.nested_tensor([[1, 2, 3], [4]])
    nested_tensor([
      tensor([1, 2, 3]),
      tensor([4])
    ])
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(f"nested_tensor: expected a list of tensors or of lists, got {type(tensor_list).__name__}")
    if pin_memory:
        raise RuntimeError("pin_memory: pinned memory needs the distribution 'torch-core-cuda', which is not installed")
    tensors = [t.detach() if isinstance(t, _C.Tensor) else _C.tensor(t, dtype=dtype) for t in tensor_list]
    from ._class import leaf

    return leaf(_kind("nested_tensor", layout), tensors, dtype, device, requires_grad)


def as_nested_tensor(
    ts: Tensor | Sequence[Tensor],
    dtype: torch.dtype | None = None,
    device: torch.device | str | int | None = None,
    layout: torch.layout | None = None,
) -> Tensor:
    """A nested tensor of the tensors, or of the rows of one: gradients reach what it was made of.

    >>> x = torch.ones(2, requires_grad=True)
    >>> nested = torch.nested.as_nested_tensor([x, torch.ones(3)], layout=torch.jagged)
    >>> (nested * 3).values().sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    kind = _kind("as_nested_tensor", layout)
    if isinstance(ts, _C.Tensor) and ts.is_nested:
        raise RuntimeError("as_nested_tensor: the tensor is nested already")
    if not isinstance(ts, _C.Tensor) and not (
        isinstance(ts, (list, tuple)) and all(isinstance(t, _C.Tensor) for t in ts)
    ):
        raise TypeError(f"as_nested_tensor: expected a tensor or a list of tensors, got {type(ts).__name__}")
    from ._class import nested

    return nested(kind, list(ts.unbind(0)) if isinstance(ts, _C.Tensor) else list(ts), dtype, device)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor over packed values: its row i goes from ``offsets[i]`` to ``offsets[i + 1]``, or has ``lengths[i]``
    elements from there. No copy is made.

    >>> torch.nested.nested_tensor_from_jagged(torch.arange(4), offsets=torch.tensor([0, 1, 4])).unbind()
    (tensor([0]), tensor([1, 2, 3]))
    """
    from ._jagged import Jagged

    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged: needs offsets or lengths")
        offsets, lengths = _C._operator("cat")([lengths.new_zeros(1), lengths.cumsum(0)]), None
    ragged = 1 if jagged_dim is None else jagged_dim
    return Jagged(values, offsets, lengths, ragged, (min_seqlen, max_seqlen))


def to_padded_tensor(
    input: Tensor, padding: float, output_size: Sequence[int] | None = None, out: Tensor | None = None
) -> Tensor:
    """The nested tensor as a plain one, with ``padding`` where rows end before the longest, or before ``output_size``."""
    if not (isinstance(input, _C.Tensor) and input.is_nested):
        raise TypeError("to_padded_tensor: expected a nested tensor")
    padded = input.to_padded_tensor(padding, output_size)
    return padded if out is None else out.resize_(padded.shape).copy_(padded)


def narrow(
    tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: torch.layout = _C.strided
) -> Tensor:
    """From each row of a plain tensor (B, L, ...) a piece with a start and a length of its own; with ``torch.jagged`` it
    shares the tensor's memory.

    >>> x = torch.arange(6).view(2, 3)
    >>> torch.nested.narrow(x, 1, torch.tensor([0, 1]), torch.tensor([1, 2]), layout=torch.jagged).unbind()
    (tensor([0]), tensor([4, 5]))
    """
    from ._jagged import Jagged

    if _kind("narrow", layout) == "strided":
        if not tensor.is_nested:
            raise RuntimeError("narrow: of a plain tensor, pieces are of layout torch.jagged")
        return tensor.narrow(dim, start, length)
    if dim != 1 or tensor.is_nested or tensor.dim() < 2:
        raise RuntimeError(f"narrow: expected a plain tensor of two dims or more and dim=1, got dim={dim}")
    batch, size = tensor.shape[:2]
    start, length = (_C.tensor(v) if isinstance(v, int) else v for v in (start, length))
    start, length = start.expand(batch).to(_C.int64), length.expand(batch).to(_C.int64)
    if ((start < 0) | (length < 0) | (start + length > size)).any():
        raise RuntimeError(f"narrow: starts {start.tolist()} and lengths {length.tolist()} leave rows of {size}")
    begins = start + _C._operator("arange")(batch) * size
    offsets = _C._operator("cat")([begins, begins[-1:] + length[-1:]])
    return Jagged(tensor.flatten(0, 1), offsets, length)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements that the mask picks, row by row of all dims but the last, as a nested tensor.

    >>> mask = torch.tensor([[True, False], [True, True]])
    >>> torch.nested.masked_select(torch.tensor([[1, 2], [3, 4]]), mask).unbind()
    (tensor([1]), tensor([3, 4]))
    """
    from ._jagged import Jagged

    if tensor.layout != _C.strided or tensor.is_nested or tensor.dim() < 2:
        raise ValueError("masked_select: expected a plain tensor of two dims or more")
    mask = mask.expand_as(tensor)
    counts = mask.sum(-1).flatten()
    return Jagged(tensor.masked_select(mask), _C._operator("cat")([counts.new_zeros(1), counts.cumsum(0)]))
