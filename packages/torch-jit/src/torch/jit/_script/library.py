"""What the compiler knows of Python and of torch: which names are operators, what is compiled into its caller, and tables of
functions, methods and special forms (filled in functions.py and methods.py)."""

from __future__ import annotations

import cmath
import inspect
import math
import operator

import torch
from torch import _seams

from .. import _ir as ir
from .values import Static, TupleOf

__all__ = ["CMATH", "FORMS", "FUNCTIONS", "METHODS", "REPLACED", "SPECIAL"]

FUNCTIONS = {}  # id of a Python object -> (object, handler(emitter, *items, **items))
SPECIAL = {}  # id of a Python object -> (object, handler(emitter, node))
REPLACED = {}  # (class of torch.nn, name) -> the method that scripts have in its place
FORMS = {}  # a method of REPLACED -> (parameter, qualified name of a type, the method for an argument of that type)
METHODS = {}  # (kind of type, name) -> handler(emitter, value, *items, **items)

_ROW = type(torch.add)
_RENAMED = {"absolute": "abs", "__getitem__": "index"}


def handles(*objects):
    """Register a handler for calls of Python objects."""

    def register(handler):
        for each in objects:
            FUNCTIONS[id(each)] = each, handler
        return handler

    return register


def specially(*objects):
    """Register a handler that gets the call's tree instead of items."""

    def register(handler):
        for each in objects:
            SPECIAL[id(each)] = each, handler
        return handler

    return register


def on(kind, *names):
    """Register a handler for methods of values of a kind."""

    def register(handler):
        for name in names:
            METHODS[kind, name] = handler
        return handler

    return register


def function(fn):
    found = FUNCTIONS.get(id(fn))
    return found[1] if found is not None and found[0] is fn else None


def special(fn):
    found = SPECIAL.get(id(fn))
    return found[1] if found is not None and found[0] is fn else None


def method(kind, name):
    return METHODS.get((kind, name))


_OPERATORS = {
    getattr(operator, name): row
    for name, row in {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "matmul": "matmul",
        "neg": "neg", "pow": "pow", "mod": "remainder", "lt": "lt", "gt": "gt", "le": "le", "ge": "ge", "eq": "eq",
        "ne": "ne", "and_": "__and__", "or_": "__or__", "xor": "__xor__", "getitem": "__getitem__", "not_": "__not__",
    }.items()
}  # fmt: skip
_MATH = {
    getattr(math, name): row
    for name, row in {
        **{
            name: name
            for name in [
                "sqrt",
                "exp",
                "log",
                "log2",
                "log10",
                "log1p",
                "expm1",
                "sin",
                "cos",
                "tan",
                "asin",
                "acos",
                "atan",
                "atan2",
                "sinh",
                "cosh",
                "tanh",
                "asinh",
                "acosh",
                "atanh",
                "floor",
                "ceil",
                "pow",
                "fabs",
                "fmod",
                "gcd",
                "ldexp",
                "frexp",
                "modf",
                "isnan",
                "isinf",
                "isfinite",
                "degrees",
                "radians",
                "copysign",
                "erf",
                "erfc",
                "gamma",
                "lgamma",
                "factorial",
            ]
        },
        "remainder": "mathremainder",
    }.items()
}
#: of cmath: the operator, whose argument is a complex number
CMATH = {
    **{getattr(cmath, name): name for name in (
        "exp", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh", "isnan", "isinf", "isfinite",
    )},
    cmath.phase: "angle",
}  # fmt: skip


