"""Python's builtins and torch's own functions that are more than an operator."""

from __future__ import annotations

import builtins
import cmath
import collections
import inspect
import math
import operator
import typing
import warnings

import torch

from .. import _await
from .. import _ir as ir
from . import types
from .library import CMATH, handles, is_library, specially
from .selves import defining
from .values import Bound, Enumerated, Items, Range, Self, Slice, Static, TupleOf, Zipped

__all__ = []


def _known(items):
    return all(isinstance(each, Static) for each in items)


# -- special forms --------------------------------------------------------------------------------------------------------


@specially(torch.jit.annotate, typing.cast)
def annotate(emitter, node):
    wanted = emitter.resolve(node.args[0])
    wanted = emitter.known(types.from_annotation, wanted, emitter.function.source)
    item = emitter.typed(node.args[1], wanted)
    if isinstance(item, ir.Value) and item.type() == types.TENSOR:
        item = emitter.number_of(item, wanted)
    value = emitter.value(item, wanted)
    if value.type() != wanted:
        value = emitter.node("prim::unchecked_cast", [value], [wanted]).output()
    return value


@specially(isinstance, torch.jit.isinstance)
def is_instance(emitter, node):
    return emitter.condition(node)[0]


@specially(hasattr)
def has_attr(emitter, node):
    owner = emitter.visit(node.args[0])
    name = emitter.static(emitter.visit(node.args[1]), "the name in hasattr")
    if isinstance(owner, Static) and (isinstance(owner.value, type) or inspect.ismodule(owner.value)):
        return Static(hasattr(owner.value, name))
    if emitter.is_value(owner) and (python := types.PYTHON.get(emitter.type_of(owner).kind())) is not None:
        return Static(hasattr(python, name))
    return Static(emitter.has_attribute(owner, name))


@specially(getattr)
def get_attr(emitter, node):
    owner = emitter.visit(node.args[0])
    name = emitter.static(emitter.visit(node.args[1]), "the name in getattr")
    if len(node.args) == 3 and not emitter.has_attribute(owner, name):
        return emitter.visit(node.args[2])
    return emitter.attribute(owner, name)


@specially(torch.jit.is_scripting)
def is_scripting(emitter, node):
    return Static(True)


@specially(
    torch.jit.is_tracing, torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling, torch.compiler.is_exporting
)
def is_tracing(emitter, node):
    return Static(False)


@specially(any, all)
def any_all(emitter, node):
    """Of a comprehension: as far as its elements are known, decided now."""
    name = node.func.id
    whole = emitter.visit(node.args[0])
    known = emitter.unrolled(whole)
    if known is None:
        value = emitter.value(whole)
        if value.type().kind() == "ListType" and value.type().getElementType().kind() not in _COUNTED:
            return emitter.call_python(_any_of if name == "any" else _all_of, [value], {})
        return emitter.op(name, value)
    found = Static(name == "all")
    for each in known:
        truth = emitter.truth(each)
        if isinstance(truth, Static):
            if truth.value != (name == "all"):
                return truth
        else:
            word = "__and__" if name == "all" else "__or__"
            found = truth if isinstance(found, Static) else emitter.op(word, found, truth)
    return found


_COUNTED = ("TensorType", "IntType", "FloatType", "BoolType")  # lists of these have operators


def _any_of(values):
    for each in values:  # noqa: SIM110 (the script language has no generators)
        if each:
            return True
    return False


def _all_of(values):
    for each in values:  # noqa: SIM110
        if not each:
            return False
    return True


# -- iteration ------------------------------------------------------------------------------------------------------------


@handles(range)
def range_(emitter, *parts):
    if not 1 <= len(parts) <= 3:
        bound = "least 1 arguments, got 0" if not parts else f"most 3 arguments, got {len(parts)}"
        raise emitter.error(f"range expected at {bound}")
    for i, each in enumerate(parts):
        kind = emitter.type_of(each) if emitter.is_value(each) else None
        if kind not in (types.INT, types.BOOL, types.TENSOR):
            raise emitter.error(
                f"all inputs of range must be ints, found {kind or emitter.describe(each)} in argument {i}"
            )
    start, stop, step = (Static(0), parts[0], Static(1)) if len(parts) == 1 else (*parts, Static(1))[:3]
    return Range(start, stop, step)


