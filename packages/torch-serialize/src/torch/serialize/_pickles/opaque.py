"""Reads objects whose classes are not looked up: what the file puts into them is kept, and nothing of theirs is run."""

from __future__ import annotations

from .._errors import UnsafeGlobalError
from .._session import Session
from .globals import known

_LAYERS = ("_parameters", "_buffers", "_modules")  # where a module keeps what its state_dict names without them


class Opaque(dict):
    """Stands for an object whose class was not looked up, and keeps what the file puts into it."""

    def __new__(cls, *args, **kwargs):  # all that a file calls for some objects
        self = super().__new__(cls)
        self.items_of_list, self.state, self.args = [], None, args
        return self

    def __init__(self, *args, **kwargs):
        super().__init__()

    def __setstate__(self, state):
        self.state = state

    def append(self, item):
        self.items_of_list.append(item)

    def extend(self, items):
        self.items_of_list.extend(items)

    def __hash__(self):
        return id(self)

    def children(self) -> list[tuple]:
        """What the object holds: its state without the layers of a module, what was put in, what it was made of."""
        state = self.state
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], (dict, type(None))):
            state = {**(state[0] or {}), **(state[1] if isinstance(state[1], dict) else {})}
        pairs: list[tuple] = []
        for key, value in state.items() if isinstance(state, dict) else [("state", state)]:
            pairs += value.items() if key in _LAYERS and isinstance(value, dict) else [(key, value)]
        pairs += [*self.items(), *enumerate(self.items_of_list)]
        return pairs + [(f"args.{i}", value) for i, value in enumerate(self.args)]


_CLASS_WITHIN = f"{Opaque.__module__}.{Opaque.__qualname__}."


def children(node) -> list[tuple] | None:
    """The (key, value) pairs of an `Opaque`, None for anything else; see `_walk.leaves`."""
    return node.children() if isinstance(node, Opaque) else None


def opaque_session(unknown: dict[str, None]) -> type[Session]:
    """A session that gives an `Opaque` for each object of a class that `load` would refuse; `unknown` takes the names."""

    class OpaqueSession(Session):
        def unpickler(self, data, persistent_load, find=None, opens=()):
            def lenient(module, name):
                found = known(self.names, module, name) if find is None else _try(find, module, name)
                if found is None:
                    if not f"{module}.{name}".startswith(_CLASS_WITHIN):  # of one that is told already
                        unknown[f"{module}.{name}"] = None
                    found = Opaque
                return found

            return super().unpickler(data, persistent_load, lenient, (*opens, Opaque))

    return OpaqueSession


def _try(find, module, name):
    try:
        return find(module, name)
    except UnsafeGlobalError:
        return None
