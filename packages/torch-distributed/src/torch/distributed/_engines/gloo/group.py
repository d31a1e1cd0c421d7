"""A process group over the Gloo library."""

import ctypes
import queue
import threading
import weakref

import torch
from torch.futures import Future

from ... import _options
from ..._errors import DistBackendError
from ..._stores.base import to_seconds
from ..._work import Work
from .. import collectives, memory, monitored
from ..group import FlatGroup
from ..meeting import addresses
from . import library

_C = ctypes


class GlooGroup(FlatGroup):
    """The ranks of a Gloo context; collectives run one after another in a thread of the group."""

    def __init__(self, store, rank, size, timeout, name="libgloo"):
        super().__init__(rank, range(size), name, "libgloo", timeout)
        self._store, self._count, self._barriers = store, 0, 0
        self._library = library.load()
        self._connection = None
        self._failed = None
        if size > 1:
            self._connection = self._open(store, rank, size, timeout)
        self._tasks: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=_run, args=(self._tasks,), daemon=True, name="torch.distributed Gloo").start()
        self._end = weakref.finalize(self, self._tasks.put, None)

    def _open(self, store, rank, size, timeout):
        def put(key, data, length):
            try:
                store.set(f"gloo/{key.decode()}", _C.string_at(data, length))
                return 0
            except Exception:
                return 1

        def get(key, data, room):
            try:
                value = store.get(f"gloo/{key.decode()}")
            except Exception:
                return -1
            if len(value) > room:
                return -1
            _C.memmove(data, value, len(value))
            return len(value)

        made = _C.c_void_p()
        callbacks = library.SET(put), library.GET(get)
        milliseconds = _C.c_long(int(timeout * 1000))
        host = addresses(store)[0].encode()
        try:
            library.call(self._library.torch_gloo_open, rank, size, host, *callbacks, milliseconds, _C.byref(made))
        except library.Failed as error:
            raise DistBackendError(f"init_process_group: libgloo: {error}") from None
        return made

    def engine(self):
        return "the Gloo library"

    def shutdown(self):
        self._tasks.put(None)
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._library.torch_gloo_close(connection)

    # ---- operations

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        patience = self._seconds(_options.BarrierOptions(timeout=timeout))
        number, self._barriers = self._barriers, self._barriers + 1
        if self._size > 1:
            monitored.monitored_barrier(
                self._store, self._rank, self._ranks, number, patience, wait_all_ranks, self._name
            )

    def _submit(self, name, request, steps, opts, tensors, details=""):
        text = f"{name} (collective {self._count} of group {self._name})"
        exchange = Exchange(self, self._count, self._seconds(opts))
        self._count += 1
        work = GlooWork(self, text, tensors)
        self._tasks.put(lambda: work.run(exchange, steps))
        if not opts.asyncOp:
            work.wait()
        return work

    def _point_to_point(self, name, tensor, code, line, place, steps, found, tag, attended):
        text = self._check_tag(name, place, tag)
        exchange = Exchange(self, None, self._timeout)
        work = GlooWork(self, text, [tensor], found)
        generator = steps(exchange)
        try:
            pending = list(next(generator))  # posted here, in the order of the calls
        except library.Failed as error:  # the connection is gone already
            self._failed = f"{text}: {error}"
            raise DistBackendError(self._failed) from None
        finish = lambda: work.finish(exchange, generator, pending)
        if attended:
            finish()
        else:
            threading.Thread(target=finish, daemon=True, name="torch.distributed Gloo").start()
        return work


def _run(tasks):
    while (task := tasks.get()) is not None:
        task()


class GlooWork(Work):
    """An operation that another thread runs."""

    def __init__(self, group, text, tensors, found=None):
        super().__init__()
        self._group, self._text, self._tensors, self._found = group, text, tensors, found
        self._future, self._over = Future(), threading.Event()
        self._error = None

    def run(self, exchange, steps):
        generator = steps(exchange)
        self.finish(exchange, generator, [])

    def finish(self, exchange, generator, pending):
        try:
            if self._group._failed is not None:
                raise library.Failed(self._group._failed)
            while True:
                for transfer in pending:
                    exchange.wait(transfer)
                pending = list(next(generator))
        except StopIteration:
            pass
        except library.Failed as error:
            self._error = self._group._failed = f"{self._text}: {error}"
        except Exception as error:
            self._error = f"{self._text}: {type(error).__name__}: {error}"
        self._over.set()
        if self._error is None:
            self._future.set_result(self._tensors)
        else:
            self._future.set_exception(DistBackendError(self._error))

    def is_completed(self):
        return self._over.is_set()

    isCompleted = is_completed

    def exception(self):
        return None if self._error is None else DistBackendError(self._error)

    def wait(self, timeout=None):
        if not self._over.wait(None if timeout is None else to_seconds(timeout)):
            raise DistBackendError(f"{self._text}: not done after {to_seconds(timeout):g} s")
        if self._error is not None:
            raise DistBackendError(self._error)
        return True

    def source_rank(self):
        return self._found[0] if self._found else -1

    def result(self):
        return self._tensors

    def get_future(self):
        return self._future


