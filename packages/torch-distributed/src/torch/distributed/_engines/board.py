"""Memory between the ranks of one machine: each writes to a file of its own without a name, all others read it.

A group's collectives go in rounds, counted alike on all ranks.  In a round a rank writes what the others shall read,
publishes by raising its count, and waits for the counts of those whose words it wants.  There are two halves that take
turns: a half is written again when all have published the round after it, and thus have read it.

Who waits says so beside its count, and whoever publishes what it waits for rings its bell, a descriptor that wakes it
where it also hears of messages and of peers that die.
"""

import mmap
import os
import platform
import threading
from struct import Struct

import torch

from .frames import Request

GROUPS = 128  # groups of a job that have a place; those made later send messages
CONTROL = 4096  # bytes of a group's place for counts
HALF = 1 << 22  # bytes of each half
HEAD = Struct("<QQBBBBHxx")  # what a rank calls in a round: its number and its request
HEADER = 64  # bytes before the data of a half
PLACE = CONTROL + 2 * HALF
PLACE_FOR_RANKS = 64  # ranks of a group with shared memory; in larger ones a share would be too short
KEPT = 512  # views of memory to keep, as making them costs more than a short collective
COUNT, SINCE, WHOM = range(3)  # words of a place


class Memory:
    """What this rank writes, and what it sees of others, by their rank."""

    def __init__(self):
        self.fd = os.memfd_create("torch.distributed", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.fd, GROUPS * PLACE)  # takes no memory before it is written
            self.mine = mmap.mmap(self.fd, GROUPS * PLACE)
        except BaseException:
            os.close(self.fd)
            raise
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.seen: dict = {}
        self.bells: dict = {}
        self.sees: dict = {}  # by rank, the set of ranks whose memory it sees, as bits

    def board(self, number, ranks, rank):
        """The board of a group; None where one of its ranks does not see the memory of all others."""
        if len(ranks) < 2 or number >= GROUPS or len(ranks) > PLACE_FOR_RANKS:
            return None
        for one in ranks:
            others = sum(1 << r for r in ranks if r != one)
            seen = sum(1 << r for r in self.seen) if one == rank else self.sees.get(one, 0)
            if seen & others != others:
                return None
        return Board(self, number, ranks, rank)

    def look_at(self, rank, fd, bell):
        """Another rank's memory, and how to wake it; the descriptors are taken."""
        try:
            self.seen[rank] = mmap.mmap(fd, GROUPS * PLACE)
        except OSError:
            os.close(bell)
        else:
            self.bells[rank] = bell
        finally:
            os.close(fd)

    def close(self):
        """Let go of the descriptors; memory goes with the last who sees it."""
        for fd in [*self.bells.values(), *([] if self.fd is None else [self.fd])]:
            os.close(fd)
        self.bells, self.fd = {}, None


def offer():
    """This rank's memory, or None where the system does not give it, or where stores may pass each other.

    Counts are read without locks: an x86-64 processor shows stores to others in the order in which they were made.
    """
    if (
        os.environ.get("TORCH_DISTRIBUTED_SHARED_MEMORY") == "0"
        or platform.machine() != "x86_64"
        or not hasattr(os, "eventfd")
        or not hasattr(os, "memfd_create")
    ):
        return None
    try:
        return Memory()
    except (OSError, ValueError):  # no room, or fewer addresses than that (ulimit -v)
        return None


class Gathering:
    """Waits until ranks have published a round; among pending transfers it stands for all of them."""

    __slots__ = ("board", "done", "request", "round", "started", "task", "view", "whom")

    def __init__(self, board, round, whom, request):
        self.board, self.round, self.whom, self.request = board, round, whom, request
        self.task = self.view = None
        self.done = self.started = False

    def ranks(self):
        """The ranks that it still waits for."""
        board = self.board
        return [board.ranks[p] for p in board.missing(self.round, self.whom)]


