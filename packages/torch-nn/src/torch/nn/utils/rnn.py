"""Batches of sequences of different lengths: padded, and packed without the padding."""

from __future__ import annotations

import collections

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

_Packed = collections.namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Packed):
    """Sequences sorted by falling length and laid out step by step.

    ``data`` holds the first steps of all sequences, then the second steps of those that have one, and so on;
    ``batch_sizes[t]`` says how many there are.  ``sorted_indices`` is the order they were sorted into.
    Make it with :func:`pack_padded_sequence` or :func:`pack_sequence`.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """

    __slots__ = ()
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:  # 2016: one pair
            data, batch_sizes = data
        if isinstance(batch_sizes, torch.Tensor) and batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU, got {batch_sizes.device}; use pack_padded_sequence to make a PackedSequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _map(self, data, indices):
        return type(self)(
            data, self.batch_sizes, *(None if i is None else indices(i) for i in (self.sorted_indices, self.unsorted_indices))
        )  # fmt: skip

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """As Tensor.to, for the data; the indices follow to its device."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._map(data, lambda i: i.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        data = self.data.cuda(*args, **kwargs)
        return self if data is self.data else self._map(data, lambda i: i.cuda(*args, **kwargs))

    def cpu(self) -> Self:
        return self.to("cpu")

    def double(self) -> Self:
        return self.to(torch.float64)

    def float(self) -> Self:
        return self.to(torch.float32)

    def half(self) -> Self:
        return self.to(torch.float16)

    def long(self) -> Self:
        return self.to(torch.int64)

    def int(self) -> Self:
        return self.to(torch.int32)

    def short(self) -> Self:
        return self.to(torch.int16)

    def char(self) -> Self:
        return self.to(torch.int8)

    def byte(self) -> Self:
        return self.to(torch.uint8)

    def pin_memory(self) -> Self:
        return self._map(self.data.pin_memory(), lambda i: i.pin_memory())

    def is_pinned(self) -> bool:
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes ``permutation``."""
    if permutation is None:
        return None
    inverse = torch.empty_like(permutation)
    inverse[permutation] = torch.arange(permutation.numel(), device=permutation.device)
    return inverse


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack ``input`` (T, N, *), or (N, T, *) with ``batch_first``, of which sequence i has ``lengths[i]`` steps.

    With ``enforce_sorted`` the lengths must fall; else the sequences are sorted here, and unsorted when unpacked.
    RuntimeError for a length that is not in [1, T].

    >>> packed = pack_padded_sequence(torch.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """
    lengths = torch.as_tensor(lengths, dtype=torch.int64).cpu()
    order = None
    if not enforce_sorted:
        lengths, order = torch.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    n = lengths.tolist()
    if input.dim() < 2 or len(n) != input.shape[1]:
        raise RuntimeError(
            f"pack_padded_sequence: expected len(lengths) to be the batch size of input, got {len(n)} for {tuple(input.shape)}"
        )
    if not n or min(n) <= 0:
        raise RuntimeError(f"pack_padded_sequence: length of all samples has to be greater than 0, got {n}")
    if max(n) > input.shape[0]:
        raise RuntimeError(f"pack_padded_sequence: a length of {max(n)} exceeds input's {input.shape[0]} steps")
    if n != sorted(n, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            f"`enforce_sorted=False` to pack_padded_sequence to sidestep this requirement. Got {n}"
        )
    sizes = [sum(length > t for length in n) for t in range(n[0])]
    # stretches of steps with equal batch size are copied as one
    parts, t = [], 0
    while t < len(sizes):
        end = t
        while end < len(sizes) and sizes[end] == sizes[t]:
            end += 1
        parts.append(input[t:end, : sizes[t]].reshape((end - t) * sizes[t], *input.shape[2:]))
        t = end
    return PackedSequence(torch.cat(parts), torch.tensor(sizes, dtype=torch.int64), order, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of :func:`pack_padded_sequence`: the padded batch and the lengths.

    ``total_length`` pads to more steps than the longest sequence has; ValueError when it has more.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, _, unsorted = sequence
    sizes = batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    batch = sizes[0]
    lengths = torch.tensor([sum(size > i for size in sizes) for i in range(batch)], dtype=torch.int64)
    index = torch.arange(batch, device=data.device)
    # row (t, i) of the padded batch is row offset[t] + i of data, where sequence i has a step t
    offsets, at = [], 0
    for size in sizes:
        offsets.append(at)
        at += size
    rows = torch.tensor(offsets, device=data.device).unsqueeze(1) + index
    there = index < torch.tensor(sizes, device=data.device).unsqueeze(1)
    flat = torch.where(there, rows, torch.zeros_like(rows)).reshape(-1)
    padded = data.index_select(0, flat).reshape(steps, batch, *data.shape[1:])
    mask = there.reshape(steps, batch, *[1] * (data.dim() - 1))
    padded = torch.where(mask, padded, torch.full_like(padded, padding_value))
    if total_length is not None and total_length > steps:
        rest = padded.new_full((total_length - steps, *padded.shape[1:]), padding_value)
        padded = torch.cat([padded, rest])
    if unsorted is not None:
        padded = padded.index_select(1, unsorted)
        lengths = lengths[unsorted.cpu()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(
    sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences (length, *) to (longest, N, *), or (N, longest, *) with ``batch_first``.

    >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"pad_sequence: padding_side should be either 'right' or 'left', got {padding_side!r}")
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"pad_sequence: expected an iterable of Tensors, got {type(sequences).__name__}")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    longest = max(sequence.shape[0] for sequence in sequences)
    padded = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        if missing:
            rest = sequence.new_full((missing, *sequence.shape[1:]), padding_value)
            sequence = torch.cat([sequence, rest] if padding_side == "right" else [rest, sequence])
        padded.append(sequence)
    return torch.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The inverse of :func:`pad_sequence`: a list of sequences."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: int(n)] for sequence, n in zip(padded_sequences.unbind(0), lengths)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences (length, *).

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])]).batch_sizes
    tensor([2, 1, 1])
    """
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of :func:`pack_sequence`: a list of sequences."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
