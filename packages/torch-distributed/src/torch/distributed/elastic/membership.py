"""Machines that come and go: agents agree, round by round, on who takes part.

All of it is keys of one store.  In a round, agents count themselves in until it is closed: when there are as many as may
be, or as many as must be and none has come for a while.  While its ranks run, an agent shows that it lives; who sees
a failure, a machine that has fallen silent, or a newcomer for whom there is room, ends the round, and all meet in the next.
"""

import socket
import time
from dataclasses import dataclass

from .rendezvous import RendezvousTimeoutError

LOOK_EVERY = 0.1
BEAT_EVERY = 1.0


@dataclass
class Round:
    """A round that has been closed: its number, our place in it, and how many machines take part."""

    number: int
    place: int
    count: int


class Membership:
    """An agent's view of the store; ``least`` machines must take part, ``most`` may.

    Args:
        join_timeout: seconds for ``least`` machines to come
        last_call: seconds for more of them to come, once there are ``least``
        silence: seconds after which a machine that shows no life is taken to have gone
    """

    def __init__(self, store, least, most, join_timeout=600.0, last_call=30.0, silence=15.0):
        self.store, self.least, self.most = store, least, most
        self.join_timeout, self.last_call, self.silence = join_timeout, last_call, silence
        self.round = None
        self.beats, self.heard = 0, {}
        self.next_beat = 0.0

    def join(self) -> Round:
        """Take part in the next round that has room for us; RendezvousTimeoutError when too few machines come in time."""
        deadline = time.monotonic() + self.join_timeout
        waits_for = None  # the round that has begun without us
        while True:
            number = self.store.add("round", 0)
            if number != waits_for and not self.store.check([f"{number}/final"]):
                found = self._enter(number, deadline)
                if found is not None:
                    self.round, self.heard = found, {}
                    return found
            if number != waits_for:
                waits_for = number
                self.store.add(f"{number}/waiting", 1)  # the others make room for us
            if time.monotonic() > deadline:
                raise RendezvousTimeoutError(
                    f"torchrun: no round began within {self.join_timeout:g} s that has room for this machine"
                )
            time.sleep(LOOK_EVERY)

    def _enter(self, number, deadline):
        place = self.store.add(f"{number}/came", 1) - 1
        since, seen = time.monotonic(), 0
        while not self.store.check([f"{number}/final"]):
            came = self.store.add(f"{number}/came", 0)
            now = time.monotonic()
            if came != seen:
                seen, since = came, now
            if place == 0 and (came >= self.most or (came >= self.least and now - since >= self.last_call)):
                self.store.set(f"{number}/final", str(min(came, self.most)))
            elif now > deadline:
                raise RendezvousTimeoutError(
                    f"torchrun: of {self.least} to {self.most} machines, {came} came within {self.join_timeout:g} s"
                )
            else:
                time.sleep(LOOK_EVERY)
        count = int(self.store.get(f"{number}/final"))
        return Round(number, place, count) if place < count else None

    # ---- while the ranks run

    def look(self):
        """Show that we live; why the round has to end, or None."""
        number = self.round.number
        if self.store.check([f"{number}/over"]):
            return self.store.get(f"{number}/over").decode()
        if time.monotonic() >= self.next_beat:
            self.next_beat = time.monotonic() + BEAT_EVERY
            self.beats += 1
            self.store.set(f"{number}/alive/{self.round.place}", str(self.beats))
            silent = self._silent()
            if silent:
                return self.end(f"machine {silent[0]} has shown no life for {self.silence:g} s")
            if self.round.count < self.most and self.store.add(f"{number}/waiting", 0) > 0:
                return self.end("a machine has come", failure=False)
        return None

    def _silent(self) -> list:
        now, silent = time.monotonic(), []
        for place in range(self.round.count):
            key = f"{self.round.number}/alive/{place}"
            said = self.store.get(key) if self.store.check([key]) else b""
            if self.heard.get(place, (None, 0))[0] != said:
                self.heard[place] = said, now
            elif now - self.heard[place][1] > self.silence and place != self.round.place:
                silent.append(place)
        return silent

    def end(self, reason: str, failure: bool = True) -> str:
        """End the round for all; the reason that was given first, which begins with ``failure`` or ``change``."""
        number = self.round.number
        said = f"{'failure' if failure else 'change'}: {reason} ({socket.gethostname()})"
        held = self.store.compare_set(f"{number}/over", "", said).decode()
        if held == said and self.store.add(f"{number}/ended", 1) == 1:
            self.store.add("round", 1)
        return held

    def failures(self) -> int:
        """How often the job has failed, on whatever machine; newcomers are not failures."""
        rounds = (f"{number}/over" for number in range(self.round.number + 1))
        return sum(self.store.get(key).startswith(b"failure") for key in rounds if self.store.check([key]))

    def finished(self) -> bool:
        """Whether the ranks of all machines of the round have ended well; called once ours have."""
        number = self.round.number
        if not self.store.check([f"{number}/done/{self.round.place}"]):
            self.store.set(f"{number}/done/{self.round.place}", "1")
        return self.store.check([f"{number}/done/{place}" for place in range(self.round.count)])
