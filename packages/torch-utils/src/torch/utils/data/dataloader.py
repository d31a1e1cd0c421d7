"""`DataLoader`: batches of a data set, made here, in worker processes or in worker threads."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import operator
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .collate import default_collate, default_convert, pin_memory_batch
from .dataset import Dataset, IterableDataset
from .fetch import IterableFetcher, MapFetcher
from .iterator import LoaderIterator
from .report import ExceptionWrapper
from .sampler import BatchSampler, RandomSampler, SequentialSampler, random_seed
from .shared import copied_objects
from .worker import get_worker_info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import torch
    from torch._seams import checked

    from .dataset import Dataset, Indexed
else:
    from torch._seams import checked


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_collate_fn_t = Callable[[list[T]], Any]
_worker_init_fn_t = Callable[[int], None]

_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class _DatasetKind:
    """How samples are got; libraries that make loaders of their own compare with these."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind: Any, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> Any:
        """What makes batches of a data set of this kind."""
        fetcher = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _Forever:
    """Entries for a stream of samples: it takes no indices, only to be asked."""

    def __iter__(self) -> Any:
        while True:
            yield None


@checked
class DataLoader(Generic[T_co]):
    """Batches of a data set.

    Args:
        dataset: with indices (``__getitem__``, ``__len__``) or a stream (`IterableDataset`)
        batch_size: samples in a batch; None: samples one by one, without batches
        shuffle: a new random order in each pass
        sampler: gives the indices instead
        batch_sampler: gives lists of indices, one for each batch
        num_workers: processes that load; 0 loads here
        collate_fn: makes a batch of a list of samples; `default_collate` unless given
        pin_memory: put batches into page-locked memory, for copies to a GPU
        drop_last: leave out a last batch that is not full
        timeout: seconds to wait for a batch of the workers; 0 waits for as long as they live
        worker_init_fn: called in each worker with its number
        multiprocessing_context: start method of the workers or a context of `torch.multiprocessing`
        generator: of the random order and of the workers' seeds
        prefetch_factor: batches that each worker makes ahead, 2 unless given
        persistent_workers: keep the workers between passes
        in_order: give batches in the sampler's order, or as they come
        worker_kind: "process", or "thread" for data sets that release the interpreter's lock

    Example:
        >>> loader = DataLoader(range(5), batch_size=2)
        >>> list(loader)
        [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    __initialized = (
        False  # a class of one's own may set it back, as _DataLoader__initialized, while it changes what is fixed
    )

    def __init__(
        self,
        dataset: Dataset[T_co] | Indexed[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Sequence[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_kind: str = "process",
    ) -> None:
        try:
            num_workers = operator.index(num_workers)
        except TypeError:
            raise TypeError(f"DataLoader: num_workers must be an int, got {num_workers!r}") from None
        _check(num_workers, timeout, prefetch_factor, persistent_workers, worker_kind)
        if "torch.utils.data.datapipes" in sys.modules:
            from ._pipes import prepare

            dataset, shuffle, worker_init_fn = prepare(dataset, shuffle, worker_init_fn, num_workers, worker_kind)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.worker_kind = worker_kind
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        self.multiprocessing_context = multiprocessing_context
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._iterator: Any = None
        self._promised: int | None = None
        self.__initialized = True
        self.check_worker_number_rationality()
        self._check_copies()

    def _choose_samplers(self, batch_size, shuffle, sampler, batch_sampler, drop_last) -> None:
        if self._is_stream:
            for name, value in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value not in (None, False):
                    raise ValueError(
                        f"DataLoader: an IterableDataset gives its samples in its own order, so {name}={value!r} has no effect; "
                        "shuffle inside the data set"
                    )
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle exclude each other: the sampler decides the order")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler decides on batch_size, shuffle, sampler and drop_last; give none of them"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: without batches (batch_size=None) there is no last one to drop")
        if sampler is None:
            if self._is_stream:
                sampler = _Forever()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"DataLoader: {name} cannot be changed after the loader is made; make another one")
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_iterator": None}  # a copy has its own workers

    @property
    def multiprocessing_context(self) -> Any:
        """The context whose processes the workers are, or None for the default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        if value is not None:
            if self.num_workers == 0:
                raise ValueError("DataLoader: multiprocessing_context has a meaning only with num_workers > 0")
            if isinstance(value, str):
                import torch.multiprocessing

                known = torch.multiprocessing.get_all_start_methods()
                if value not in known:
                    raise ValueError(f"DataLoader: multiprocessing_context must be one of {known}, got {value!r}")
                value = torch.multiprocessing.get_context(value)
            if not isinstance(value, multiprocessing.context.BaseContext):
                raise TypeError(
                    f"DataLoader: multiprocessing_context must be a context or a start method, got {value!r}"
                )
        self._context = value

    @property
    def _is_stream(self) -> bool:
        return self._dataset_kind == _DatasetKind.Iterable

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        """Batches in a pass; for a stream, by the length that its data set promises."""
        if not self._is_stream:
            return len(self._index_sampler)
        count = self._promised = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        self._pins = self.pin_memory and self._can_pin()
        if self.num_workers == 0 or not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or self._iterator._over:
            self._iterator = self._get_iterator()
        else:
            self._iterator.restart()
        return self._iterator

    def _get_iterator(self):
        """What goes through the batches once; classes of one's own override it."""
        if self.num_workers == 0:
            return SerialIterator(self)
        if self.worker_kind == "thread":
            from .threads import ThreadIterator

            return ThreadIterator(self)
        from .processes import ProcessIterator

        return ProcessIterator(self)

    def _check_length(self, batches: int) -> None:
        if self._is_stream and self._promised is not None and batches > len(self):
            workers = f" With {self.num_workers} workers each iterates over a copy: see get_worker_info()." * (
                self.num_workers > 0
            )
            warnings.warn(
                f"DataLoader: the data set promised {self._promised} samples, and batch {batches} is more than that.{workers}",
                stacklevel=3,
            )
            self._promised = None  # once is enough

    def _pinned(self, data):
        return pin_memory_batch(data, self.pin_memory_device) if self._pins else data

    @staticmethod
    def _can_pin() -> bool:
        import torch

        if torch.cuda.is_available():
            return True
        warnings.warn(
            "DataLoader: pin_memory is set, and there is no CUDA device; batches stay in ordinary memory", stacklevel=3
        )
        return False

    def _check_copies(self) -> None:
        if self.num_workers == 0 or self.worker_kind != "process" or self._start_method != "fork":
            return
        found = copied_objects(self.dataset, type(self.dataset).__name__)
        if found is not None:
            name, kind, count, size = found
            warnings.warn(
                f"DataLoader: {name} is a {kind} of {count:,} Python objects, about {size >> 20} MB. Reading an object "
                f"changes its reference count, so each of the {self.num_workers} forked workers will in time have a copy "
                f"of its own; torch.utils.data.{'SharedDict' if kind == 'dict' else 'SharedList'} or SharedArray keeps one for all",
                stacklevel=3,
            )

    @property
    def _start_method(self) -> str:
        return (self.multiprocessing_context or multiprocessing).get_start_method()

    def check_worker_number_rationality(self) -> None:
        """Warns when there are more workers than processors that this process may use."""
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > cpus and self.worker_kind == "process":
            warnings.warn(
                f"DataLoader: {self.num_workers} workers on {cpus} processors may be slower than {cpus} workers",
                stacklevel=3,
            )


