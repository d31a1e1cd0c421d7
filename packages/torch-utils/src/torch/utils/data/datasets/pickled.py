"""Pickles that hold nothing but data, read without executing anything.

A machine for the instructions of dicts, lists, numbers, strings and NumPy arrays. No class is imported and no function
is called: the few names that an array needs stand for forms of our own, and any other name ends the reading.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import BrokenFile

ARRAY = {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct"}
NAMES = {*ARRAY, "numpy ndarray", "numpy dtype", "_codecs encode"}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
NUMBERS = {"BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
TEXTS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
BYTES = {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
STRINGS = {"STRING", "BINSTRING", "SHORT_BINSTRING"}  # Python 2's str: bytes, which pickletools shows as latin-1
SILENT = {"PROTO", "FRAME"}


@dataclass
class Name:
    text: str


@dataclass
class PickledArray:
    """The fields of a NumPy array: shape, the name of its type such as ``u1``, order, bytes."""

    shape: tuple = ()
    type: str = ""
    fortran: bool = False
    data: bytes = b""


def read_pickle(path: str) -> Any:
    """The data in a pickle; Python 2's strings are bytes, arrays are `PickledArray`.

    Raises:
        BrokenFile: for a file that is no pickle, ends too early, or holds more than data
    """
    path = Path(path)
    try:
        return _run(path.read_bytes())
    except _NotData as error:
        raise BrokenFile(path, f"its pickle asks for {error}, which is no data; nothing of it was executed") from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BrokenFile(path, f"no pickle of plain data, or cut short ({error})") from None


class _NotData(Exception):
    pass


_MARK = object()


def _run(program: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}

    def since_mark() -> list:
        at = len(stack) - 1
        while stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise ValueError("there is no mark")
        taken = stack[at + 1 :]
        del stack[at:]
        return taken

    for opcode, argument, _ in pickletools.genops(program):
        name = opcode.name
        if name in NUMBERS or name in TEXTS:
            stack.append(argument)
        elif name in BYTES:
            stack.append(bytes(argument))
        elif name in STRINGS:
            stack.append(argument.encode("latin-1"))
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo[argument])
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "APPEND":
            value = stack.pop()
            _typed(stack[-1], list).append(value)
        elif name == "APPENDS":
            values = since_mark()
            _typed(stack[-1], list).extend(values)
        elif name in ("SETITEM", "SETITEMS"):
            values = since_mark() if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
            _typed(stack[-1], dict).update(zip(values[::2], values[1::2], strict=True))
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in ("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE"):
            stack.append({"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}[name]())
        elif name in ("TUPLE", "LIST", "DICT"):
            values = since_mark()
            made: Any = tuple(values) if name == "TUPLE" else values
            stack.append(dict(zip(values[::2], values[1::2], strict=True)) if name == "DICT" else made)
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            values = [stack.pop() for _ in range(count)]
            stack.append(tuple(reversed(values)))
        elif name == "GLOBAL":
            stack.append(_name(argument))
        elif name == "STACK_GLOBAL":
            last, first = stack.pop(), stack.pop()
            stack.append(_name(f"{first} {last}"))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_stand_in(_typed(function, Name).text, _typed(arguments, tuple)))
        elif name == "BUILD":
            state = stack.pop()
            _fill(stack[-1], _typed(state, tuple))
        elif name == "STOP":
            if len(stack) != 1 or stack[0] is _MARK:
                raise ValueError("its stack does not end with one value")
            return stack[0]
        elif name not in SILENT:
            raise _NotData(f"the instruction {name}")
    raise ValueError("it does not end")


def _typed(value, kind: type):
    if type(value) is not kind:
        raise ValueError(f"a {kind.__name__} is needed where a {type(value).__name__} stands")
    return value


def _name(text: str) -> Name:
    if text not in NAMES:
        raise _NotData(str(text).replace(" ", "."))
    return Name(text)


def _stand_in(name: str, arguments: tuple) -> Any:
    if name == "_codecs encode":
        text, coding = arguments
        if coding not in ("latin1", "latin-1"):
            raise _NotData(f"the coding {coding!r}")
        return _typed(text, str).encode("latin-1")
    if name == "numpy dtype":
        kind = arguments[0]
        return PickledArray(type=kind.decode("latin-1") if isinstance(kind, bytes) else _typed(kind, str))
    if name in ARRAY:
        return PickledArray()
    raise _NotData(name.replace(" ", "."))


def _fill(made, state: tuple) -> None:
    """The state of a dtype says no more than its name; that of an array is (version, shape, dtype, order, bytes)."""
    if type(made) is not PickledArray:
        raise ValueError(f"a state for a {type(made).__name__}")
    if made.type:
        return
    _, shape, dtype, fortran, data = state
    made.shape, made.type, made.fortran = _typed(shape, tuple), _typed(dtype, PickledArray).type, bool(fortran)
    made.data = _typed(data, bytes)
