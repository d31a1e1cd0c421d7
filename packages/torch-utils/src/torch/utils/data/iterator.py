"""One pass over a loader's batches with workers, whatever they are.

Batch k goes to worker k mod n (of those that still have samples), which keeps the order of batches and their random
streams the same in every run; without an order to keep it goes to a worker that has less to do. A worker that ends before its time takes the batch with it that it was making: the user
is told in place of that batch, and when he asks for the next one, another worker goes on with the rest.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from torch._seams import begin_range as _begin_range
from torch._seams import end_range as _end_range
from torch._seams import is_profiling as _profiling

from .report import ExceptionWrapper
from .sampler import random_seed
from .worker import Ended, Epoch, Settings, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self


GRACE = 1.0  # seconds that a busy worker has to end by itself
SLOW = 60.0  # seconds without a batch after which a warning tells what the workers are doing


class Member:
    """What every worker is to its loader; the kinds of workers add how it is spoken to."""

    name: str  # in messages

    def __init__(self, worker_id: int, status: Status) -> None:
        self.id = worker_id
        self.status = status
        self.tasks: dict[int, Any] = {}  # what it has been given and has not sent back, by number
        self.active = True  # whether its part of a stream goes on
        self.useful = False  # whether it has sent anything
        self.ended = False

    def send(self, message: Any) -> None:
        """Gives it a task or an `Epoch`, without waiting."""
        raise NotImplementedError

    def stacks(self) -> str:
        """Where it is in its code right now, or why that cannot be told."""
        raise NotImplementedError

    def end(self, patience: float = GRACE) -> tuple[str, str]:
        """Ends it, if it does not within `patience` seconds: what became of it, and a hint at the reason."""
        raise NotImplementedError


class Failure(ExceptionWrapper):
    """The end of a worker, on its way to the user in place of a batch."""

    def __init__(self, text: str) -> None:
        self.text = text

    def reraise(self) -> Any:
        raise RuntimeError(self.text)


class LoaderIterator:
    """One pass over the batches of a loader."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._num_workers = loader.num_workers
        self._yielded = 0

    def __iter__(self) -> Self:
        return self

    _profile_name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"  # as in PyTorch's profiles

    def __next__(self) -> Any:
        if not _profiling():
            return self._batch()
        handle = _begin_range(self._profile_name)
        try:
            return self._batch()
        finally:
            _end_range(handle)

    def _batch(self):
        raise NotImplementedError

    def next(self) -> Any:
        """The next batch, as in 2017: today ``next(iterator)``."""
        return next(self)

    @property
    def workers(self) -> Any:
        """The worker processes, as in 2017."""
        return self._workers

    def __reduce__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled or copied; the DataLoader can")

    def __len__(self) -> int:
        """Batches of the whole pass."""
        return len(self._loader)