@handles(slice)
def slice_(emitter, *parts, **kwargs):
    if kwargs:
        raise emitter.error("Slice does not accept any keyword arguments")
    if not 1 <= len(parts) <= 3:
        raise emitter.error(f"slice expected 1 to 3 arguments, got {len(parts)}")
    none = Static(None)
    start, stop, step = (none, *parts, none) if len(parts) == 1 else (*parts, none)[:3]
    return Slice(start, stop, step)


@handles(enumerate)
def enumerate_(emitter, *items, **named):
    if not items:
        raise emitter.error("enumerate expected at least 1 arguments, got 0")
    if odd := set(named) - {"start"}:
        raise emitter.error(f"enumerate() has no argument {min(odd)!r}", "write start=")
    if len(items) + len(named) > 2:
        raise emitter.error(f"enumerate expected at most 2 arguments, got {len(items) + len(named)}")
    return Enumerated(items[0], named.get("start", items[1] if len(items) == 2 else Static(0)))


@handles(zip)
def zip_(emitter, *items, strict=None):
    if not items:
        raise emitter.error("zip expected at least 1 arguments, got 0")
    return Zipped(items)


@handles(reversed)
def reversed_(emitter, items):
    known = emitter.unrolled(items)
    if known is not None:
        return Items(known[::-1])
    if isinstance(items, Range):
        parts = [emitter.value(each) for each in (items.start, items.stop, items.step)]
        length = emitter.op("__range_length", *parts)
        last = emitter.op("__derive_index", emitter.op("sub", length, 1), parts[0], parts[2])
        back = emitter.op("neg", parts[2])
        return Range(last, emitter.op("add", last, emitter.op("mul", back, length)), back)
    value = emitter.value(items)
    copy = emitter.op("list", value)
    emitter.op("reverse", copy)
    return copy


@handles(len)
def len_(emitter, whole):
    if isinstance(whole, Self) and whole.concrete.is_module:
        cls = type(whole.concrete.python)
        if inspect.isfunction(own := inspect.getattr_static(cls, "__len__", None)) and not is_library(own):
            return emitter.call_inherited(whole, own, defining(cls, "__len__"), [], {})
    if isinstance(whole, Static):
        return Static(len(whole.value))
    if isinstance(whole, Self) and whole.concrete.is_module and emitter.children(whole) is not None:
        return emitter.call_method(whole, "__len__", [], {})
    known = emitter.unrolled(whole)
    if known is not None:
        return Static(len(known))
    if isinstance(whole, Range):
        return emitter.op("__range_length", *(emitter.value(each) for each in (whole.start, whole.stop, whole.step)))
    value = emitter.value(whole)
    if value.type().kind() == "ClassType":
        return emitter.method(value, "__len__", [], {})
    if value.type().kind() == "UnionType":
        return emitter.of_each(value, lambda part: len_(emitter, part))
    return emitter.op("len", value)


@handles(list)
def list_(emitter, whole=None):
    if whole is None:
        return empty(emitter, ir.ListType(types.TENSOR))
    if isinstance(whole, ir.Value) and whole.type().kind() in ("ListType", "StringType"):
        return emitter.op("list", whole)
    known = emitter.unrolled(whole)
    if known is not None:
        values = all(map(emitter.is_value, known))
        return emitter.list_of([emitter.value(each) for each in known]) if values else Items(known)
    length, item = emitter.indexed(whole)
    return collected(emitter, length, item)


def empty(emitter, type):
    kind = "prim::ListConstruct" if type.kind() == "ListType" else "prim::DictConstruct"
    made = emitter.node(kind, [], [type]).output()
    emitter.empties.add(made)
    return made


def collected(emitter, length, item):
    """A list of what a loop gives."""
    result = empty(emitter, ir.ListType(types.TENSOR))
    made = emitter.node("prim::Loop", [length, emitter.constant(True)])
    block = made.addBlock()
    i = block.addInput("i", types.INT)
    with emitter.within(block):
        emitter.append(result, item(i))
        block.registerOutput(emitter.constant(True))
    return result