class Board:
    """A group's place in the memories of its ranks."""

    def __init__(self, memory, number, ranks, rank):
        self.ranks, self.size, self.place = ranks, len(ranks), ranks.index(rank)
        start = number * PLACE
        maps = [memory.mine if r == rank else memory.seen[r] for r in ranks]
        self.words = [memoryview(one)[start : start + 24].cast("Q") for one in maps]
        self.heads = [
            [memoryview(one)[at : at + HEADER] for at in (start + CONTROL, start + CONTROL + HALF)] for one in maps
        ]
        data = HALF - HEADER
        self.halves = [
            [
                torch.frombuffer(one, dtype=torch.uint8, count=data, offset=start + CONTROL + half * HALF + HEADER)
                for half in range(2)
            ]
            for one in maps
        ]
        self.bells = [None if r == rank else memory.bells[r] for r in ranks]
        self.others = [p for p in range(self.size) if p != self.place]
        self.room = data // self.size // 64 * 64  # bytes for each rank in a half
        self.fence = threading.Lock()
        self.count = 0  # rounds that we have published
        self.unread = False  # the heads of the last of them have not been compared
        self.views: dict = {}

    def line(self, place, slot, numel, dtype, round=None):
        """The elements that a rank has written for a slot in a round: this one unless given."""
        key = (place, slot, numel, dtype, (self.count if round is None else round) & 1)
        view = self.views.get(key)
        if view is None:
            if len(self.views) >= KEPT:
                self.views.clear()
            start = slot * self.room
            view = self.halves[place][key[4]][start : start + numel * dtype.itemsize].view(dtype)
            self.views[key] = view
        return view

    def missing(self, round, whom):
        """Those of ``whom`` (a place, or None for all others) who have not published a round."""
        places = self.others if whom is None else (whom,)
        return [p for p in places if self.words[p][COUNT] <= round]

    def head(self, number, request):
        """Write what we call, for the others to compare."""
        operation, dtype, reduce, root, numel = request
        HEAD.pack_into(self.heads[self.place][self.count & 1], 0, number, numel, operation, dtype, reduce, 0, root)
        self.unread = True

    def compare(self, round, whom):
        """Look at the heads of ``whom`` in a round; the place of the first that is not as ours, or None."""
        half = round & 1
        mine = self.heads[self.place][half][: HEAD.size]
        if whom is None:
            self.unread = False
        for p in self.others if whom is None else (whom,):
            if self.heads[p][half][: HEAD.size] != mine:
                return p
        return None

    def called(self, place, round):
        """Number and request of what a rank calls in a round."""
        number, numel, operation, dtype, reduce, _, root = HEAD.unpack_from(self.heads[place][round & 1])
        return number, Request(operation, dtype, reduce, root, numel)

    def withdraw(self):
        """Work has failed here: whoever comes later shall wait until it hears why."""
        self.words[self.place][COUNT] = 0

    def _in_order(self):
        """What was written before is seen by all before what is read after: a locked instruction of the processor."""
        self.fence.acquire()
        self.fence.release()

    def publish(self):
        """Our part of the round is written: wake those who have waited for it."""
        words, place = self.words, self.place
        self.count += 1
        words[place][COUNT] = self.count
        self._in_order()
        least = None
        for p in self.others:
            if words[p][SINCE] != self.count:  # it waits for nothing, for another, or has been rung and not yet woken
                continue
            whom = words[p][WHOM]
            if whom == self.size:
                if least is None:
                    least = min(one[COUNT] for one in words)
                if least < self.count:  # the last to come rings
                    continue
            elif whom != place:
                continue
            self._ring(p)

    def _ring(self, place):
        try:
            os.eventfd_write(self.bells[place], 1)
        except OSError:
            pass  # it has been rung as often as it can be

    def wants(self, gathering):
        """Say what we wait for; whether it has come meanwhile."""
        words = self.words[self.place]
        words[WHOM] = self.size if gathering.whom is None else gathering.whom
        words[SINCE] = gathering.round + 1
        self._in_order()
        if self.missing(gathering.round, gathering.whom):
            return False
        words[SINCE] = 0
        return True

    def has_come(self, gathering):
        """Whether what we said we wait for is there."""
        if self.missing(gathering.round, gathering.whom):
            return False
        self.words[self.place][SINCE] = 0
        return True
