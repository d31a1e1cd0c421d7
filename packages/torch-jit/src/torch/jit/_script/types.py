"""Annotations and values to types, and the smallest type of two."""

from __future__ import annotations

import enum
import importlib
import re
import sys
import typing
import warnings

import torch

from .. import _ir as ir
from .. import _native
from .._unique import name_of_form
from .errors import AnnotationError, ScriptError

__all__ = ["from_annotation", "is_named_tuple", "is_none", "is_optional", "named_tuple", "of_value", "unify"]

TENSOR = ir.TensorType.get()
INT, FLOAT, BOOL, STR = ir.IntType.get(), ir.FloatType.get(), ir.BoolType.get(), ir.StringType.get()
NONE, COMPLEX, NUMBER = ir.NoneType.get(), ir.ComplexType.get(), ir.NumberType.get()
ANY, DEVICE, GENERATOR = ir.AnyType.get(), ir.DeviceObjType.get(), _native.simple_type("GeneratorType")

_PLAIN = {
    torch.Tensor: TENSOR,
    int: INT,
    float: FLOAT,
    bool: BOOL,
    str: STR,
    complex: COMPLEX,
    None: NONE,
    type(None): NONE,
    typing.Any: ANY,
    object: ANY,
    torch.device: DEVICE,
    torch.dtype: INT,
    torch.layout: INT,
    torch.memory_format: INT,
    torch.Generator: GENERATOR,
}

_OF_DTYPES = {
    f"{each}Tensor" for each in ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool")
}

#: names that an annotation may use without an import
_NAMED = {
    "Tensor": torch.Tensor,
    "number": NUMBER,
    "Device": torch.device,
    "Future": torch.jit.Future,
    "NoneType": type(None),
}

_BUILTIN = {each.__name__: each for each in (int, float, bool, str, complex, list, dict, tuple)}

_classes = {}  # Python class -> type, for named tuples, enums and script classes
compile_class = None  # set by classes.py: a Python class to the type of its compiled form
compile_interface = conform = extends = None  # set by interfaces.py


def is_none(type):
    return type.kind() == "NoneType"


def is_optional(type):
    return type.kind() == "OptionalType"


def interface_in(type):
    """The interface that values of a type are of, or None."""
    type = type.getElementType() if is_optional(type) else type
    return type if type.kind() == "InterfaceType" else None


def is_of_objects(type):
    """Whether values of a type are objects, of one of several classes."""
    return type.kind() == "UnionType" and all(each.kind() == "ClassType" for each in type.containedTypes())


def is_named_tuple(cls):
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def from_annotation(annotation, source=None):
    """The type of an annotation: a class, a form of ``typing``, or the text of one.

    >>> from typing import List
    >>> from torch.jit._script.types import from_annotation
    >>> from_annotation(List[int])
    List[int]
    """
    while isinstance(annotation, str):
        annotation = _evaluate(annotation, source)
    if isinstance(annotation, ir.Type):
        return annotation
    try:
        if annotation in _PLAIN:
            return _PLAIN[annotation]
    except TypeError:
        pass
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is not None and not inner and annotation != typing.Tuple[()]:  # noqa: UP006
        _check_contained(origin)
    if origin is not None:
        return _generic(annotation, origin, inner, source)
    if isinstance(annotation, typing.ForwardRef):
        return from_annotation(annotation.__forward_arg__, source)
    if annotation is torch.Size:
        return ir.ListType(INT)
    if annotation is torch.nn.Parameter:
        return TENSOR
    if getattr(annotation, "__module__", "") == "torch" and getattr(annotation, "__name__", "") in _OF_DTYPES:
        warnings.warn(
            "TorchScript will treat type annotations of Tensor dtype-specific subtypes as if they are normal Tensors. "
            "dtype constraints are not enforced in compilation either.",
            stacklevel=2,
        )
        return TENSOR
    _check_contained(annotation)
    if isinstance(annotation, type):
        return _class(annotation, source)
    raise AnnotationError(f"Unknown type annotation: {annotation!r}")


