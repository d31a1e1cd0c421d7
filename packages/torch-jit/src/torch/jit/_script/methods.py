"""Methods of values that are more than an operator: lists and dicts that take a type, sizes, futures."""

from __future__ import annotations

import torch

from .. import _ir as ir
from . import operators, types
from .library import handles, on
from .values import Static, TupleOf

__all__ = []


def _by_python(name):
    @on("TensorType", name)
    def handler(emitter, value, *items, **named):
        return emitter.python_operator(name, operators.operator(name), [value, *items], named)


for _name in ("backward", "requires_grad_"):
    _by_python(_name)


@on("GeneratorType", "seed")
def generator_seed(emitter, generator):
    return emitter.python_operator("seed", operators.operator("seed"), [generator], {})


@on("GeneratorType", "initial_seed")
def generator_initial_seed(emitter, generator):
    return emitter.python_operator("initial_seed", operators.operator("initial_seed"), [generator], {})


@on("GeneratorType", "manual_seed")
def manual_seed(emitter, value, seed):
    return emitter.python_operator("manual_seed", operators.operator("manual_seed"), [value, seed], {})


@handles(torch.Generator)
def generator(emitter, device=Static(None)):
    given = {} if isinstance(device, Static) and device.value is None else {"device": device}
    return emitter.python_operator("Generator", operators.operator("Generator"), [], given)


@on("ListType", "append")
def append(emitter, value, item):
    emitter.append(value, item)


@on("ListType", "extend")
def extend(emitter, value, items):
    known = emitter.unrolled(items)
    if known is not None:
        for each in known:
            emitter.append(value, each)
        return
    other = emitter.value(items)
    if value in emitter.empties and other.type().kind() == "ListType":
        emitter.empties.discard(value)
        value.setType(other.type())
    emitter.op("extend", value, emitter.checked(other, value.type()))


@on("ListType", "insert")
def insert(emitter, value, index, item):
    if value in emitter.empties:
        emitter.empties.discard(value)
        value.setType(ir.ListType(emitter.type_of(item)))
    emitter.op("insert", value, emitter.value(index), emitter.value(item, value.type().getElementType()))


@on("ListType", "sort")
def sort(emitter, value, reverse=Static(False)):
    if types.holds_objects(value.type().getElementType()):
        emitter.call_python(_sort_objects, [value, reverse], {})
    else:
        emitter.op("sort", value, emitter.value(reverse))


def _sort_objects(values, reverse: bool):
    """By insertion, which keeps equal ones in order; they are compared by ``__lt__`` only."""
    for i in range(1, len(values)):
        item = values[i]
        j = i
        while j > 0 and (values[j - 1] < item if reverse else item < values[j - 1]):
            values[j] = values[j - 1]
            j -= 1
        values[j] = item


@on("ListType", "numel")
def numel(emitter, value):
    """Of a torch.Size."""
    from .functions import _product

    return emitter.call_python(_product, [value], {})


@on("DictType", "get")
def get(emitter, value, key, default=Static(None)):
    _, inner = value.type().containedTypes()
    if isinstance(default, Static) and default.value is None:
        return emitter.op("get", value, emitter.value(key))
    return emitter.op("get", value, emitter.value(key), emitter.value(default, inner))


@on("DictType", "items")
def items(emitter, value):
    return emitter.op("items", value)


@on("StringType", "format")
def format_(emitter, value, *items):
    return emitter.formatted("format", [value, *items])


@on("TensorType", "size")
def size(emitter, value, dim=None):
    return emitter.op("size", value) if dim is None else emitter.op("size", value, emitter.value(dim))


_DTYPES = {
    "float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16, "int": torch.int32,
    "long": torch.int64, "short": torch.int16, "char": torch.int8, "byte": torch.uint8, "bool": torch.bool,
    "cfloat": torch.complex64, "cdouble": torch.complex128,
}  # fmt: skip


def _casts(dtype):
    return lambda emitter, value: emitter.op("to", value, emitter.constant(dtype))


for _name, _dtype in _DTYPES.items():
    on("TensorType", _name)(_casts(_dtype))


@on("TensorType", "cpu")
def cpu(emitter, value):
    return emitter.op("to", value, emitter.constant(torch.device("cpu")))


@on("TensorType", "type")
def cast(emitter, value, dtype):
    return emitter.op("to", value, emitter.value(dtype))


@on("TensorType", "view")
def view(emitter, value, *args, **kwargs):
    if len(args) == 1 and isinstance(args[0], Static) and isinstance(args[0].value, torch.dtype):
        args, kwargs = (), {"dtype": args[0]}  # as an int it would be a size
    return emitter.row("view", [value, *args], kwargs)


@on("TensorType", "type_as")
def type_as(emitter, value, other):
    return emitter.op("to", value, emitter.value(other))


@on("TensorType", "where")
def where(emitter, value, condition, other):
    return emitter.row("where", [condition, value, other], {})


@on("TensorType", "__getitem__")
def getitem(emitter, value, index):
    return emitter.at_item(value, index)


@on("FutureType", "wait")
def wait(emitter, value):
    return emitter.node("aten::wait", [value], [value.type().getElementType()]).output()


@on("TupleType", "index")
def index(emitter, value, item):
    raise emitter.error("index of a tuple is not part of the script language", "make it a list")


@on("TupleType", "_asdict")
def asdict(emitter, value):
    return Static(dict(zip(value.type().field_names(), emitter.elements(value))))


@on("TupleType", "_replace")
def replace(emitter, value, **items):
    parts = dict(zip(value.type().field_names(), emitter.elements(value)))
    parts.update(items)
    return TupleOf(list(parts.values()), value.type())


@on("IntType", "is_integer")
def is_integer(emitter, value):
    return Static(True)


@on("FloatType", "is_integer")
def float_is_integer(emitter, value):
    return emitter.op("eq", emitter.op("floor", value), value)


@on("AnyType", "__class__")
def any_class(emitter, value):
    raise emitter.error(f"a value of type {types.ANY} has no attributes", "use isinstance to say what it is")