@handles(tuple, torch.Size)
def tuple_(emitter, whole=None):
    if whole is None:
        return TupleOf([])
    known = emitter.unrolled(whole)
    if known is not None:
        return TupleOf(known)
    value = emitter.value(whole) if emitter.is_value(whole) else list_(emitter, whole)
    if value.type().kind() == "ListType":  # of a length that is not known: it stays a list
        return value
    return list_(emitter, value)


@handles(dict, collections.OrderedDict)
def dict_(emitter, whole=None, **items):
    if whole is not None and items:
        made = dict_(emitter, whole)
        for name, each in items.items():
            emitter.set_item(made, emitter.constant(name), each)
        return made
    if items:
        if emitter.function.library and _known(items.values()):  # for calls with **; nothing is written to it
            return Static({name: each.value for name, each in items.items()})
        values = [emitter.value(each) for each in items.values()]
        pairs = [emitter.value(TupleOf([Static(name), each])) for name, each in zip(items, values)]
        return emitter.op("dict", emitter.list_of(pairs))
    if whole is None:
        return empty(emitter, ir.DictType(types.STR, types.TENSOR))
    if isinstance(whole, Static) and isinstance(whole.value, dict):
        return emitter.value(whole)
    if isinstance(whole, ir.Value) and whole.type().kind() == "DictType":
        return empty(emitter, whole.type()) if whole in emitter.empties else emitter.op("copy", whole)
    if not emitter.is_value(whole) and emitter.unrolled(whole) is None:
        whole = list_(emitter, whole)
    known = emitter.unrolled(whole)
    if known is not None and not isinstance(getattr(whole, "value", None), dict):
        whole = emitter.list_of([emitter.value(each) for each in known])
    return emitter.op("dict", emitter.value(whole))


@handles(sorted)
def sorted_(emitter, whole, *, key=Static(None), reverse=Static(False)):
    if not (isinstance(key, Static) and key.value is None):
        raise emitter.error("sorted: a key is not supported: sort a list of tuples that begin with it")
    value = emitter.value(whole) if emitter.is_value(whole) else list_(emitter, whole)
    objects = value.type().kind() == "ListType" and types.holds_objects(value.type().getElementType())
    if not objects and isinstance(reverse, Static) and not reverse.value:
        return emitter.op("sorted", value)
    made = list_(emitter, value)
    emitter.method(made, "sort", [reverse], {})
    return made


@handles(sum)
def sum_(emitter, whole, start=Static(0)):
    known = emitter.unrolled(whole)
    if known is None:
        value = emitter.value(whole)
        if value.type().kind() == "ListType" and value.type().getElementType() == types.TENSOR:
            return emitter.call_python(_sum_of_tensors, [value], {})
        if value.type().kind() == "ListType" and value.type().getElementType() == types.COMPLEX:
            total = emitter.call_python(_sum_of_complex, [value], {})
            return emitter.binary("add", lambda a, b: a + b, total, start)
        total = emitter.op("sum", value)
        return (
            total if isinstance(start, Static) and start.value == 0 else emitter.op("add", total, emitter.value(start))
        )
    total = start
    for each in known:
        total = emitter.binary("add", lambda a, b: a + b, total, each)
    return total


def _sum_of_complex(values):
    total = complex(0, 0)
    for each in values:
        total = total + each
    return total


def _sum_of_tensors(values):
    total = values[0]
    for i in range(1, len(values)):
        total = total + values[i]
    return total


# -- numbers and texts ----------------------------------------------------------------------------------------------------


def _convert(word, python):
    def handler(emitter, item=None):
        if item is None:
            return Static(python())
        if isinstance(item, Static):
            return emitter._folded(python, [item], {}, lambda: emitter.op(word, emitter.value(item)))
        value = emitter.value(item)
        if value.type().kind() == "ClassType":
            return emitter.method(value, f"__{python.__name__}__", [], {})
        return emitter.op(word, value)

    return handler


handles(int)(_convert("Int", int))
handles(float)(_convert("Float", float))
_complex = _convert("Complex", complex)


@handles(complex)
def complex_(emitter, real=None, imag=None):
    if imag is None:
        return _complex(emitter, real)
    if _known((real, imag)):
        return Static(complex(real.value, imag.value))
    return emitter.op("Complex", emitter.value(real), emitter.value(imag))


