"""Functions of 2017 that have no name today."""

import sys


def extend_scope(module) -> None:
    """Put the public names of a module into ``torch.distributed``.

    >>> import types
    >>> torch.distributed.extend_scope(types.SimpleNamespace(hallo=1))
    >>> torch.distributed.hallo
    1
    >>> del torch.distributed.hallo
    """
    names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    vars(sys.modules["torch.distributed"]).update(names)


def init_master_worker(backend, init_method="env://", **kwargs) -> None:
    """Raises NotImplementedError: no rank commands the others.

    >>> torch.distributed.init_master_worker("gloo")
    Traceback (most recent call last):
        ...
    NotImplementedError: init_master_worker: no rank commands the others; init_process_group makes equal ones
    """
    raise NotImplementedError("init_master_worker: no rank commands the others; init_process_group makes equal ones")
