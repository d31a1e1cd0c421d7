"""What the mesh keeps track of: operations, their messages, the peers, and the groups with the order of their calls."""

import select
from collections import defaultdict, deque

from .frames import POINT_TO_POINT

STAGE = 1 << 14  # bytes read at once where no long message is under way


class Refused(Exception):
    """The operation cannot be done, for a reason that all ranks should know."""


class Transfer:
    """One message to be sent or received."""

    __slots__ = ("data", "done", "key", "nbytes", "peer", "request", "sending", "started", "task", "view")

    def __init__(self, sending, peer, key, view, request):
        self.sending, self.peer, self.key, self.view, self.request = sending, peer, key, view, request
        self.nbytes = None if view is None else view.nbytes
        self.task = self.data = None
        self.done = self.started = False

    def ranks(self):
        """The ranks that it waits for, as far as that is known."""
        return [] if self.peer is None else [self.peer]


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

    def __init__(self, number, ranks, name, board=None):
        self.number, self.ranks, self.name = number, ranks, name
        self.board = board  # memory that all its ranks see, or None
        self.place = {rank: place for place, rank in enumerate(ranks)}
        self.counter = 0
        self.queue: deque = deque()
        self.requests: dict = {}
        self.notices: dict = {}  # what others said of collectives that we have not called yet
