"""The plain Python types that every file may make, with arguments that cannot cost more than the file took to say them.

A call in a file is a few bytes and may name an argument that was written long before: a file that turns one list of a
million numbers into a set a million times would fill any memory, and one that hashes or prints nested pairs would never
end. So the reader calls the makers here, counts what they copy, and lets them hash only keys that it checked.
"""

from __future__ import annotations

import collections

_SERIES = (list, tuple, set, frozenset, collections.deque)


def _series(items, what: str):
    if type(items) not in _SERIES:
        raise TypeError(f"{what} of {type(items).__name__}")
    return items


def _pairs(items):
    """The arguments of a dict: another dict, or a series of pairs."""
    if isinstance(items, dict):
        return items
    return [(key, value) for key, value in _series(items, "a dict")]


def _dict(items=()):
    return dict(_pairs(items))


def _ordered(items=()):
    return collections.OrderedDict(_pairs(items))


def _counter(items=()):
    return collections.Counter(items if isinstance(items, dict) else _series(items, "a Counter"))


def _defaultdict(factory=None, items=()):
    if factory not in _FACTORIES:
        raise ValueError("a defaultdict with a factory that is not a plain type")
    return collections.defaultdict(factory, _pairs(items))


def _deque(items=(), maxlen=None):
    return collections.deque(_series(items, "a deque"), maxlen)


def _list(items=()):
    return list(_series(items, "a list"))


def _tuple(items=()):
    return tuple(_series(items, "a tuple"))


def _set(items=()):
    return set(_series(items, "a set"))


def _frozenset(items=()):
    return frozenset(_series(items, "a frozenset"))


def _bytearray(data=b"", encoding="latin-1"):
    if isinstance(data, str):
        return bytearray(_encode(data, encoding))
    if not isinstance(data, (bytes, bytearray)):  # bytearray(10**12) would allocate
        raise TypeError(f"bytearray of {type(data).__name__}")
    return bytearray(data)


def _bytes():
    return b""  # others are written in other ways


def _encode(text, encoding="latin1"):
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise ValueError("_codecs.encode of something else than text, or to another encoding than latin1 and utf-8")
    return text.encode(encoding)


def _number(kind):
    def make(value=0):
        if (type(value) is str and len(value) > 400) or type(value) not in (int, float, bool, str):
            raise TypeError(f"{kind.__name__} of {type(value).__name__}")
        return kind(value)

    return make


def _complex(real=0.0, imag=0.0):
    if {type(real), type(imag)} - {int, float, bool}:
        raise TypeError(f"complex of {type(real).__name__} and {type(imag).__name__}")
    return complex(real, imag)


def _str(value=""):
    if type(value) is not str:  # the text of nested data can be exponentially long
        raise TypeError(f"str of {type(value).__name__}")
    return value


_MAKERS = {
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
    dict: _dict,
    bytes: _bytes,
    bytearray: _bytearray,
    str: _str,
    int: _number(int),
    float: _number(float),
    bool: _number(bool),
    complex: _complex,
    collections.OrderedDict: _ordered,
    collections.Counter: _counter,
    collections.defaultdict: _defaultdict,
    collections.deque: _deque,
}
_FACTORIES = (None, list, dict, set, int, float, str, tuple, bool)

# The names of these types. The types themselves are data too: the factory of a defaultdict, an option of a program.
# `getattr` is how protocols below 4 name a class within a class; `_rules` lets it do nothing else.
PLAIN = {f"{kind.__module__}.{kind.__name__}": kind for kind in (*_MAKERS, slice, getattr)}
PLAIN["_codecs.encode"] = _encode

# By the id of what a name stands for: what is called in its place. All of these copy their arguments.
MAKERS = {id(kind): make for kind, make in _MAKERS.items()} | {id(_encode): _encode}
HASHING = frozenset(
    map(id, (set, frozenset, dict, collections.OrderedDict, collections.Counter, collections.defaultdict))
)
