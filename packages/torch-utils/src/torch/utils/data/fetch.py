"""Gets what an entry of the sampler stands for: a batch or a sample, of a data set with indices or of a stream."""

from __future__ import annotations

from . import collate
from .dataset import Subset, TensorDataset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Fetcher:
    """What a loader asks for the data of an entry; a class of one's own says how in ``fetch``."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, entry: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}.fetch(entry) says which data an entry of the sampler stands for"
        )


class MapFetcher(Fetcher):
    """Samples of a data set with indices. `status`, in a worker, takes the position within the batch."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool, status: Any = None
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self._auto = auto_collation
        self._collate = collate_fn
        self._many = getattr(dataset, "__getitems__", None)
        self._status = status
        self._rows = rows_of(dataset) if auto_collation and collate_fn is collate.default_collate else None

    def fetch(self, entry: Any) -> Any:
        if not self._auto:
            return self._collate(self.dataset[entry])
        if self._rows is not None and type(entry) is list:
            return self._rows(entry)
        dataset, status = self.dataset, self._status
        if callable(self._many):
            data = self._many(entry)
        elif status is None:
            data = [dataset[i] for i in entry]
        else:
            data = []
            for i in entry:
                status.sample(len(data))
                data.append(dataset[i])
        if status is not None:
            status.collating()
        return self._collate(data)


def rows_of(dataset: Any) -> Any:
    """A function that gathers a batch of a TensorDataset, or of subsets of one, with one copy for each tensor.

    The batch is what `default_collate` makes of the samples. None for any other data set, subclasses included.
    """
    if type(dataset) is Subset:
        rows, indices = rows_of(dataset.dataset), dataset.indices
        return rows and (lambda entry: rows([indices[i] for i in entry]))
    if type(dataset) is not TensorDataset or any(tensor.requires_grad for tensor in dataset.tensors):
        return None
    return lambda entry: collate.gather_rows(dataset.tensors, entry)


class IterableFetcher(Fetcher):
    """The next samples of a stream; StopIteration when there are no more."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool, status: Any = None
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self._auto = auto_collation
        self._collate = collate_fn
        self._drop_last = drop_last
        self._status = status
        self.ended = False

    def fetch(self, entry: Any) -> Any:
        if self.ended:
            raise StopIteration
        status = self._status
        if not self._auto:
            data = next(self.dataset_iter)
        else:
            data = []
            for _ in entry:
                try:  # by next alone: a stream that is its own iterator begins anew where it is asked for one
                    data.append(next(self.dataset_iter))
                except StopIteration:
                    self.ended = True
                    break
                if status is not None:
                    status.sample(len(data))
            if not data or (self.ended and self._drop_last):
                raise StopIteration
        if status is not None:
            status.collating()
        return self._collate(data)
