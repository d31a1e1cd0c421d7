"""The body of a worker process: takes entries of the sampler from its channel, sends batches back.

What it is doing stands in a page shared with the parent (`Status`), so a worker that hangs or dies can be described.
"""

from __future__ import annotations

import faulthandler
import random
import signal
import sys
import threading
from typing import Any, NamedTuple

from . import collate
from .report import ExceptionWrapper

# The parent asks with it for the stacks of a worker that does not answer. Nothing else uses real-time signals.
STACK_SIGNAL = signal.SIGRTMIN + 5 if hasattr(signal, "SIGRTMIN") else None

_IDLE, _SAMPLE, _COLLATE, _SEND, _START = range(5)
FIELDS = 4  # phase, batch, position, stop


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
    return getattr(_here, "info", None)


def set_worker_info(info: WorkerInfo | None) -> None:
    _here.info = info


class Status:
    """One worker's row of the shared page."""

    def __init__(self, page, row: int):
        self._page = page
        self._at = row * FIELDS

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

    def describe(self) -> str:
        """What the worker is doing."""
        phase, batch, position = self._page[self._at : self._at + 3]
        return {
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
    fetcher: Any  # class
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    num_workers: int
    init_fn: Any
    status: Any  # tensor in shared memory


def run(settings: Settings, worker_id: int, seed: int, channel, siblings, stack_file: int) -> None:
    """The worker's main function."""
    for other in siblings:  # of earlier workers, inherited by fork: they would hide the parent's end
        other.close()
    status = Status(memoryview(settings.status.untyped_storage()).cast("q"), worker_id)
    try:
        _prepare(settings, worker_id, seed, stack_file)
        status.starting()
        fetcher = failure = None
        try:
            if settings.init_fn is not None:
                settings.init_fn(worker_id)
            fetcher = _fetcher(settings, status)
        except Exception as e:
            failure = ExceptionWrapper(e, f"while starting DataLoader worker process {worker_id}")
        status.idle()
        _serve(settings, worker_id, channel, status, fetcher, failure)
    except (Stopped, EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has gone, or wants no more


def _prepare(settings: Settings, worker_id: int, seed: int, stack_file: int) -> None:
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the parent's to handle, who then ends its workers
    if STACK_SIGNAL is not None:
        faulthandler.register(STACK_SIGNAL, stack_file, all_threads=True)
    torch.set_num_threads(1)
    seed_everything(seed + worker_id)
    set_worker_info(WorkerInfo(worker_id, settings.num_workers, seed + worker_id, settings.dataset))

    from torch.multiprocessing import _share, reductions

    collate.allocate_batch = _share.empty_shared
    reductions.copy_views = True


def seed_everything(seed: int) -> None:
    """Seeds the random streams of torch, Python and, when it is loaded, NumPy."""
    import torch

    seed %= 1 << 63
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed([seed & 0xFFFFFFFF, seed >> 32])


def _fetcher(settings: Settings, status: Status | None):
    return settings.fetcher(settings.dataset, settings.auto_collation, settings.collate_fn, settings.drop_last, status)


def _serve(settings, worker_id, channel, status, fetcher, failure) -> None:
    ended = False
    while True:
        message = channel.receive()
        if message is None:
            return
        if isinstance(message, Epoch):
            ended, failure = False, None
            seed_everything(message.seed + worker_id)
            set_worker_info(WorkerInfo(worker_id, settings.num_workers, message.seed + worker_id, settings.dataset))
            try:
                fetcher = _fetcher(settings, status)
            except Exception as e:
                failure = ExceptionWrapper(e, f"while restarting DataLoader worker process {worker_id}")
            continue
        number, entry = message
        if ended:
            channel.send((number, Ended(worker_id)))
            continue
        status.begin(number)
        if failure is not None:
            data, failure = failure, None
        else:
            try:
                data = fetcher.fetch(entry)
            except StopIteration:
                data, ended = Ended(worker_id), True
            except Exception as e:
                data = ExceptionWrapper(e, f"in DataLoader worker process {worker_id}, {status.describe()}")
        status.sending()
        try:
            channel.send((number, data))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as e:  # a batch that cannot be pickled, no shared memory
            channel.send(
                (number, ExceptionWrapper(e, f"in DataLoader worker process {worker_id}, {status.describe()}"))
            )
        del data
        status.idle()


class Epoch(NamedTuple):
    """The start of another epoch for workers that stay."""

    seed: int
