"""A process group over the sockets between its ranks."""

import os
import sys

from .. import _debug, _options
from .._stores.base import to_seconds
from .._work import MeshWork
from . import collectives, frames
from .agreement import LOOSE
from .frames import Request
from .group import FlatGroup
from .meeting import meet
from .mesh import Mesh
from .transfers import Refused

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class SocketGroup(FlatGroup):
    """Ranks ``ranks`` of a mesh; ``number`` is the same for the group on every rank."""

    def __init__(self, mesh: Mesh, number: int, ranks, name: str, backend: str, timeout: float, owns_mesh: bool):
        super().__init__(list(ranks).index(mesh.rank), ranks, name, backend, timeout)
        self._mesh, self._owns_mesh = mesh, owns_mesh
        self._group = mesh.group(number, list(ranks), name)

    @classmethod
    def join(cls, store, rank, size, timeout, backend, name="default"):
        """The group of all ranks that meet at a store."""
        mesh = Mesh(rank, *meet(store, rank, size, timeout))
        return cls(mesh, 0, range(size), name, backend, timeout, True)

    def part(self, number, ranks, name, timeout):
        """A group of some of our ranks, over the same connections."""
        return SocketGroup(self._mesh, number, ranks, name, self._backend, timeout, False)

    def engine(self):
        how = "sockets between the ranks" if self._group.board is None else "memory that the ranks share, and sockets"
        return f"{how}, of torch-distributed itself"

    def shutdown(self, farewell="destroy_process_group"):
        if self._owns_mesh:
            self._mesh.close(farewell)

    def leave(self, reason):
        self.shutdown(reason)

    def abort(self):
        if self._owns_mesh:
            self._mesh.close("abort")

    # ---- starting operations

    def _submit(self, name, request, steps, opts, tensors, details=""):
        number = self._group.counter
        text = f"{name} (collective {number} of group {self._name})"
        if _debug.level >= _debug.DETAIL:
            steps = self._agreed(f"{name}({details or request})", _call_site(), steps)
        task = self._mesh.submit(self._group, request, steps, self._seconds(opts), text, not opts.asyncOp)
        return MeshWork(self._mesh, task, tensors)

    def _agreed(self, call, where, steps):
        """Before the operation itself, hear from all ranks what they call, and where."""

        def compared(x):
            mine = f"{call}\n{where}".encode()
            receives = {r: x.receive(r, None, LOOSE) for r in x.others()}
            yield [*receives.values(), *(x.send(r, memoryview(mine), LOOSE) for r in x.others())]
            for r, transfer in sorted(receives.items()):
                other, _, line = transfer.data.decode(errors="replace").partition("\n")
                if other != call:
                    raise Refused(
                        f"collective {x.task.number} of group {self._name}: rank {x.group.ranks[x.rank]} calls {call} at "
                        f"{where}, rank {x.group.ranks[r]} calls {other} at {line}"
                    )
            yield from steps(x)

        return compared

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        patience = self._seconds(_options.BarrierOptions(timeout=timeout))
        request = Request(frames.CODES["monitored_barrier"])
        empty = collectives.EMPTY
        came: list = []

        def steps(x):
            if x.rank:
                yield [x.send(0, empty), x.receive(0, empty, 1)]
                return
            came.extend(x.receive(r, empty) for r in x.others())
            yield came
            yield [x.send(r, empty, 1) for r in x.others()]

        def late():
            missing = ", ".join(
                str(self._ranks[r]) for r in sorted(self._group.place[t.peer] for t in came if not t.done)
            )
            return f"rank {missing} failed to pass monitored_barrier within {patience:g} s"

        text = f"monitored_barrier (collective {self._group.counter} of group {self._name})"
        # Rank 0 names those who are missing; the others give it the time to say so.
        allowed = patience if self._rank == 0 else patience + 5
        late = late if self._rank == 0 else None
        self._mesh.wait(self._mesh.submit(self._group, request, steps, allowed, text, True, late))

    def _point_to_point(self, name, tensor, code, line, place, steps, found, tag, attended):
        text = self._check_tag(name, place, tag)
        request = Request(frames.POINT_TO_POINT, code, numel=line.numel())
        task = self._mesh.submit(self._group, request, steps, self._timeout, text, attended)
        return MeshWork(self._mesh, task, [tensor], found)


def _call_site() -> str:
    """The line outside torch.distributed that called."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return "(unknown)" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class ProcessGroupGloo(SocketGroup):
    """A group without the default one: ``ProcessGroupGloo(store, rank, size, timeout)`` on each rank."""

    def __init__(self, store, rank, size, timeout=1800.0):
        seconds = to_seconds(timeout)
        super().__init__(Mesh(rank, *meet(store, rank, size, seconds)), 0, range(size), "", "gloo", seconds, True)
        self._store = store
