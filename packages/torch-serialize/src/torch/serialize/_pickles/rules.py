"""What a pickle may do with the objects that it made: call them, fill them, set their state.

It may call the words of `words` with what these take, and classes and functions that the user allowed; it may fill
containers, and objects of classes that the user allowed. What its calls copy is counted against its length, and no key
is hashed or compared whose hash or comparison could be expensive.
"""

from __future__ import annotations

import collections
import itertools
import time
from collections.abc import Callable
from typing import Any

from .._errors import brief
from .attributes import set_attributes
from .budget import Copies
from .words import NESTING, Refused, Word

_MAX_KEY_PARTS = 1000  # of a tuple as a key: nested tuples can take exponential time to hash
_MAX_SAME_HASH = 64  # different keys of one hash: each is compared with all before it
_MAX_CHAIN = 1000  # deques and defaultdicts in one another: they are freed by recursion
_MAX_STRAYS = 1000  # entries of the memo far beyond the others: those of one hash are all compared
_MAX_NAME = 1000  # characters of a class's or function's name
_SMALL = 4096  # keys of a container whose insertion is not timed
_SECONDS, _SECONDS_PER_KEY = 0.5, 1e-5  # of the CPU for the keys of bigger ones: 100 times what they usually take
_LONG_TEXT = 512  # a key up to this length is compared for nothing
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


class Broken(Exception):
    """The stream does what it may not; the text says what."""


