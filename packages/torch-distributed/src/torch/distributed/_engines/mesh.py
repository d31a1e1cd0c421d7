"""The sockets between all ranks of a job and the work in progress on them.

An operation is a generator (see ``collectives.py``) that posts sends and receives and yields those it must wait for.
It goes forward whenever some thread turns the mesh: the one that waits for it, or, for work that nobody waits for, a
thread in the background.  One mutex guards everything; the thread that turns lets go of it while it sleeps in epoll.

The first rank that finds something wrong - a peer gone, a deadline passed, a message that does not fit - tells all
others why, and every operation on every rank ends with that reason.
"""

import contextlib
import itertools
import os
import select
import socket
import threading
import time
import weakref
from collections import defaultdict, deque

from .._errors import DistBackendError
from . import collectives
from .frames import ABORT, BYE, DATA, HEADER, NOTICE, POINT_TO_POINT, Header, Request

STAGE = 1 << 14  # bytes read at once where no long message is under way
HELD = 1 << 26  # bytes of a peer's messages that nobody has asked for yet, beyond which it has to wait
FAREWELL = 1.0  # seconds to hand over what is still to be sent, when a mesh ends
REMEMBERED = 256  # collectives of a group that late messages are compared with
_meshes: "weakref.WeakSet[Mesh]" = weakref.WeakSet()


class Transfer:
    """One message to be sent or received."""

    __slots__ = ("data", "done", "key", "nbytes", "peer", "request", "sending", "started", "task", "view")

    def __init__(self, sending, peer, key, view, request):
        self.sending, self.peer, self.key, self.view, self.request = sending, peer, key, view, request
        self.nbytes = None if view is None else view.nbytes
        self.task = self.data = None
        self.done = self.started = False


class Task:
    """An operation in progress; ``steps`` is its generator."""

    def __init__(self, steps, group, number, request, patience, text):
        self.steps, self.group, self.number, self.request, self.text = steps, group, number, request, text
        self.patience = patience
        self.deadline = None  # from its start on
        self.pending: list = []
        self.left = 0
        self.done = False
        self.error = None
        self.attended = False
        self.late = None  # says why, when the deadline passes
        self.callbacks: list = []

    @property
    def collective(self):
        return self.request.operation != POINT_TO_POINT


class Peer:
    """The connection to one rank."""

    def __init__(self, rank, connected):
        self.rank, self.socket = rank, connected
        connected.setblocking(False)
        self.outgoing: deque = deque()  # [memoryview, Transfer or None]
        self.events = select.EPOLLIN  # what epoll looks for
        self.held = 0  # bytes of unexpected messages
        self.stage = bytearray(STAGE)
        self.staged = (0, 0)
        self.posted: dict = defaultdict(deque)
        self.unexpected: dict = defaultdict(deque)
        self.current = None  # [header, memoryview, filled, Transfer or Arrival]
        self.gone = None  # why, once the connection has ended


class Arrival:
    """A message that came before its receive was posted."""

    __slots__ = ("data", "header", "taker", "whole")

    def __init__(self, header):
        self.header, self.data, self.whole, self.taker = header, bytearray(header.nbytes), False, None


class Group:
    """What the mesh knows of a process group: the order of its collectives, and their requests."""

    def __init__(self, number, ranks, name):
        self.number, self.ranks, self.name = number, ranks, name
        self.place = {rank: place for place, rank in enumerate(ranks)}
        self.counter = 0
        self.queue: deque = deque()
        self.requests: dict = {}
        self.notices: dict = {}  # what others said of collectives that we have not called yet


