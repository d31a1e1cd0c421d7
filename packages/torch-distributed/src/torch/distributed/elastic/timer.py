"""Time limits for parts of a program: who exceeds one is killed by the process that started it.

Where the workers are started::

    queue = multiprocessing.get_context("spawn").Queue()
    server = timer.LocalTimerServer(queue, max_interval=0.5)
    server.start()

and in a worker, which has a minute for what it does, or ends::

    timer.configure(timer.LocalTimerClient(queue))
    with timer.expires(after=60):
        exchange_with_the_others()
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._absent import fill

__all__ = ["LocalTimerClient", "LocalTimerServer", "TimerRequest", "configure", "expires"]


@dataclass
class TimerRequest:
    """Worker ``worker_id`` has until ``expiration_time`` for a scope; a time below 0 says that it is done with it."""

    worker_id: Any
    scope_id: str
    expiration_time: float


class LocalTimerClient:
    """Tells a :class:`LocalTimerServer` of this machine, through a queue of processes, what this process has time for."""

    def __init__(self, mp_queue: Any) -> None:
        self._queue = mp_queue

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Ask for the end of this process at a time of ``time.time()``."""
        self._queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id: str) -> None:
        """The scope is over in time."""
        self._queue.put(TimerRequest(os.getpid(), scope_id, -1))


class LocalTimerServer:
    """Kills workers of this machine whose time is over; it looks every ``max_interval`` seconds at least."""

    def __init__(self, mp_queue: Any, max_interval: float = 60, daemon: bool = True) -> None:
        self._queue, self._interval, self._daemon = mp_queue, max_interval, daemon
        self._timers: dict = {}  # by worker and scope: when it expires
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch, in a thread."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, name="torch.distributed timers", daemon=self._daemon)
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _watch(self):
        while not self._stop.is_set():
            soonest = min(self._timers.values(), default=float("inf")) - time.time()
            self._take(min(max(soonest, 0.0), self._interval, 0.5))
            now = time.time()
            for worker in {worker for (worker, _), end in self._timers.items() if end <= now}:
                self._reap(worker)

    def _take(self, patience):
        """What has been asked for, waiting so many seconds for the first."""
        try:
            request = self._queue.get(timeout=patience)
            while True:
                key = request.worker_id, request.scope_id
                if request.expiration_time < 0:
                    self._timers.pop(key, None)
                else:
                    self._timers[key] = request.expiration_time
                request = self._queue.get_nowait()
        except queue.Empty:
            pass

    def _reap(self, worker):
        self._timers = {key: end for key, end in self._timers.items() if key[0] != worker}
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


_client: list = []


def configure(timer_client: Any) -> None:
    """The client of this process for :func:`expires`."""
    _client[:] = [timer_client]


@contextlib.contextmanager
def expires(after: float, scope: str | None = None, client: Any = None) -> Iterator[None]:
    """A block that has ``after`` seconds; a process that takes longer is killed."""
    if client is None:
        if not _client:
            raise RuntimeError("timer.expires: call configure with a client before, or pass client=")
        client = _client[0]
    name = f"{threading.get_ident()}#{time.monotonic_ns()}" if scope is None else scope
    client.acquire(name, time.time() + after)
    try:
        yield
    finally:
        client.release(name)


fill(globals(), "time limits go through a queue, not a file: LocalTimerServer", ["FileTimerClient", "FileTimerServer"])
