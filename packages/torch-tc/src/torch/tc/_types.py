"""Types of the language, and what two of them give together."""

from __future__ import annotations

from collections.abc import Mapping

from torch.tc import _functions
from torch.tc._syntax import Binary, Call, Choice, Expr, Name, Number, Unary

#: names in sources -> names of torch
NAMES = {
    "float": "float32", "double": "float64", "half": "float16", "bool": "bool", "byte": "uint8", "int": "int32", "long": "int64",
    "float16": "float16", "float32": "float32", "float64": "float64",
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32",
}  # fmt: skip
#: numbers written in a source take the type of what they meet
NUMBER, FRACTION = "number", "fraction"


def bits(dtype: str) -> int:
    """
    >>> bits("float64"), bits("bool")
    (64, 1)
    """
    return int("".join(c for c in dtype if c.isdigit()) or 1)


def is_float(dtype: str) -> bool:
    return dtype.startswith("float") or dtype == FRACTION


def settled(dtype: str) -> str:
    """The type of a number that met no other."""
    return {NUMBER: "int32", FRACTION: "float32"}.get(dtype, dtype)


def common(a: str, b: str) -> str:
    """The type of ``x + y``: floats before integers, then the wider one; a sign needs room for it.

    >>> common("int64", "float16"), common("uint8", "int8"), common("uint8", NUMBER), common("int32", FRACTION)
    ('float16', 'int16', 'uint8', 'float32')
    """
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if one == NUMBER:
            return "int32" if other == "bool" else other
        if one == FRACTION:
            return other if is_float(other) else "float32"
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if is_float(a):
        return a if bits(a) > bits(b) else b
    if "bool" in (a, b):
        return b if a == "bool" else a
    if a.startswith("u") == b.startswith("u"):
        return a if bits(a) > bits(b) else b
    signed, unsigned = (b, a) if a.startswith("u") else (a, b)
    return signed if bits(signed) > bits(unsigned) else f"int{min(64, 2 * bits(unsigned))}"


def kind(e: Expr, tensors: Mapping[str, str]) -> str:
    """The type of an expression over tensors of these types; sizes and variables are int32.

    >>> a, two = Call("A", (Name("i", 0),), 0), Number(2, 0)
    >>> kind(Binary("*", a, two, 0), {"A": "float16"}), kind(Binary(">", a, two, 0), {"A": "float16"}), kind(two, {})
    ('float16', 'bool', 'number')
    """
    match e:
        case Number(value=value):
            return NUMBER if isinstance(value, int) else FRACTION
        case Name(id=id):
            return tensors.get(id, "int32")
        case Unary(op=op, value=below):
            own = settled(kind(below, tensors))
            return "bool" if op == "!" else "int32" if own == "bool" else own
        case Binary(op=op, left=left, right=right):
            if op not in "+-*/%":
                return "bool"
            own = settled(common(kind(left, tensors), kind(right, tensors)))
            return "int32" if own == "bool" else own
        case Choice(yes=yes, no=no):
            return settled(common(kind(yes, tensors), kind(no, tensors)))
        case Call(name=name) if name in tensors or name in NAMES:
            return tensors[name] if name in tensors else NAMES[name]
        case Call(name=name, arguments=arguments):
            function = _functions.canonical(name)
            own = kind(arguments[0], tensors)
            for other in arguments[1:]:
                own = common(own, kind(other, tensors))
            if function in ("isnan", "isinf", "isfinite"):
                return "bool"
            own = settled(own)
            return own if is_float(own) or function in _functions.KEEPS_INTEGERS else "float32"
    return "int32"
