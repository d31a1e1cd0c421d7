"""Builtins: what they iterate over, what they ask objects of classes in Python, and the functions that they are given and call."""

from __future__ import annotations

import collections
import operator
import types

from ._guards import of_class
from ._own import own
from ._tables import HEAP, Operator, is_kind_of

OF_C = (
    types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType, operator.itemgetter,
)  # fmt: skip


#: what builtins ask objects of classes in Python
_ASKED = {
    bool: "__bool__", int: "__int__", float: "__float__", str: "__str__", repr: "__repr__", abs: "__abs__", round: "__round__",
    reversed: "__reversed__",
}  # fmt: skip


def answer(observer, function, args):
    """What an object's own method gives where a builtin asks it; None where the builtin does something else."""
    name = _ASKED.get(function)
    if name is None or not args or observer.reason is not None:
        return None
    if function is str and of_class(type(args[0]), name) is object.__str__:
        name = "__repr__"
    return observer.apply(observer.method(args[0], name), *args[1:]) if own(args[0], name) else None


def followed(observer, args, kwargs):
    """Arguments of a function of C that calls some of them: those are followed there."""

    def follow(value):
        plain = isinstance(value, (*OF_C, Operator)) or (isinstance(value, type) and not value.__flags__ & HEAP)
        if plain or not callable(value) or getattr(value, "__code__", None) in observer.codes:
            return value
        return lambda *args, **kwargs: observer.apply_all(value, args, kwargs)

    return tuple(map(follow, args)), {name: follow(value) for name, value in kwargs.items()}


def iterated(observer, function, args):
    """The arguments of a builtin that iterates: over all of them, or the first."""
    if function is zip:
        return tuple(map(observer.iter, args))
    if function in (map, filter):
        return (*args[:1], *map(observer.iter, args[1:]))
    if not args or (len(args) > 1 and function in (max, min)):
        return args
    if function is dict and _is_mapping(args[0]):
        return (_items(observer, args[0]),)
    return args if function is reversed else (observer.iter(args[0]), *args[1:])


def _is_mapping(value):
    """Whether a dict is made of the keys of an object of Python, and what it has under each."""
    kind = type(value)
    return isinstance(of_class(kind, "keys"), types.FunctionType) and not is_kind_of(
        kind, dict, collections.OrderedDict
    )


def _items(observer, mapping):
    """The items of an object that is a mapping by its methods."""
    get = observer.attr(mapping, "__getitem__")
    return [(key, observer.apply(get, key)) for key in observer.iter(observer.apply(observer.attr(mapping, "keys")))]
