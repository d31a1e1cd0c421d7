"""The body of a worker process: takes entries of the sampler from its channel, sends batches back.

What it is doing stands in a page shared with the parent (`Status`), so a worker that hangs or dies can be described.
"""

from __future__ import annotations

import array
import faulthandler
import random
import signal
import sys
import threading
from typing import Any, NamedTuple

from . import collate
from .fetch import IterableFetcher, MapFetcher
from .report import ExceptionWrapper

# The parent asks with it for the stacks of a worker that does not answer. Nothing else uses real-time signals.
STACK_SIGNAL = signal.SIGRTMIN + 5 if hasattr(signal, "SIGRTMIN") else None

_BIRTH, _IDLE, _SAMPLE, _COLLATE, _SEND, _START = range(6)
FIELDS = 4  # phase, batch, position, stop
_CLEARED = memoryview(array.array("q", [_BIRTH, 0, 0, 0]))


class WorkerInfo(NamedTuple):
    """What a worker knows of itself: its number, how many there are, its seed, its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_here = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a loader, what it knows of itself; None elsewhere.

    >>> get_worker_info() is None
    True
    """
    info = getattr(_here, "info", None)
    if info is None and (set_by_others := sys.modules.get("torch.utils.data._utils.worker")):
        return vars(set_by_others).get("_worker_info")  # a library's own worker notes it there
    return info


def set_worker_info(info: WorkerInfo | None) -> None:
    _here.info = info


class Status:
    """One worker's row of the shared page."""

    def __init__(self, page: Any, row: int) -> None:
        self._page = page
        self._at = row * FIELDS

    def clear(self) -> None:
        """By the parent: a new process is about to use the row."""
        self._page[self._at : self._at + FIELDS] = _CLEARED

    def begin(self, batch: int) -> None:
        self._page[self._at + 1] = batch
        self._page[self._at + 2] = 0
        self._page[self._at] = _SAMPLE

    def sample(self, position: int) -> None:
        self._page[self._at + 2] = position
        if self._page[self._at + 3]:
            raise Stopped

    def collating(self) -> None:
        self._page[self._at] = _COLLATE

    def sending(self) -> None:
        self._page[self._at] = _SEND

    def idle(self) -> None:
        self._page[self._at] = _IDLE

    def starting(self) -> None:
        self._page[self._at] = _START

    def stop(self) -> None:
        """By the parent: the worker ends before its next sample."""
        self._page[self._at + 3] = 1

    @property
    def is_born(self) -> bool:
        """Whether the process has come as far as to answer `STACK_SIGNAL`."""
        return self._page[self._at] != _BIRTH

    @property
    def batch(self) -> int | None:
        """The batch that the worker is making; -1 while it starts, None when it waits."""
        phase, batch = self._page[self._at : self._at + 2]
        return None if phase == _IDLE else -1 if phase in (_BIRTH, _START) else batch

    def describe(self) -> str:
        """What the worker is doing."""
        phase, batch, position = self._page[self._at : self._at + 3]
        return {
            _BIRTH: "starting its process",
            _IDLE: "waiting for work",
            _SAMPLE: f"fetching sample {position} of batch {batch}",
            _COLLATE: f"collating batch {batch}",
            _SEND: f"sending batch {batch}",
            _START: "starting (worker_init_fn, or the data set's __iter__)",
        }[phase]


class Stopped(BaseException):
    """The parent wants no more."""


class Ended(NamedTuple):
    """A stream has no more samples in this worker."""

    worker_id: int


class Settings(NamedTuple):
    """What every worker of a loader is given."""

    dataset: Any
    is_stream: bool
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    num_workers: int
    init_fn: Any
    status: Any  # of processes: tensor in shared memory
    kind: str  # "process" or "thread"


