"""What went wrong in which process of a job."""

import functools
import json
import os
import socket
import time
import traceback
from dataclasses import dataclass, field

__all__ = ["ChildFailedError", "ProcessFailure", "record"]


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


def record(fn, error_handler=None):
    """Decorates the main function of a process: an exception in it is written where ``torchrun`` reads it.

    >>> from torch.distributed.elastic.multiprocessing.errors import record
    >>> record(lambda: "done")()
    'done'
    """

    @functools.wraps(fn)
    def recorded(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            path = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if path:
                extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
                with open(path, "w") as file:
                    json.dump({"message": {"message": text, "extraInfo": extra}}, file)
            raise

    return recorded