def _of_complex(row):
    def handler(emitter, item, base=None):
        if base is not None:
            return emitter.binary("div", operator.truediv, handler(emitter, item), handler(emitter, base))
        return emitter.op(row, emitter.value(complex_(emitter, item)))

    return handler


def _known_or(fn, handler):
    def call(emitter, *items):
        return emitter._folded(fn, list(items), {}) if _known(items) else handler(emitter, *items)

    return call


for _fn, _row in CMATH.items():
    handles(_fn)(_known_or(_fn, _of_complex(_row)))


@handles(cmath.rect)
def rect(emitter, r, phi):
    r, phi = (emitter.op("Float", emitter.value(each)) for each in (r, phi))
    return emitter.op("polar", r, phi)


@handles(cmath.polar)
def polar(emitter, item):
    value = emitter.value(complex_(emitter, item))
    return TupleOf([emitter.op("prim::abs", value), emitter.op("angle", value)])


@handles(bool)
def bool_(emitter, item=Static(False)):
    return emitter.truth(item)


@handles(str)
def str_(emitter, item=Static("")):
    if isinstance(item, Static):
        return Static(str(item.value))
    value = emitter.value(item)
    return emitter.method(value, "__str__", [], {}) if value.type().kind() == "ClassType" else emitter.op("str", value)


def _of_numbers(emitter, word, a, b):
    """The smaller or greater of two, of which one is an int or a float only at run time."""
    made, frames = emitter.open_if(emitter.op("lt" if word == "min" else "gt", b, a))
    return emitter.joined_value(made, dict(zip(map(id, frames), (b, a))), frames, types.NUMBER)


def _extreme(word, python):
    def handler(emitter, *items):
        if _known(items):
            return emitter._folded(python, list(items), {})
        if len(items) == 1:
            known = emitter.unrolled(items[0])
            if known is None:
                return emitter.op(f"prim::{word}", emitter.value(items[0]))
            items = known
        found = emitter.value(items[0])
        for each in items[1:]:
            other = emitter.value(each)
            if types.NUMBER in (found.type(), other.type()):
                found = _of_numbers(emitter, word, found, other)
            else:
                found = emitter.op(f"prim::{word}", found, other)
        return found

    return handler


handles(min)(_extreme("min", min))
handles(max)(_extreme("max", max))


@handles(abs)
def abs_(emitter, item):
    if isinstance(item, Static):
        return Static(abs(item.value))
    return emitter.op("abs" if item.type() == types.TENSOR else "prim::abs", item)


@handles(round)
def round_(emitter, item, digits=None):
    if isinstance(item, Static) and digits is None:
        return Static(round(item.value))
    return emitter.op("round", *(emitter.value(each) for each in (item, digits) if each is not None))


@handles(divmod)
def divmod_(emitter, a, b):
    def emit():
        x, y = (emitter.value(each) for each in (a, b))
        if types.TENSOR in (x.type(), y.type()):  # numbers that they stand for
            x, y = (emitter.number_of(each, types.INT) if each.type() == types.TENSOR else each for each in (x, y))
        return TupleOf([emitter.op("floordiv", x, y), emitter.op("remainder", x, y)])

    return emitter._folded(divmod, [a, b], {}, emit) if _known((a, b)) else emit()


@handles(pow)
def pow_(emitter, a, b):
    return emitter.binary("pow", pow, a, b)


def _based(word, python):
    def handler(emitter, item):
        return Static(python(item.value)) if isinstance(item, Static) else emitter.op(word, item)

    return handler


handles(hex)(_based("hex", hex))
handles(oct)(_based("oct", oct))
handles(bin)(_based("bin", bin))


@handles(hash)
def hash_(emitter, item):
    value = emitter.value(item)
    return (
        emitter.method(value, "__hash__", [], {}) if value.type().kind() == "ClassType" else emitter.op("hash", value)
    )


@handles(ord)
def ord_(emitter, item):
    emit = lambda: emitter.op("ord", emitter.value(item))
    return emitter._folded(ord, [item], {}, emit) if isinstance(item, Static) else emit()


@handles(chr)
def chr_(emitter, item):
    emit = lambda: emitter.op("chr", emitter.value(item))
    return emitter._folded(chr, [item], {}, emit) if isinstance(item, Static) else emit()


