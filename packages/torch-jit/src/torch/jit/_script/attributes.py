"""Attributes: of tensors, modules, objects, named tuples, enums, and of what is known while compiling."""

from __future__ import annotations

import enum
import functools
import inspect

import torch

from .. import _ir as ir
from . import library, operators, types
from .errors import nearest
from .values import Bound, Items, Self, Static, Super, TupleOf

__all__ = ["Attributes"]

_OF_TENSOR = {
    "dtype": "prim::dtype", "device": "prim::device", "layout": "prim::layout", "requires_grad": "prim::requires_grad",
    "is_cuda": "prim::is_cuda", "is_cpu": "prim::is_cpu", "is_sparse": "prim::is_sparse", "is_mkldnn": "prim::is_mkldnn",
    "is_quantized": "prim::is_quantized", "is_meta": "prim::is_meta", "data": "prim::data",
    "itemsize": "prim::itemsize", "ndim": "dim", "shape": "size",
    "T": "T", "mT": "mT", "real": "real", "imag": "imag",
}  # fmt: skip


def _result(items, name):
    """The result of an operator by its name: ``x.max(0).values``."""
    if not items or not all(isinstance(each, ir.Value) for each in items):
        return None
    node = items[0].node()
    if not node.kind().startswith("aten::") or list(node.outputs()) != items:
        return None
    names = [each for each, _ in ir.parse_signature(node.schema()).results]
    return items[names.index(name)] if name in names else None


