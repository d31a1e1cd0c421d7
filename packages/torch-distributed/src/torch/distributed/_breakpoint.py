"""A stop in the debugger on one rank of a job."""

import os
import pdb
import sys
from datetime import timedelta

from . import _collectives as collectives
from . import _world as world

__all__ = ["breakpoint"]

_passed = 0  # calls of breakpoint() that were skipped


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float = 3600) -> None:
    """Stop in the debugger on one rank, which reads from the terminal; the others wait until it goes on.

    Args:
        rank: where to stop
        skip: calls that go on at once
        timeout_s: how long the others wait, in seconds
    """
    global _passed
    if skip > _passed:
        _passed += 1
        return
    group = world.default_group()
    if not 0 <= rank < group.size():
        raise ValueError(f"breakpoint: rank {rank} is none of the {group.size()} ranks")
    if group.rank() == rank:
        print(f"rank {rank}, process {os.getpid()}, stops; `c` lets all ranks go on", flush=True)
        terminal = _Terminal()
        terminal.reset()
        terminal.interaction(sys._getframe(1), None)
    collectives.monitored_barrier(timeout=timedelta(seconds=timeout_s))


class _Terminal(pdb.Pdb):
    """A debugger in a process whose standard input its parent may have closed."""

    def interaction(self, *args, **kwargs):
        before = sys.stdin
        try:
            with open("/dev/stdin") as sys.stdin:
                super().interaction(*args, **kwargs)
        finally:
            sys.stdin = before
