"""Data sets: anything with ``__getitem__`` and ``__len__``, or an iterable, and what can be made of several of them."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from typing import Any, Generic, TypeVar

import torch
from torch._seams import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    from torch import Tensor


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


if TYPE_CHECKING:

    class Indexed(Protocol[T_co]):
        """What can be a data set without being a Dataset: a list, a tensor."""

        def __getitem__(self, index: int, /) -> T_co: ...
        def __len__(self) -> int: ...


class Dataset(Generic[T_co]):
    """Samples by index. Subclasses have ``__getitem__``, and ``__len__`` where a sampler asks for it.

    A subclass may also have ``__getitems__(indices)``, which gives the list of samples of a batch at once.

    Example:
        >>> class Squares(Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, i):
        ...         return i * i
        >>> both = Squares() + Squares()
        >>> len(both), both[4]
        (6, 1)
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} needs a method __getitem__(index)")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples in a stream: subclasses have ``__iter__``.

    With several workers each iterates over a copy; `get_worker_info` tells a copy which part is its own.

    Example:
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(Count() + Count())
        [0, 1, 2, 0, 1, 2]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} needs a method __iter__()")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset["tuple[Tensor, ...]"]):
    """Sample i is the tuple of the i-th rows of the tensors, which have the same first size.

    Example:
        >>> import torch
        >>> data = TensorDataset(torch.arange(3), torch.arange(3) * 2)
        >>> data[1]
        (tensor(1), tensor(2))
    """

    def __init__(self, *tensors: Tensor) -> None:
        for i, tensor in enumerate(tensors):
            if not hasattr(tensor, "size") or not callable(tensor.size):
                raise TypeError(f"TensorDataset: element {i} of tensors must be a tensor, got {type(tensor).__name__}")
        sizes = {t.size(0) for t in tensors}
        if len(sizes) > 1:
            raise AssertionError(
                f"TensorDataset: size mismatch between tensors: first sizes are {[t.size(0) for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[T_co]):
    """Sample i joins the i-th samples of several data sets: in a tuple, or by name in a dict.

    Example:
        >>> data = StackDataset(image=[1, 2], label=["a", "b"])
        >>> data[1]
        {'image': 2, 'label': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("StackDataset: give the data sets either by position or by name, not both")
        if not args and not kwargs:
            raise ValueError("StackDataset: at least one data set is needed")
        self.datasets: tuple | dict = args or kwargs
        parts = list(args or kwargs.values())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError(f"StackDataset: the data sets have different lengths: {[len(part) for part in parts]}")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple([part[index] for part in self.datasets])

    def __getitems__(self, indices: list) -> list:
        if isinstance(self.datasets, dict):
            columns = [self._column(part, indices) for part in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*[self._column(part, indices) for part in self.datasets]))

    @staticmethod
    def _column(part, indices: list) -> list:
        many = getattr(part, "__getitems__", None)
        if not callable(many):
            return [part[i] for i in indices]
        column = many(indices)
        if len(column) != len(indices):
            raise ValueError(
                f"__getitems__ of {type(part).__name__} gave {len(column)} samples for {len(indices)} indices"
            )
        return column

    def __len__(self) -> int:
        return self._length


@checked
class ConcatDataset(Dataset[T_co]):
    """Several data sets one after another.

    Example:
        >>> data = ConcatDataset([[1, 2], [3]])
        >>> len(data), data[2], data[-1]
        (3, 3, 3)
    """

    def __init__(self, datasets: Iterable[Dataset[T_co] | Indexed[T_co]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: at least one data set is needed")
        for part in self.datasets:
            if isinstance(part, IterableDataset):
                raise AssertionError("ConcatDataset: an IterableDataset has no indices; chain it with ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    @staticmethod
    def cumsum(sequence: Any) -> Any:
        """The running total of the lengths of a sequence of data sets."""
        return list(itertools.accumulate(map(len, sequence)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError(f"index {index} is out of range for a data set of {len(self)} samples")
            index += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, index)
        if part == len(self.datasets):
            raise IndexError(f"index {index} is out of range for a data set of {len(self)} samples")
        return self.datasets[part][index - (self.cumulative_sizes[part - 1] if part else 0)]

    @property
    def cummulative_sizes(self) -> Any:
        """`cumulative_sizes` as it was spelt once."""
        warnings.warn("cummulative_sizes is spelt cumulative_sizes", DeprecationWarning, stacklevel=2)
        return self.cumulative_sizes


@checked
class ChainDataset(IterableDataset[Any]):
    """Several iterable data sets one after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Any:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError(f"ChainDataset: {type(part).__name__} is not an IterableDataset")
            yield from part

    def __len__(self) -> int:
        return sum(map(len, self.datasets))


@checked
class Subset(Dataset[T_co]):
    """The samples of a data set at the given indices.

    Example:
        >>> part = Subset(["a", "b", "c"], [2, 0])
        >>> part[0], part[1], len(part)
        ('c', 'a', 2)
    """

    def __init__(self, dataset: Dataset[T_co] | Indexed[T_co], indices: Sequence[int]) -> None:
        self.dataset: Any = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list) -> list:
        wanted = [self.indices[i] for i in indices]
        many = getattr(self.dataset, "__getitems__", None)
        return many(wanted) if callable(many) else [self.dataset[i] for i in wanted]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T] | Indexed[T], lengths: Sequence[int | float], generator: torch.Generator | None = None
) -> list[Subset[T]]:
    """Splits a data set at random into parts that do not overlap.

    Args:
        lengths: of the parts, or fractions that sum to 1; what rounding leaves over goes round the parts
        generator: of the random order

    Example:
        >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    count = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9:
        sizes = []
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"random_split: fraction {i} is {fraction}, not between 0 and 1")
            sizes.append(math.floor(count * fraction))
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
        for i, size in enumerate(lengths):
            if size == 0:
                warnings.warn(f"random_split: part {i} has no samples", stacklevel=2)
    if sum(lengths) != count:
        raise ValueError(
            f"random_split: lengths {list(lengths)} sum to {sum(lengths)}, and the data set has {count} samples"
        )
    order = torch.randperm(count, generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, lengths)]
