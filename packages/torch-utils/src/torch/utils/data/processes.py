"""The loader's side of worker processes.

Batch k goes to worker k mod n (of those that still have samples), which keeps the order of batches and their random
streams the same in every run. Each worker has a channel of its own, so one that dies takes nothing with it.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
import warnings
import weakref
from multiprocessing import reduction

import torch
import torch.multiprocessing as multiprocessing

from .channel import Channel
from .fetch import IterableFetcher, MapFetcher
from .report import ExceptionWrapper, exit_text, hint
from .sampler import random_seed
from .worker import FIELDS, STACK_SIGNAL, Ended, Epoch, Settings, Status, run

GRACE = 1.0  # seconds that a busy worker has to end by itself
SLOW = 60.0  # seconds without a batch after which a warning tells what the workers are doing


class Worker:
    """A running worker process as its loader sees it."""

    def __init__(self, ctx, settings: Settings, worker_id: int, seed: int, page, siblings):
        self.id = worker_id
        self.status = Status(page, worker_id)
        self.channel, far_end = Channel.pair()
        self._stacks = _new_file()
        if ctx.get_start_method() == "fork":
            inherited, stacks = [*(worker.channel for worker in siblings), self.channel], self._stacks
        else:
            inherited, stacks = [], _Passed(self._stacks)
        self.process = ctx.Process(
            target=run, args=(settings, worker_id, seed, far_end, inherited, stacks), daemon=True
        )
        self.process.start()
        far_end.close()
        # Not the process's sentinel: a pipe that the worker's own children keep open.
        self.pidfd = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else os.dup(self.process.sentinel)
        self.tasks: set[int] = set()
        self.active = True  # whether its part of a stream goes on

    def stacks(self) -> str:
        """Where each of the worker's threads is right now, or why that cannot be told."""
        if STACK_SIGNAL is None or not self.process.is_alive():
            return ""
        os.ftruncate(self._stacks, 0)
        os.lseek(self._stacks, 0, os.SEEK_SET)
        os.kill(self.process.pid, STACK_SIGNAL)
        deadline, size = time.monotonic() + 1, -1
        while time.monotonic() < deadline:  # until it has written something, and then no more
            now = os.fstat(self._stacks).st_size
            if now == size and now > 0:
                break
            size = now
            time.sleep(0.01)
        text = os.pread(self._stacks, 1 << 16, 0).decode(errors="replace")
        return f"\nIts stack:\n{text}" if text else "\nIt does not show its stack: it is stopped, or in the kernel."

    def close(self) -> None:
        self.channel.close()
        for fd in (self._stacks, self.pidfd):
            if fd >= 0:
                os.close(fd)
        self._stacks = self.pidfd = -1


class _Passed:
    """A descriptor on its way to a spawned process."""

    def __init__(self, fd: int):
        self.fd = fd

    def __reduce__(self):
        return _detached, (reduction.DupFd(self.fd),)


def _detached(duplicate) -> int:
    return duplicate.detach()