class Mesh:
    def __init__(self, rank, sockets):
        self.rank, self.size = rank, len(sockets)
        self.pid = os.getpid()
        self.peers = [None if s is None else Peer(r, s) for r, s in enumerate(sockets)]
        self.by_fd = {peer.socket.fileno(): peer for peer in self.peers if peer}
        self.epoll = select.epoll()
        for fd in self.by_fd:
            self.epoll.register(fd, select.EPOLLIN)
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if hasattr(os, "eventfd") else None
        self.bell_pipe = None if self.bell is not None else _pipe()
        self.epoll.register(self._bell_reader(), select.EPOLLIN)
        self.mutex = threading.Lock()
        self.changed = threading.Condition(self.mutex)  # somebody's work is done, or the place of the turner is free
        self.unattended = threading.Condition(self.mutex)
        self.turning = False
        self.sleeping = False
        self.background = None
        self.groups: dict = {}
        self.tasks: set = set()
        self.ready: deque = deque()
        self.finished: list = []  # callbacks to run without the mutex
        self.failure = None
        self.closed = False
        _meshes.add(self)

    # ---- what groups ask for

    def group(self, number, ranks, name):
        with self.mutex:
            group = self.groups[number] = Group(number, ranks, name)
        return group

    def submit(self, group, request: Request, steps, patience: float, text: str, attended: bool, late=None) -> Task:
        """Start an operation, or put it behind the group's earlier collectives.

        ``steps(exchange)`` makes the generator; ``text`` says in an error what was asked for.
        """
        self.check_process()
        with self.mutex:
            if self.failure is not None:
                raise DistBackendError(f"{text}: {self.failure}")
            if self.closed:
                raise DistBackendError(f"{text}: the process group has been destroyed")
            number = 0
            if request.operation != POINT_TO_POINT:
                number = group.counter
                group.counter += 1
            task = Task(None, group, number, request, patience, text)
            task.steps = steps(Exchange(self, group, task))
            task.attended, task.late = attended, late
            if task.collective:
                group.requests[number] = request
                for other, theirs in group.notices.pop(number, ()):
                    self._hear(other, group, number, theirs)
                if self.failure is not None:
                    raise DistBackendError(f"{text}: {self.failure}")
                group.requests.pop(number - REMEMBERED, None)
                self.tasks.add(task)
                group.queue.append(task)
                if group.queue[0] is task:
                    self._start(task)
            else:
                self.tasks.add(task)
                self._start(task)
            self._run_ready()
            if not attended and not task.done:
                self._attend_in_background()
            elif self.sleeping and not task.done:
                self._ring()  # a sooner deadline, or another task to wake for
        self._call_back()
        return task

    def wait(self, task: Task, seconds=None) -> None:
        """Return when the task is done, turning the mesh if nobody else does; raise what went wrong."""
        if not task.done:
            self.check_process()
            with self.mutex:
                task.attended = True
                if seconds is not None:
                    sooner = time.monotonic() + seconds
                    task.deadline = sooner if task.deadline is None else min(task.deadline, sooner)
                    task.patience = min(seconds, task.patience)
                while not task.done:
                    if self.turning:
                        if self.sleeping and seconds is not None:
                            self._ring()
                        self.changed.wait(self._patience())
                    else:
                        self._turn()
                    if self.finished:
                        self.mutex.release()
                        try:
                            self._call_back()
                        finally:
                            self.mutex.acquire()
                if any(not one.attended for one in self.tasks):
                    self._attend_in_background()
                self.changed.notify_all()
        self._call_back()
        if task.error is not None:
            raise DistBackendError(task.error)

    def then(self, task, callback):
        """Call ``callback(task)`` when it is done, whoever notices."""
        with self.mutex:
            if not task.done:
                task.callbacks.append(callback)
                if not task.attended:
                    self._attend_in_background()
                return
        callback(task)

    def check_process(self):
        if self.pid != os.getpid():
            raise RuntimeError(
                f"torch.distributed: the process group belongs to process {self.pid}; this is process {os.getpid()}, "
                "forked from it. Initialise a group of its own in the child, or start it with spawn"
            )

    # ---- progress; all below hold the mutex

    def _turn(self):
        """Wait for something to happen, and deal with it."""
        self.turning = True
        try:
            patience = self._patience()
            if not self.ready:
                self.sleeping = True
                self.mutex.release()
                try:
                    events = self.epoll.poll(patience)
                finally:
                    self.mutex.acquire()
                    self.sleeping = False
                for fd, what in events:
                    peer = self.by_fd.get(fd)
                    if peer is None:
                        self._hush()
                        continue
                    if what & select.EPOLLOUT:
                        self._write(peer)
                    if what & ~select.EPOLLOUT and peer.gone is None:
                        self._read(peer)
                        self._watch(peer)
            self._run_ready()
            self._look_at_the_clock()
        except BaseException as error:
            # Half done, the state is of no use to anyone: say so rather than go on.
            self._fail(f"rank {self.rank} was interrupted by {type(error).__name__}: {error}".rstrip(": "))
            raise
        finally:
            self.turning = False

    def _patience(self):
        deadlines = [task.deadline for task in self.tasks if task.deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _attend_in_background(self):
        if self.background is None:
            self.background = threading.Thread(
                target=self._run_in_background, name="torch.distributed progress", daemon=True
            )
            self.background.start()
        self.unattended.notify()

    def _run_in_background(self):
        while True:
            with self.mutex:
                while self.turning or not any(not task.attended for task in self.tasks):
                    if self.closed:
                        return
                    if self.turning and any(not task.attended for task in self.tasks):
                        self.changed.wait(1)
                    else:
                        self.unattended.wait()
                self._turn()
                self.changed.notify_all()
            self._call_back()

    def _ring(self):
        if self.bell is not None:
            os.eventfd_write(self.bell, 1)
        else:
            os.write(self.bell_pipe[1], b"x")

    def _bell_reader(self):
        return self.bell if self.bell is not None else self.bell_pipe[0]

    def _hush(self):
        with contextlib.suppress(BlockingIOError):
            if self.bell is not None:
                os.eventfd_read(self.bell)
            else:
                os.read(self.bell_pipe[0], 4096)

    def _call_back(self):
        while self.finished:
            try:
                task = self.finished.pop()
            except IndexError:
                return
            for callback in task.callbacks:
                callback(task)

    def _start(self, task):
        if task.deadline is None:
            task.deadline = time.monotonic() + task.patience
        if task.collective:
            for rank in task.group.ranks:
                peer = self.peers[rank]
                if peer is not None and peer.unexpected:
                    for arrivals in list(peer.unexpected.values()):
                        for arrival in arrivals:
                            self._compare(peer, arrival.header)
        self._advance(task)

    def _advance(self, task):
        if task.done:
            return
        try:
            while True:
                pending = [one for one in task.steps.send(None) if not one.done]
                if self.failure is not None:
                    return
                if pending:
                    task.pending, task.left = pending, len(pending)
                    for one in pending:
                        one.task = task
                    return
        except StopIteration:
            self._finish(task)
        except Refused as error:
            self._fail(str(error))
        except Exception as error:
            self._fail(f"rank {self.rank}: {task.text}: {type(error).__name__}: {error}")

    def _finish(self, task, error=None):
        if task.done:
            return
        task.done, task.error, task.pending = True, error, []
        with contextlib.suppress(ValueError):  # it may be the one that is just going forward
            task.steps.close()
        self.tasks.discard(task)
        if task.callbacks:
            self.finished.append(task)
        queue = task.group.queue
        if queue and queue[0] is task:
            queue.popleft()
            if queue and self.failure is None:
                self._start(queue[0])
        self.changed.notify_all()

    def _run_ready(self):
        while self.ready:
            self._advance(self.ready.popleft())

    def _complete(self, transfer):
        transfer.done = True
        transfer.view = None
        task = transfer.task
        if task is not None:
            task.left -= 1
            if task.left == 0:
                self.ready.append(task)

    def _look_at_the_clock(self):
        now = time.monotonic()
        for task in [t for t in self.tasks if t.deadline is not None and t.deadline <= now]:
            if task.done:
                continue
            waits = sorted({one.peer for one in task.pending if not one.done and one.peer is not None})
            whom = f"rank {', '.join(map(str, waits))}" if waits else "any rank"
            reason = f"{task.text}: timed out after {task.patience:g} s: rank {self.rank} still waits for {whom}"
            if task.late is not None:
                reason = f"{task.text}: {task.late()}"
            if task.collective or any(one.started for one in task.pending):
                return self._fail(reason)
            for one in task.pending:  # nothing has been sent or received: no other work is harmed
                self._withdraw(one)
            self._finish(task, reason)
        return None

    def _withdraw(self, transfer):
        for peer in self.peers if transfer.peer is None else [self.peers[transfer.peer]]:
            if peer is not None:
                with contextlib.suppress(ValueError):
                    peer.posted[transfer.key].remove(transfer)
                peer.outgoing = deque(one for one in peer.outgoing if one[1] is not transfer)

    # ---- messages

    def post_send(self, rank, header: Header, view):
        peer = self.peers[rank]
        transfer = Transfer(True, rank, header.key, view, header.request)
        if peer.gone is not None:
            raise Refused(peer.gone)
        pieces = [memoryview(header.pack())]
        if header.nbytes:
            pieces.append(view)
        if not peer.outgoing:
            try:
                sent = peer.socket.sendmsg(pieces)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self._break(peer, error)
                raise Refused(self.failure or peer.gone) from None
            while pieces and sent >= pieces[0].nbytes:
                sent -= pieces.pop(0).nbytes
            if not pieces:
                transfer.done = True
                return transfer
            if sent:
                transfer.started = True
                pieces[0] = pieces[0][sent:]
        for piece in pieces:
            peer.outgoing.append([piece, None])
        peer.outgoing[-1][1] = transfer
        self._watch(peer)
        return transfer

    def post_receive(self, rank, key, view, request):
        """A transfer that ends with ``view`` filled; with ``view`` None, with bytes of any length in ``data``."""
        transfer = Transfer(False, rank, key, view, request)
        peers = [self.peers[rank]] if rank is not None else [p for p in self.peers if p is not None]
        for peer in peers:
            arrivals = peer.unexpected.get(key)
            if not arrivals:
                continue
            arrival = next((a for a in arrivals if a.taker is None), None)
            if arrival is None:
                continue
            self._fit(peer, arrival.header, transfer)
            transfer.peer = peer.rank
            if arrival.whole:
                self._take_out(peer, arrival)
                self._hand_over(arrival, transfer)
            else:
                arrival.taker = transfer
            return transfer
        if all(peer.gone is not None for peer in peers):
            raise Refused("; ".join(peer.gone for peer in peers))
        for peer in peers:
            if peer.gone is None:
                peer.posted[key].append(transfer)
                if not peer.events & select.EPOLLIN:
                    self._watch(peer)
        return transfer

    def _hand_over(self, arrival, transfer):
        if transfer.view is None:
            transfer.data = bytes(arrival.data)
        elif arrival.header.nbytes:
            transfer.view[:] = arrival.data
        self._complete(transfer)

    def _watch(self, peer):
        """Look for what a peer sends, unless too much of it waits already and none of it is waited for; and for room."""
        wanted = select.EPOLLOUT if peer.outgoing else 0
        if peer.held <= HELD or peer.posted:
            wanted |= select.EPOLLIN
        if wanted != peer.events and peer.gone is None:
            peer.events = wanted
            self.epoll.modify(peer.socket.fileno(), wanted)

    def _expect(self, peer, arrival):
        """Keep a message that is about to come until somebody asks for it."""
        peer.unexpected[arrival.header.key].append(arrival)
        peer.held += arrival.header.nbytes

    def _take_out(self, peer, arrival):
        arrivals = peer.unexpected.get(arrival.header.key, ())
        if arrival in arrivals:
            arrivals.remove(arrival)
            peer.held -= arrival.header.nbytes
            if not arrivals:
                del peer.unexpected[arrival.header.key]
            self._watch(peer)

    def _write(self, peer):
        try:
            while peer.outgoing:
                batch = [piece for piece, _ in itertools.islice(peer.outgoing, 8)]
                sent = peer.socket.sendmsg(batch)
                while peer.outgoing and sent >= peer.outgoing[0][0].nbytes:
                    piece, transfer = peer.outgoing.popleft()
                    sent -= piece.nbytes
                    if transfer is not None:
                        self._complete(transfer)
                if sent:
                    piece, transfer = peer.outgoing[0]
                    peer.outgoing[0][0] = piece[sent:]
                    if transfer is not None:
                        transfer.started = True
        except BlockingIOError:
            pass
        except OSError as error:
            return self._break(peer, error)
        return self._watch(peer)

    def _read(self, peer):
        """Take in what has come from a peer, but let the others have their turn after a while."""
        try:
            for _ in range(16):
                wanted, got = self._take(peer)
                if got == 0:
                    self._lose(peer, None)
                if got < wanted or self.failure is not None or peer.gone is not None:
                    break
        except BlockingIOError:
            pass
        except OSError as error:
            self._lose(peer, error)
        except ValueError as error:
            self._fail(f"rank {self.rank} does not understand rank {peer.rank}: {error}")

    def _take(self, peer):
        """Read once, into the message under way or into the stage: how much there was room for, how much came."""
        if peer.current is not None:
            header, view, filled, _ = peer.current
            got = peer.socket.recv_into(view[filled:] if filled else view)
            peer.current[2] = filled + got
            if got and filled + got == header.nbytes:
                self._message(peer)
            return header.nbytes - filled, got
        start, end = peer.staged
        if start:
            peer.stage[: end - start] = peer.stage[start:end]
            start, end = 0, end - start
        got = peer.socket.recv_into(memoryview(peer.stage)[end:])
        peer.staged = (start, end + got)
        if got:
            self._parse(peer)
        return (0 if peer.current is not None else STAGE - end), got

    def _parse(self, peer):
        """Deal with the messages in the stage; a long one is then read to where it belongs."""
        start, end = peer.staged
        while end - start >= HEADER.size and self.failure is None:
            header = Header.unpack(memoryview(peer.stage)[start : start + HEADER.size])
            start += HEADER.size
            self._begin(peer, header)
            _, view, _, _ = peer.current
            here = min(header.nbytes, end - start)
            if here:
                view[:here] = memoryview(peer.stage)[start : start + here]
                start += here
            peer.current[2] = here
            if here == header.nbytes:
                self._message(peer)
        peer.staged = (start, end) if start < end else (0, 0)

    def _begin(self, peer, header):
        if header.kind != DATA:
            arrival = Arrival(header)
            peer.current = [header, memoryview(arrival.data), 0, arrival]
            return
        posted = peer.posted.get(header.key)
        if posted:
            transfer = posted.popleft()
            if not posted:
                del peer.posted[header.key]
            if transfer.peer is None:  # from any rank: this one it is
                transfer.peer = peer.rank
                for other in self.peers:
                    if other is not None and transfer in other.posted.get(header.key, ()):
                        other.posted[header.key].remove(transfer)
            try:
                self._fit(peer, header, transfer)
            except Refused as error:
                self._fail(str(error))
                transfer.view = None
            transfer.started = True
            if transfer.view is not None:
                peer.current = [header, transfer.view, 0, transfer]
                return
            arrival = Arrival(header)
            arrival.taker = transfer
        else:
            try:
                self._compare(peer, header)
            except Refused as error:
                self._fail(str(error))
            arrival = Arrival(header)
            self._expect(peer, arrival)
        peer.current = [header, memoryview(arrival.data), 0, arrival]

    def _message(self, peer):
        header, _, _, taker = peer.current
        peer.current = None
        if header.kind == ABORT:
            return self._fail(taker.data.decode(errors="replace"), told=True)
        if header.kind == BYE:
            return self._lose(peer, None, taker.data.decode(errors="replace"))
        if header.kind == NOTICE:
            return self._hear(peer.rank, self.groups.get(header.group), header.number, header.request)
        if isinstance(taker, Transfer):
            return self._complete(taker)
        taker.whole = True
        if taker.taker is not None:
            self._take_out(peer, taker)
            self._hand_over(taker, taker.taker)
        return None

    def _compare(self, peer, header):
        """Refuse a message of a collective that this rank has called with another request."""
        group = self.groups.get(header.group)
        if group is None or header.request.operation == POINT_TO_POINT or header.step == LOOSE:
            return
        mine = group.requests.get(header.number)
        if mine is not None and mine != header.request:
            raise Refused(self._disagreement(group, header.number, mine, peer.rank, header.request))

    def _hear(self, rank, group, number, request):
        """Another rank says what it calls."""
        if group is None:
            return
        mine = group.requests.get(number)
        if mine is None and number >= group.counter:
            group.notices.setdefault(number, []).append((rank, request))
        elif mine is not None and mine != request:
            self._fail(self._disagreement(group, number, mine, rank, request))

    def _fit(self, peer, header, transfer):
        """Refuse a message that is not what this rank waits for."""
        group = self.groups[header.group]
        if header.step != LOOSE and header.request != transfer.request:
            if header.request.operation == POINT_TO_POINT:
                raise Refused(
                    f"recv: rank {peer.rank} sent {str(header.request)[5:-1]} to rank {self.rank}, which receives "
                    f"{str(transfer.request)[5:-1]}"
                )
            raise Refused(self._disagreement(group, header.number, transfer.request, peer.rank, header.request))
        if transfer.nbytes is not None and header.nbytes != transfer.nbytes:
            raise Refused(
                f"{header.request} of group {group.name}: rank {peer.rank} sends {header.nbytes} bytes to rank {self.rank}, "
                f"which has room for {transfer.nbytes}"
            )

    def _disagreement(self, group, number, mine, other, theirs):
        (a, x), (b, y) = sorted([(self.rank, mine), (other, theirs)], key=lambda one: one[0])
        return (
            f"collective {number} of group {group.name}: rank {a} calls {x}, rank {b} calls {y}; all ranks must call the "
            "same in the same order (TORCH_DISTRIBUTED_DEBUG=DETAIL names the lines)"
        )

    # ---- ends

    def _break(self, peer, error):
        """A peer takes nothing any more; it may have said why before."""
        while peer.gone is None and self.failure is None:
            before = peer.current, peer.staged
            self._read(peer)
            if (peer.current, peer.staged) == before:
                break
        if self.failure is None:
            self._lose(peer, error)

    def _lose(self, peer, error, farewell=None):
        """A connection has ended; work that needs it cannot be done."""
        if peer.gone is not None:
            return
        if farewell is not None:
            peer.gone = f"rank {peer.rank} has left the process group ({farewell})"
        else:
            peer.gone = f"rank {peer.rank} died, or its connection broke" + (f" ({error})" if error else "")
        if peer.current is not None and isinstance(peer.current[3], Arrival):
            self._take_out(peer, peer.current[3])  # the rest of it will not come
        with contextlib.suppress(OSError, ValueError):
            self.epoll.unregister(peer.socket.fileno())
        del self.by_fd[peer.socket.fileno()]
        peer.socket.close()
        peer.outgoing.clear()
        for task in list(self.tasks):
            needs = [one for one in task.pending if not one.done]
            if any(one.peer == peer.rank or (one.peer is None and self._alone(task)) for one in needs):
                self._fail(f"{task.text}: {peer.gone}")
                break

    def _alone(self, task):
        return all(self.peers[r] is None or self.peers[r].gone is not None for r in task.group.ranks)

    def _fail(self, reason, told=False):
        """End all work with a reason, and let the other ranks know it."""
        if self.failure is not None:
            return
        self.failure = reason
        for task in list(self.tasks):
            self._finish(task, reason if reason.startswith(task.text) else f"{task.text}: {reason}")
        if not told:
            message = reason.encode()
            self._farewell(Header(ABORT, Request(0), 0, 0, 0, len(message)).pack() + message)
        self.changed.notify_all()

    def _farewell(self, message):
        """Send a last message to everyone, after what is under way to them, as far as they take it in time."""
        for peer in self.peers:
            if peer is not None and peer.gone is None:
                peer.outgoing.append([memoryview(message), None])
        deadline = time.monotonic() + FAREWELL
        while time.monotonic() < deadline:
            poll = select.poll()
            for peer in self.peers:
                if peer is not None and peer.gone is None and peer.outgoing:
                    try:
                        while peer.outgoing:
                            piece, _ = peer.outgoing[0]
                            sent = peer.socket.send(piece)
                            if sent < piece.nbytes:
                                peer.outgoing[0][0] = piece[sent:]
                            else:
                                peer.outgoing.popleft()
                    except BlockingIOError:
                        # A peer that sends to us while we send to it takes nothing before we take something.
                        with contextlib.suppress(OSError):
                            peer.socket.recv(1 << 20)
                        poll.register(peer.socket.fileno(), select.POLLOUT | select.POLLIN)
                    except OSError:
                        peer.outgoing.clear()
            if not any(peer.outgoing for peer in self.peers if peer is not None and peer.gone is None):
                return
            poll.poll(50)
        for peer in self.peers:
            if peer is not None and peer.gone is None and peer.outgoing:  # it takes nothing: no use in trying again
                peer.gone = f"rank {peer.rank} takes no messages"
                peer.outgoing.clear()
                del self.by_fd[peer.socket.fileno()]
                peer.socket.close()

    def close(self, farewell: str) -> None:
        """Say goodbye to every peer and close the connections."""
        if self.pid != os.getpid() or self.closed:
            return
        with self.mutex:
            if self.closed:
                return
            for task in list(self.tasks):
                self._finish(task, f"{task.text}: the process group was destroyed before this was done")
            self.closed = True
            # One that leaves because of a failure says so: its peers may hear of it from nobody else in time.
            kind, message = (BYE, farewell.encode()) if self.failure is None else (ABORT, self.failure.encode())
            self._farewell(Header(kind, Request(0), 0, 0, 0, len(message)).pack() + message)
            self._let_arrive()
            for peer in self.peers:
                if peer is not None and peer.gone is None:
                    peer.gone = "the process group has been destroyed"
                    peer.socket.close()
            self.by_fd.clear()
            if self.sleeping:
                self._ring()
            self.unattended.notify_all()
            self.changed.notify_all()

    def _let_arrive(self):
        """A connection that is closed with unread data in it drops what it has not sent: wait for that."""
        import fcntl
        import termios

        deadline = time.monotonic() + FAREWELL
        for peer in self.peers:
            if peer is None or peer.gone is not None or peer.socket.family == socket.AF_UNIX:
                continue
            with contextlib.suppress(OSError):
                peer.socket.shutdown(socket.SHUT_WR)
                while time.monotonic() < deadline:
                    queued = fcntl.ioctl(peer.socket.fileno(), termios.TIOCOUTQ, b"\0" * 4)  # not yet acknowledged
                    if int.from_bytes(queued, "little") <= 1:  # the end of the stream counts for one
                        break
                    time.sleep(0.001)

    def __del__(self):
        with contextlib.suppress(Exception):
            if self.pid == os.getpid():
                for fd in [self.bell] if self.bell is not None else self.bell_pipe:
                    os.close(fd)

    def forget(self):
        """In a forked child: let go of the connections, which the parent goes on using."""
        self.mutex = threading.Lock()
        self.tasks.clear()
        for peer in self.peers:
            if peer is not None:
                peer.socket.close()
        self.epoll.close()
        for fd in [self.bell] if self.bell is not None else self.bell_pipe:
            os.close(fd)


LOOSE = 0xFFFFFFFF
"""The step of messages that are compared by their content, not by their header."""


class Refused(Exception):
    """The operation cannot be done, for a reason that all ranks should know."""


class Exchange:
    """An operation's view of the mesh: its group's ranks by their place in it, and messages of its own."""

    def __init__(self, mesh, group, task):
        self.mesh, self.group, self.task = mesh, group, task
        self.rank, self.size = group.place[mesh.rank], len(group.ranks)
        self.collectives = collectives

    def send(self, place, view, step=0, tag=None):
        number = self.task.number if tag is None else tag
        header = Header(DATA, self.task.request, self.group.number, number, step, view.nbytes)
        return self.mesh.post_send(self.group.ranks[place], header, view)

    def receive(self, place, view, step=0, tag=None):
        number = self.task.number if tag is None else tag
        key = (self.group.number, tag is not None, number, step)
        rank = None if place is None else self.group.ranks[place]
        return self.mesh.post_receive(rank, key, view, self.task.request)

    def notify(self, place):
        """Tell a rank what we call, where no message of ours would: two that wait for each other then know it."""
        header = Header(NOTICE, self.task.request, self.group.number, self.task.number, 0, 0)
        with contextlib.suppress(Refused):  # one that has left has sent what we wait for, or we will hear of it
            self.mesh.post_send(self.group.ranks[place], header, None)

    def others(self):
        """All other places, beginning behind our own, so that not all ranks turn to one at once."""
        return [(self.rank + i) % self.size for i in range(1, self.size)]


def _pipe():
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    return reader, writer


def _forget_in_child():
    for mesh in list(_meshes):
        mesh.forget()


os.register_at_fork(after_in_child=_forget_in_child)
