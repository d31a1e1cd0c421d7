"""Worker processes of a loader. Each has a channel of its own, so one that dies takes nothing of the others with it."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import time
import weakref
from multiprocessing import reduction

import torch
import torch.multiprocessing as multiprocessing

from .channel import Channel
from .iterator import GRACE, Member, WorkerIterator
from .report import UNBORN, ExceptionWrapper, exit_text, hint
from .worker import FIELDS, STACK_SIGNAL, Settings, Status, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Worker(Member):
    """A worker process as its loader sees it.

    Args:
        let_go: functions that a forked worker calls first, see `worker.run`
    """

    process = None

    def __init__(self, ctx: Any, settings: Settings, worker_id: int, seed: int, page: Any, let_go: Any) -> None:
        super().__init__(worker_id, Status(page, worker_id))
        self.status.clear()
        self.channel, far_end = Channel.pair()
        self._stacks = _new_file()
        self._is_forked = ctx.get_start_method() == "fork"
        if self._is_forked:
            let_go = [*let_go, self.channel.close]
        else:
            let_go = []
        process = ctx.Process(target=run, args=(settings, worker_id, seed, far_end, let_go, self._stacks), daemon=True)
        process.ignores_interrupts = True  # Ctrl+C is the loader's to handle, who then ends its workers
        try:
            process.start()
        except Exception as e:
            if not self._is_forked:
                _explain_pickling(e, settings, ctx)
            raise
        finally:
            far_end.close()
        self.process = process
        self.name = f"worker {worker_id} (pid {self.process.pid})"
        # Not the process's sentinel: a pipe that the worker's own children keep open.
        self._pidfd = Descriptor(
            os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else os.dup(self.process.sentinel)
        )
        self.pidfd = self._pidfd.fileno()
        self.poll = None

    def __getattr__(self, name: str) -> Any:
        """What programs ask of a worker, which in PyTorch is its process: ``pid``, ``is_alive()``, ``join()``."""
        return getattr(self.process, name)

    def watch(self, poll: Any) -> tuple[int, int]:
        """Registers the worker with a poll object; gives its descriptors there."""
        # The process as well: its own children may keep the far end of a dead worker's channel open.
        self.poll = poll
        fds = self.channel.fileno(), self.pidfd
        for fd in fds:
            poll.register(fd, select.POLLIN)
        return fds

    def send(self, message: Any) -> None:
        self.channel.post(message)
        if self.channel.is_full:
            self.poll.modify(self.channel.fileno(), select.POLLIN | select.POLLOUT)

    def stacks(self) -> str:
        if STACK_SIGNAL is None or not self.status.is_born or not self.process.is_alive():
            return ""
        file = self._stacks.fileno()
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.kill(self.process.pid, STACK_SIGNAL)
        deadline, size = time.monotonic() + 1, -1
        while time.monotonic() < deadline:  # until it has written something, and then no more
            now = os.fstat(file).st_size
            if now == size and now > 0:
                break
            size = now
            time.sleep(0.01)
        text = os.pread(file, 1 << 16, 0).decode(errors="replace")
        return f"\nIts stack:\n{text}" if text else "\nIt does not show its stack: it is stopped, or in the kernel."

    def end(self, patience: float = GRACE) -> tuple[str, str]:
        self.process.join(patience)
        code = self.process.exitcode
        if code is None:  # it is stuck, or has closed its channel
            self.process.kill()
            self.process.join()
        for fd in (self.channel.fileno(), self.pidfd):
            self.poll.unregister(fd)
        self.close()
        unborn = code == 1 and not self._is_forked and not self.status.is_born
        return f"DataLoader worker (pid {self.process.pid}) {exit_text(code)}", UNBORN if unborn else hint(code)

    def close(self) -> None:
        """After its end: takes and drops what it has sent, and closes its descriptors."""
        if self.ended:
            return
        self.ended = True
        self.channel.drain()
        self.channel.recall()
        self.channel.close()
        multiprocessing._segments.forget(self.process)
        self._stacks.close()
        self._pidfd.close()


def _explain_pickling(error: BaseException, settings: Settings, ctx) -> None:
    """Raises what pickling the first of a worker's settings that cannot be pickled raises, and says which it is."""
    for name, value in (
        ("dataset", settings.dataset),
        ("collate_fn", settings.collate_fn),
        ("worker_init_fn", settings.init_fn),
    ):
        try:
            reduction.ForkingPickler.dumps(value)
        except (pickle.PicklingError, TypeError, AttributeError) as e:
            method = ctx.get_start_method()
            raise type(e)(
                f"DataLoader: {name} cannot be sent to a worker process by start method {method!r}: {e}. Make it of "
                "functions and classes of a module, or use multiprocessing_context='fork' or worker_kind='thread'"
            ) from error