class Rules:
    """Carries out what a stream asks for, or raises `Broken`.

    Args:
        copies: pays for what is copied
        find: ``find(module, name)`` gives a `Word`, or an object that the user lets the stream use, or raises
        is_open: tells whether an object may be changed by the stream: items added, state set
        build: ``build(target, state)`` sets the state of types that need a check of their own and returns True
    """

    def __init__(
        self,
        copies: Copies,
        find: Callable[[str, str], Any],
        is_open: Callable[[Any], bool],
        build: Callable[[Any, Any], bool],
    ):
        self._callable: dict[int, Any] = {}  # by id of what stands on the stack: its word, or itself
        self._find = find
        self._is_open = is_open
        self._build = build
        self._found: dict[str, Any] = {}
        self._copies = copies
        self._strays = 0
        self._keys, self._seconds = 0, _SECONDS  # of big containers
        self._hashes: dict[int, list] = {}  # different keys by their hash
        self._chained = 0

    def named(self, module: str, name: str):
        """What a name stands for, from then on something that may be called."""
        if len(module) + len(name) > _MAX_NAME:
            raise Broken(f"a name of {len(module) + len(name)} characters")
        full = f"{module}.{name}"
        found = self._found.get(full)
        if found is None:
            word = self._find(module, name)
            found = self._found[full] = word.value if type(word) is Word else word
            self._callable[id(found)] = word
        return found

    def call(self, function, args):
        word = self._callable.get(id(function))
        if type(args) is not tuple and getattr(word, "takes_bare_argument", False):
            args = (args,)
        if word is None or type(args) is not tuple:
            raise Broken(f"it calls {described(function)}, which is not an allowed class or function")
        return self._made(word, args) if type(word) is Word else function(*args)

    def new(self, cls, args, kwargs):
        word = self._callable.get(id(cls))
        is_class = isinstance(cls, type) or (type(word) is Word and word.name == "torch.torch_version.TorchVersion")
        if word is None or not is_class or type(args) is not tuple or type(kwargs) is not dict:
            raise Broken(f"it makes an object of {described(cls)}, which is not an allowed class")
        if type(word) is not Word:
            return cls.__new__(cls, *args, **kwargs)
        if kwargs:
            raise Broken(f"it gives {word.name} arguments by name")
        return self._made(word, args)

    def _made(self, word: Word, args: tuple):
        try:
            if (special := _SPECIAL.get(word.name)) is not None:
                word.check(args, self.pay, self.check_keys)
                return special(self, word, *args)
            made = word.made(args, self.pay, self.check_keys)
        except Refused as e:
            raise Broken(e) from None
        if type(made) in NESTING:
            self._chain(made.values() if type(made) is collections.defaultdict else made)
        return made

    def _member(self, word: Word, owner, name: str):
        """A class within a class, under its name in full."""
        if not isinstance(owner, type) or id(owner) not in self._callable:
            raise Broken(f"it takes an attribute of {described(owner)}, which is not an allowed class")
        return self.named(owner.__module__, f"{owner.__qualname__}.{name}")

    def _subclass(self, word: Word, function, cls, args: tuple, state):
        """A tensor with attributes, or of a class of its own."""
        return word.make(self.call(function, args), cls, state)

    def pay(self, elements: int) -> None:
        try:
            self._copies.pay(elements)
        except OverflowError as e:
            raise Broken(e) from None

    def stray(self, index: int) -> None:
        """Counts an entry of the memo whose number no pickler would give it."""
        self._strays += 1
        if index < 0 or self._strays > _MAX_STRAYS:
            raise Broken(f"the memo's numbers are out of order, such as {brief(index)}")

    def set_items(self, target, items):
        if type(target) not in _DICTS and not (isinstance(target, dict) and self._is_open(target)):
            raise Broken(f"it sets items of {described(target)}")
        if len(items) % 2:
            raise Broken("a key without a value")
        if type(target) is collections.defaultdict:
            self._chain(items[1::2])
        if len(target) + len(items) // 2 > _SMALL:
            self._watched(len(items) // 2, lambda begin, end: self._insert(target, items, 2 * begin, 2 * end))
        else:
            self._insert(target, items, 0, len(items))

    def _insert(self, target, items, begin: int, end: int) -> None:
        for i in range(begin, end, 2):
            key = items[i]
            if type(key) is not str or len(key) > _LONG_TEXT:
                self.check_key(key)
            target[key] = items[i + 1]

    def _watched(self, count: int, insert: Callable[[int, int], None]) -> None:
        """Has `insert` take `count` keys piece by piece, until they take far longer than keys do.

        Numbers are their own hashes, so a file can choose numbers for which a dict has to look in most of its places
        (even such as differ in all bits that a table of this size uses), and takes quadratic time.
        """
        for begin in range(0, count, _SMALL):
            end = min(count, begin + _SMALL)
            start = time.thread_time()
            insert(begin, end)
            self._seconds += (end - begin) * _SECONDS_PER_KEY - (time.thread_time() - start)
            self._keys += end - begin
            if self._seconds < 0:
                raise Broken(
                    f"{self._keys} keys of dicts and sets took more than {_SECONDS_PER_KEY * 1e6:g} microseconds each: "
                    "they were chosen to collide. If you trust who made the file: torch.load(f, weights_only=False)"
                )

    def extend(self, target, items):
        if type(target) is list:
            target.extend(items)
        elif type(target) is collections.deque:
            self._chain(items)
            target.extend(items)
        elif self._is_open(target):
            type(target).extend(target, items)
        else:
            raise Broken(f"it appends to {described(target)}")

    def add(self, target, items):
        if type(target) is not set:
            raise Broken(f"ADDITEMS into {type(target).__name__}")
        self.check_keys(items, target)

    def frozen(self, items) -> frozenset:
        return frozenset(self.check_keys(items, set()))

    def check_keys(self, keys, target: set | dict):
        """Puts `keys`, each of them checked, into `target`, and gives that."""
        put = target.add if type(target) is set else target.setdefault

        def insert(begin, end):
            for key in itertools.islice(waiting, end - begin):
                if type(key) is not str or len(key) > _LONG_TEXT:
                    self.check_key(key)
                put(key)

        waiting = iter(keys)
        if len(keys) + len(target) > _SMALL:
            self._watched(len(keys), insert)
        else:
            insert(0, len(keys))
        return target

    def _chain(self, items) -> None:
        for item in items:
            if type(item) in NESTING:
                self._chained += 1
                if self._chained > _MAX_CHAIN:
                    raise Broken(f"more than {_MAX_CHAIN} deques and defaultdicts within deques and defaultdicts")

    def check_key(self, key):
        """Raises for a key whose hash or comparison is costly, which is a way to hang the reader."""
        kind = type(key)
        if kind is int and key.bit_length() <= 64:  # few of these have one hash
            return
        if kind is str or kind is bytes:
            self.pay(len(key) >> 6)
            return
        todo, parts = [key], 0
        while todo:
            part = todo.pop()
            parts += 1
            if parts > _MAX_KEY_PARTS:
                raise Broken(f"a key of more than {_MAX_KEY_PARTS} parts")
            if isinstance(part, (tuple, frozenset)):
                todo.extend(part)
            elif type(part) is int and part.bit_length() > 64:
                raise Broken("a number of more than 64 bits as a key")
            elif isinstance(part, (str, bytes)):  # also those of NumPy
                self.pay(len(part) >> 6)
        same = self._hashes.setdefault(hash(key), [])
        self.pay(parts * (1 + len(same)))
        if key not in same:
            if len(same) == _MAX_SAME_HASH:
                raise Broken(f"more than {_MAX_SAME_HASH} keys of one hash")
            same.append(key)

    def build(self, target, state):
        kind = type(target)
        if kind in _DICTS:  # attributes such as _metadata of a state_dict
            if kind in (collections.OrderedDict, collections.Counter) and type(state) is dict:
                set_attributes(target, state)
                return
        elif self._build(target, state):
            return
        elif self._is_open(target):
            self._set_open(target, state)
            return
        raise Broken(f"it sets the state of {described(target)}")

    def _set_open(self, target, state) -> None:
        """The state of an object whose class the user allowed, as `pickle` sets it."""
        if (set_state := getattr(type(target), "__setstate__", None)) is not None:
            set_state(target, state)
            return
        slots = None
        if type(state) is tuple and len(state) == 2:
            state, slots = state
        if any(part is not None and type(part) is not dict for part in (state, slots)):
            raise Broken(f"it sets the state of {described(target)} to something else than attributes")
        if state:
            target.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(target, name, value)


_SPECIAL = {"builtins.getattr": Rules._member, "torch._tensor._rebuild_from_type_v2": Rules._subclass}


def described(obj) -> str:
    """A function or class by its name, anything else by its type."""
    if type(obj) is Word:
        return obj.name
    if isinstance(obj, type):
        return f"{obj.__module__}.{obj.__qualname__}"
    return f"an object of type {type(obj).__name__}"