class Attributes:
    """Emits ``owner.name``."""

    def visit_Attribute(self, node):
        return self.attribute(self.visit(node.value), node.attr)

    def attribute(self, owner, name):
        if isinstance(owner, Static):
            return self._of_python(owner.value, name)
        if isinstance(owner, Self):
            return self.self_attribute(owner, name)
        if isinstance(owner, Super):
            return Bound(owner, name)
        if isinstance(owner, TupleOf) and owner.type is not None and name in owner.type.field_names():
            return owner.items[owner.type.field_names().index(name)]
        if isinstance(owner, TupleOf) and owner.type is None and (found := _result(owner.items, name)) is not None:
            return found
        if isinstance(owner, TupleOf) and not hasattr(tuple, name) and library.method("TupleType", name) is None:
            raise self.error(f"'Tuple' object has no attribute or method {name!r}")
        if isinstance(owner, (TupleOf, Items)):
            return Bound(owner, name)
        if not isinstance(owner, ir.Value):
            raise self.error(f"attribute lookup is not defined on {self.describe(owner)}")
        return self._of_value(owner, name)

    def _of_python(self, value, name):
        if isinstance(value, enum.Enum):
            return Static(getattr(value, name))
        if value is None and not self.function.library:
            raise self.error(
                f"'NoneType' object has no attribute or method {name!r}", "test `is not None` before, on a local name"
            )
        if isinstance(value, (str, list, dict, tuple)) and not types.is_named_tuple(type(value)):
            return Bound(Static(value), name)
        try:
            found = getattr(value, name)
        except AttributeError:
            known = dir(value)
            if inspect.ismodule(value):
                raise self.error(
                    f"Python module {value.__name__!r} object has no attribute {name}", nearest(name, known)
                ) from None
            what = self.describe(Static(value)) if isinstance(value, type) else f"'{type(value).__name__}' object"
            raise self.error(f"{what} has no attribute or method {name!r}", nearest(name, known)) from None
        if isinstance(value, torch.Tensor) and callable(found):
            return Bound(self.value(Static(value)), name)
        return Static(found) if inspect.ismodule(value) and isinstance(found, torch.Tensor) else self.outside(found)

    def _of_value(self, owner, name):
        kind = owner.type().kind()
        if kind == "TensorType":
            if name in _OF_TENSOR:
                return self.op(_OF_TENSOR[name], owner)
            if name in ("grad", "is_leaf", "is_sparse_csr"):
                return self.python_operator(name, operators.operator(name), [owner], {})
            if name == "nbytes":
                return self.op("mul", self.op("numel", owner), self.op("prim::itemsize", owner))
            if name in ("H", "mH"):
                return self.op("conj", self.op("mT" if name == "mH" else "t", owner))
            if not (hasattr(torch.Tensor, name) or library.has_row(name)):
                names = [each for each in dir(torch.Tensor) if not each.startswith("_")]
                raise self.error(f"'Tensor' object has no attribute or method {name!r}", nearest(name, names))
            return Bound(owner, name)
        if kind == "TupleType":
            fields = owner.type().field_names() or []
            if name in fields:
                at = fields.index(name)
                inner = owner.type().containedTypes()[at]
                return self.node("prim::TupleIndex", [owner, self.constant(at)], [inner]).output()
            if fields and name != "_asdict":
                raise self.error(f"'{owner.type()}' object has no attribute or method {name!r}", nearest(name, fields))
            return Bound(owner, name)
        if kind == "ClassType":
            return self.object_attribute(owner, name)
        if types.is_of_objects(owner.type()):
            return self._of_any_object(owner, name)
        if kind == "InterfaceType":
            declared = self.compiler.interfaces[owner.type().qualified_name()]
            if name not in declared:
                raise self.error(
                    f"'{owner.type()}' object has no attribute or method {name!r}", nearest(name, declared)
                )
            return Bound(owner, name)
        if kind == "EnumType":
            if name not in ("name", "value"):
                raise self.error(
                    f"'{owner.type()}' object has no attribute or method {name!r}", "there are name and value"
                )
            wanted = types.STR if name == "name" else owner.type().containedTypes()[0]
            return self.node(f"prim::Enum{name.capitalize()}", [owner], [wanted]).output()
        if kind == "DeviceObjType":
            return self.op(f"prim::{name}", owner)
        if types.is_optional(owner.type()):
            raise self.error(
                f"the value is of type {owner.type()} and may be None, which has no {name!r}",
                "test `is not None` before, on a local name",
            )
        if owner.type() == types.INT and name in _OF_DTYPES:
            return self.op("__contains__", self.value(Static(_dtypes_that_are(name))), owner)
        is_row = library.has_row(name) and (kind not in _OF_PYTHON or hasattr(_OF_PYTHON[kind], name))
        if library.method(kind, name) is None and not is_row:
            raise self.error(f"'{owner.type()}' object has no attribute or method {name!r}")
        return Bound(owner, name)

    # -- objects --------------------------------------------------------------------------------------------------------

    def object_attribute(self, owner, name):
        """An attribute of an instance of a script class or of a module that is a value."""
        cls = owner.type()
        wanted = cls.attribute_type(name)
        if wanted is not None:
            made = self.node("prim::GetAttr", [owner], [wanted])
            made.s_("name", name)
            return made.output()
        concrete = self.compiler.concrete_of(cls)
        if concrete is not None:
            return self.self_attribute(Self(concrete, owner), name)
        if self.compiler.has_method(cls, name):
            return Bound(owner, name)
        names = [each for each, *_ in cls.attributes()]
        if cls.is_module():
            raise self.error(f"Module '{cls.qualified_name()}' has no attribute '{name}'", nearest(name, names))
        raise self.error(
            f"Tried to access nonexistent attribute or method {name!r} of type '{cls}'", nearest(name, names)
        )

    def _of_any_object(self, owner, name):
        """An attribute of an object that is of one of several classes: asked of the one that it turns out to be."""
        if all(self._is_method_of(each, name) for each in owner.type().containedTypes()):
            return Bound(owner, name)
        return self.of_each(owner, lambda part: self.attribute(part, name))

    def _is_method_of(self, cls, name):
        concrete = self.compiler.concrete_of(cls)
        if concrete is None:
            return cls.find_method(name) is not None
        return inspect.isroutine(inspect.getattr_static(concrete.cls, name, None))

    def set_attribute(self, owner, name, item):
        """``owner.name = item``."""
        if isinstance(owner, ir.Value) and types.is_of_objects(owner.type()):
            self.of_each(owner, lambda part: self.set_attribute(part, name, item) or Static(None))
            return
        if (setter := self._setter(owner, name)) is not None:
            owner, found, cls = setter
            self.call_inherited(owner, found.fset, cls, [item], {})
            return
        if isinstance(owner, Self):
            wanted = self.slot_of(owner, name, item)
            target = owner.value
        elif isinstance(owner, ir.Value) and owner.type().kind() == "ClassType":
            target = owner
            wanted = owner.type().attribute_type(name)
            if wanted is None:
                raise self.error(
                    f"Tried to set nonexistent attribute: {name} of {owner.type()}",
                    nearest(name, [each for each, *_ in owner.type().attributes()]) or "assign it in __init__",
                )
        elif isinstance(owner, ir.Value) and owner.type() == types.TENSOR and name in ("requires_grad", "data"):
            if name == "data":
                self.op("set_data", owner, self.value(item))
            else:
                self.op("requires_grad_", owner, self.value(item))
            return
        else:
            raise self.error(f"attributes of {self.describe(owner)} cannot be assigned to")
        with self.telling("Wrong type for attribute assignment"):
            value = self.value(item, wanted)
        made = self.node("prim::SetAttr", [target, value])
        made.s_("name", name)

    def _setter(self, owner, name):
        """The object, the property and its class, where a name is a property that can be set."""
        if isinstance(owner, ir.Value) and owner.type().kind() == "ClassType":
            concrete = self.compiler.concrete_of(owner.type())
            owner = None if concrete is None else Self(concrete, owner)
        if not isinstance(owner, Self):
            return None
        cls = type(owner.concrete.python) if owner.concrete.is_module else owner.concrete.cls
        found = inspect.getattr_static(cls, name, None)
        if not isinstance(found, property) or found.fset is None:
            return None
        return owner, found, next(each for each in cls.__mro__ if name in each.__dict__)

    def has_attribute(self, owner, name):
        """``hasattr(owner, name)``, which is known while compiling."""
        if isinstance(owner, Self):
            return owner.concrete.has(name)
        if isinstance(owner, ir.Value):
            kind = owner.type().kind()
            if kind == "ClassType":
                return owner.type().attribute_type(name) is not None or owner.type().find_method(name) is not None
            if kind == "TensorType":
                return hasattr(torch.Tensor, name)
            if kind == "TupleType":
                return name in (owner.type().field_names() or ())
            return library.method(kind, name) is not None
        if isinstance(owner, Static):
            return hasattr(owner.value, name)
        return False


_OF_PYTHON = {
    "StringType": str,
    "IntType": int,
    "FloatType": float,
    "BoolType": bool,
    "ListType": list,
    "DictType": dict,
}
_OF_DTYPES = ("is_floating_point", "is_complex", "is_signed")  # a dtype is an int in programs


@functools.cache
def _dtypes_that_are(name):
    """The dtypes that have an attribute of this name which holds."""
    every = {each for each in map(torch.__dict__.get, dir(torch)) if isinstance(each, torch.dtype)}
    return sorted((each for each in every if getattr(each, name) and _has_tensors(each)), key=str)


def _has_tensors(dtype):
    try:
        torch.empty(0, dtype=dtype)
    except NotImplementedError:
        return False
    return True