def row_of(fn):
    """The name of the operator that a Python object is, or None."""
    if isinstance(fn, _ROW):
        return fn.__name__
    fn = getattr(fn, "_opoverload", fn)  # torch.library.custom_op
    if isinstance(fn, _seams.RegisteredOperator):  # torch.ops.mine.twice.default
        kind = f"{fn.namespace}::{fn._schema.name.rpartition('::')[2]}"
        return kind if fn._row is not None and has_row(kind) else None
    if isinstance(fn, _seams.RegisteredPacket):  # torch.ops.mine.twice
        kinds = {row_of(each) for each in fn._overloads.values()}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(fn, torch._ops.OpOverloadPacket):  # torch.ops.aten.relu
        name = fn._qualified_op_name.removeprefix("aten::")
        return name if has_row(name) else None
    if isinstance(fn, torch._ops.OpOverload):  # torch.ops.aten.relu.default
        return row_of(fn.overloadpacket)
    if not inspect.isbuiltin(fn):
        return None
    if fn in _MATH:
        return _MATH[fn]
    if fn in _OPERATORS:
        return _OPERATORS[fn]
    name = fn.__name__
    return name if getattr(torch, name, None) is fn and has_row(name) else None


def defaults_of(fn, given, named):
    """Of an operator of ``torch.library``, whose row has no defaults, those of the arguments that a call leaves out."""
    fn = getattr(fn, "_opoverload", fn)
    if isinstance(fn, _seams.RegisteredPacket):
        fn = next(iter(fn._overloads.values()))
    if not isinstance(fn, _seams.RegisteredOperator):
        return {}
    left = fn._schema.arguments[given:]
    return {a.name: a.default_value for a in left if a.has_default and a.name not in named}


_rows = {}


def has_row(name):
    """Whether the core or the table of primitives has an operator of this name."""
    if not _rows.get(name):
        _rows[name] = bool(ir.signatures(name))  # programs bring more
    return _rows[name]


def row_name(name):
    return _RENAMED.get(name, name)


_FOLDABLE = {
    len, int, float, bool, str, complex, abs, min, max, sum, round, ord, chr, tuple, list, sorted, repr, divmod, pow, any,
    all, callable, hash, torch.device, torch.finfo, torch.iinfo, torch.Size, torch.get_default_dtype, set, frozenset,
    isinstance, issubclass, getattr, hasattr, type, format, _seams.operator, torch.promote_types, torch.result_type, torch.can_cast,
}  # fmt: skip


def is_foldable(fn):
    """Whether a function of known arguments may be called while compiling."""
    try:
        if fn in _FOLDABLE:
            return True
    except TypeError:
        return False
    return inspect.isbuiltin(fn) and getattr(fn, "__module__", None) in ("cmath", "math", "operator")


def is_library(fn):
    """Whether a Python function belongs to torch itself: it is compiled into its caller, for the types it is called with."""
    module = getattr(fn, "__module__", None) or ""
    return module == "torch" or module.startswith("torch.")


def unwrapped(fn):
    """The function behind decorators of torch that only concern autocast and ``__torch_function__``, or traces."""
    while hasattr(fn, "__wrapped__") and (is_library(fn) or getattr(fn, "__script_if_tracing_wrapper", False)):
        fn = fn.__wrapped__
    return fn


def tuple_method(emitter, owner, name, args):
    """Methods of what is known one by one: ``items`` of a dict, ``index`` and ``count`` of a tuple."""
    value = getattr(owner, "value", None)
    if isinstance(value, dict):
        wrap = lambda each: each if emitter.is_item(each) else Static(each)
        if name == "items":
            return TupleOf([TupleOf([Static(k), wrap(v)]) for k, v in value.items()])
        if name == "keys":
            return TupleOf([Static(k) for k in value])
        if name == "values":
            return TupleOf([wrap(v) for v in value.values()])
        if name == "get" and all(isinstance(each, Static) for each in args):
            default = args[1] if len(args) > 1 else Static(None)
            return wrap(value[args[0].value]) if args[0].value in value else default
    if isinstance(value, (tuple, torch.Size)) and name in ("index", "count", "numel"):
        if all(isinstance(each, Static) for each in args):
            return Static(getattr(value, name)(*(each.value for each in args)))
    return None
