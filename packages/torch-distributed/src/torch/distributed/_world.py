"""The process groups of this process: the default one of all ranks, and parts of it."""

import atexit
import os
import sys
import warnings
import zlib
from datetime import timedelta

from . import _cluster
from ._backends import Backend, create
from ._errors import MisfitError
from ._process_group import ProcessGroup
from ._stores import PrefixStore, Store
from ._stores.base import to_seconds
from .constants import default_pg_timeout

__all__ = [
    "GroupMember", "destroy_process_group", "get_backend", "get_backend_config", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_process_group", "is_initialized", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "shrink_group", "split_group",
]  # fmt: skip


class _Entry:
    """What is known of a group beside what it can do."""

    def __init__(self, name, ranks, backend, store, timeout):
        self.name, self.ranks, self.backend, self.store, self.timeout = name, tuple(ranks), backend, store, timeout


class _World:
    def __init__(self):
        self.clear()
        self.pid = 0  # of the process that made the default group
        self.leaves = 0  # the process that calls _leave when it ends
        self.starts = 0  # how often a default group was made; part of the keys in the store

    def clear(self):
        self.default = None
        self.groups: dict = {}
        self.made = 0
        self.by_ranks: dict = {}


_world = _World()


class _Members(type):
    @property
    def WORLD(cls):
        """The default group, or None before init_process_group."""
        return _world.default


class GroupMember(metaclass=_Members):
    """``NON_GROUP_MEMBER`` is what :func:`new_group` returns on a rank that is not in the group."""

    __module__ = "torch.distributed"
    NON_GROUP_MEMBER = -100


class group(metaclass=_Members):
    """``group.WORLD`` is the group of all ranks.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.group.WORLD.rank()
    0
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.distributed"


def is_initialized() -> bool:
    """Whether the default process group has been set up.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.is_initialized()
    True
    >>> dist.destroy_process_group()
    """
    return _world.default is not None


def default_group() -> ProcessGroup:
    if _world.default is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world.default


def is_member(group) -> bool:
    return group is None or group is not GroupMember.NON_GROUP_MEMBER


def knows(group) -> bool:
    """Whether a group is one of the running job."""
    return group is _world.default or group in _world.groups


def resolve(group) -> ProcessGroup:
    """The group itself, for None and for the group; an error for anything else."""
    if group is None or group is _world.default:
        return default_group()
    if group not in _world.groups:
        if isinstance(group, ProcessGroup):
            raise ValueError("The given group has been destroyed, or is not one that new_group made")
        raise TypeError(f"Invalid process group specified: {group!r}; None or group.WORLD is all ranks")
    return group


def warn_not_member(what: str) -> None:
    rank = get_rank() if is_initialized() else -1
    warnings.warn(
        f"Running {what} on global rank {rank} which does not belong to the given group.", UserWarning, stacklevel=3
    )


def init_process_group(
    backend=None,
    init_method=None,
    timeout=None,
    world_size: int = -1,
    rank: int = -1,
    store=None,
    group_name: str = "",
    pg_options=None,
    device_id=None,
    _ranks=None,
) -> None:
    """Meet the other processes of the job; afterwards the functions of this module reach all of them.

    Args:
        backend: ``"gloo"`` (the default), ``"mpi"``, or one registered with ``Backend.register_backend``
        init_method: where to meet: ``env://`` (the default; MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE),
            ``tcp://host:port`` of rank 0, or ``file:///path`` that all processes see
        timeout: of every operation, 30 minutes unless given
        world_size, rank: how many processes there are, and which this one is
        store: a store that all processes share, in place of ``init_method``

    Raises ValueError for arguments that do not fit, RuntimeError within ``timeout`` when a rank does not come, two
    processes have one rank, or not all have the same ``world_size``.

    >>> import torch, torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (0, 1, 'gloo')
    >>> dist.destroy_process_group()
    """
    if _world.default is not None and _world.pid != os.getpid():
        _world.clear()  # a forked child is not the rank that its parent is
    if _world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise ValueError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout!r}")
    seconds = to_seconds(default_pg_timeout if timeout is None else timeout)
    backend = Backend("gloo" if backend is None else backend)
    if store is not None:
        if not isinstance(store, Store):
            raise TypeError(f"init_process_group: store must be a Store, got {type(store).__name__}")
        if world_size <= 0:
            raise ValueError("world_size must be positive if using store")
        if rank < 0:
            raise ValueError("rank must be non-negative if using store")
    if world_size != -1 and world_size <= 0:
        raise ValueError(f"init_process_group: world_size must be positive, got {world_size}")
    if world_size > 0 and rank >= world_size:
        raise ValueError(f"init_process_group: rank must be from 0 to world_size - 1 = {world_size - 1}, got {rank}")
    if backend != "mpi":
        if store is None:
            from .rendezvous import rendezvous

            found = rendezvous(init_method or "env://", rank, world_size, timeout=timedelta(seconds=seconds))
            store, rank, world_size = next(found)
            store.set_timeout(timedelta(seconds=seconds))
        if world_size <= 0 or not 0 <= rank < world_size:
            raise ValueError(
                f"init_process_group: rank must be from 0 to world_size - 1 = {world_size - 1}, got {rank}"
            )
        store = PrefixStore(f"default_pg/{_world.starts}{'/' + group_name if group_name else ''}", store)
    made = create(backend, store, rank, world_size, seconds, pg_options)
    _world.starts += 1
    made._store, made._description = store, "default_pg"
    made._name = made._name or "default"
    _world.default, _world.pid = made, os.getpid()
    _world.groups[made] = _Entry("default", range(made.size()), str(backend), store, seconds)
    _leave_at_exit()


def destroy_process_group(group=None) -> None:
    """Leave a group, or with None all groups and the job; the connections close.

    Operations under way are given up.  A process that ends without it leaves too.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    found = resolve(group)
    if found is not _world.default:
        _world.groups.pop(found)
        found.shutdown()
        return
    parts = [one for one in _world.groups if one is not _world.default]
    _world.clear()
    for one in [*parts, found]:
        one.shutdown()


