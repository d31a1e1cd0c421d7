"""Attributes that a file gives to what it made: under names that the object's class does not use itself.

An attribute that hid a method or a property would be called or trusted by whoever uses the object next, and one with a
name such as ``__array_interface__``, which tells NumPy an address, by whoever asks for it.
"""

from __future__ import annotations

from typing import Any

from .._errors import FileFormatError, brief


def attributes(kind: type, state) -> dict[str, Any]:
    """The attributes in a pickled state of an object of class `kind`: a dict, None, or a pair of these."""
    parts = state if type(state) is tuple and len(state) == 2 else (state,)
    found: dict[str, Any] = {}
    for part in parts:
        if part is None:
            continue
        if type(part) is not dict:
            raise FileFormatError(f"the state of a {kind.__name__} is {brief(part)} and no dict")
        for name, value in part.items():
            if type(name) is not str:
                raise FileFormatError(f"an attribute of a {kind.__name__} has the name {brief(name)}")
            if _owner(kind, name) is not None and not _is_slot(kind, name):
                raise FileFormatError(f"an attribute {brief(name)} would hide what every {kind.__name__} has there")
            if name.startswith("__") and name.endswith("__"):
                raise FileFormatError(
                    f"an attribute of a {kind.__name__} has the name {brief(name)}, which is Python's own"
                )
            found[name] = value
    return found


def _owner(kind: type, name: str) -> type | None:
    """The class that defines `name`, found without asking a descriptor, which may import a part or refuse."""
    return next((base for base in kind.__mro__ if name in vars(base)), None)


def _is_slot(kind: type, name: str) -> bool:
    """Whether a class of the user's keeps an attribute in a slot of that name."""
    owner = _owner(kind, name)
    return (
        owner is not None and name in (vars(owner).get("__slots__") or ()) and not owner.__module__.startswith("torch.")
    )


def set_attributes(target, state) -> None:
    """Gives `target` the attributes in `state`."""
    for name, value in attributes(type(target), state).items():
        setattr(target, name, value)
