"""What a captured program relies on: where values come from, and what they have to be when the program runs again."""

from __future__ import annotations

import enum
import math
import types
import typing
import weakref

import torch

#: values that are what they are: an equal one of the same type is as good
PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, torch.dtype,
    torch.device, torch.layout, torch.memory_format,
)  # fmt: skip
_PLAIN = frozenset(PLAIN)
#: in place of a dim: not the size of a tensor, but a number that is an argument itself
WHOLE = 0xFFFFFFFF
#: in place of a dim: the number that a tensor of one element holds
VALUE = 0xFFFFFFFE
#: classes of objects that mean the same for as long as they are the same
FIXED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.CodeType, enum.Enum)
#: classes of what says a type: ``list[int]``, ``int | None``, ``typing.Any``
TYPES = (
    types.GenericAlias, types.UnionType,
    *(kind for name, kind in vars(typing).items() if name.endswith(("GenericAlias", "SpecialForm", "_AnyMeta"))),
)  # fmt: skip
FIXED += TYPES


def is_plain(value):
    return type(value) in _PLAIN


def is_key(value):
    """Whether a value is found in a dict or a set by what it is, without running a comparison of its own.

    >>> is_key("name"), is_key(float), is_key(torch.ones(1))
    (True, True, False)
    """
    return is_plain(value) or (isinstance(value, FIXED) and type(value).__eq__ is object.__eq__)


def same_value(a, b):
    """Equal, and of one type: 1 is neither True nor 1.0, and 0.0 is not -0.0.

    >>> same_value(2, 2), same_value(1, True), same_value(0.0, -0.0), same_value(float("nan"), float("nan"))
    (True, False, False, True)
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if type(a) is complex:
        return same_value(a.real, b.real) and same_value(a.imag, b.imag)
    return a == b


def layout_of(t):
    """What of a tensor decides how a program runs that has it as an input."""
    return (type(t), t.dtype, tuple(t.shape), t.stride(), t.device, t.requires_grad)


def writes_to(t):
    """How often a tensor was written to; None of an inference tensor, of which that is not counted."""
    return None if t.is_inference() else t._version


def order_of(sizes, strides):
    """The dims of dense memory, the outermost first; None of memory with gaps, or with elements that are one. Dims of one
    element stand nowhere.

    >>> order_of((2, 1, 3), (1, 7, 2)), order_of((2, 3), (4, 1))
    ((2, 0), None)
    """
    if 0 in sizes:
        return ()
    dims, step = sorted((d for d, n in enumerate(sizes) if n != 1), key=lambda d: -strides[d]), 1
    for d in reversed(dims):
        if strides[d] != step:
            return None
        step *= sizes[d]
    return tuple(dims)


def _reference(value):
    """A weak reference to an object that comes and goes; None of one that stays, or that cannot be referred to so."""
    if isinstance(value, (type, types.ModuleType)):
        return None
    try:
        return weakref.ref(value)
    except TypeError:
        return None


class Guards:
    """Steps that fetch values from the arguments of a call and from what a function reads, and check them, in order.

    Slot 0 is the tuple of arguments, slot 1 the dict of those by name.
    """

    def __init__(self):
        self.steps, self.slots, self.count = [], {}, 2
        self.checked, self.kept = set(), []
        self.inputs, self.apart = [], []

    def slot(self, source):
        """The slot of a value. Sources: ("args",), ("kwargs",), ("const", object), ("key", above, key),
        ("index", above, i), ("attr", above, name), ("cell", cell)."""
        if source == ("args",):
            return 0
        if source == ("kwargs",):
            return 1
        kind, *rest = source
        if kind in ("const", "cell"):
            key = kind, id(rest[0])
            self.kept.append(rest[0])
        else:
            above = self.slot(rest[0])
            key = kind, above, (type(rest[1]), rest[1])
            rest = [above, rest[1]]
        if key not in self.slots:
            self.slots[key] = self.count
            self.steps.append((kind, self.count, *rest))
            self.count += 1
        return self.slots[key]

    def check(self, kind, source, *what):
        """Note what has to hold of a value. An object that has to be itself is not kept alive by that, if it can be asked
        whether it still is."""
        slot = self.slot(source)
        key = kind, slot, *(repr(w) if is_plain(w) else id(w) for w in what)
        if key not in self.checked:
            self.checked.add(key)
            self.kept.extend(what)
            if kind == "is" and (reference := _reference(what[0])) is not None:
                kind, what = "alive", (reference,)
            self.steps.append((kind, slot, *what))
        return slot

    def lacks(self, kind, other):
        """Note that a class is no subclass of an abstract one: nothing but the question itself tells whether it has become one."""
        self._asks("lacks", kind, lambda kind: not issubclass(other, kind), other)

    def is_empty(self, cell):
        """Note that a variable of a function around holds nothing: whoever reads it gets a NameError."""
        self._asks("empty", cell, lambda cell: cell == types.CellType())

    def _asks(self, what, value, holds, *others):
        slot = self.slot(("const", value))
        key = what, slot, *map(id, others)
        if key not in self.checked:
            self.checked.add(key)
            self.kept.extend(others)
            self.steps.append(("sizes", slot, holds, [(slot, WHOLE)]))

    def release(self):
        """Let go of what only kept the ids of objects while a function was watched."""
        self.kept.clear()

    def is_dead(self):
        """Whether an object is gone that would have to be itself: the program never runs again."""
        return any(step[0] == "alive" and step[2]() is None for step in self.steps)

    def why(self, args, kwargs):
        """What is not as it was, in words; None if everything is."""
        values, texts = {0: args, 1: kwargs}, {0: "args", 1: "kwargs"}
        for kind, slot, *rest in self.steps:
            try:
                if kind in ("const", "cell"):
                    value = values[slot] = rest[0] if kind == "const" else rest[0].cell_contents
                    texts[slot] = "a variable" if kind == "cell" else _short(value)
                elif kind in ("key", "index"):
                    values[slot] = values[rest[0]][rest[1]]
                    texts[slot] = f"{texts[rest[0]]}[{rest[1]!r}]"
                elif kind == "attr":
                    values[slot] = getattr(values[rest[0]], rest[1])
                    texts[slot] = f"{texts[rest[0]]}.{rest[1]}"
                elif not _holds(kind, values[slot], rest, values):
                    return f"{texts[slot]}: {_said(kind, values[slot], rest)}"
            except (AttributeError, KeyError, IndexError, ValueError) as error:
                return f"{texts.get(slot, 'a value')} cannot be read ({error})"
        for which in (self.inputs, self.apart):
            if len({id(values[i]) for i in which}) < len(which):
                return "two of the objects are one"
        return None


def of_class(kind, name):
    """What a class has under a name, as it lies there; None if nothing."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def class_holds(kind, name):
    """Whether a class, or one that it is made of, has anything under a name."""
    return any(name in base.__dict__ for base in kind.__mro__)


