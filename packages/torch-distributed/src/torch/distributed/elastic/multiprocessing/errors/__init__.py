"""What went wrong in which process of a job."""

import functools
import json
import socket
import time
from dataclasses import dataclass, field

from .error_handler import ErrorHandler

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]


@dataclass
class ProcessFailure:
    """The end of one process: its rank on this machine, process id, exit code (negative: the signal), and error file."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    rank: int = -1
    timestamp: float = field(default_factory=time.time)

    @property
    def message(self) -> str:
        """What the process wrote about its end, with ``record`` on its main function."""
        try:
            with open(self.error_file) as file:
                return json.load(file)["message"]["message"]
        except (OSError, ValueError, KeyError, TypeError):
            if self.exitcode < 0:
                return f"ended by signal {self.signal_name()}"
            return "to see the traceback, decorate the main function with torch.distributed.elastic.multiprocessing.errors.record"

    def signal_name(self) -> str:
        """The name of the signal that ended the process, or <N/A>."""
        import signal

        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return "<N/A>"


class ChildFailedError(Exception):
    """Processes of a job failed; ``failures`` by rank, the first of them in time at the start of the text."""

    def __init__(self, name: str, failures: dict):
        self.name, self.failures = name, failures
        super().__init__(self._text())

    def get_first_failure(self):
        """(rank, failure) of the process that failed first."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def _text(self):
        rank, first = self.get_first_failure()
        host = socket.gethostname()
        lines = [
            f"{self.name} failed: rank {rank} (local rank {first.local_rank}, process {first.pid} on {host}) ended first"
        ]
        lines.append(f"  exit code {first.exitcode}: {first.message}")
        for other, failure in sorted(self.failures.items()):
            if other != rank:
                lines.append(f"  then rank {other} (process {failure.pid}), exit code {failure.exitcode}")
        return "\n".join(lines)


def get_error_handler() -> ErrorHandler:
    """The handler that ``record`` uses unless it is given another."""
    return ErrorHandler()


def record(fn, error_handler=None):
    """Decorates the main function of a process: an exception in it is written where ``torchrun`` reads it.

    >>> from torch.distributed.elastic.multiprocessing.errors import record
    >>> record(lambda: "done")()
    'done'
    """
    handler = get_error_handler() if error_handler is None else error_handler

    @functools.wraps(fn)
    def recorded(*args, **kwargs):
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded
