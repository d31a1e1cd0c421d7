"""A pickle machine for data: it builds containers, numbers, strings and what its `find` hands out, and runs nothing else.

Python's own unpickler imports whatever the stream names and calls it. This one
- resolves a name only through `find(module, name)`, which raises for what is not allowed;
- calls, hashes, copies and changes only what `rules` lets it;
- allocates nothing by a declared size: a size beyond the stream's end is an error;
- keeps its memo in a dict, so a huge index costs nothing; indices that no pickler writes are few.

Opcodes: CPython `Lib/pickletools.py`, protocols 0 to 5 without the extension registry and out-of-band buffers.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from typing import Any

from .._errors import CorruptPickleError, FileFormatError, UnsafeGlobalError
from .budget import Copies
from .rules import Broken, Rules
from .tensor_calls import TensorCalls

_float64 = struct.Struct(">d").unpack_from
_GAP = 256  # what the number of a memo's next entry may be ahead of their count
_int32, _uint32 = struct.Struct("<i").unpack_from, struct.Struct("<I").unpack_from


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
        copies: pays for what the calls copy
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
        copies: Copies | None = None,
    ):
        self.position = 0
        self._data = data
        self._rules = Rules(copies or Copies(len(data)), find, is_open, build)
        self._persistent_load = persistent_load
        self._calls = TensorCalls(self._rules.call, persistent_load)
        self._encoding = encoding
        self._where = where

    def load(self) -> Any:
        """The object of the next pickle."""
        try:
            return self._run()
        except (UnsafeGlobalError, CorruptPickleError, NotImplementedError, MemoryError, Warning):
            raise
        except Broken as e:
            raise self._error(e) from None
        except (IndexError, struct.error):
            raise self._error("it ends early, or takes more from the stack than is there") from None
        except RecursionError:
            raise self._error("it compares keys that are nested too deeply") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, LookupError) as e:
            raise self._error(f"{type(e).__name__}: {e}") from e
        except RuntimeError as e:  # a tensor that does not fit into its storage
            if type(e) not in (RuntimeError, FileFormatError) or self._where in str(e) or str(e).startswith("load: "):
                raise
            raise FileFormatError(f"{self._where}: near byte {self.position} of its pickle: {e}") from e

    def _error(self, text) -> CorruptPickleError:
        return CorruptPickleError(f"{self._where}: broken pickle near byte {self.position}: {text}")

    def _decoded(self, raw: bytes):
        """A string of Python 2."""
        return raw if self._encoding == "bytes" else raw.decode(self._encoding)

    def _run(self) -> Any:
        data, position = self._data, self.position
        rules, persistent_load, decoded = self._rules, self._persistent_load, self._decoded
        find, call, calls = rules.named, rules.call, self._calls
        size = len(data)
        memo: dict[int, Any] = {}
        stack: list = []
        marks: list[list] = []

        try:  # the opcodes are ordered by how often a file of tensors uses them
            while True:
                op = data[position]
                position += 1
                if op == 0x68:  # BINGET
                    stack.append(memo[data[position]])
                    position += 1
                elif op == 0x4B:  # BININT1
                    stack.append(data[position])
                    position += 1
                    while data[position] == 0x4B:  # sizes and strides come in runs
                        stack.append(data[position + 1])
                        position += 2
                elif op == 0x71:  # BINPUT
                    memo[data[position]] = stack[-1]
                    position += 1
                elif op == 0x28:  # MARK
                    if data[position] == 0x28 and (match := calls.at(data, position)) is not None:
                        stack[-1] = calls.made(match, stack[-1], memo)
                        position = match.end()
                    else:
                        marks.append(stack)
                        stack = []
                elif op == 0x58:  # BINUNICODE
                    begin = position + 4
                    position = begin + _uint32(data, position)[0]
                    if position > size:
                        raise Broken(f"{position - begin} bytes declared, {size - begin} left")
                    stack.append(data[begin:position].decode("utf-8", "surrogatepass"))
                elif op == 0x74:  # TUPLE
                    value = tuple(stack)
                    stack = marks.pop()
                    stack.append(value)
                elif op == 0x52:  # REDUCE
                    args = stack.pop()
                    stack[-1] = call(stack[-1], args)
                elif op == 0x86:  # TUPLE2
                    value = stack.pop()
                    stack[-1] = (stack[-1], value)
                elif op == 0x85:  # TUPLE1
                    stack[-1] = (stack[-1],)
                elif op == 0x89:  # NEWFALSE
                    stack.append(False)
                elif op == 0x29:  # EMPTY_TUPLE
                    stack.append(())
                elif op == 0x51:  # BINPERSID
                    stack[-1] = persistent_load(stack[-1])
                elif op == 0x4D:  # BININT2
                    stack.append(data[position] | data[position + 1] << 8)
                    position += 2
                elif op == 0x72:  # LONG_BINPUT
                    index = _uint32(data, position)[0]
                    if index > len(memo) + _GAP:
                        rules.stray(index)
                    memo[index] = stack[-1]
                    position += 4
                elif op == 0x6A:  # LONG_BINGET
                    stack.append(memo[_uint32(data, position)[0]])
                    position += 4
                elif op == 0x4A:  # BININT
                    stack.append(_int32(data, position)[0])
                    position += 4
                elif op == 0x87:  # TUPLE3
                    value = (stack[-3], stack[-2], stack[-1])
                    del stack[-3:]
                    stack.append(value)
                elif op == 0x88:  # NEWTRUE
                    stack.append(True)
                elif op == 0x4E:  # NONE
                    stack.append(None)
                elif op == 0x47:  # BINFLOAT
                    stack.append(_float64(data, position)[0])
                    position += 8
                elif op == 0x94:  # MEMOIZE
                    memo[len(memo)] = stack[-1]
                elif op == 0x8C:  # SHORT_BINUNICODE
                    raw, position = _take(data, position, 1)
                    stack.append(raw.decode("utf-8", "surrogatepass"))
                elif op == 0x63:  # GLOBAL
                    module, position = _line(data, position)
                    name, position = _line(data, position)
                    stack.append(find(module.decode(), name.decode()))
                elif op == 0x93:  # STACK_GLOBAL
                    name, module = stack.pop(), stack.pop()
                    if type(name) is not str or type(module) is not str:
                        raise Broken("STACK_GLOBAL needs two strings")
                    stack.append(find(module, name))
                elif op == 0x75:  # SETITEMS
                    items, stack = stack, marks.pop()
                    rules.set_items(stack[-1], items)
                elif op == 0x73:  # SETITEM
                    value, key = stack.pop(), stack.pop()
                    rules.set_items(stack[-1], [key, value])
                elif op == 0x7D:  # EMPTY_DICT
                    stack.append({})
                elif op == 0x5D:  # EMPTY_LIST
                    stack.append([])
                elif op == 0x65:  # APPENDS
                    items, stack = stack, marks.pop()
                    rules.extend(stack[-1], items)
                elif op == 0x61:  # APPEND
                    value = stack.pop()
                    rules.extend(stack[-1], [value])
                elif op == 0x62:  # BUILD
                    state = stack.pop()
                    rules.build(stack[-1], state)
                elif op == 0x81:  # NEWOBJ
                    args = stack.pop()
                    stack[-1] = rules.new(stack[-1], args, {})
                elif op == 0x92:  # NEWOBJ_EX
                    kwargs, args = stack.pop(), stack.pop()
                    stack[-1] = rules.new(stack[-1], args, kwargs)
                elif op == 0x8A:  # LONG1
                    raw, position = _take(data, position, 1)
                    stack.append(int.from_bytes(raw, "little", signed=True))
                elif op == 0x8B:  # LONG4
                    raw, position = _take(data, position, 4)
                    stack.append(int.from_bytes(raw, "little", signed=True))
                elif op == 0x8F:  # EMPTY_SET
                    stack.append(set())
                elif op == 0x90:  # ADDITEMS
                    items, stack = stack, marks.pop()
                    rules.add(stack[-1], items)
                elif op == 0x91:  # FROZENSET
                    items, stack = stack, marks.pop()
                    stack.append(rules.frozen(items))
                elif op == 0x42:  # BINBYTES
                    raw, position = _take(data, position, 4)
                    stack.append(raw)
                elif op == 0x43:  # SHORT_BINBYTES
                    raw, position = _take(data, position, 1)
                    stack.append(raw)
                elif op == 0x8E:  # BINBYTES8
                    raw, position = _take(data, position, 8)
                    stack.append(raw)
                elif op == 0x96:  # BYTEARRAY8
                    raw, position = _take(data, position, 8)
                    stack.append(bytearray(raw))
                elif op == 0x8D:  # BINUNICODE8
                    raw, position = _take(data, position, 8)
                    stack.append(raw.decode("utf-8", "surrogatepass"))
                elif op == 0x55:  # SHORT_BINSTRING
                    raw, position = _take(data, position, 1)
                    stack.append(decoded(raw))
                elif op == 0x54:  # BINSTRING
                    raw, position = _take(data, position, 4)
                    stack.append(decoded(raw))
                elif op == 0x53:  # STRING
                    text, position = _line(data, position)
                    stack.append(decoded(_unquote(text)))
                elif op == 0x56:  # UNICODE
                    text, position = _line(data, position)
                    stack.append(str(text, "raw-unicode-escape"))
                elif op == 0x49:  # INT
                    text, position = _line(data, position)
                    stack.append(text == b"01" if text in (b"00", b"01") else _integer(text))
                elif op == 0x4C:  # LONG
                    text, position = _line(data, position)
                    stack.append(_integer(text.rstrip(b"L")))
                elif op == 0x46:  # FLOAT
                    text, position = _line(data, position)
                    stack.append(float(text))
                elif op == 0x64:  # DICT
                    items, stack = stack, marks.pop()
                    stack.append({})
                    rules.set_items(stack[-1], items)
                elif op == 0x6C:  # LIST
                    value, stack = stack, marks.pop()
                    stack.append(value)
                elif op == 0x50:  # PERSID
                    text, position = _line(data, position)
                    stack.append(persistent_load(str(text, "ascii")))
                elif op == 0x67:  # GET
                    text, position = _line(data, position)
                    stack.append(memo[_integer(text)])
                elif op == 0x70:  # PUT
                    text, position = _line(data, position)
                    index = _integer(text)
                    if not 0 <= index <= len(memo) + _GAP:
                        rules.stray(index)
                    memo[index] = stack[-1]
                elif op == 0x30:  # POP
                    if stack:
                        stack.pop()
                    else:
                        stack = marks.pop()
                elif op == 0x31:  # POP_MARK
                    stack = marks.pop()
                elif op == 0x32:  # DUP
                    stack.append(stack[-1])
                elif op == 0x80:  # PROTO
                    if data[position] > 5:
                        raise Broken(f"protocol {data[position]} is newer than this reader (5)")
                    position += 1
                elif op == 0x95:  # FRAME
                    position += 8
                elif op == 0x2E:  # STOP
                    return stack.pop()
                elif op in (0x69, 0x6F):  # INST, OBJ
                    raise Broken("instances of old-style Python 2 classes are not data")
                else:
                    raise Broken(f"opcode 0x{op:02x} is unknown, or not one that data needs")
        finally:
            self.position = position


def _take(data: bytes, position: int, width: int) -> tuple[bytes, int]:
    """A length of `width` bytes and then that many bytes; where the next opcode is."""
    begin = position + width
    end = begin + int.from_bytes(data[position:begin], "little")
    if end > len(data):
        raise Broken(f"{end - begin} bytes declared, {len(data) - begin} left")
    return data[begin:end], end


def _line(data: bytes, position: int) -> tuple[bytes, int]:
    end = data.find(b"\n", position)
    if end < 0:
        raise Broken("a line has no end")
    return data[position:end], end + 1


def _integer(digits: bytes) -> int:
    if len(digits) > 4300:  # CPython's own limit where it has one: the conversion takes quadratic time
        raise ValueError(f"an integer of {len(digits)} decimal digits")
    return int(digits)


def _unquote(text: bytes) -> bytes:
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in b"\"'":
        raise ValueError("a string without quotes")
    return codecs.escape_decode(text[1:-1])[0]