class Transfer:
    """A send or receive that has been posted."""

    __slots__ = ("done", "handle", "peer", "view")

    def __init__(self, handle, view, peer):
        self.handle, self.view, self.peer, self.done = handle, view, peer, False


class Exchange:
    """What the collectives see of the group; those that Gloo has algorithms for are Gloo's."""

    def __init__(self, group, number, patience):
        self._group, self.number = group, number
        self.rank, self.size = group._rank, group._size
        self.milliseconds = _C.c_long(max(1, int(patience * 1000)))
        self.group, self.place = self, range(self.size)
        self.collectives = _Collectives(self)

    def others(self):
        return [(self.rank + i) % self.size for i in range(1, self.size)]

    def notify(self, place):
        """Gloo compares nothing."""

    def _call(self, name, *arguments):
        function = getattr(self._group._library, f"torch_gloo_{name}")
        if self._group._connection is None:
            raise library.Failed("the process group has been destroyed")
        library.call(function, self._group._connection, *arguments)

    def _post(self, sends, place, view, step, tag):
        slot = (self.number << 8 | step) & 0xFFFFFFFF if tag is None else 1 << 40 | (tag & 0xFFFFFFFF)
        size = view.nbytes
        line = torch.frombuffer(view, dtype=torch.uint8) if size else torch.empty(1, dtype=torch.uint8)
        handle = _C.c_void_p()
        peer = -1 if place is None else place
        self._call(
            "post", sends, _C.c_void_p(line.data_ptr()), _C.c_size_t(size), peer, _C.c_uint64(slot), _C.byref(handle)
        )
        return Transfer(handle, line, place)

    def send(self, place, view=None, step=0, tag=None):
        return self._post(1, place, view, step, tag)

    def receive(self, place, view=None, step=0, tag=None):
        return self._post(0, place, view, step, tag)

    def wait(self, transfer):
        if transfer.done:
            return
        transfer.done = True
        peer = _C.c_int(-1)
        library.call(self._group._library.torch_gloo_wait, transfer.handle, self.milliseconds, _C.byref(peer))
        if transfer.peer is None:
            transfer.peer = peer.value


class _Collectives:
    """Those that Gloo has algorithms for are Gloo's; the others are exchanges of messages."""

    def __init__(self, exchange):
        self.exchange = exchange

    def __getattr__(self, name):
        return getattr(collectives, name)

    def all_reduce(self, x, line, op):
        collectives.scaled(line, op)
        if x.size > 1 and line.numel():
            combine = _combine(op, line.dtype)
            data, count, size = (
                _C.c_void_p(line.data_ptr()),
                _C.c_size_t(line.numel()),
                _C.c_size_t(line.element_size()),
            )
            x._call("all_reduce", data, count, size, combine, _C.c_uint32(x.number), x.milliseconds)
        if op.name == "AVG":
            line.div_(x.size)
        yield from ()

    def broadcast(self, x, line, root):
        if x.size > 1 and line.numel():
            data, size = _C.c_void_p(line.data_ptr()), _C.c_size_t(line.numel() * line.element_size())
            x._call("broadcast", data, size, root, _C.c_uint32(x.number), x.milliseconds)
        yield from ()

    def barrier(self, x):
        if x.size > 1:
            x._call("barrier", _C.c_uint32(x.number), x.milliseconds)
        yield from ()


_combines: dict = {}


def _combine(op, dtype):
    key = (op.name, dtype)
    if key not in _combines:
        size = torch.empty(0, dtype=dtype).element_size()

        def combine(out, a, b, count):
            lines = [torch.frombuffer((_C.c_char * (count * size)).from_address(p), dtype=dtype) for p in (a, b, out)]
            memory.COMBINE[op.name](lines[0], lines[1], out=lines[2])

        _combines[key] = library.COMBINE(combine)
    return _combines[key]