class WorkerIterator(LoaderIterator):
    """The batches of a pass, or of several with persistent workers, in order or as they come."""

    kind: str  # "process" or "thread"

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._pid = os.getpid()
        self._workers: list[Any] = []
        self._arrived: dict[int, Any] = {}
        self._failure: Failure | None = None
        self._over = False
        self._warned = False
        self._replaced = 0
        self._seed = random_seed(loader.generator)

    def _start(self, worker_id: int, seed: int):
        """A new worker."""
        raise NotImplementedError

    def _receive_within(self, seconds: float | None) -> bool:
        """Waits for workers and takes what they have sent; False when that took longer."""
        raise NotImplementedError

    def _end_workers(self):
        """Ends all workers; nothing when they have ended."""
        raise NotImplementedError

    def _shutdown_workers(self) -> None:
        """Ends all workers and with them the iteration; programs call it as well."""
        self._over = True
        self._end_workers()

    def _settings(self, status_page) -> Settings:
        loader = self._loader
        return Settings(
            loader.dataset,
            loader._is_stream,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            loader.num_workers,
            loader.worker_init_fn,
            status_page,
            self.kind,
        )

    def _begin(self) -> None:
        if not self._workers:
            for i in range(self._loader.num_workers):
                self._workers.append(self._start(i, self._seed))
        self._entries = iter(self._loader._index_sampler)
        self._arrived.clear()
        self._posted = self._given = 0  # number of the next task to give away, of the next batch to give the user
        self._turn = 0
        self._prefetch = self._loader.prefetch_factor * len(self._workers)
        self._yielded = 0
        self._fill()

    def restart(self) -> None:
        """Another pass with the same workers."""
        while any(worker.tasks and not worker.ended for worker in self._workers):
            self._receive()  # what a pass that was left early has asked for
        self._seed = random_seed(self._loader.generator)
        for worker in self._workers:
            worker.tasks.clear()
            worker.active = True
        failure, self._failure = self._failure, None
        if failure is not None:
            failure.reraise()
        self._replace_ended(idle=True)
        for worker in self._workers:
            worker.send(Epoch(self._seed))
        self._begin()

    def _batch(self):
        if self._over:
            raise StopIteration
        if os.getpid() != self._pid:
            raise RuntimeError("DataLoader: this iterator belongs to the process that made it; make another one here")
        try:
            self._replace_ended()
            data = self._next()
        except StopIteration:
            if not self._loader.persistent_workers:
                self._shutdown_workers()
            raise
        except BaseException:  # an interrupt, or what a handler of another signal raises
            self._shutdown_workers()
            raise
        self._fill()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        self._yielded += 1
        self._loader._check_length(self._yielded)
        return self._loader._pinned(data)

    def _next(self):
        in_order = self._loader.in_order
        while True:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                return failure
            if in_order:
                while self._given in self._arrived:
                    data = self._arrived.pop(self._given)
                    self._given += 1
                    if not isinstance(data, Ended):
                        return data
            else:
                while self._arrived:
                    data = self._arrived.pop(next(iter(self._arrived)))
                    if not isinstance(data, Ended):
                        return data
            self._fill()
            self._replace_ended()
            if not self._arrived and not any(worker.tasks for worker in self._workers):
                raise StopIteration
            self._receive()

    def _fill(self) -> None:
        """Gives entries of the sampler to the workers in turn, as many as they may have."""
        room = self._prefetch - len(self._arrived) - sum([len(worker.tasks) for worker in self._workers])
        for _ in range(room):
            worker = self._whose_turn()
            if worker is None:
                return
            try:
                entry = next(self._entries)
            except StopIteration:
                self._entries = iter(())
                return
            worker.tasks[self._posted] = entry
            if not worker.ended:
                worker.send((self._posted, entry))
            self._posted += 1

    def _whose_turn(self):
        workers = self._workers
        in_order, prefetch_factor = self._loader.in_order, self._loader.prefetch_factor
        for _ in range(len(workers)):
            worker = workers[self._turn]
            self._turn = (self._turn + 1) % len(workers)
            if worker.active and (in_order or len(worker.tasks) < prefetch_factor):
                return worker
        return None

    def _receive(self) -> None:
        timeout = self._loader.timeout
        patience = timeout or (None if self._warned else SLOW)
        if not self._receive_within(patience):
            self._report_silence(timeout)

    def _accept(self, worker, message) -> None:
        number, data = message
        worker.useful = True
        worker.tasks.pop(number, None)
        if isinstance(data, Ended):
            worker.active = False
        self._arrived[number] = data

    def _bury(self, worker, report: str | None = None) -> None:
        """After the end of a worker, or to end it: what it was doing is lost, and the user is told."""
        became, hint = worker.end() if report is None else worker.end(0)
        what = f"{worker.status.describe()} of {type(self._loader.dataset).__name__}"
        text = report or f"{became}; worker {worker.id} was {what}.{hint}"
        # One that ends before it has begun with a batch, and its successors likewise, must not go on for ever.
        batch = worker.status.batch
        early = batch == -1 or (batch is None and not worker.useful)
        lost = min(worker.tasks, default=None) if early else batch
        # What a worker of a stream has given already is not known, so its part is not begun again.
        worker.active = not self._loader._is_stream
        for number in list(worker.tasks):
            if number == lost or not worker.active:
                del worker.tasks[number]
                self._arrived[number] = Ended(worker.id)
        worker.ended = True
        self._failure = Failure(f"{self._failure.text}\n{text}" if self._failure else text)

    def _replace_ended(self, idle: bool = False) -> None:
        """Puts a new worker in the place of each that has ended, and gives it what that one had yet to do.

        One with nothing to do is replaced when it is given something, or at once when `idle`.
        """
        for i, old in enumerate(self._workers):
            if not old.ended or not old.active or not (old.tasks or idle):
                continue
            self._replaced += 1
            self._workers[i] = new = self._start(i, self._seed + self._replaced * len(self._workers))
            new.tasks = old.tasks
            for task in old.tasks.items():
                new.send(task)

    def _report_silence(self, timeout: float) -> None:
        late = [w for w in self._workers if self._given in w.tasks] or [w for w in self._workers if w.tasks]
        reports = [f"{worker.name} is {worker.status.describe()}.{worker.stacks()}" for worker in late]
        if not timeout:
            self._warned = True
            warnings.warn(f"DataLoader: no batch for {SLOW:.0f} seconds: " + "\n".join(reports[:4]), stacklevel=4)
            return
        for worker, report in zip(late, reports):
            self._bury(worker, f"DataLoader timed out after {timeout} seconds: {report}")
