"""The shared segments of this process: the one it allocates in, and those of others that it uses.

A segment is a file without a name (a memfd), so there is nothing to clean up: when the last process that maps it has
ended, however it ended, its memory is gone. Another process opens it as ``/proc/<pid>/fd/<n>``. The process that starts
a child makes the child's segment and keeps it open, so that what a child has sent can still be received when it has ended.

With the strategy "file_system" a segment is a file in /dev/shm instead, which processes can open that cannot look into
each other's /proc; who started its process removes it, or Python's resource tracker when they have all gone.

`memory` allocates, sends and receives; `children` and `fork` pass segments to new processes; `reclaim` takes back what
ended ones had.
"""

from .children import adopt, provide, started, starting
from .fork import is_forking
from .memory import allocate, arena_of, handle, own_arena, receive, send
from .reclaim import forget, living_queues, postpone, prune, sweep
from .state import Handle, SharedMemoryError
from .strategy import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy

__all__ = [
    "Handle",
    "SharedMemoryError",
    "adopt",
    "allocate",
    "arena_of",
    "forget",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "handle",
    "is_forking",
    "living_queues",
    "own_arena",
    "postpone",
    "provide",
    "prune",
    "receive",
    "send",
    "set_sharing_strategy",
    "started",
    "starting",
    "sweep",
]