def _new_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("torch_stacks", os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class ProcessIterator:
    """One pass over a loader's batches with worker processes; with persistent workers, one after another."""

    def __init__(self, loader):
        self._loader = loader
        self._workers: list[Worker] = []
        self._close = weakref.finalize(self, shut_down, self._workers, os.getpid())
        self._warned = False
        ctx = loader.multiprocessing_context or multiprocessing.get_context()
        ctx = multiprocessing.get_context(ctx.get_start_method())
        count = loader.num_workers
        stream = loader._is_stream
        self._page = torch.zeros(count * FIELDS, dtype=torch.int64)
        self._page.share_memory_()
        settings = Settings(
            loader.dataset,
            IterableFetcher if stream else MapFetcher,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            count,
            loader.worker_init_fn,
            self._page,
        )
        seed = random_seed(loader.generator)
        page = memoryview(self._page.untyped_storage()).cast("q")
        for i in range(count):
            self._workers.append(Worker(ctx, settings, i, seed, page, self._workers))
        self._poll = select.poll()
        self._by_fd: dict[int, Worker] = {}
        for worker in self._workers:
            # The process as well: its own children may keep the far end of a dead worker's channel open.
            for fd in (worker.channel.fileno(), worker.pidfd):
                self._by_fd[fd] = worker
                self._poll.register(fd, select.POLLIN)
        self._begin()

    def _begin(self) -> None:
        loader = self._loader
        self._entries = iter(loader._index_sampler)
        self._arrived: dict[int, object] = {}
        self._posted = self._given = 0  # number of the next task to post, of the next batch to give
        self._exhausted = False
        self._turn = 0
        for worker in self._workers:
            worker.tasks.clear()
            worker.active = True
        self._prefetch = loader.prefetch_factor * len(self._workers)
        self._yielded = 0
        for _ in range(self._prefetch):
            self._post()

    def restart(self) -> None:
        """Another epoch with the same workers."""
        self._drain()
        seed = random_seed(self._loader.generator)
        for worker in self._workers:
            worker.channel.post(Epoch(seed))
        self._begin()

    def _drain(self) -> None:
        # What an epoch that was left early has asked for still arrives.
        while any(worker.tasks for worker in self._workers):
            self._receive()

    def __iter__(self):
        return self

    def __next__(self):
        if not self._workers:
            raise StopIteration
        try:
            data = self._next()
        except KeyboardInterrupt:
            shut_down(self._workers, os.getpid(), grace=0.2)
            raise
        except BaseException:
            if not self._loader.persistent_workers:
                self._close()
            raise
        self._post()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        self._yielded += 1
        self._loader._check_length(self._yielded)
        return self._loader._pinned(data)

    def _next(self):
        in_order = self._loader.in_order
        while True:
            if in_order:
                while self._given in self._arrived:
                    data = self._arrived.pop(self._given)
                    self._given += 1
                    if not isinstance(data, Ended):
                        return data
                    self._post()
                pending = self._given < self._posted
            else:
                for number in list(self._arrived):
                    data = self._arrived.pop(number)
                    if not isinstance(data, Ended):
                        return data
                    self._post()
                pending = any(worker.tasks for worker in self._workers)
            if not pending:
                raise StopIteration
            self._receive()

    def _post(self) -> None:
        """Gives the next entry of the sampler to the worker whose turn it is."""
        if self._exhausted or sum(len(w.tasks) for w in self._workers) + len(self._arrived) >= self._prefetch:
            return
        workers = self._workers
        for _ in range(len(workers)):
            worker = workers[self._turn]
            self._turn = (self._turn + 1) % len(workers)
            if worker.active:
                break
        else:
            return
        try:
            entry = next(self._entries)
        except StopIteration:
            self._exhausted = True
            return
        worker.tasks.add(self._posted)
        worker.channel.post((self._posted, entry))
        if worker.channel._waiting:
            self._poll.modify(worker.channel.fileno(), select.POLLIN | select.POLLOUT)
        self._posted += 1

    def _receive(self) -> None:
        """Waits for workers and takes what they have sent."""
        timeout = self._loader.timeout
        patience = timeout or (None if self._warned else SLOW)
        events = self._poll.poll(None if patience is None else 1000 * patience)
        if not events:
            self._report_silence(timeout)
        for fd, event in events:
            worker = self._by_fd[fd]
            if fd == worker.pidfd:
                self._take(worker)
                self._report_death(worker)
            if event & select.POLLOUT and worker.channel.push():
                self._poll.modify(fd, select.POLLIN)
            if event & ~select.POLLOUT:
                self._take(worker)

    def _take(self, worker: Worker) -> None:
        while (message := worker.channel.poll()) != ():
            if message is None:
                self._report_death(worker)
            number, data = message[0]
            worker.tasks.discard(number)
            if isinstance(data, Ended):
                worker.active = False
            self._arrived[number] = data

    def _report_death(self, worker: Worker) -> None:
        worker.process.join(GRACE)
        code = worker.process.exitcode
        text = (
            f"DataLoader worker {worker.id} (pid {worker.process.pid}) {exit_text(code)} while it was "
            f"{worker.status.describe()} of {type(self._loader.dataset).__name__}.{hint(code)}"
        )
        self._close()
        raise RuntimeError(text)

    def _report_silence(self, timeout: float) -> None:
        waited_for = [w for w in self._workers if self._given in w.tasks] or [w for w in self._workers if w.tasks]
        parts = []
        for worker in waited_for[:4]:
            parts.append(
                f"worker {worker.id} (pid {worker.process.pid}) is {worker.status.describe()}.{worker.stacks()}"
            )
        if not timeout:
            self._warned = True
            warnings.warn(f"DataLoader: no batch for {SLOW:.0f} seconds: " + "\n".join(parts), stacklevel=4)
            return
        self._close()
        raise RuntimeError(f"DataLoader timed out after {timeout} seconds: " + "\n".join(parts))


def shut_down(workers: list[Worker], pid: int, grace: float = GRACE) -> None:
    """Ends worker processes: kindly, then with SIGTERM, then with SIGKILL. No one is left behind."""
    if os.getpid() != pid:  # a forked child drops its copy of the iterator
        return
    for worker in workers:
        with contextlib.suppress(ValueError):
            worker.status.stop()
        worker.channel.close()
    deadline = time.monotonic() + grace
    for step in ("wait", "terminate", "kill"):
        if step != "wait":
            for worker in workers:
                if worker.process.is_alive():
                    getattr(worker.process, step)()
            deadline = time.monotonic() + 1
        for worker in workers:
            worker.process.join(max(0, deadline - time.monotonic()))
        if not any(worker.process.is_alive() for worker in workers):
            break
    for worker in workers:
        worker.close()
    workers.clear()