def _leave():
    """The others learn that this process has come to its end, and did not die."""
    default = _world.default
    if default is not None and _world.pid == os.getpid():
        groups = [one for one in _world.groups if one is not default]
        _world.clear()
        for one in [*groups, default]:
            one.leave("its program has ended")


def _leave_at_exit():
    """Children of multiprocessing end without atexit, but call their finalizers."""
    if _world.leaves == os.getpid():
        return
    _world.leaves = os.getpid()
    atexit.register(_leave)
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, _leave, exitpriority=10)


# ---- what is known of groups


def get_rank(group=None) -> int:
    """Our place in the group, or -1 if we are not in it.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    return resolve(group).rank() if is_member(group) else -1


def get_world_size(group=None) -> int:
    """How many ranks the group has, or -1 if we are not in it.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    return resolve(group).size() if is_member(group) else -1


def get_backend(group=None) -> str:
    """The name of the group's backend."""
    if not is_member(group):
        raise ValueError("Invalid process group specified: this rank is not in the group")
    return _world.groups[resolve(group)].backend


def get_backend_config(group=None) -> str:
    """The backend for each kind of device, as ``cpu:gloo``."""
    return f"cpu:{get_backend(group)}"


def get_default_backend_for_device(device) -> str:
    """The backend that serves tensors of a device."""
    import torch

    kind = torch.device(device).type
    if kind != "cpu":
        raise ValueError(f"Default backend not registered for device : {kind}")
    return "gloo"


def get_process_group_ranks(group) -> list:
    """The global ranks of a group, by their place in it."""
    return list(_world.groups[resolve(group)].ranks)


def of_ranks(ranks) -> ProcessGroup:
    """The group that has these global ranks; RuntimeError when there is none."""
    for group, entry in _world.groups.items():
        if entry.ranks == tuple(ranks):
            return group
    raise RuntimeError(f"no process group has the ranks {list(ranks)}: torch.distributed.new_group makes one")


def get_global_rank(group, group_rank: int) -> int:
    """The global rank at a place of a group; ValueError when the group has no such place."""
    ranks = _world.groups[resolve(group)].ranks
    if not 0 <= group_rank < len(ranks):
        raise MisfitError(
            f"Group rank {group_rank} is not part of group {resolve(group).group_name}, of {len(ranks)} ranks"
        )
    return ranks[group_rank]


def get_group_rank(group, global_rank: int) -> int:
    """The place of a global rank in a group; ValueError when it is not in it."""
    ranks = _world.groups[resolve(group)].ranks
    if global_rank not in ranks:
        raise MisfitError(
            f"Global rank {global_rank} is not part of group {resolve(group).group_name}, of the ranks {ranks}"
        )
    return ranks.index(global_rank)


def get_pg_count() -> int:
    """How many groups this process is in."""
    return len(_world.groups)