def _holds(kind, value, rest, values):
    return {
        "is": lambda: value is rest[0], "alive": lambda: value is rest[0](), "equal": lambda: same_value(value, rest[0]), "type": lambda: type(value) is rest[0],
        "len": lambda: len(value) == rest[0], "keys": lambda: list(value) == list(rest[0]), "same": lambda: value is values[rest[0]],
        "class": lambda: rest[1] is of_class(value, rest[0]) if len(rest) > 1 else not class_holds(value, rest[0]),
        "code": lambda: value.__code__ is rest[0], "memory": lambda: [value._version, value.data_ptr()] == rest,
        "absent": lambda: rest[0] not in value, "noattr": lambda: not hasattr(value, rest[0]),
        "tensor": lambda: isinstance(value, torch.Tensor) and not _differs(rest[0], layout_of(value)),
        "order": lambda: order_of(value.shape, value.stride()) == rest[0], "sizes": lambda: rest[0](*(_asked(values[slot], dim) for slot, dim in rest[1])),
    }[kind]()  # fmt: skip


def _asked(value, dim):
    return value if dim == WHOLE else value.item() if dim == VALUE else value.shape[dim]


def _differs(wanted, found):
    """What of a layout is another, where sizes of -1 and strides that are None stand for any."""
    names = ("class", "dtype", "shape", "stride", "device", "requires_grad")
    changed = [n for n, a, b in zip(names, wanted, found) if a != b and not (n == "stride" and a is None)]
    if "shape" in changed and len(wanted[2]) == len(found[2]):
        if all(a in (-1, b) for a, b in zip(wanted[2], found[2])):
            changed.remove("shape")
    return changed


def _short(value):
    return getattr(value, "__name__", None) or type(value).__name__


def _said(kind, value, rest):
    if kind == "tensor" and isinstance(value, torch.Tensor):
        names = ("class", "dtype", "shape", "stride", "device", "requires_grad")
        changed = [
            (n, a, b) for n, a, b in zip(names, rest[0], layout_of(value)) if n in _differs(rest[0], layout_of(value))
        ]
        return ", ".join(f"{n} was {a}, is {b}" for n, a, b in changed)
    if kind == "equal":
        return f"was {rest[0]!r}, is {value!r}"
    if kind == "len":
        return f"had {rest[0]} items, has {len(value)}"
    if kind == "type":
        return f"was a {rest[0].__qualname__}, is a {type(value).__qualname__}"
    return {
        "is": "is another object",
        "alive": "is another object",
        "keys": "has other keys",
        "same": "is another object",
        "class": f"{rest[0]} is another",
        "code": "has another __code__",
        "memory": "was written to, and is a constant of the program",
        "order": "has its dims in another order in memory",
        "sizes": "has sizes that another program is for",
    }.get(kind, f"{kind} {rest[0]!r} no longer holds")


def state_of_thread():
    """What decides how operators run beside their arguments; the door compares the same in C++."""
    return (
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"), torch.get_default_device(),
    )  # fmt: skip
