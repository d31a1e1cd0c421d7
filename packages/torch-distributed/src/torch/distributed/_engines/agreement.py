"""Whether ranks ask for the same: messages of collectives carry what their sender called."""

from .frames import POINT_TO_POINT
from .transfers import Refused

LOOSE = 0xFFFFFFFF
"""The step of messages that are compared by their content, not by their header."""


class Agreement:
    """A part of :class:`Mesh`; its methods hold the mutex."""

    def _compare(self, peer, header):
        """Refuse a message of a collective that this rank has called with another request."""
        group = self.groups.get(header.group)
        if group is None or header.request.operation == POINT_TO_POINT or header.step == LOOSE:
            return
        mine = group.requests.get(header.number)
        if mine is not None and mine != header.request:
            raise Refused(self.disagreement(group, header.number, mine, peer.rank, header.request))

    def _hear(self, rank, group, number, request):
        """Another rank says what it calls."""
        if group is None:
            return
        mine = group.requests.get(number)
        if mine is None and number >= group.counter:
            group.notices.setdefault(number, []).append((rank, request))
        elif mine is not None and mine != request:
            self._fail(self.disagreement(group, number, mine, rank, request))

    def _fit(self, peer, header, transfer):
        """Refuse a message that is not what this rank waits for."""
        group = self.groups[header.group]
        if header.step != LOOSE and header.request != transfer.request:
            if header.request.operation == POINT_TO_POINT:
                raise Refused(
                    f"recv: rank {peer.rank} sent {str(header.request)[5:-1]} to rank {self.rank}, which receives "
                    f"{str(transfer.request)[5:-1]}"
                )
            raise Refused(self.disagreement(group, header.number, transfer.request, peer.rank, header.request))
        if transfer.nbytes is not None and header.nbytes != transfer.nbytes:
            raise Refused(
                f"{header.request} of group {group.name}: rank {peer.rank} sends {header.nbytes} bytes to rank {self.rank}, "
                f"which has room for {transfer.nbytes}"
            )

    def disagreement(self, group, number, mine, other, theirs, other_number=None):
        """What to say of two ranks that call different things, or the same at different turns."""
        turn = "" if other_number in (None, number) else f" as its collective {other_number}"
        (a, x), (b, y) = sorted([(self.rank, str(mine)), (other, f"{theirs}{turn}")], key=lambda one: one[0])
        return (
            f"collective {number} of group {group.name}: rank {a} calls {x}, rank {b} calls {y}; all ranks must call the "
            "same in the same order (TORCH_DISTRIBUTED_DEBUG=DETAIL names the lines)"
        )