#: what needs brackets behind it
_CONTAINERS = {list: "List", tuple: "Tuple", dict: "Dict", typing.Optional: "Optional", torch.jit.Future: "Future"}


def _check_contained(container):
    """ScriptError for a container that does not say what is in it."""
    if container not in _CONTAINERS:
        return
    from torch._seams import raise_error_container_parameter_missing

    try:
        raise_error_container_parameter_missing(_CONTAINERS[container])
    except RuntimeError as error:
        raise ScriptError(str(error)) from None


def _generic(annotation, origin, inner, source):
    if origin is list or getattr(origin, "__name__", "") in ("Sequence", "Iterable"):
        return ir.ListType(from_annotation(inner[0], source))
    if origin is dict:
        key = from_annotation(inner[0], source)
        if key.kind() in ("ListType", "DictType", "UnionType", "OptionalType", "TupleType", "AnyType"):
            raise ScriptError(
                f"Cannot create dict for key type '{key}', only int, float, complex, Tensor, device and string keys are supported"
            )
        return ir.DictType(key, from_annotation(inner[1], source))
    if origin is tuple:
        if len(inner) == 2 and inner[1] is Ellipsis:
            raise ScriptError("a tuple of any length has no type", way_out="use List[...], or Tuple with all types")
        return ir.TupleType([from_annotation(each, source) for each in inner if each != ()])
    if origin is typing.Union or origin.__name__ == "UnionType":
        types = []
        for each in inner:
            found = from_annotation(each, source)
            types += [] if found in types else [found]
        return union(types)
    if getattr(origin, "__name__", "") in ("Future", "_Await"):
        return ir.FutureType(from_annotation(inner[0], source))
    if annotation_is_final(annotation) or origin is typing.Annotated:
        return from_annotation(inner[0], source)
    raise AnnotationError(f"Unknown type annotation: {annotation}")


def annotation_is_final(annotation):
    """Whether it is ``Final`` or ``Final[T]``."""
    return annotation is typing.Final or typing.get_origin(annotation) is typing.Final


def union(types):
    """One of several types; with None it is an Optional."""
    rest = [each for each in types if not is_none(each)]
    if len(rest) == 1:
        return rest[0] if len(types) == 1 else ir.OptionalType(rest[0])
    return ir.UnionType(types)


def any_of(a, b):
    """The union of two types, flat.

    >>> from torch.jit._script.types import any_of, from_annotation
    >>> any_of(any_of(from_annotation(int), from_annotation(str)), from_annotation(int))
    Union[int, str]
    """
    parts = []
    for each in (a, b):
        for part in each.containedTypes() if each.kind() == "UnionType" else [each]:
            parts += [] if part in parts else [part]
    return union(parts)


def _evaluate(text, source):
    if hasattr(source, "read_type"):
        return source.read_type(text)

    class Names(dict):
        def __missing__(self, name):
            found = None
            if source is not None:
                found = source.lookup_type(name) if hasattr(source, "lookup_type") else source.lookup(name, None)
            if name == "Generator" and found in (None, typing.Generator):
                return torch.Generator
            if found is not None:
                return found
            if name in _NAMED:
                return _NAMED[name]
            if name in _BUILTIN:
                return _BUILTIN[name]
            if re.fullmatch(r"BroadcastingList[1-6]", name):
                return getattr(importlib.import_module("torch.jit.annotations"), name)
            if hasattr(typing, name):
                return getattr(typing, name)
            raise NameError(name)

    try:
        return eval(text, {"__builtins__": {}}, Names())  # the text of an annotation, of the same trust as its function
    except NameError as error:
        place = "" if str(error) == text else f" in {text!r}"
        raise ScriptError(f"Unknown type name '{error}'{place}") from None
    except Exception as error:
        raise ScriptError(f"Unknown type name {text!r} ({error})") from None


