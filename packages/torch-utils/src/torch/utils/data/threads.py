"""Worker threads of a loader: for data sets that spend their time outside the interpreter's lock.

They share the data set and the random streams of the process; nothing is copied and nothing is started.
"""

from __future__ import annotations

import array
import queue
import sys
import threading
import traceback
import weakref

from .iterator import GRACE, Member, WorkerIterator
from .worker import FIELDS, Settings, Status, Stopped, work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Worker(Member):
    """A worker thread as its loader sees it. The thread ends soon after the last reference to this object."""

    _line = None

    def __init__(self, settings: Settings, worker_id: int, seed: int, page: Any, results: queue.SimpleQueue) -> None:
        super().__init__(worker_id, Status(page, worker_id))
        self.status.clear()
        self.name = f"worker thread {worker_id}"
        self._line = _Line(self, results)
        self.thread = threading.Thread(
            target=_run,
            args=(settings, worker_id, seed, self._line, self.status),
            name=f"loader {self.name}",
            daemon=True,
        )
        self.thread.start()

    def send(self, message: Any) -> None:
        self._line.tasks.put(message)

    def stacks(self) -> str:
        frame = sys._current_frames().get(self.thread.ident)
        return f"\nIts stack:\n{''.join(traceback.format_stack(frame))}" if frame else ""

    def end(self, patience: float = GRACE) -> tuple[str, str]:
        self.stop()
        return f"DataLoader {self.name} was left to itself", ""

    def stop(self) -> None:
        """It ends before its next sample. A thread cannot be ended from outside."""
        if self._line is not None:
            self.status.stop()
            self._line.tasks.put(None)

    __del__ = stop  # a signal may come before its iterator knows it


class _Line:
    """The worker's end of its talk with the loader."""

    def __init__(self, worker: Worker, results: queue.SimpleQueue) -> None:
        self.tasks: queue.SimpleQueue = queue.SimpleQueue()
        self.receive = self.tasks.get
        self._worker = weakref.ref(worker)
        self._results = results

    def send(self, message: Any) -> None:
        self._results.put((self._worker(), message))


def _run(settings: Settings, worker_id: int, seed: int, line: _Line, status: Status) -> None:
    try:
        work(settings, worker_id, seed, line, status)
    except Stopped:
        pass


class ThreadIterator(WorkerIterator):
    """The batches of worker threads."""

    kind = "thread"

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._finalizer = weakref.finalize(self, _stop, self._workers)
        self._results: queue.SimpleQueue = queue.SimpleQueue()
        self._begin()

    def _start(self, worker_id: int, seed: int) -> Worker:
        page = memoryview(array.array("q", bytes(8 * FIELDS * (worker_id + 1))))
        return Worker(self._settings(None), worker_id, seed, page, self._results)

    def _end_workers(self) -> None:
        if self._finalizer.detach():
            _stop(self._workers)

    def _receive_within(self, seconds: float | None) -> bool:
        try:
            worker, message = self._results.get(timeout=seconds)
        except queue.Empty:
            return False
        if worker is not None and not worker.ended:
            self._accept(worker, message)
        return True


def _stop(workers: list[Worker]) -> None:
    for worker in workers:
        worker.stop()
