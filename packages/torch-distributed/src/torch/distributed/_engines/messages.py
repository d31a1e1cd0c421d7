"""What travels between two ranks: posting, writing, reading, and what is done with a message that has come."""

import itertools
import select

from .frames import ABORT, BYE, DATA, HEADER, NOTICE, Header
from .transfers import STAGE, Arrival, Refused, Transfer

HELD = 1 << 26  # bytes of a peer's messages that were not asked for yet, beyond which it has to wait


class Messages:
    """A part of :class:`Mesh`; its methods hold the mutex."""

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
        """Keep a message that is about to come until it is asked for."""
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