@handles(print)
def print_(emitter, *items, **kwargs):
    if kwargs:
        raise emitter.error("print doesn't accept any keyword arguments")
    emitter.node("prim::Print", [emitter.value(each) for each in items])


@handles(math.prod)
def prod(emitter, whole, start=Static(1)):
    known = emitter.unrolled(whole)
    if known is None:
        return emitter.call_python(_product, [emitter.value(whole)], {})
    total = start
    for each in known:
        total = emitter.binary("mul", lambda a, b: a * b, total, each)
    return total


def _product(values):
    total = 1
    for each in values:
        total = total * each
    return total


# -- torch ----------------------------------------------------------------------------------------------------------------


@handles(warnings.warn)
def warn(emitter, message, category=None, stacklevel=Static(2)):
    emitter.op("warn", emitter.value(message), emitter.value(stacklevel))


def _asked(name):
    def handler(emitter, item):
        return emitter.op(name, emitter.value(item))

    return handler


for _name in ("is_floating_point", "is_complex", "is_signed"):
    handles(getattr(torch, _name))(_asked(_name))


@handles(torch.manual_seed)
def manual_seed(emitter, seed):
    emitter.op("manual_seed", emitter.value(seed))


@handles(torch.save)
def save(emitter, item, f):
    """A call of Python, which no archive holds: what is loaded writes no files."""
    return emitter.call_out(_save, [item, f], {})


def _save(item, f) -> None:
    torch.save(item, f)


@handles(torch.is_tensor)
def is_tensor(emitter, item):
    return Static(isinstance(item, ir.Value) and item.type().kind() == "TensorType")


@handles(torch.jit._unwrap_optional)
def unwrap_optional(emitter, item):
    value = emitter.value(item)
    if types.is_none(value.type()):
        raise emitter.error("torch.jit._unwrap_optional: its type could not be inferred from actual type None")
    return emitter.op("_unwrap_optional", value) if types.is_optional(value.type()) else value


@handles(torch._assert)
def assert_(emitter, condition, message):
    made, (_, other) = emitter.open_if(emitter.value(emitter.truth(condition)))
    with emitter.within(other.block):
        emitter.node("prim::RaiseException", [emitter.value(message), emitter.constant("AssertionError")])


@handles(torch.jit.fork)
def fork(emitter, fn, *args, **kwargs):
    """A call beside the rest; its result as a future."""
    is_value = isinstance(fn, (Self, ir.Value))  # a module
    owner = fn.owner if isinstance(fn, Bound) else fn if is_value else Static(None)

    def emit(inner, items):
        first, *rest = items
        called = Bound(first, fn.name) if isinstance(fn, Bound) else first if is_value else fn
        return inner.call(called, rest[: len(args)], dict(zip(kwargs, rest[len(args) :])))

    return emitter.forked(emit, [owner, *args, *kwargs.values()])


@handles(_await._awaitable)
def awaitable(emitter, fn, *args, **kwargs):
    return fork(emitter, fn, *args, **kwargs)


@handles(_await._awaitable_nowait)
def awaitable_nowait(emitter, item):
    return emitter.forked(lambda inner, items: items[0], [emitter.value(item)])


@handles(torch.jit.wait, _await._awaitable_wait)
def wait(emitter, future):
    value = emitter.value(future)
    return emitter.node("aten::wait", [value], [value.type().getElementType()]).output()


@handles(
    builtins.id, builtins.input, builtins.open, builtins.exec, builtins.eval, builtins.map, builtins.filter, iter, next
)
def refused(emitter, *items, **kwargs):
    raise emitter.error(
        "this builtin is not part of the script language",
        "write a loop, or put it into a function marked @torch.jit.ignore",
    )


@handles(type)
def type_(emitter, item):
    if isinstance(item, Self):
        return Static(type(item.concrete.python))
    if isinstance(item, Static):
        return Static(type(item.value))
    raise emitter.error("the type of a value cannot be asked for at run time", "use isinstance")


@handles(torch.is_autocast_enabled)
def is_autocast_enabled(emitter, device_type=Static("cuda")):
    return emitter.op("is_autocast_enabled", emitter.value(device_type))
