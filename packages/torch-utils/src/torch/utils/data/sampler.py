"""Samplers: iterables of indices, in the order in which a loader asks for them."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

import torch
from torch._seams import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Sized
    from typing import Any


T_co = TypeVar("T_co", covariant=True)


@checked
class Sampler(Generic[T_co]):
    """An iterable of indices, or of lists of indices. Subclasses have ``__iter__``, and ``__len__`` where it is known.

    >>> class Even(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter(range(0, 6, 2))
    >>> list(Even())
    [0, 2, 4]
    """

    _wrong_type = ValueError

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs a method __iter__()")


def fresh_generator(generator: torch.Generator | None = None) -> Any:
    """`generator`, or one seeded from the process's random stream: what is drawn follows `torch.manual_seed`."""
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(random_seed())
    return generator


def random_seed(generator: torch.Generator | None = None) -> int:
    """A random number of 63 bits."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def _check_count(sampler: str, num_samples: Any) -> None:
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"{sampler}: num_samples should be a positive integer value, but got {num_samples=!r}")


class RandomSampler(Sampler[int]):
    """The indices in a random order, or drawn anew each time. ValueError for data without items, unless ``num_samples`` is given.

    Args:
        replacement: an index may be drawn again
        num_samples: how many to draw; the length of the data unless given

    >>> sorted(torch.utils.data.RandomSampler(range(4)))
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement should be a boolean value, but got {replacement=!r}")
        _check_count("RandomSampler", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices come."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, wanted = len(self.data_source), self.num_samples
        if count == 0 and wanted:
            raise ValueError(f"RandomSampler: {wanted} samples are wanted of a data set that has none")
        generator = fresh_generator(self.generator)
        if self.replacement:
            for begin in range(0, wanted, 1 << 16):
                size = (min(1 << 16, wanted - begin),)
                yield from torch.randint(high=count, size=size, dtype=torch.int64, generator=generator).tolist()
            return
        for _ in range(wanted // count if count else 0):
            yield from torch.randperm(count, generator=generator).tolist()
        if count and wanted % count:
            yield from torch.randperm(count, generator=generator).tolist()[: wanted % count]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a random order.

    >>> sorted(torch.utils.data.SubsetRandomSampler([3, 5, 7]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: torch.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with the given weights, which need not sum to 1.

    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        _check_count("WeightedRandomSampler", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"WeightedRandomSampler: replacement must be a bool, got {replacement!r}")
        self.weights = torch.as_tensor(weights, dtype=torch.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights must have one dimension, got shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = torch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` indices of another sampler.

    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"BatchSampler: batch_size must be a positive int, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: drop_last must be a bool, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
