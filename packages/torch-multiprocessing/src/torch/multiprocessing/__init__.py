"""The standard library's `multiprocessing`, with tensors that travel as handles of shared memory.

Everything of `multiprocessing` is here under its own name. What is put into a queue, sent through a pipe or given to a
process arrives over the same memory: both sides see writes. Gradients do not cross processes.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

from . import reductions
from ._context import Process, get_context  # noqa: F401  (a name of multiprocessing.__all__)
from ._segments import (
    SharedMemoryError,
    get_all_sharing_strategies,
    get_sharing_strategy,
    set_sharing_strategy,
)
from ._share import share_storage_ as _share_storage  # noqa: F401  (torch-core calls these two)
from ._share import share_tensor_ as _share_tensor  # noqa: F401
from ._thread import _get_thread_name, _set_thread_name  # noqa: F401
from .reductions import init_reductions  # noqa: F401
from .spawn import (  # noqa: F401
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    _prctl_pr_set_pdeathsig,
    spawn,
    start_processes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def Queue(maxsize: int = 0) -> Any:
    """A queue of any objects, with room for `maxsize` of them (0: no limit); tensors travel by handle.

    >>> queue = torch.multiprocessing.Queue()
    >>> queue.put(torch.ones(2))
    >>> queue.get()
    tensor([1., 1.])
    """
    return get_context().Queue(maxsize)


def JoinableQueue(maxsize: int = 0) -> Any:
    """A queue that also counts the tasks done.

    >>> queue = torch.multiprocessing.JoinableQueue()
    >>> queue.put(torch.ones(2))
    >>> queue.get()
    tensor([1., 1.])
    >>> queue.task_done()
    """
    return get_context().JoinableQueue(maxsize)


def Pool(processes: Any = None, initializer: Any = None, initargs: Any = (), maxtasksperchild: Any = None) -> Any:
    """A pool of worker processes.

    >>> with torch.multiprocessing.Pool(1) as pool:
    ...     print(pool.map(torch.sum, [torch.ones(2), torch.ones(3)]))
    [tensor(2.), tensor(3.)]
    """
    return get_context().Pool(processes, initializer, initargs, maxtasksperchild)


__all__ = [
    *_multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SharedMemoryError",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
