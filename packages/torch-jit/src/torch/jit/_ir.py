"""Programs as graphs: types, values, nodes, graphs, functions. Names and notation are those that users of ``torch.jit`` know.

>>> from torch.jit import _ir
>>> g = _ir.Graph()
>>> x = g.addInput("x")
>>> g.registerOutput(g.call("add", [x, 1]))
0
>>> print(g)
graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%x, %1, %2)
  return (%3)
<BLANKLINE>
>>> _ir.Function("increment", g)(torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import functools
import inspect
from typing import NamedTuple

from torch._seams import require as _require

from . import _built

_require("torch-jit", _built.CORE_INTERFACE, _built.CORE_FEATURES)

from . import _native  # noqa: E402
from ._alias import AliasDb as _AliasDb  # noqa: E402
from ._native import (  # noqa: E402
    Block,
    ClassType,
    EnumType,
    Function,
    Graph,
    Node,
    Object,
    OverloadError,
    Signature,
    Type,
    Value,
    all_signatures,
    parse_ir,
    parse_signature,
    parse_type,
    signatures,
    unify,
)


def _attribute_of(self, name):
    """``object.name``: an attribute of the object, or a method of it."""
    kind = self._type()
    if kind.attribute_type(name) is not None:
        found = self.getattr(name)
        return getattr(found, "_c", found)
    if kind.find_method(name) is not None:
        return functools.partial(self.call, name)
    raise AttributeError(f"{kind} has no attribute {name!r}")


def _called(self, *args, **kwargs):
    """``object(...)``: of a module, its forward."""
    return self.call("forward" if _method_of(self, "__call__") is None else "__call__", *args, **kwargs)


Object.__getattr__, Object.__call__ = _attribute_of, _called

__all__ = [
    "AnyType",
    "Block",
    "BoolType",
    "ClassType",
    "ComplexType",
    "DeviceObjType",
    "DictType",
    "EnumType",
    "FloatType",
    "Function",
    "FunctionType",
    "FutureType",
    "Graph",
    "IntType",
    "InterfaceType",
    "ListType",
    "Node",
    "NoneType",
    "NumberType",
    "Object",
    "OptionalType",
    "OverloadError",
    "PyObjectType",
    "Signature",
    "StringType",
    "TensorType",
    "TupleType",
    "Type",
    "UnionType",
    "Use",
    "Value",
    "all_signatures",
    "parse_ir",
    "parse_signature",
    "parse_type",
    "signatures",
    "unify",
]


class Use(NamedTuple):
    """Where a value is used: as which input of which node."""

    user: Node
    offset: int


class _Kind(type):
    """The class of faces such as ``ListType``: types of that kind are their instances."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, Type) and obj.kind() == cls.__name__


class _Simple(metaclass=_Kind):
    """A type without parameters: ``TensorType.get()``."""

    def __new__(cls):
        return _native.simple_type(cls.__name__)

    @classmethod
    def get(cls):
        """The type."""
        return _native.simple_type(cls.__name__)


def _simple(name, doc):
    return _Kind(name, (_Simple,), {"__doc__": doc, "__module__": __name__})


AnyType = _simple("AnyType", "Any value.")
BoolType = _simple("BoolType", "True or False.")
ComplexType = _simple("ComplexType", "A complex number.")
DeviceObjType = _simple("DeviceObjType", "A torch.device.")
FloatType = _simple("FloatType", "A float.")
IntType = _simple("IntType", "An int, a dtype, a layout or a memory format.")
NoneType = _simple("NoneType", "None.")
NumberType = _simple("NumberType", "An int, float, bool or complex number.")
PyObjectType = _simple("PyObjectType", "An object of Python's, which programs do not look into.")
StringType = _simple("StringType", "A text.")


class TensorType(_Simple, metaclass=_Kind):
    """A tensor.

    >>> TensorType.create_from_tensor(torch.ones(2, 3)).sizes()
    [2, 3]
    """

    @staticmethod
    def create_from_tensor(tensor):
        """The type with all that is known of a tensor."""
        return _native.tensor_type_of(tensor)

    @classmethod
    def getInferred(cls):
        """The type of what nothing is said about."""
        return cls.get()


class ListType(metaclass=_Kind):
    """A list: ``ListType(IntType.get())`` is ``List[int]``."""

    def __new__(cls, element):
        return _native.list_type(element)

    @staticmethod
    def ofInts():
        """``List[int]``."""
        return _native.list_type(IntType.get())

    @staticmethod
    def ofFloats():
        """``List[float]``."""
        return _native.list_type(FloatType.get())

    @staticmethod
    def ofBools():
        """``List[bool]``."""
        return _native.list_type(BoolType.get())

    @staticmethod
    def ofStrings():
        """``List[str]``."""
        return _native.list_type(StringType.get())

    @staticmethod
    def ofTensors():
        """``List[Tensor]``."""
        return _native.list_type(TensorType.get())


class OptionalType(metaclass=_Kind):
    """A value or None."""

    def __new__(cls, element):
        return _native.optional_type(element)

    @staticmethod
    def ofTensor():
        """``Optional[Tensor]``."""
        return _native.optional_type(TensorType.get())


class TupleType(metaclass=_Kind):
    """A tuple, of as many types as it has elements.

    >>> TupleType.named("__torch__.Point", ["x", "y"], [IntType.get(), IntType.get()]).field_names()
    ['x', 'y']
    """

    def __new__(cls, elements):
        return _native.tuple_type(list(elements))

    @staticmethod
    def named(qualified_name, field_names, types):
        """A named tuple."""
        return _native.named_tuple_type(qualified_name, list(field_names), list(types))