def _class(cls, source=None):
    if cls in _classes:
        return _classes[cls]
    if "__torch_script_interface__" in cls.__dict__:
        return compile_interface(cls)
    if is_named_tuple(cls):
        made = named_tuple(cls, source)
    elif issubclass(cls, enum.Enum):
        members = [(name, member.value) for name, member in cls.__members__.items()]
        kinds = {type(value) for _, value in members}
        if len(kinds) != 1:
            raise ScriptError(
                f"Could not unify type list: the values of the enum {cls.__name__} are of several types: "
                + ", ".join(sorted(kind.__name__ for kind in kinds))
            )
        made = _enum_of(qualified(cls), members)
        _native._register_enum(cls, made)
    elif issubclass(cls, torch.nn.Module):
        raise AnnotationError(
            f"Unknown type annotation: {cls.__name__} is a module, which is no type of an argument",
            way_out="make it an attribute of a module",
        )
    else:
        return compile_class(cls)
    _classes[cls] = made
    return made


def _enum_of(name, members):
    """The type of an enum with these members."""
    own = name_of_form(name, [(each, repr(value)) for each, value in members])
    return ir.EnumType(own, of_value(members[0][1]), members)


def named_tuple_of(name, fields, inner):
    """The type of a named tuple with these fields of these types."""
    return ir.TupleType.named(name_of_form(name, [fields, [str(each) for each in inner]]), fields, inner)


def enum_named(name, members):
    """The Python class and the type of an enum that an archive names: the one that is known already, if it is the same."""
    made = _enum_of(name, members)
    for cls, found in _classes.items():
        if found.kind() == "EnumType" and found.qualified_name() == made.qualified_name():
            return cls, found
    cls = enum.Enum(name.rpartition(".")[2], members)
    _native._register_enum(cls, made)
    return cls, made


class _Around:
    """The names of a class's own module, and then those around."""

    def __init__(self, names, above):
        self.names, self.above = names, above

    def lookup(self, name, default=None):
        if name in self.names:
            return self.names[name]
        return default if self.above is None else self.above.lookup(name, default)


def named_tuple(cls, source=None):
    """The type of a named tuple; fields without an annotation are tensors."""
    notes = getattr(cls, "__annotations__", {})
    around = _Around(vars(sys.modules.get(cls.__module__, typing)), source)
    types = [from_annotation(notes[name], around) if name in notes else TENSOR for name in cls._fields]
    made = named_tuple_of(qualified(cls), list(cls._fields), types)
    _native._register_class(made.qualified_name(), cls)
    return made


def qualified(obj):
    """The name under which programs know a Python class or function: ``__torch__.package.Name``.

    No name of an archive goes on beneath a class or function: what one is defined in is a part of another name.
    """
    around, _, name = obj.__qualname__.replace("<locals>.", "").replace("<lambda>", "lambda_").rpartition(".")
    places = [obj.__module__ or "torch", *(f"_in_{each}" for each in around.split(".") if each), name]
    return "__torch__." + re.sub(r"[^\w.]", "_", ".".join(places).removeprefix("__main__."))


def of_value(value):
    """The type of a Python value, or ScriptError.

    >>> from torch.jit._script.types import of_value
    >>> of_value({"a": [1.5]})
    Dict[str, List[float]]
    """
    if isinstance(value, torch.Tensor):
        return TENSOR
    for kind, found in ((bool, BOOL), (enum.Enum, None), (int, INT), (float, FLOAT), (complex, COMPLEX), (str, STR)):
        if isinstance(value, kind):
            return found or from_annotation(type(value))
    if value is None:
        return NONE
    if isinstance(value, torch.device):
        return DEVICE
    if isinstance(value, torch.Generator):
        return GENERATOR
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return INT
    if is_named_tuple(type(value)):
        return from_annotation(type(value))
    if isinstance(value, torch.Size):
        return ir.ListType(INT)
    if isinstance(value, tuple):
        return ir.TupleType([of_value(each) for each in value])
    if isinstance(value, list):
        return ir.ListType(_common(value) if value else TENSOR)
    if isinstance(value, dict):
        if not value:
            return ir.DictType(STR, TENSOR)
        return ir.DictType(_common(list(value)), _common(list(value.values())))
    if isinstance(value, (_native.ScriptList, _native.ScriptDict)):
        return value._type
    if hasattr(value, "_c") and isinstance(value._c, ir.Object):
        return value._c._type()
    if (found := type_of_packed(value)) is not None or (found := instance(value)) is not None:
        return found
    raise ScriptError(f"a value of {type(value).__name__} has no type in the script language")