class Descriptor:
    """A file descriptor that is closed with its last reference, and can be sent to a spawned process."""

    _fd = -1

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close

    def __reduce__(self) -> Any:
        return _received, (reduction.DupFd(self._fd),)


def _received(duplicate) -> Descriptor:
    return Descriptor(duplicate.detach())


def _new_file() -> Descriptor:
    if hasattr(os, "memfd_create"):
        return Descriptor(os.memfd_create("torch_stacks", os.MFD_CLOEXEC))
    import tempfile

    with tempfile.TemporaryFile() as file:
        return Descriptor(os.dup(file.fileno()))


class ProcessIterator(WorkerIterator):
    """The batches of worker processes."""

    kind = "process"

    def __init__(self, loader: Any) -> None:
        if multiprocessing.current_process().daemon:
            raise AssertionError(
                "DataLoader: daemonic processes are not allowed to have children, and this is one, such as a worker of "
                "another loader: use num_workers=0 or worker_kind='thread' here"
            )
        super().__init__(loader)
        self._finalizer = weakref.finalize(self, shut_down, self._workers, os.getpid())
        ctx = loader.multiprocessing_context or multiprocessing.get_context()
        self._context = multiprocessing.get_context(ctx.get_start_method())
        self._page = torch.zeros(loader.num_workers * FIELDS, dtype=torch.int64).share_memory_()
        self._poll = select.poll()
        self._by_fd: dict[int, Worker] = {}
        self._begin()

    def _start(self, worker_id: int, seed: int) -> Worker:
        page = memoryview(self._page.untyped_storage()).cast("q")
        let_go = [self._arrived.clear, *(other.channel.close for other in self._workers)]
        worker = Worker(self._context, self._settings(self._page), worker_id, seed, page, let_go)
        self._by_fd.update(dict.fromkeys(worker.watch(self._poll), worker))
        return worker

    def _end_workers(self) -> None:
        if self._finalizer.detach():
            shut_down(self._workers, self._pid, grace=0.2)

    def _receive_within(self, seconds: float | None) -> bool:
        events = self._poll.poll(None if seconds is None else 1000 * seconds)
        for fd, event in events:
            worker = self._by_fd.get(fd)
            if worker is None:  # buried a moment ago, when its other descriptor told its end
                continue
            if fd != worker.pidfd and event & select.POLLOUT and worker.channel.push():
                self._poll.modify(fd, select.POLLIN)
            if (event & ~select.POLLOUT and not self._take(worker)) or fd == worker.pidfd:
                self._bury(worker)
        return bool(events)

    def _bury(self, worker: Worker, report: str | None = None) -> None:
        super()._bury(worker, report)
        self._by_fd = {fd: other for fd, other in self._by_fd.items() if other is not worker}

    def _take(self, worker: Worker) -> bool:
        """Takes all that the worker has sent; False when no more can come."""
        while (message := worker.channel.poll()) != ():
            if message is None:
                return False
            if isinstance(message[0], ExceptionWrapper):  # it does not tell its number; batches come in their order
                message = ((min(worker.tasks), message[0]),)
            self._accept(worker, message[0])
        return True


def shut_down(workers: list[Worker], pid: int, grace: float = GRACE) -> None:
    """Ends worker processes: kindly, then with SIGTERM, then with SIGKILL. No one is left behind."""
    if os.getpid() != pid:  # a forked child drops its copy of the iterator
        return
    for worker in workers:
        with contextlib.suppress(ValueError):
            worker.status.stop()
        worker.channel.hang_up()
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
