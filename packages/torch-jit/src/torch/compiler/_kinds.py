"""The kinds of values that a program may read from outside: one row for each, the first that fits.

A row says how a value of the kind is recognised, what is guarded of it, and which parts it has, each with the step that reads it
again. What no row fits is not followed, and a row without guards says why.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import types
from typing import NamedTuple

import torch

from ._guards import FIXED, is_key, is_plain
from ._tables import DICTS, HEAP, Operator, has_dict, is_kind_of, is_torchs, module_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["KINDS", "Kind", "Part", "is_fixed", "kind_of"]

#: how many leaves a container from outside may have
_MOST = 512
_DICTS = (dict, collections.OrderedDict)


class Part(NamedTuple):
    """A value within another one, and the step that reads it: ("index", 0), ("key", "a"), ("attr", "name")."""

    step: str
    name: Any
    value: Any
    #: whether it is read at each call anew where the whole is
    moves: bool = True


class Kind(NamedTuple):
    """A row of the table."""

    name: str
    #: whether a value is of this kind; the second argument says whether it stands under the arguments of a call
    fits: Callable[[Any, bool], bool]
    #: what is guarded: pairs of a check and what it takes
    guards: Callable[[Any], list[tuple]]
    parts: Callable[[Any], Iterator[Part]] = lambda value: iter(())
    #: another object of its class may stand for it, whose attributes are guarded as they are read
    loose: bool = False
    #: a function is left alone for arguments of its class only
    strange: bool = False
    #: why such a value is not followed, or None
    why_not: Callable[[Any], str | None] = lambda value: None


def is_fixed(value: Any) -> bool:
    """Whether an object means the same for as long as it is the same: functions, classes, modules of layers."""
    return isinstance(value, (*FIXED, module_class()))


def _of_type(value: Any) -> list[tuple]:
    return [("type", type(value))]


def _as_it_is(value: Any) -> list[tuple]:
    may_change = type(value).__flags__ & HEAP  # its class can be set
    return [("is", value), *(_of_type(value) if may_change else ())]


# --- sequences, dicts and sets ---


def _is_sequence(value, of_arguments):
    kind = type(value)
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return kind in (tuple, torch.Size) or is_kind_of(kind, list) or named


def _items(value):
    return tuple(list.__iter__(value) if isinstance(value, list) else value)


def _in_order(value):
    for i, item in enumerate(_items(value)):
        yield Part("index", i, item)


def _too_many(value):
    count = len(_items(value))
    return f"has {count} items" if count > _MOST else None


def _is_dict(value, of_arguments):
    kind = type(value)
    return kind in DICTS or any(is_kind_of(kind, base) for base in _DICTS)


def _entries(value):
    base = next((b for b in _DICTS if is_kind_of(type(value), b)), None)
    return dict(value if type(value) in DICTS else base.items(value))


def _by_key(value):
    for name, item in _entries(value).items():
        yield Part("key", name, item)


def _strange_keys(value):
    names = list(_entries(value))
    return None if len(names) <= _MOST and all(map(is_key, names)) else "has keys that are objects, or too many"


def _strange_members(value):
    return None if all(map(is_key, value)) else "is a set of objects"


# --- objects ---


def _attributes(*names, fixed=()):
    """Parts that are attributes; those that are ``fixed`` are no objects of the call."""

    def parts(value):
        for name in names:
            yield Part("attr", name, getattr(value, name), name not in fixed)

    return parts


def _is_object(value):
    """Whether a value is of a class of Python, and no more than its attributes."""
    return (has_dict(value) or _has_slots(type(value))) and not _is_one_of_its_kind(value)


def _has_slots(kind):
    return bool(kind.__flags__ & HEAP) and any("__slots__" in vars(base) for base in kind.__mro__)


def _is_one_of_its_kind(value):
    """Whether an object is more than its attributes: operators, also those of ``torch.ops``, and what has state in C, such as
    ``functools.partial`` and caches of functions.
    """
    if isinstance(value, Operator) or (callable(value) and is_torchs(type(value).__module__)):
        return True
    return any(base.__flags__ & _IMMUTABLE for base in type(value).__mro__ if base is not object)


#: of classes that are written in C, also those that are made when a module is imported
_IMMUTABLE = 1 << 8


def _is_of_fx(value, of_arguments):
    return str(type(value).__module__).startswith("torch.fx") and not isinstance(value, module_class())


def _is_method_of_c(value, of_arguments):
    return isinstance(value, types.BuiltinFunctionType) and not isinstance(
        value.__self__, (type(None), types.ModuleType, type)
    )


KINDS = (
    Kind("what is imported", lambda v, a: v is sys.modules, lambda v: []),
    Kind("sequence", _is_sequence, lambda v: [*_of_type(v), ("len", len(_items(v)))], _in_order, why_not=_too_many),
    Kind("dict", _is_dict, lambda v: [*_of_type(v), ("keys", tuple(_entries(v)))], _by_key, why_not=_strange_keys),
    Kind("set", lambda v, a: type(v) in (set, frozenset), lambda v: [*_of_type(v), ("keys", tuple(v))], why_not=_strange_members),
    Kind("deque", lambda v, a: type(v) is collections.deque, lambda v: [*_of_type(v), ("len", len(v))],
         lambda v: (Part("key", i, item) for i, item in enumerate(v)), why_not=_too_many),
    Kind("slice", lambda v, a: type(v) is slice, _of_type, _attributes("start", "stop", "step")),
    Kind("field of a data class", lambda v, a: type(v) is dataclasses.Field, _as_it_is),
    Kind("object of torch.fx", _is_of_fx, _as_it_is, strange=True, why_not=lambda v: f"is a {type(v).__qualname__}"),
    Kind("object of a call", lambda v, a: a and not is_fixed(v) and _is_object(v), _of_type, loose=True),
    Kind("namespace of a call", lambda v, a: a and type(v) is types.SimpleNamespace, _of_type, loose=True),
    Kind("namespace", lambda v, a: type(v) is types.SimpleNamespace, _as_it_is),
    Kind("method", lambda v, a: type(v) is types.MethodType, _of_type, _attributes("__func__", "__self__", fixed=("__func__",))),
    Kind("partial function", lambda v, a: type(v) is functools.partial, _of_type, _attributes("func", "args", "keywords")),
    Kind("method of C", _is_method_of_c, _as_it_is, why_not=lambda v: f"is a method of a {type(v.__self__).__qualname__}"),
    Kind("what stays", lambda v, a: is_fixed(v) or has_dict(v) or isinstance(v, Operator) or _is_object(v), _as_it_is),
)  # fmt: skip


def kind_of(value: Any, of_arguments: bool) -> Kind | None:
    """The row for a value that is no tensor and not plain; None where it is not followed.

    >>> import functools
    >>> [kind_of(v, True).name for v in ([1], {"a": 1}, slice(3), functools.partial(len), len)]
    ['sequence', 'dict', 'slice', 'partial function', 'what stays']
    """
    assert not is_plain(value)
    return next((kind for kind in KINDS if kind.fits(value, of_arguments)), None)