def type_of_packed(value):
    """The type of packed weights of quantized layers, or None."""
    if not hasattr(type(value), "script_class"):
        return None
    from . import quantized

    return quantized.type_of_packed(value)


def instance(value):
    """The script class of an object of a plain Python class, where that compiles and what its attributes hold now is of
    the types that it declares; else None."""
    if not hasattr(type(value).__init__, "__code__") or isinstance(value, torch.nn.Module):
        return None
    from .convert import to_object

    try:
        found = compile_class(type(value))
        if found.kind() == "ClassType":
            to_object(value)
    except (AttributeError, TypeError, RuntimeError):  # RuntimeError: of objects that hold each other, too
        return None
    return found


PYTHON = {"IntType": int, "FloatType": float, "BoolType": bool}


def taken(value, type):
    """A result of Python as a value of a type, or TypeError: numbers are converted, containers looked into; None is taken for
    a tensor, as in PyTorch.
    """
    kind = type.kind()
    if kind == "StringType":
        fits = isinstance(value, str)
    elif kind in PYTHON:
        if isinstance(value, (bool, int, float, torch.Tensor)) and not (kind == "IntType" and isinstance(value, float)):
            return PYTHON[kind](value)
        fits = isinstance(value, (torch.dtype, torch.layout, torch.memory_format))
    elif kind == "TensorType":
        fits = value is None or isinstance(value, torch.Tensor)
    elif kind == "OptionalType":
        return None if value is None else taken(value, type.getElementType())
    elif kind == "TupleType":
        inner = type.containedTypes()
        if isinstance(value, (tuple, list)) and len(value) == len(inner):
            made = [taken(each, want) for each, want in zip(value, inner)]
            return type_of(value)(*made) if is_named_tuple(type_of(value)) else tuple(made)
        fits = False
    elif kind == "ListType" and isinstance(value, (list, tuple)):
        return [taken(each, type.getElementType()) for each in value]
    elif kind == "DictType" and isinstance(value, dict):
        key, inner = type.containedTypes()
        return {taken(k, key): taken(v, inner) for k, v in value.items()}
    elif kind in ("ListType", "DictType"):
        fits = isinstance(value, (_native.ScriptList, _native.ScriptDict))
    elif kind == "NoneType":
        fits = value is None
    else:
        fits = True
    if not fits:
        raise TypeError
    return value


type_of = type


def holds_objects(type):
    """Whether values of a type are objects, which have an order of their own, or tuples with objects in them."""
    return type.kind() == "ClassType" or (type.kind() == "TupleType" and any(map(holds_objects, type.containedTypes())))


def _common(values):
    types = [of_value(each) for each in values]
    found = types[0]
    for each in types[1:]:
        found = unify(found, each)
        if found is None:
            raise ScriptError(f"the values are of several types: {types[0]} and {each}")
    return found


def unify(a, b):
    """The smallest type of values of both types, or None.

    >>> from torch.jit._script.types import from_annotation, unify
    >>> unify(from_annotation(int), from_annotation(None)), unify(from_annotation(int), from_annotation(str))
    (Optional[int], None)
    """
    if a == b:
        return a
    a, b = a.unshaped(), b.unshaped()  # two constants of unequal shapes are tensors
    if a.isSubtypeOf(b):
        return b
    if b.isSubtypeOf(a):
        return a
    for x, y in ((a, b), (b, a)):
        if is_none(x):
            return y if is_optional(y) else ir.OptionalType(y)
        if is_optional(x):
            inner = unify(x.getElementType(), y.getElementType() if is_optional(y) else y)
            return None if inner is None else inner if is_optional(inner) else ir.OptionalType(inner)
    if a.kind() == b.kind() == "TupleType":
        parts = list(zip(a.containedTypes(), b.containedTypes()))
        if len(a.containedTypes()) == len(b.containedTypes()):
            joined = [unify(x, y) for x, y in parts]
            return None if None in joined else ir.TupleType(joined)
    return None
