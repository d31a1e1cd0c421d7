"""A process group over MPI, by mpi4py: its collectives, which know the network best."""

import threading
import time

import torch
from torch.futures import Future

from .._errors import DistBackendError
from .._stores.base import to_seconds
from .._work import Work
from . import memory, mpi_collectives
from .group import FlatGroup

PAUSE = 50e-6  # seconds between looks at a request that has not been done for a while


class MpiGroup(FlatGroup):
    """The ranks of an MPI communicator."""

    def __init__(self, communicator, ranks, name, timeout):
        super().__init__(communicator.Get_rank(), ranks, name, "mpi", timeout)
        self._comm = communicator
        self._count = 0
        self._failed = False

    @classmethod
    def join(cls, rank, size, timeout):
        """All processes that mpirun has started; RuntimeError without mpi4py, ValueError when rank or size are others."""
        try:
            from mpi4py import MPI
        except ImportError as error:
            from torch import _seams

            raise RuntimeError(
                f"backend 'mpi' needs mpi4py and an MPI library ({error}): {_seams.install_command('torch-distributed[mpi]')}"
            ) from None
        comm = MPI.COMM_WORLD.Dup()
        for what, given, actual in (("rank", rank, comm.Get_rank()), ("world_size", size, comm.Get_size())):
            if given not in (-1, actual):
                raise ValueError(
                    f"init_process_group: {what}={given} was given, MPI says {actual}; leave it out, and start with mpirun -n N"
                )
        return cls(comm, range(comm.Get_size()), "default", timeout)

    def part(self, number, ranks, name, timeout):
        """A group of some of our ranks."""
        comm = self._comm.Create_group(self._comm.Get_group().Incl(list(ranks)), number & 0x7FFF)
        return MpiGroup(comm, ranks, name, timeout)

    def engine(self):
        from mpi4py import MPI

        return f"MPI: {MPI.Get_library_version().splitlines()[0].rstrip(chr(0)).strip()}"

    def shutdown(self):
        if self._failed:
            # Another rank waits in a call that will never end: only MPI can reach it.
            self._comm.Abort(1)

    def _submit(self, name, request, steps, opts, tensors, details=""):
        text = f"{name} (collective {self._count} of group {self._name})"
        self._count += 1
        return self._finish_now(MpiWork(self, steps, tensors, self._seconds(opts), text), opts.asyncOp)

    def _point_to_point(self, name, tensor, code, line, place, steps, found, tag, attended):
        text = self._check_tag(name, place, tag)
        if tag < 0:
            raise ValueError(f"{name}: MPI has tags from 0 on, got {tag}")
        return MpiWork(self, steps, [tensor], self._timeout, text, found)

    def _finish_now(self, work, later):
        if not later:
            work.wait()
        return work


class Exchange:
    """What the collectives see of the group."""

    collectives = mpi_collectives

    def __init__(self, group):
        self.comm, self.rank, self.size = group._comm, group._rank, group._size
        self.group = self
        self.place = range(self.size)


class MpiWork(Work):
    """Requests of MPI, and what is to be done when they are."""

    def __init__(self, group, steps, tensors, patience, text, found=None):
        super().__init__()
        self._group, self._tensors, self._text, self._found = group, tensors, text, found
        self._deadline, self._patience = time.monotonic() + patience, patience
        self._lock = threading.RLock()
        self._error, self._done, self._requests, self._future = None, False, [], None
        self._steps = steps(Exchange(group))
        self._advance()

    def _advance(self):
        """Go on while requests are done."""
        from mpi4py import MPI

        with self._lock:
            try:
                while not self._done:
                    self._requests = [request for request in self._requests if not request.Test()]
                    if self._requests:
                        return False
                    self._requests = list(next(self._steps))
            except StopIteration:
                self._done = True
            except MPI.Exception as error:
                self._error, self._done, self._group._failed = f"{self._text}: {error}", True, True
            return True

    def is_completed(self):
        return self._advance()

    isCompleted = is_completed

    def exception(self):
        return None if self._error is None else DistBackendError(self._error)

    def wait(self, timeout=None):
        patience = self._patience if timeout is None else to_seconds(timeout)
        deadline = self._deadline if timeout is None else time.monotonic() + patience
        looks = 0
        while not self._advance():
            looks += 1
            if time.monotonic() > deadline:
                self._error, self._done, self._group._failed = (
                    f"{self._text}: timed out after {patience:g} s: not all ranks of the group have come", True, True,
                )  # fmt: skip
                break
            time.sleep(0 if looks < 100 else PAUSE)
        if self._error is not None:
            raise DistBackendError(self._error)
        return True

    def source_rank(self):
        return self._found[0] if self._found else -1

    def result(self):
        if not self._advance():
            raise RuntimeError("Work.result: the operation is not done; wait() waits for it")
        return self._tensors

    def get_future(self):
        if self._future is None:
            self._future = Future()
            threading.Thread(target=self._settle, daemon=True, name="torch.distributed MPI").start()
        return self._future

    def _settle(self):
        try:
            self.wait()
            self._future.set_result(self._tensors)
        except DistBackendError as error:
            self._future.set_exception(error)


class ProcessGroupMPI(MpiGroup):
    """The group of all processes that mpirun has started, without a default one."""

    @classmethod
    def create(cls, ranks=()):
        """The group of some ranks of MPI's world, or of all."""
        whole = MpiGroup.join(-1, -1, 1800.0)
        return whole.part(0, list(ranks), "", 1800.0) if ranks else whole


def native(dtype):
    """MPI's type of a dtype, or None where it has none that reduces."""
    from mpi4py import MPI

    names = {
        torch.uint8: "UINT8_T", torch.int8: "INT8_T", torch.int16: "INT16_T", torch.int32: "INT32_T",
        torch.int64: "INT64_T", torch.float32: "FLOAT", torch.float64: "DOUBLE", torch.uint16: "UINT16_T",
        torch.uint32: "UINT32_T", torch.uint64: "UINT64_T", torch.complex64: "C_FLOAT_COMPLEX",
        torch.complex128: "C_DOUBLE_COMPLEX",
    }  # fmt: skip
    return getattr(MPI, names[dtype]) if dtype in names else None


_made: dict = {}


def reduction(op, dtype):
    """(MPI type, MPI operation) for a reduction: MPI's own, or ours over its bytes for bool, float16 and bfloat16."""
    from mpi4py import MPI

    own = {"SUM": MPI.SUM, "AVG": MPI.SUM, "PREMUL_SUM": MPI.SUM, "PRODUCT": MPI.PROD, "BAND": MPI.BAND,
           "BOR": MPI.BOR, "BXOR": MPI.BXOR}  # fmt: skip
    # MPI's minimum of a NaN and a number is either; ours is NaN, as in one process.
    if native(dtype) is not None and (op.name in own or not dtype.is_floating_point):
        return native(dtype), own.get(op.name) or {"MIN": MPI.MIN, "MAX": MPI.MAX}[op.name]
    key = (op.name, dtype)
    if key not in _made:
        size = torch.empty(0, dtype=dtype).element_size()

        def combine(one, other, kind):
            a, b = (torch.frombuffer(buffer, dtype=torch.uint8).view(dtype) for buffer in (one, other))
            memory.COMBINE[op.name](a, b, out=b)

        element = MPI.BYTE.Create_contiguous(size).Commit()
        _made[key] = (element, MPI.Op.Create(combine, commute=True))
    return _made[key]
