"""`spawn`: runs one function in several new processes and raises here what went wrong there, with its traceback."""

from __future__ import annotations

import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings

from ._context import get_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Set to 1, it starts the processes of `start_processes` with "forkserver" from threads, all at once.
ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):
    """One of the processes failed; `error_index` says which one."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = self.pid = error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code other than 0."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn, i: int, args: tuple, error_file: str, by_signal: bool) -> None:
    # A shell starts background jobs with interrupts ignored.
    how = signal.SIGTERM if signal.getsignal(signal.SIGINT) == signal.SIG_IGN else signal.SIGINT
    if by_signal:
        _prctl_pr_set_pdeathsig(how)
        if os.getppid() != multiprocessing.parent_process().pid:  # it ended before it could be asked for
            return
    else:
        threading.Thread(target=_watch_parent, args=(how,), name="parent watch", daemon=True).start()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent reports it
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


# A parent that is killed cannot end its children itself. The system can send them a signal, when the thread ends that
# forked them: which is a fork server's, or one that ends before its process does. Then a thread waits for the end.


def _prctl_pr_set_pdeathsig(signal_number: int) -> None:
    """Asks the system for a signal when the thread that started this process ends."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(1, int(signal_number), 0, 0, 0):  # 1: PR_SET_PDEATHSIG
        raise OSError(ctypes.get_errno(), f"_prctl_pr_set_pdeathsig: signal {signal_number} is refused")


def _watch_parent(signal_number: int) -> None:
    multiprocessing.parent_process().join()
    os.kill(os.getpid(), signal_number)


class ProcessContext:
    """The running processes of one `start_processes`."""

    def __init__(self, processes, error_files):
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process ids, in order."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for one or more of the processes to end; True when all have ended.

        When one of them failed, the others are ended (SIGTERM, and SIGKILL after `grace_period` seconds, 30 unless
        given) and its error is raised.
        """
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout)
        failed = None
        for sentinel in ready:
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0 and failed is None:
                failed = i
        if failed is None:
            if not self.sentinels:
                self._forget_files()
            return not self.sentinels
        self._end_others(30.0 if grace_period is None else grace_period)
        self._report(failed)
        return False

    def _end_others(self, grace: float) -> None:
        running = [process for process in self.processes if process.is_alive()]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + grace
        for process in running:
            process.join(max(0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _report(self, i: int) -> None:
        process = self.processes[i]
        code, pid = process.exitcode, process.pid
        text = self._error(i)
        self._forget_files()
        if text is not None:
            raise ProcessRaisedException(f"\n\n-- Process {i} terminated with the following error:\n{text}", i, pid)
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<unknown signal {-code}>"
            raise ProcessExitedException(f"process {i} terminated with signal {name}", i, pid, code, name)
        raise ProcessExitedException(f"process {i} terminated with exit code {code}", i, pid, code)

    def _error(self, i: int) -> str | None:
        try:
            with open(self.error_files[i], "rb") as file:
                return pickle.load(file)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def _forget_files(self) -> None:
        for path in self.error_files:
            if os.path.exists(path):
                os.unlink(path)


class SpawnContext(ProcessContext):
    """`ProcessContext` under its older name."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs ``fn(i, *args)`` for each i below `nprocs` in a process of its own.

    Args:
        join: wait for all of them and raise what one of them raised; else give the `ProcessContext`
        daemon: the processes end with this one
        start_method: "spawn", "fork" or "forkserver"
    """
    if nprocs < 1:
        raise ValueError(f"start_processes: nprocs must be at least 1, got {nprocs}")
    ctx = get_context(start_method)
    by_signal = start_method != "forkserver" and threading.current_thread() is threading.main_thread()

    def start(i):
        # The child makes the file when there is something to tell.
        handle, path = tempfile.mkstemp(prefix="torch-error-", suffix=".pickle")
        os.close(handle)
        os.unlink(path)
        process = ctx.Process(target=_run, args=(fn, i, args, path, by_signal), daemon=daemon)
        process.start()
        return process, path

    if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START) == "1":
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(nprocs) as executor:
            started = list(executor.map(start, range(nprocs)))
    else:
        started = [start(i) for i in range(nprocs)]
    processes, files = map(list, zip(*started))
    running = SpawnContext(processes, files)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """`start_processes` with the start method "spawn"."""
    if start_method != "spawn":
        warnings.warn(
            f"spawn always uses the start method 'spawn', not {start_method!r}; "
            "torch.multiprocessing.start_processes takes others",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
