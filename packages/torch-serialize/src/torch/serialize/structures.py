"""Pickles of structures: plain data, and objects of a few classes of the reader's own.

An index beside the files of a checkpoint is such a pickle. As in `load` nothing is imported, called or changed but what
is allowed: an object of an allowed class is made without arguments, and takes its state through a function that may
look at it first.

>>> import pickle, types
>>> from torch.serialize.structures import read
>>> def take(point, state):
...     point.x = int(state["x"])
>>> data = pickle.dumps([types.SimpleNamespace(x=3)])
>>> read(data, {"types.SimpleNamespace": (types.SimpleNamespace, take)}, "an example")
[namespace(x=3)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._arrays.backends import arrays
from ._errors import CorruptPickleError, UnsafeGlobalError
from ._pickles.budget import Budget, Copies
from ._pickles.globals import LAYOUTS, TorchNames, known
from ._pickles.unpickler import DataUnpickler
from ._pickles.words import KINDS, Word

__all__ = ["read"]


def read(
    data: bytes,
    classes: Mapping[str, tuple[type, Callable[[Any, Any], None]]],
    what: str,
    calls: Mapping[str, tuple[str, Callable[..., Any]]] = {},
) -> Any:
    """The object of the pickle `data`.

    Args:
        data: the whole pickle
        classes: by ``module.name`` as it stands in the file, a class and ``take(object, state)``, which sets the state
            of an empty object, or raises ValueError
        what: the pickle's name in messages
        calls: by ``module.name``, the kinds of arguments (as in the table of `_pickles.words`) and what makes something
            of them

    Raises:
        pickle.UnpicklingError: for a pickle that is broken or names anything else
    """
    names = TorchNames(arrays(None), Budget(len(data), what))
    words = {name: Word(name, "", _maker(kind), KINDS, kind) for name, (kind, _) in classes.items()}
    words |= {name: Word(name, takes, make, KINDS) for name, (takes, make) in calls.items()}
    takers = dict(classes.values())

    def find(module, name):
        full = f"{module}.{name}"
        if full in LAYOUTS:  # which `pickle` names, and `save` calls a function for
            return names.layout(full)
        if (found := words.get(full)) is None and (found := known(names, module, name)) is None:
            raise UnsafeGlobalError(f"{what} has no business with {full}", full)
        return found

    def build(target, state):
        if (take := takers.get(type(target))) is None:
            return False
        take(target, state)
        return True

    def no_storage(key):
        raise CorruptPickleError(f"{what}: a storage in a pickle that has none")

    return DataUnpickler(data, find, no_storage, build=build, where=what, copies=Copies(len(data))).load()


def _maker(kind: type) -> Callable[[], Any]:
    return lambda: kind.__new__(kind)
