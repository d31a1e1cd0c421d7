"""Builtins: what they iterate over, what they ask objects of classes in Python, and the functions that they are given and call."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import types

from ._guards import of_class
from ._own import own
from ._tables import HEAP, OF_ALL, OF_REST, Operator, is_kind_of

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


#: where functions of C that call one of their arguments have it; others have it by name, as ``key``
_CALLED = {
    map: 0, filter: 0, functools.reduce: 0, itertools.dropwhile: 0, itertools.filterfalse: 0, itertools.starmap: 0, itertools.takewhile: 0,
    itertools.accumulate: 1, itertools.groupby: 1,
}  # fmt: skip


def followed(observer, function, args, kwargs):
    """The arguments of a function of C that calls one of them: that one is followed."""

    def follow(value):
        plain = isinstance(value, (*OF_C, Operator)) or (isinstance(value, type) and not value.__flags__ & HEAP)
        if plain or not callable(value) or getattr(value, "__code__", None) in observer.codes:
            return value
        return lambda *args, **kwargs: observer.apply_all(value, args, kwargs)

    at = _CALLED.get(function)
    found = tuple(follow(value) if i == at else value for i, value in enumerate(args))
    return found, {name: follow(value) for name, value in kwargs.items()}


def iterated(observer, function, args):
    """The arguments of a builtin that iterates: over all of them, all but the first, or the first."""
    if function in OF_ALL:
        return tuple(map(observer.iter, args))
    if function in OF_REST:
        last = 2 if function is functools.reduce else len(args)
        return (*args[:1], *map(observer.iter, args[1:last]), *args[last:])
    if not args or (len(args) > 1 and function in (max, min)):
        return args
    if function is dict and _is_mapping(args[0]):
        return (_items(observer, args[0]),)
    if function is reversed:
        return (_from_the_end(observer, args[0])[::-1],) if own(args[0], "__getitem__") else args
    return (observer.iter(args[0]), *args[1:])


def _from_the_end(observer, value):
    """The items of an object that has a length and items by number, the last one first."""
    get, count = observer.method(value, "__getitem__"), observer.apply(observer.method(value, "__len__"))
    return [observer.apply(get, number) for number in range(count - 1, -1, -1)]


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
