"""Data sets and kinds of workers for the tests of loaders."""

import threading
import time

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

HERE, PROCESSES, THREADS = {}, {"num_workers": 2}, {"num_workers": 2, "worker_kind": "thread"}
KINDS = pytest.mark.parametrize("how", [HERE, PROCESSES, THREADS], ids=["here", "processes", "threads"])
WORKERS = pytest.mark.parametrize("how", [PROCESSES, THREADS], ids=["processes", "threads"])


class Threads:
    """The worker threads of loaders that run; they end soon after their iterator."""

    @staticmethod
    def running():
        return [t for t in threading.enumerate() if t.name.startswith("loader worker thread")]

    @classmethod
    def end(cls):
        deadline = time.monotonic() + 10
        while cls.running():
            assert time.monotonic() < deadline, "worker threads were left"
            time.sleep(0.01)


class Numbers(Dataset):
    """Sample i is (i, a tensor full of i)."""

    def __init__(self, n=20, size=5):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i, torch.full((self.size,), float(i))


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(f"no sample {i}")
        return i * i


class Share(IterableDataset):
    """The numbers below n, each from one worker."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        part = range(self.n) if info is None else range(info.id, self.n, info.num_workers)
        return iter(part)


class Failing(Numbers):
    def __init__(self, fail, at=7, n=20):
        super().__init__(n)
        self.fail = fail
        self.at = at

    def __getitem__(self, i):
        if i == self.at:
            self.fail()
        return super().__getitem__(i)


class Raising(Squares):
    def __init__(self, error, at=5, n=12):
        super().__init__(n)
        self.error, self.at = error, at

    def __getitem__(self, i):
        if i == self.at:
            raise self.error
        return super().__getitem__(i)


def went_on(iterator):
    """What comes of an iterator whose errors are passed over: the batches and the errors' texts."""
    batches, errors = [], []
    while True:
        try:
            batches.append(next(iterator))
        except StopIteration:
            return batches, errors
        except RuntimeError as e:
            errors.append(str(e))


class Restarting(IterableDataset):
    """A stream that is its own iterator, and begins anew whenever it is asked for one."""

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at == 5:
            raise StopIteration
        self.at += 1
        return self.at