class DictType(metaclass=_Kind):
    """A dictionary."""

    def __new__(cls, key, value):
        return _native.dict_type(key, value)


class UnionType(metaclass=_Kind):
    """A value of one of several types; one type and None is an ``OptionalType``."""

    def __new__(cls, members):
        return _native.union_type(list(members))


class InterfaceType(metaclass=_Kind):
    """Methods that objects have, whichever their class: ``InterfaceType("__torch__.Layer")``."""

    def __new__(cls, qualified_name):
        return _native.interface_type(qualified_name)


class FutureType(metaclass=_Kind):
    """What ``fork`` gives."""

    def __new__(cls, element):
        return _native.future_type(element)


class FunctionType(metaclass=_Kind):
    """A function of a program, as a constant."""

    def __new__(cls, qualified_name):
        return _native.function_type(qualified_name)


def _wrapped(object):
    from ._script.module import of_object

    return of_object(object)


def _class_of(object):
    """The class of Python that an instance of a script class was made of, or None."""
    from ._script.compiler import compiler

    concrete = compiler.concrete_of(object._type())
    return None if concrete is None or concrete.is_module else concrete.cls


def _method_of(object, name):
    """A method of an instance of a script class: compiled already, or now."""
    if (found := object._type().find_method(name)) is None and _class_of(object) is not None:
        from ._script.compiler import compiler

        found = getattr(compiler.concrete_of(object._type()).method(name), "function", None)
    return found


# What libraries ask of objects, nodes and values beside what they are made of.
def _attribute(object, name):
    """An attribute or method of an instance of a script class, as Python reads it."""
    if not name.startswith("__"):
        if object.hasattr(name):
            return object.getattr(name)
        if (method := _method_of(object, name)) is not None:
            return lambda *args, **kwargs: method(object, *args, **kwargs)
        if (cls := _class_of(object)) is not None and hasattr(cls, name):
            found = inspect.getattr_static(cls, name)
            return found.fget(object) if isinstance(found, property) else getattr(cls, name)
    raise AttributeError(f"{object._type().name()} has no attribute {name!r}")


def _special(name, missing):
    """What Python's operators ask of an object: the method of its class, where it has one."""

    def call(object, *args):
        method = None if object._type().is_module() else _method_of(object, name)
        if method is None:
            return missing(object, *args)
        from ._script.convert import to_object

        given = [to_object(each) for each in args]
        wanted = [each.type() for each in method.graph.inputs()][1:]
        if any(isinstance(each, Object) and not each._type().isSubtypeOf(of) for each, of in zip(given, wanted)):
            return missing(object, *args)  # of another class than the method takes
        return method(object, *given)

    call.__name__ = name
    setattr(Object, name, call)


def _without(name):
    def missing(object, *args):
        raise TypeError(f"an object of class {object._type().name()} has no {name}")

    return missing


_ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul"]
for _name in (*_ARITHMETIC, *(f"r{each}" for each in _ARITHMETIC), "lt", "le", "gt", "ge"):
    _special(f"__{_name}__", lambda object, other: NotImplemented)
for _name in ["neg", "invert", "len", "getitem", "setitem", "delitem", "contains", "int", "float"]:
    _special(f"__{_name}__", _without(f"__{_name}__"))
for _name in ("eq", "ne", "str"):
    _special(f"__{_name}__", getattr(Object, f"__{_name}__"))
_special(
    "__bool__", lambda object: object._type().is_module() or _method_of(object, "__len__") is None or len(object) > 0
)


def _set_attribute(object, name, value):
    if not object.hasattr(name):
        raise AttributeError(f"{object._type().name()} has no attribute {name!r}")
    object.setattr(name, value)


Object.__getattr__, Object.__setattr__ = _attribute, _set_attribute
Object._has_method = lambda self, name: self._type().find_method(name) is not None
Object._method_names = lambda self: [each.name for each in self._type().methods()]
Object._get_method = lambda self, name: _wrapped(self)._method_named(name)
Object.qualified_name = property(lambda self: self._type().qualified_name())
Graph.alias_db = lambda self: _AliasDb(self)
Node.getModuleHierarchy = lambda self: _hierarchy(self)
Node.mustBeNone = lambda self: self.outputsSize() == 1 and self.output().type().kind() == "NoneType"
Value.requires_grad = lambda self: self.type().kind() == "TensorType" and self.type().requires_grad() is not False


def _hierarchy(node):
    """The modules that a node stems from, each with its class: ``0(Sequential).1(Linear)``; empty where none is known."""
    names = node.scopeName().rpartition("/")[2].split(".")[1:]
    inputs, parts = node.owningGraph().inputs(), []
    kind = inputs[0].type() if inputs else None
    for name in names:
        kind = kind.attribute_type(name) if isinstance(kind, ClassType) and kind.has_attribute(name) else None
        parts.append(f"{name}({kind.name()})" if kind is not None else name)
    return ".".join(parts)


class _Several(list):
    """Nodes or values, in order: a list, and an iterator over itself, which they are in PyTorch.

    >>> graph = torch.jit.script(torch.nn.ReLU()).graph
    >>> next(graph.inputs()).debugName(), len(graph.inputs())
    ('self', 2)
    """

    __slots__ = ("_at",)

    def __next__(self):
        at = getattr(self, "_at", 0)
        if at >= len(self):
            raise StopIteration
        self._at = at + 1
        return self[at]


def _giving_several(cls, *names):
    for name in names:
        setattr(cls, name, lambda self, own=getattr(cls, name): _Several(own(self)))


_giving_several(Graph, "inputs", "outputs", "nodes")
_giving_several(Block, "inputs", "outputs", "nodes")
_giving_several(Node, "inputs", "outputs", "blocks")
