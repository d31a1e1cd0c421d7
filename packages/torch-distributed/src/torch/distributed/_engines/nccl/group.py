"""A process group over NCCL: collectives are put on the stream of the tensors' device, and a Work follows them there."""

import ctypes as C
import time

import torch
from torch.futures import Future

from ... import _options
from ..._errors import DistBackendError
from ..._stores.base import to_seconds
from ..._work import Work
from ..group import FlatGroup
from . import collectives, library

PAUSE = 50e-6  # seconds between looks at work that is not done


class Cuda:
    """What the group asks of the device whose memory NCCL reads and writes."""

    type = "cuda"

    @staticmethod
    def stream() -> int:
        """The stream that work is put on: that of the tensors' operators, so that all goes in the order of the calls."""
        return torch.cuda.current_stream().cuda_stream

    @staticmethod
    def mark():
        """An object that says, by ``query()``, whether all that has been put on the stream is done."""
        event = torch.cuda.Event()
        event.record()
        return event


class NcclGroup(FlatGroup):
    """The ranks of an NCCL communicator."""

    def __init__(self, rank, ranks, name, timeout, store, device=Cuda):
        super().__init__(rank, ranks, name, "nccl", timeout)
        self._device, self._device_type, self._store = device, device.type, store
        self._library, self._count, self._failed = library.load(), 0, None
        key = f"nccl/{name}"
        if rank == 0:
            store.set(key, library.unique_id())
        made = C.c_void_p()
        try:
            library.call(self._library.torch_nccl_join, self._size, rank, store.get(key), C.byref(made))
        except library.Failed as error:
            raise DistBackendError(f"init_process_group: {error}") from None
        self._comm = made

    @classmethod
    def join(cls, store, rank, size, timeout):
        """The group of all ranks that meet at a store; each must have chosen its GPU (torch.cuda.set_device)."""
        return cls(rank, range(size), "default", timeout, store)

    def part(self, number, ranks, name, timeout):
        """A group of some of our ranks."""
        return NcclGroup(list(ranks).index(self._ranks[self._rank]), ranks, name, timeout, self._store, self._device)

    def engine(self):
        major, rest = divmod(library.versions()[0], 10000)
        return f"NCCL {major}.{rest // 100}.{rest % 100}"

    def shutdown(self):
        self._leave(abort=self._failed is not None)

    def abort(self):
        self._leave(abort=True)

    def _leave(self, abort):
        comm, self._comm = self._comm, None
        if comm is not None:
            library.call(self._library.torch_nccl_leave, comm, int(abort))

    # ---- what the collectives call

    def call(self, name, *arguments):
        """A function of the binding, of our communicator; library.Failed with what NCCL says."""
        if self._failed is not None:
            raise library.Failed(self._failed)
        if self._comm is None:
            raise library.Failed("the process group has been destroyed")
        library.call(getattr(self._library, f"torch_nccl_{name}"), self._comm, *arguments)

    def stream(self):
        return C.c_void_p(self._device.stream())

    def together(self, steps):
        """Sends and receives that go on at once: none of them waits for another of ours."""
        library.call(self._library.torch_nccl_group, 0)
        try:
            steps()
        finally:
            library.call(self._library.torch_nccl_group, 1)

    def health(self):
        """Raise library.Failed if NCCL has met an error meanwhile."""
        if self._comm is not None:
            library.call(self._library.torch_nccl_health, self._comm)

    def fail(self, reason):
        """Work that will not end is given up, here and in what follows."""
        self._failed = reason
        self._leave(abort=True)

    # ---- operations

    def _submit(self, name, request, steps, opts, tensors, details=""):
        text = f"{name} (collective {self._count} of group {self._name})"
        self._count += 1
        return self._started(text, steps, tensors, self._seconds(opts), not opts.asyncOp)

    def _point_to_point(self, name, tensor, code, line, place, steps, found, tag, attended):
        if place is None:
            raise NotImplementedError("recv: NCCL receives from one rank; name it with src")
        if tag:
            raise ValueError(f"{name}: NCCL has no tags, got {tag}; messages between two ranks keep their order")
        return self._started(self._check_tag(name, place, tag), steps, [tensor], self._timeout, attended, found)

    def _started(self, text, steps, tensors, patience, attended, found=None):
        try:
            for _ in steps(Exchange(self)):
                pass
        except library.Failed as error:
            raise DistBackendError(f"{text}: {error}") from None
        work = NcclWork(self, text, tensors, patience, self._device.mark(), found)
        if attended:
            work.wait()
        return work

    def barrier(self, opts=None):
        opts = _options.BarrierOptions() if opts is None else opts
        token = torch.zeros(1, device=self._device_type)
        work = self.allreduce([token], _options.AllreduceOptions(timeout=opts.timeout, asyncOp=True))
        if not opts.asyncOp:
            work.wait()
        return work


class Exchange:
    """What the steps of a collective see of the group."""

    collectives = collectives

    def __init__(self, group):
        self.nccl, self.group = group, self
        self.rank, self.size = group.rank(), group.size()
        self.place = range(self.size)


class NcclWork(Work):
    """What was put on the stream up to a mark."""

    def __init__(self, group, text, tensors, patience, mark, found):
        super().__init__()
        self._group, self._text, self._tensors, self._mark, self._found = group, text, tensors, mark, found
        self._deadline, self._patience = time.monotonic() + patience, patience
        self._error = None

    def is_completed(self):
        return self._error is not None or self._mark.query()

    isCompleted = is_completed

    def exception(self):
        return None if self._error is None else DistBackendError(self._error)

    def wait(self, timeout=None):
        seconds = None if timeout is None else to_seconds(timeout)
        deadline = self._deadline if seconds is None else min(self._deadline, time.monotonic() + seconds)
        while not self.is_completed():
            try:
                self._group.health()
                if time.monotonic() > deadline:
                    raise library.Failed(f"timed out after {self._patience if seconds is None else seconds:g} s")
            except library.Failed as error:
                self._error = f"{self._text}: {error}"
                self._group.fail(self._error)
            time.sleep(PAUSE)
        if self._error is not None:
            raise DistBackendError(self._error)
        return True

    def source_rank(self):
        return self._found[0] if self._found else -1

    def result(self):
        return self._tensors

    def get_future(self):
        future = Future()
        try:
            self.wait()
            future.set_result(self._tensors)
        except DistBackendError as error:
            future.set_exception(error)
        return future