def get_node_local_rank(fallback_rank=None) -> int:
    """Our number among the processes of this machine: LOCAL_RANK, or ``fallback_rank`` where that is not set."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if "LOCAL_RANK" in (known := _cluster.place()):
        return int(known["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
            "assuming you are not running in a multi-device context and want the code to run locally instead."
        )
    return int(fallback_rank)


# ---- parts of the default group


def new_group(
    ranks=None,
    timeout=None,
    backend=None,
    pg_options=None,
    use_local_synchronization: bool = False,
    group_desc=None,
    device_id=None,
    sort_ranks: bool = True,
):
    """A group of some ranks; NON_GROUP_MEMBER on the others, all of which must make the call, in the same order.

    With ``use_local_synchronization`` only its members call.  Raises ValueError for ranks that do not exist or occur
    twice, RuntimeError when the ranks that call do not name the same members.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.new_group([0]).size()
    1
    >>> dist.destroy_process_group()
    """
    default = default_group()
    ours = _world.groups[default]
    ranks = list(range(default.size())) if ranks is None else list(ranks)
    if any(isinstance(r, bool) or not isinstance(r, int) or not 0 <= r < default.size() for r in ranks):
        raise ValueError(f"new_group: ranks must be from 0 to {default.size() - 1}, got {ranks}")
    if len(set(ranks)) != len(ranks) or not ranks:
        raise ValueError(f"new_group: ranks must be different from each other, and at least one; got {ranks}")
    ranks = sorted(ranks) if sort_ranks else ranks
    seconds = ours.timeout if timeout is None else to_seconds(timeout)
    backend = Backend(ours.backend if backend is None else backend)
    if use_local_synchronization:
        if default.rank() not in ranks:
            return GroupMember.NON_GROUP_MEMBER
        key = ",".join(map(str, ranks))
        count = _world.by_ranks[key] = _world.by_ranks.get(key, 0) + 1
        name = f"{key}/{count}"
        number = zlib.crc32(name.encode()) | 0x80000000
    else:
        _world.made += 1
        name, number = str(_world.made), _world.made
        _agree(ours.store, f"new_group/{name}", f"{backend} {','.join(map(str, ranks))}", default.rank())
    if default.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    store = None if ours.store is None else PrefixStore(f"group/{name}", ours.store)
    if str(backend) == ours.backend and hasattr(default, "part"):
        made = default.part(number, ranks, name, seconds)
    else:
        made = create(backend, store, ranks.index(default.rank()), len(ranks), seconds, pg_options)
        made._name = made._name or name
    made._store, made._description = store, group_desc or "undefined"
    _world.groups[made] = _Entry(name, ranks, str(backend), store, seconds)
    return made


def _agree(store, key, mine, rank):
    """All ranks must say the same under a key; the first to say something else names both."""
    if store is None:
        return
    said = f"{mine} (rank {rank})".encode()
    held = store.compare_set(key, "", said)
    if held.rpartition(b" (rank ")[0] != mine.encode():
        raise RuntimeError(
            f"new_group: rank {rank} asks for {mine!r}, another rank for {held.decode()!r}; all ranks must make the same "
            "calls in the same order"
        )


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """A group for each list of ranks: (the one that we are in or None, all of them)."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(seen)) != len(seen):
        raise ValueError(f"new_subgroups_by_enumeration: a rank occurs in more than one of {ranks_per_subgroup_list}")
    current, groups = None, []
    for ranks in ranks_per_subgroup_list:
        made = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        groups.append(made)
        if get_rank() in ranks:
            current = made
    return current, groups


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Groups of ``group_size`` consecutive ranks each: (the one that we are in, all of them)."""
    ranks = get_process_group_ranks(group)
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", 0))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by 'group_size={group_size}'")
    lists = [ranks[i : i + group_size] for i in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None):
    """The group that we are in after a group was split into lists of its places; None for a rank in none."""
    parent = get_process_group_ranks(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    mine = None
    for places in split_ranks:
        ranks = [parent[place] for place in places]
        if get_rank() in ranks:
            mine = new_group(ranks, timeout, backend, pg_options, use_local_synchronization=True, group_desc=group_desc)
    return mine


def shrink_group(ranks_to_exclude, group=None, shrink_flags: int = 0, pg_options=None):
    """The group without some of its places, which the others call together; also when those have died.

    The default group's place is taken: all groups end, and the ranks that are left are counted anew.  What has been
    sent and not received is lost.

    Raises ValueError for places that are not in the group or leave nobody, RuntimeError on a rank that is excluded,
    TypeError for a backend that needs all ranks.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 3:  # rank 3 has died
    ...     _ = dist.shrink_group([3])
    >>> dist.destroy_process_group()
    """
    old = resolve(group)
    entry = _world.groups[old]
    places = list(ranks_to_exclude)
    if not places or len(set(places)) != len(places) or not all(p in range(old.size()) for p in places):
        raise ValueError(
            f"shrink_group: ranks_to_exclude must be different places from 0 to {old.size() - 1}, got {places}"
        )
    left = [place for place in range(old.size()) if place not in places]
    if not left:
        raise ValueError("shrink_group: ranks_to_exclude are all ranks of the group")
    if old.rank() in places:
        raise RuntimeError(f"shrink_group: rank {old.rank()} is one of those to exclude, and only the others call it")
    if entry.store is None:
        raise TypeError(f"shrink_group: backend {entry.backend!r} needs all ranks until the job ends")
    timeout = timedelta(seconds=entry.timeout)
    store = PrefixStore("without/" + ",".join(map(str, places)), entry.store)
    if old is _world.default:
        destroy_process_group()
        init_process_group(
            entry.backend, store=store, rank=left.index(old.rank()), world_size=len(left), timeout=timeout,
            pg_options=pg_options,
        )  # fmt: skip
        return default_group()
    made = create(Backend(entry.backend), store, left.index(old.rank()), len(left), entry.timeout, pg_options)
    made._name, made._store, made._description = f"{entry.name} without {places}", store, "shrunk"
    _world.groups[made] = _Entry(made._name, [entry.ranks[p] for p in left], entry.backend, store, entry.timeout)
    return made