def run(settings: Settings, worker_id: int, seed: int, channel: Any, let_go: Any, stack_file: Any) -> None:
    """The worker's main function.

    `let_go` are functions for what a fork inherits and the worker must not hold: the channels of its siblings, which
    would hide the parent's end from them, and batches that have arrived.
    """
    for function in let_go:
        function()
    channel.watch_parent()
    status = Status(memoryview(settings.status.untyped_storage()).cast("q"), worker_id)
    try:
        _prepare(stack_file)
        work(settings, worker_id, seed, channel, status)
    except (Stopped, EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has gone, or wants no more


def _prepare(stack_file) -> None:
    import torch
    from torch.multiprocessing import _share, reductions

    if STACK_SIGNAL is not None:
        faulthandler.register(STACK_SIGNAL, stack_file, all_threads=True)
    torch.set_num_threads(1)
    collate.allocate_batch = _share.empty_shared
    reductions.copy_views = True


def work(settings: Settings, worker_id: int, seed: int, line: Any, status: Status) -> None:
    """Starts up and serves tasks until there are no more; what goes wrong is sent in place of a batch.

    `line` has `receive`, which gives a task, an `Epoch` or None, and `send`.
    """
    own = _Own(settings, worker_id, status)
    own.begin(seed, settings.init_fn)
    while (message := line.receive()) is not None:
        if isinstance(message, Epoch):
            own.begin(message.seed, None)
            continue
        number, entry = message
        data = own.batch(number, entry)
        status.sending()
        try:
            line.send((number, data))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as e:  # a batch that cannot be pickled, no shared memory
            line.send((number, own.wrapped(e)))
        del data
        status.idle()


class _Own:
    """What a worker keeps between batches: its samples, whether they go on, what went wrong at its start."""

    def __init__(self, settings: Settings, worker_id: int, status: Status) -> None:
        self._settings = settings
        self._id = worker_id
        self._status = status
        self._name = f"DataLoader worker {settings.kind} {worker_id}"

    def begin(self, seed: int, init_fn: Any) -> None:
        settings = self._settings
        self._ended, self._failure, self._fetcher = False, None, None
        self._status.starting()
        try:
            if settings.kind == "process":
                seed_everything(seed + self._id)
            set_worker_info(WorkerInfo(self._id, settings.num_workers, seed + self._id, settings.dataset))
            if init_fn is not None:
                init_fn(self._id)
            self._fetcher = (IterableFetcher if settings.is_stream else MapFetcher)(
                settings.dataset, settings.auto_collation, settings.collate_fn, settings.drop_last, self._status
            )
        except Exception as e:
            self._failure = ExceptionWrapper(e, f"while starting {self._name}")
        self._status.idle()

    def batch(self, number: int, entry: Any) -> Any:
        """The batch, the error that it raised, or `Ended`."""
        if self._ended:
            return Ended(self._id)
        self._status.begin(number)
        if self._failure is not None:
            return self._failure
        try:
            return self._fetcher.fetch(entry)
        except StopIteration as e:
            if not self._settings.is_stream:
                return self.wrapped(
                    RuntimeError(f"the data set or collate_fn raised {e!r}").with_traceback(e.__traceback__)
                )
            self._ended = True
            return Ended(self._id)
        except Exception as e:
            return self.wrapped(e)
        except BaseException as e:
            if self._settings.kind == "process" or isinstance(e, Stopped):
                raise
            # A thread that ends takes no one's notice.
            return self.wrapped(RuntimeError(f"{type(e).__name__}: {e}").with_traceback(e.__traceback__))

    def wrapped(self, error: Exception) -> ExceptionWrapper:
        return ExceptionWrapper(error, f"in {self._name}, {self._status.describe()}")


def seed_everything(seed: int) -> None:
    """Seeds the random streams of torch, Python and, when it is loaded, NumPy."""
    import torch

    seed %= 1 << 63
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed([seed & 0xFFFFFFFF, seed >> 32])


class Epoch(NamedTuple):
    """The start of another epoch for workers that stay."""

    seed: int
