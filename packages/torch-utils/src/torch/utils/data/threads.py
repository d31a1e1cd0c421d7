"""Worker threads behind the same loader: for data sets that spend their time outside the interpreter's lock.

They share the data set and the random streams of the process; nothing is copied and nothing is started.
"""

from __future__ import annotations

import queue
import threading
import weakref

from .fetch import IterableFetcher, MapFetcher
from .report import ExceptionWrapper
from .sampler import random_seed
from .worker import WorkerInfo, set_worker_info


class _Line:
    """Tasks and results of the threads of one pass."""

    def __init__(self, count: int):
        self.tasks = [queue.SimpleQueue() for _ in range(count)]
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.stopped = False


class _End:
    pass


class ThreadIterator:
    """One pass over a loader's batches with worker threads."""

    def __init__(self, loader):
        self._loader = loader
        self._workers = [True] * loader.num_workers
        self.restart()

    def restart(self) -> None:
        """Another pass."""
        loader, count = self._loader, self._loader.num_workers
        self._line = line = _Line(count)
        self._close = weakref.finalize(self, _stop, line)
        seed = random_seed(loader.generator)
        for i in range(count):
            info = WorkerInfo(i, count, seed + i, loader.dataset)
            thread = threading.Thread(
                target=_run, args=(_facts(loader), info, line), name=f"loader worker {i}", daemon=True
            )
            thread.start()
        self._entries = enumerate(loader._index_sampler)
        self._pending: set[int] = set()
        self._arrived: dict[int, object] = {}
        self._given = self._yielded = 0
        self._active = list(range(count))
        for _ in range(count * loader.prefetch_factor):
            self._post()

    def _post(self) -> None:
        if not self._active:
            return
        number, entry = next(self._entries, (None, None))
        if number is not None:
            self._pending.add(number)
            self._line.tasks[self._active[number % len(self._active)]].put((number, entry))

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            if self._loader.in_order:
                ready = self._given if self._given in self._arrived else None
            else:
                ready = next(iter(self._arrived), None)
            if ready is not None:
                data = self._arrived.pop(ready)
                self._given += 1
                self._post()
                if isinstance(data, _End):
                    continue
                if isinstance(data, ExceptionWrapper):
                    data.reraise()
                self._yielded += 1
                self._loader._check_length(self._yielded)
                return self._loader._pinned(data)
            if not self._pending:
                self._close()
                raise StopIteration
            self._receive()

    def _receive(self) -> None:
        timeout = self._loader.timeout
        try:
            number, data, worker = self._line.results.get(timeout=timeout or None)
        except queue.Empty:
            self._close()
            raise RuntimeError(
                f"DataLoader timed out after {timeout} seconds: its worker threads have not finished batch {min(self._pending)}"
            ) from None
        self._pending.discard(number)
        if isinstance(data, _End) and worker in self._active:
            self._active.remove(worker)
        self._arrived[number] = data


def _stop(line: _Line) -> None:
    line.stopped = True
    for tasks in line.tasks:
        tasks.put(None)


def _facts(loader):
    make = IterableFetcher if loader._is_stream else MapFetcher
    return make, (loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last), loader.worker_init_fn


def _run(facts, info: WorkerInfo, line: _Line) -> None:
    make, args, init_fn = facts
    set_worker_info(info)
    fetcher = failure = None
    try:
        if init_fn is not None:
            init_fn(info.id)
        fetcher = make(*args)
    except Exception as e:
        failure = ExceptionWrapper(e, f"while starting DataLoader worker thread {info.id}")
    while (task := line.tasks[info.id].get()) is not None and not line.stopped:
        number, entry = task
        if failure is not None:
            data = failure
        else:
            try:
                data = fetcher.fetch(entry)
            except StopIteration:
                data = _End()
            except Exception as e:
                data = ExceptionWrapper(e, f"in DataLoader worker thread {info.id}")
        line.results.put((number, data, info.id))
