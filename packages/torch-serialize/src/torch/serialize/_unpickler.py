"""A pickle machine for data: it builds containers, numbers, strings and what its `find` hands out, and runs nothing else.

Python's own unpickler imports whatever the stream names and calls it. This one
- resolves a name only through `find(module, name)`, which raises for what is not allowed;
- calls (REDUCE, NEWOBJ) only objects that `find` returned, and sets state (BUILD) only on what those calls built;
- allocates nothing by a declared size: a size beyond the stream's end is an error;
- copies no more than the stream's length allows, however often it calls `list` on one list (see `_plain`);
- keeps its memo in a dict, so a huge index costs nothing, and hashes no key that is not cheap to hash.

Opcodes: CPython `Lib/pickletools.py`, protocols 0 to 5 without the extension registry and out-of-band buffers.
"""

from __future__ import annotations

import collections
import struct
from collections.abc import Callable
from typing import Any

from ._errors import CorruptPickleError, FileFormatError, UnsafeGlobalError
from ._plain import HASHING, MAKERS

_MAX_KEY_PARTS = 1000  # of a tuple as a key: nested tuples can take exponential time to hash
_COPIES, _COPIES_AT_LEAST = 4, 1 << 16  # elements that calls may copy: so many per byte of the stream, or in all
_float64 = struct.Struct(">d").unpack_from
_SIZED = (list, tuple, set, frozenset, dict, str, bytes, bytearray, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


class DataUnpickler:
    """Reads pickles one after another from `data`; `position` is where the next one starts.

    Args:
        data: bytes
        find: ``find(module, name)`` gives the object to use for a name, or raises
        persistent_load: gives the object for a persistent id
        encoding: of the 8-bit strings of Python 2: a codec, or "bytes" to keep them as bytes
        is_open: tells whether an object may be changed by the stream: items added, state set
        build: ``build(target, state)`` sets the state of types that need a check of their own and returns True
        where: the stream's name in messages
    """

    def __init__(
        self,
        data: bytes,
        find: Callable[[str, str], Any],
        persistent_load: Callable[[Any], Any],
        encoding: str = "utf-8",
        is_open: Callable[[Any], bool] = lambda obj: False,
        build: Callable[[Any, Any], bool] = lambda target, state: False,
        where: str = "pickle",
    ):
        self.position = 0
        self._data = data
        self._find = find
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._is_open = is_open
        self._build_special = build
        self._where = where
        self._found: dict[str, Any] = {}
        self._found_ids: set[int] = set()
        self._may_copy = _COPIES_AT_LEAST + _COPIES * len(data)

    def load(self) -> Any:
        """The object of the next pickle."""
        self._op_at = self.position
        try:
            return self._run()
        except (UnsafeGlobalError, CorruptPickleError, FileFormatError, NotImplementedError, MemoryError, Warning):
            raise
        except (IndexError, struct.error):
            raise self._fail("it ends early, or takes more from the stack than is there") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, LookupError) as e:
            raise self._fail(f"{type(e).__name__}: {e}") from e

    def _fail(self, text: str) -> CorruptPickleError:
        return CorruptPickleError(f"{self._where}: broken pickle near byte {self._op_at}: {text}")

    def _run(self) -> Any:
        data, position = self._data, self.position
        persistent_load, find, callable_ids = self._persistent_load, self._find_global, self._found_ids
        size = len(data)
        makers = MAKERS
        memo: dict[int, Any] = {}
        stack: list = []
        marks: list[list] = []
        push, pop = stack.append, stack.pop

        def take(width: int) -> bytes:
            # A length of `width` bytes and then that many bytes.
            nonlocal position
            begin = position + width
            count = int.from_bytes(data[position:begin], "little")
            position = begin + count
            if position > size:
                raise self._fail(f"{count} bytes declared, {size - begin} left")
            return data[begin:position]

        def line() -> bytes:
            nonlocal position
            begin = position
            position = data.find(b"\n", begin) + 1
            if position == 0:
                raise self._fail("a line has no end")
            return data[begin : position - 1]

        # Ordered by how often a file of tensors uses them.
        while True:
            self._op_at = position
            op = data[position]
            position += 1
            if op == 0x68:  # BINGET
                push(memo[data[position]])
                position += 1
            elif op == 0x4B:  # BININT1
                push(data[position])
                position += 1
            elif op == 0x71:  # BINPUT
                memo[data[position]] = stack[-1]
                position += 1
            elif op == 0x28:  # MARK
                marks.append(stack)
                stack = []
                push, pop = stack.append, stack.pop
            elif op == 0x58:  # BINUNICODE
                begin = position + 4
                position = begin + int.from_bytes(data[position:begin], "little")
                if position > size:
                    raise self._fail(f"{position - begin} bytes declared, {size - begin} left")
                push(str(data[begin:position], "utf-8", "surrogatepass"))
            elif op == 0x74:  # TUPLE
                value = tuple(stack)
                stack = marks.pop()
                push, pop = stack.append, stack.pop
                push(value)
            elif op == 0x52:  # REDUCE
                args = pop()
                function = stack[-1]
                if id(function) not in callable_ids or type(args) is not tuple:
                    raise self._fail(f"it calls {_short(function)}, which is not an allowed class or function")
                make = makers.get(id(function))
                stack[-1] = function(*args) if make is None or not args else self._make(function, make, args)
            elif op == 0x86:  # TUPLE2
                value = pop()
                stack[-1] = (stack[-1], value)
            elif op == 0x85:  # TUPLE1
                stack[-1] = (stack[-1],)
            elif op == 0x89:  # NEWFALSE
                push(False)
            elif op == 0x29:  # EMPTY_TUPLE
                push(())
            elif op == 0x51:  # BINPERSID
                stack[-1] = persistent_load(stack[-1])
            elif op == 0x4D:  # BININT2
                push(data[position] | data[position + 1] << 8)
                position += 2
            elif op == 0x72:  # LONG_BINPUT
                memo[int.from_bytes(data[position : position + 4], "little")] = stack[-1]
                position += 4
            elif op == 0x6A:  # LONG_BINGET
                push(memo[int.from_bytes(data[position : position + 4], "little")])
                position += 4
            elif op == 0x4A:  # BININT
                push(int.from_bytes(data[position : position + 4], "little", signed=True))
                position += 4
            elif op == 0x87:  # TUPLE3
                value = (stack[-3], stack[-2], stack[-1])
                del stack[-3:]
                push(value)
            elif op == 0x88:  # NEWTRUE
                push(True)
            elif op == 0x4E:  # NONE
                push(None)
            elif op == 0x47:  # BINFLOAT
                push(_float64(data, position)[0])
                position += 8
            elif op == 0x94:  # MEMOIZE
                memo[len(memo)] = stack[-1]
            elif op == 0x8C:  # SHORT_BINUNICODE
                push(str(take(1), "utf-8", "surrogatepass"))
            elif op == 0x63:  # GLOBAL
                module = str(line(), "utf-8")
                push(find(module, str(line(), "utf-8")))
            elif op == 0x93:  # STACK_GLOBAL
                name, module = pop(), pop()
                if type(name) is not str or type(module) is not str:
                    raise self._fail("STACK_GLOBAL needs two strings")
                push(find(module, name))
            elif op == 0x75:  # SETITEMS
                items, stack = stack, marks.pop()
                push, pop = stack.append, stack.pop
                self._set_items(stack[-1], items)
            elif op == 0x73:  # SETITEM
                value, key = pop(), pop()
                self._set_items(stack[-1], [key, value])
            elif op == 0x7D:  # EMPTY_DICT
                push({})
            elif op == 0x5D:  # EMPTY_LIST
                push([])
            elif op == 0x65:  # APPENDS
                items, stack = stack, marks.pop()
                push, pop = stack.append, stack.pop
                self._extend(stack[-1], items)
            elif op == 0x61:  # APPEND
                value = pop()
                self._extend(stack[-1], [value])
            elif op == 0x62:  # BUILD
                state = pop()
                self._build(stack[-1], state)
            elif op == 0x81:  # NEWOBJ
                args = pop()
                stack[-1] = self._new(stack[-1], args, {})
            elif op == 0x92:  # NEWOBJ_EX
                kwargs, args = pop(), pop()
                stack[-1] = self._new(stack[-1], args, kwargs)
            elif op == 0x8A:  # LONG1
                push(int.from_bytes(take(1), "little", signed=True))
            elif op == 0x8B:  # LONG4
                push(int.from_bytes(take(4), "little", signed=True))
            elif op == 0x8F:  # EMPTY_SET
                push(set())
            elif op == 0x90:  # ADDITEMS
                items, stack = stack, marks.pop()
                push, pop = stack.append, stack.pop
                if type(stack[-1]) is not set:
                    raise self._fail(f"ADDITEMS into {type(stack[-1]).__name__}")
                for item in items:
                    self._check_key(item)
                stack[-1].update(items)
            elif op == 0x91:  # FROZENSET
                items, stack = stack, marks.pop()
                push, pop = stack.append, stack.pop
                for item in items:
                    self._check_key(item)
                push(frozenset(items))
            elif op == 0x42:  # BINBYTES
                push(take(4))
            elif op == 0x43:  # SHORT_BINBYTES
                push(take(1))
            elif op == 0x8E:  # BINBYTES8
                push(take(8))
            elif op == 0x96:  # BYTEARRAY8
                push(bytearray(take(8)))
            elif op == 0x8D:  # BINUNICODE8
                push(str(take(8), "utf-8", "surrogatepass"))
            elif op == 0x55:  # SHORT_BINSTRING
                push(self._string(take(1)))
            elif op == 0x54:  # BINSTRING
                push(self._string(take(4)))
            elif op == 0x53:  # STRING
                push(self._string(_unquote(line())))
            elif op == 0x56:  # UNICODE
                push(str(line(), "raw-unicode-escape"))
            elif op == 0x49:  # INT
                text = line()
                push(text == b"01" if text in (b"00", b"01") else _integer(text))
            elif op == 0x4C:  # LONG
                push(_integer(line().rstrip(b"L")))
            elif op == 0x46:  # FLOAT
                push(float(line()))
            elif op == 0x64:  # DICT
                items, stack = stack, marks.pop()
                push, pop = stack.append, stack.pop
                push({})
                self._set_items(stack[-1], items)
            elif op == 0x6C:  # LIST
                value, stack = stack, marks.pop()
                push, pop = stack.append, stack.pop
                push(value)
            elif op == 0x50:  # PERSID
                push(persistent_load(str(line(), "ascii")))
            elif op == 0x67:  # GET
                push(memo[_integer(line())])
            elif op == 0x70:  # PUT
                memo[_integer(line())] = stack[-1]
            elif op == 0x30:  # POP
                if stack:
                    pop()
                else:
                    stack = marks.pop()
                    push, pop = stack.append, stack.pop
            elif op == 0x31:  # POP_MARK
                stack = marks.pop()
                push, pop = stack.append, stack.pop
            elif op == 0x32:  # DUP
                push(stack[-1])
            elif op == 0x80:  # PROTO
                if data[position] > 5:
                    raise self._fail(f"protocol {data[position]} is newer than this reader (5)")
                position += 1
            elif op == 0x95:  # FRAME
                position += 8
            elif op == 0x2E:  # STOP
                self.position = position
                return pop()
            elif op in (0x69, 0x6F):  # INST, OBJ
                raise self._fail("instances of old-style Python 2 classes are not data")
            else:
                raise self._fail(f"opcode 0x{op:02x} is unknown, or not one that data needs")

    def _string(self, raw: bytes):
        return raw if self._encoding == "bytes" else str(raw, self._encoding)

    def _find_global(self, module: str, name: str):
        full = f"{module}.{name}"
        found = self._found.get(full)
        if found is None:
            found = self._found[full] = self._find(module, name)
            self._found_ids.add(id(found))
        return found

    def _new(self, cls, args, kwargs):
        if id(cls) not in self._found_ids or not isinstance(cls, type) or type(args) is not tuple:
            raise self._fail(f"it makes an object of {_short(cls)}, which is not an allowed class")
        if (make := MAKERS.get(id(cls))) is not None:
            return self._make(cls, make, args) if args else cls()
        return cls.__new__(cls, *args, **kwargs)

    def _make(self, kind, make, args):
        # Calls the maker of a plain type; what it copies is paid for, what it hashes is checked.
        for items in args:
            if isinstance(items, _SIZED):
                self._pay(len(items))
                if id(kind) in HASHING and not isinstance(items, dict):
                    for item in items:
                        self._check_key(item)
        return make(*args)

    def _pay(self, elements: int) -> None:
        self._may_copy -= elements
        if self._may_copy < 0:
            raise self._fail(f"its calls copy far more than its {len(self._data)} bytes can mean")

    def _set_items(self, target, items):
        if type(target) not in _DICTS and not (isinstance(target, dict) and self._is_open(target)):
            raise self._fail(f"it sets items of {_short(target)}")
        if len(items) % 2:
            raise self._fail("a key without a value")
        for i in range(0, len(items), 2):
            key = items[i]
            if type(key) is not str:
                self._check_key(key)
            target[key] = items[i + 1]

    def _extend(self, target, items):
        if type(target) is list or type(target) is collections.deque or self._is_open(target):
            target.extend(items)
        else:
            raise self._fail(f"it appends to {_short(target)}")

    def _check_key(self, key):
        # Keys whose hash or comparison is costly are a way to hang the reader.
        todo, parts = [key], 0
        while todo:
            part = todo.pop()
            parts += 1
            if parts > _MAX_KEY_PARTS:
                raise self._fail(f"a key of more than {_MAX_KEY_PARTS} parts")
            if type(part) in (tuple, frozenset):
                todo.extend(part)
            elif type(part) is int and part.bit_length() > 64:
                raise self._fail("a number of more than 64 bits as a key")

    def _build(self, target, state):
        if type(state) is tuple:
            for part in state:
                if type(part) in (bytes, str):  # of an array: copied into it
                    self._pay(len(part))
        if type(target) in _DICTS:  # attributes such as _metadata of a state_dict
            if type(state) is dict and hasattr(target, "__dict__"):
                target.__dict__.update(state)
                return
        elif self._build_special(target, state):
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
        raise self._fail(f"it sets the state of {_short(target)}")


def _integer(digits: bytes) -> int:
    if len(digits) > 4300:  # CPython's own limit where it has one: the conversion takes quadratic time
        raise ValueError(f"an integer of {len(digits)} decimal digits")
    return int(digits)


def _unquote(text: bytes) -> bytes:
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in b"\"'":
        raise ValueError("a string without quotes")
    import codecs

    return codecs.escape_decode(text[1:-1])[0]


def _short(obj) -> str:
    name = getattr(obj, "__qualname__", None)
    return f"{getattr(obj, '__module__', '?')}.{name}" if name else f"an object of type {type(obj).__name__}"