def _check(num_workers, timeout, prefetch_factor, persistent_workers, worker_kind) -> None:
    if num_workers < 0:
        raise ValueError(f"DataLoader: num_workers must be 0 or more, got {num_workers!r}")
    if not isinstance(timeout, (int, float)):
        raise TypeError(f"DataLoader: timeout must be a number of seconds, got {type(timeout).__name__}")
    if not timeout >= 0:
        raise ValueError(f"DataLoader: timeout must be 0 or more seconds, got {timeout!r}")
    if prefetch_factor is not None and num_workers == 0:
        raise ValueError("DataLoader: prefetch_factor has a meaning only with num_workers > 0")
    if prefetch_factor is not None and (not isinstance(prefetch_factor, int) or prefetch_factor < 1):
        raise ValueError(f"DataLoader: prefetch_factor must be 1 or more, got {prefetch_factor!r}")
    if persistent_workers and num_workers == 0:
        raise ValueError("DataLoader: persistent_workers has a meaning only with num_workers > 0")
    if worker_kind not in ("process", "thread"):
        raise ValueError(f"DataLoader: worker_kind must be 'process' or 'thread', got {worker_kind!r}")


class _Borrowed:
    """A loader of another library's class, which lends its attributes to the iterators of this module as PyTorch names them."""

    _pins = False

    def __init__(self, lender):
        self._lender = lender
        self._is_stream = lender._dataset_kind == _DatasetKind.Iterable

    def __getattr__(self, name):
        return getattr(self._lender, name)

    def __len__(self):
        return len(self._lender)

    def _check_length(self, batches):
        """Its length is its own affair."""


class SerialIterator(LoaderIterator):
    """The batches of a pass without workers."""

    def __init__(self, loader: DataLoader) -> None:
        if not isinstance(loader, DataLoader):
            loader = _Borrowed(loader)
        super().__init__(loader)
        random_seed(loader.generator)  # as with workers, so that what is drawn next does not depend on their number
        make = IterableFetcher if loader._is_stream else MapFetcher
        self._fetch = make(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last).fetch
        self._entries = iter(loader._index_sampler)

    _profile_name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def _batch(self):
        loader = self._loader
        entry = next(self._entries)
        try:
            data = self._fetch(entry)
        except StopIteration:
            if loader._is_stream:
                raise
            raise RuntimeError("DataLoader: the data set's __getitem__ or collate_fn raised StopIteration") from None
        if loader._is_stream:
            self._yielded += 1
            loader._check_length(self._yielded)
        return loader._pinned(data) if loader._pins else data


def __getattr__(name: str):
    """Classes under the names that they have in PyTorch."""
    if name == "_InfiniteConstantSampler":
        return _Forever
    if name == "_BaseDataLoaderIter":
        from ._derived import _BaseDataLoaderIter

        return _BaseDataLoaderIter
    if name == "_DataLoaderIter":
        return LoaderIterator
    if name == "_sharding_worker_init_fn":
        from ._pipes import _sharding_worker_init_fn

        return _sharding_worker_init_fn
    if name == "_SingleProcessDataLoaderIter":
        return SerialIterator
    if name == "_MultiProcessingDataLoaderIter":
        from .processes import ProcessIterator

        return ProcessIterator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class DataLoaderIter:
    """2017's name for an iterator over a loader.

    >>> type(iter(torch.utils.data.DataLoader([1, 2]))).__mro__[-2].__name__
    'LoaderIterator'
    """

    def __new__(cls, loader: Any) -> Any:
        return iter(loader)


class ManagerWatchdog:
    """2017's way for a worker to notice that its parent is gone; today the end of the channel says so.

    >>> torch.utils.data.dataloader.ManagerWatchdog().is_alive()
    True
    """

    def __init__(self) -> None:
        self._parent = os.getppid()

    def is_alive(self) -> bool:
        """Whether the parent still runs."""
        return os.getppid() == self._parent


__all__ = [
    "DataLoader",
    "DataLoaderIter",
    "ExceptionWrapper",
    "ManagerWatchdog",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "pin_memory_batch",
]
