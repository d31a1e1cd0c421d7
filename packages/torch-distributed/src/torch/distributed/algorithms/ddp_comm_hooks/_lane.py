"""Work of several collectives beside backward: a thread that does one after another, over a group of its own.

All ranks hand over the same work in the same order.  What they exchange in it meets in that group only, so that it does
not matter what else goes on between them meanwhile.
"""

import os
import weakref
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.futures import Future

from ... import _world as world

__all__ = ["Lane", "lane_of"]

_lanes: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()  # by the group whose ranks they join


class Lane:
    """A group with the ranks of another, and the thread whose collectives go over it."""

    def __init__(self, group):
        options = {"backend": world.get_backend(group), "use_local_synchronization": True, "sort_ranks": False}
        self.group = world.new_group(world.get_process_group_ranks(group), **options)
        self._pid, self._thread = os.getpid(), ThreadPoolExecutor(1, "torch.distributed hook")
        weakref.finalize(self, self._thread.shutdown, wait=False)

    def put(self, function, *args) -> Future:
        """A future of ``function(group, *args)``, which runs without recording gradients when all before it have run."""
        future, threads = Future(), torch.get_num_threads()

        def run():
            torch.set_num_threads(threads)
            try:
                with torch.no_grad():
                    result = function(self.group, *args)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._thread.submit(run)
        return future


def lane_of(process_group) -> Lane:
    """The lane of a group's ranks (None: of all), made when it is first asked for, which all of them do together."""
    group = world.resolve(process_group)
    lane = _lanes.get(group)
    if lane is None or lane._pid != os.getpid():
        lane = _lanes[group] = Lane(group)
    return lane
