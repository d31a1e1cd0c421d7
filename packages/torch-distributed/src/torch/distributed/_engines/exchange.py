"""What the generator of an operation sees of the mesh."""

import contextlib

from . import collectives, near
from .frames import DATA, NOTICE, Header
from .transfers import Refused


class Exchange:
    """An operation's view of the mesh: its group's ranks by their place in it, and messages of its own."""

    def __init__(self, mesh, group, task):
        self.mesh, self.group, self.task = mesh, group, task
        self.rank, self.size = group.place[mesh.rank], len(group.ranks)
        self.board = group.board
        self.collectives = collectives if group.board is None else near

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

    def gathering(self, gathering):
        """Wait for ranks at the group's board."""
        return self.mesh.post_gathering(gathering)

    def compare(self, round, whom):
        """Refuse what another rank has called at the board in a round, if it is not what we have."""
        place = self.board.compare(round, whom)
        if place is not None:
            number, mine = self.board.called(self.rank, round)
            other, theirs = self.board.called(place, round)
            raise Refused(self.mesh.disagreement(self.group, number, mine, self.group.ranks[place], theirs, other))

    def others(self):
        """All other places, beginning behind our own, so that not all ranks turn to one at once."""
        return [(self.rank + i) % self.size for i in range(1, self.size)]
