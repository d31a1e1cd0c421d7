"""What a pickle may do with the objects that it made: call them, fill them, set their state.

It may call only what its names stand for, and change only containers and objects of classes that the user allowed.
What its calls copy is counted against its length (see `_plain`), and no key is hashed whose hash could be expensive.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from ._plain import HASHING, MAKERS

_REFUSED = object()  # in place of a maker: not to be called
_MAX_KEY_PARTS = 1000  # of a tuple as a key: nested tuples can take exponential time to hash
_COPIES, _COPIES_AT_LEAST = 4, 1 << 16  # elements that calls may copy: so many per byte of the stream, or in all
_SIZED = (list, tuple, set, frozenset, dict, str, bytes, bytearray, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


class Broken(Exception):
    """The stream does what it may not; the text says what."""


class Rules:
    """Carries out what a stream of `size` bytes asks for, or raises `Broken`.

    Args:
        find: ``find(module, name)`` gives the object to use for a name, or raises
        is_open: tells whether an object may be changed by the stream: items added, state set
        build: ``build(target, state)`` sets the state of types that need a check of their own and returns True
    """

    def __init__(
        self,
        size: int,
        find: Callable[[str, str], Any],
        is_open: Callable[[Any], bool],
        build: Callable[[Any, Any], bool],
    ):
        self._callable: dict[int, Callable | None] = {}  # by id: the maker to call instead, if there is one
        self._size = size
        self._find = find
        self._is_open = is_open
        self._build = build
        self._found: dict[str, Any] = {}
        self._may_copy = _COPIES_AT_LEAST + _COPIES * size

    def named(self, module: str, name: str):
        """What a name stands for, from then on something that may be called."""
        full = f"{module}.{name}"
        found = self._found.get(full)
        if found is None:
            found = self._found[full] = self._find(module, name)
            self._callable[id(found)] = MAKERS.get(id(found))
        return found

    def call(self, function, args):
        make = self._callable.get(id(function), _REFUSED)
        if make is _REFUSED or type(args) is not tuple:
            raise Broken(f"it calls {described(function)}, which is not an allowed class or function")
        if function is getattr:
            return self.member(*args)
        return function(*args) if make is None or not args else self.make(function, make, args)

    def new(self, cls, args, kwargs):
        make = self._callable.get(id(cls), _REFUSED)
        if make is _REFUSED or not isinstance(cls, type) or type(args) is not tuple:
            raise Broken(f"it makes an object of {described(cls)}, which is not an allowed class")
        if make is not None:
            return self.make(cls, make, args) if args else cls()
        return cls.__new__(cls, *args, **kwargs)

    def make(self, kind, make, args):
        """An object of a plain type by its maker: what that copies is paid for, what it hashes is checked."""
        for items in args:
            if isinstance(items, _SIZED):
                self.pay(len(items))
                if id(kind) in HASHING and not isinstance(items, dict):
                    for item in items:
                        self.check_key(item)
        return make(*args)

    def member(self, owner, name):
        """A class within a class, under its name in full."""
        if id(owner) not in self._callable or not isinstance(owner, type) or type(name) is not str:
            raise Broken(f"it takes an attribute of {described(owner)}, which is not an allowed class")
        return self.named(owner.__module__, f"{owner.__qualname__}.{name}")

    def pay(self, elements: int) -> None:
        self._may_copy -= elements
        if self._may_copy < 0:
            raise Broken(f"its calls copy far more than its {self._size} bytes can mean")

    def set_items(self, target, items):
        if type(target) not in _DICTS and not (isinstance(target, dict) and self._is_open(target)):
            raise Broken(f"it sets items of {described(target)}")
        if len(items) % 2:
            raise Broken("a key without a value")
        for i in range(0, len(items), 2):
            key = items[i]
            if type(key) is not str:
                self.check_key(key)
            target[key] = items[i + 1]

    def extend(self, target, items):
        if type(target) is list or type(target) is collections.deque or self._is_open(target):
            target.extend(items)
        else:
            raise Broken(f"it appends to {described(target)}")

    def check_key(self, key):
        """Raises for a key whose hash or comparison is costly, which is a way to hang the reader."""
        todo, parts = [key], 0
        while todo:
            part = todo.pop()
            parts += 1
            if parts > _MAX_KEY_PARTS:
                raise Broken(f"a key of more than {_MAX_KEY_PARTS} parts")
            if type(part) in (tuple, frozenset):
                todo.extend(part)
            elif type(part) is int and part.bit_length() > 64:
                raise Broken("a number of more than 64 bits as a key")

    def build(self, target, state):
        if type(state) is tuple:
            for part in state:
                if type(part) in (bytes, str):  # of an array: copied into it
                    self.pay(len(part))
        if type(target) in _DICTS:  # attributes such as _metadata of a state_dict
            if type(state) is dict and hasattr(target, "__dict__"):
                target.__dict__.update(state)
                return
        elif self._build(target, state):
            return
        elif self._is_open(target):
            if hasattr(target, "__setstate__"):
                target.__setstate__(state)
                return
            slots = None
            if type(state) is tuple and len(state) == 2:
                state, slots = state
            if state:
                target.__dict__.update(state)
            for name, value in (slots or {}).items():
                setattr(target, name, value)
            return
        raise Broken(f"it sets the state of {described(target)}")


def described(obj) -> str:
    """A function or class by its name, anything else by its type."""
    name = getattr(obj, "__qualname__", None)
    return f"{getattr(obj, '__module__', '?')}.{name}" if name else f"an object of type {type(obj).__name__}"
