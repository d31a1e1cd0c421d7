"""Reads of attributes: of tensors, of modules of Python, of classes, and of objects, each with its guard."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import inspect
import sys
import types

import torch
from torch._pytree import LeafSpec, TreeSpec

from ._guards import TYPES, class_holds, of_class
from ._tables import (
    CONTAINERS,
    DICTS,
    FEW,
    FINDING,
    HEAP,
    MUTATING,
    OF_TENSORS,
    TENSOR_ATTRIBUTES,
    TENSOR_FUNCTIONS,
    Operator,
    has_dict,
    is_builtin,
    is_torchs,
    module_class,
)

_WITHOUT_STATE = frozenset(
    (
        torch.Size,
        torch.device,
        torch.dtype,
        torch.layout,
        torch.memory_format,
        collections.deque,
        TreeSpec,
        LeafSpec,
        dataclasses.Field,
    )
)
#: what tells of functions what they take
_TOLD = (inspect.Signature, inspect.Parameter)
#: where the classes behind ``torch.ops`` stand: what they hold stays
_TABLES_OF_OPERATORS = frozenset(("torch.ops", "torch._registered", "torch._overloads"))
#: of a module, without what a module of its own class may load to show them all
_variables = types.ModuleType.__dict__["__dict__"].__get__
_OF_FUNCTIONS = frozenset(("__name__", "__self__", "__func__", "__qualname__"))


def attribute(observer, value, name):
    """``value.name``, guarded if ``value`` is from outside."""
    kind = type(value)
    if isinstance(value, torch.Tensor):
        return _of_tensor(observer, value, name)
    if kind.__module__ in _TABLES_OF_OPERATORS or kind in _TOLD or kind in TYPES:
        return _unwatched(observer, value, name)
    if isinstance(value, types.ModuleType):
        return _of_python_module(observer, value, name)
    if isinstance(value, type):
        return _of_class(observer, value, name)
    if isinstance(value, super):
        return _of_super(observer, value, name)
    if isinstance(value, (types.MethodType, types.FunctionType, types.BuiltinFunctionType, Operator)):
        found = getattr(value, name)
        if isinstance(value, types.FunctionType) and id(value) in observer.outside:
            return observer.outside_value(found, ("attr", observer.source_of(value), name))
        if name not in _OF_FUNCTIONS:
            _stop(observer, name, kind)
        return found
    if kind in CONTAINERS and name in MUTATING:
        observer.changes(value)
    if isinstance(value, BaseException) or kind in DICTS or kind in _WITHOUT_STATE or is_builtin(kind):
        return getattr(value, name)
    if isinstance(value, tuple) and name in getattr(kind, "_fields", ()):
        return getattr(value, name)
    if isinstance(value, enum.Enum) and name in ("value", "name", "_value_", "_name_"):
        return vars(value)[f"_{name.strip('_')}_"]
    if id(value) not in observer.outside and id(value) not in observer.made and not has_dict(value):
        if not isinstance(value, tuple):
            _stop(observer, name, kind)
        found = of_class(kind, name)
        if isinstance(found, property) and kind.__flags__ & HEAP:
            observer.class_has(kind, name)
            return observer.apply(found.fget, value)
        return getattr(value, name)
    if id(value) not in observer.outside and id(value) not in observer.made:
        _stop(observer, name, kind, "is read that comes from nowhere")
        return getattr(value, name)
    return _of_object(observer, value, name)


def _stop(observer, name, kind, why="is read"):
    observer.stop(f"the attribute {name} of a {kind.__qualname__} {why}", sys._getframe(4))


def _of_tensor(observer, value, name):
    if name == "data" and not observer.transforms and observer.tracer.has_value(value):
        return observer.data_of(value)
    try:
        found = getattr(value, name)
    except AttributeError:
        if id(value) in observer.input_of:  # a tensor of the next call may have it
            observer.guards.check("noattr", observer.known[id(value)][1], name)
        raise
    if name == "__class__":
        return found
    if name not in TENSOR_ATTRIBUTES and name not in TENSOR_FUNCTIONS and name not in OF_TENSORS:
        bound = getattr(found, "__func__", found)
        known = name in FINDING and observer.found is not None
        known = known or (name in ("item", "tolist") and observer.may_read(value, FEW))
        if not known and not isinstance(bound, Operator) and not isinstance(of_class(torch.Tensor, name), Operator):
            observer.stop(f"{name} of a tensor is asked for", sys._getframe(3))
    if isinstance(found, torch.Tensor) and not observer.result(found):
        _stop(observer, name, torch.Tensor, "is no operator")
    return found


def _unwatched(observer, value, name):
    """An attribute whose reading may load a part of torch."""
    before, observer.working = observer.working, True
    try:
        return getattr(value, name)
    finally:
        observer.working = before


def _of_python_module(observer, value, name):
    found = _unwatched(observer, value, name)
    space = _variables(value)
    if observer.is_set(space, name, found):
        return found
    if name in space:
        return observer.outside_value(found, ("key", ("const", space), name))
    elif not is_torchs(value.__name__):
        observer.stop(f"{name} is no variable of {value.__name__}", sys._getframe(3))
    return found


def _of_class(observer, value, name):
    found, raw = getattr(value, name), of_class(value, name)
    if isinstance(raw, (types.FunctionType, classmethod, staticmethod, property)):
        observer.class_has(value, name)
    elif value.__flags__ & (1 << 9) and raw is not None and type(value) is type:
        return observer.outside_value(found, ("attr", ("const", value), name))
    elif raw is None or type(value) is not type:
        if isinstance(found, (types.MethodType, types.BuiltinFunctionType)) or name in (
            "__name__",
            "__mro__",
            "__qualname__",
        ):
            return found
        return observer.outside_value(found, ("attr", ("const", value), name))
    return found


def _of_super(observer, value, name):
    above = value.__self_class__.__mro__
    for base in above[above.index(value.__thisclass__) + 1 :]:
        observer.class_has(base, name)
        raw = base.__dict__.get(name)
        if isinstance(raw, property) and value.__self__ is not value.__self_class__:
            return observer.apply(raw.fget, value.__self__)
        if raw is not None and not hasattr(type(raw), "__get__"):
            return observer.outside_value(raw, ("attr", ("const", base), name))
        if name in base.__dict__:
            break
    return getattr(value, name)


def _of_object(observer, value, name):
    """An attribute of an object of Python, by its class's own ``__getattribute__`` where it has one."""
    kind = type(value)
    if observer.replaced and (id(value), name) in observer.replaced:
        return observer.replaced[id(value), name]
    if observer.changed and observer.has_changed(value, name):
        return _unwatched(observer, value, name)
    observer.seen.add((id(value), name))
    getter = of_class(kind, "__getattribute__")
    if type(getter) is types.FunctionType and not is_torchs(getter.__module__):
        observer.class_has(kind, "__getattribute__")
        return observer.apply(types.MethodType(getter, value), name)
    return plain_attribute(observer, value, name)


def plain_attribute(observer, value, name):
    """What ``object.__getattribute__`` finds: an attribute of the object, of its class, or of neither."""
    kind = type(value)
    outside = id(value) in observer.outside
    source = observer.known[id(value)][1] if outside else None
    loose = outside and observer.known[id(value)][2]
    if name == "__class__":
        return kind
    found = of_class(kind, name)
    by_python = isinstance(of_class(kind, "__getattribute__"), types.FunctionType)
    read = object.__getattribute__ if by_python else getattr
    if name == "__dict__" and any(of == id(value) for of, _ in observer.changed):
        _stop(observer, name, kind, "is read, of which something was set")
    if name == "__dict__" and not outside:
        return object.__getattribute__(value, name)
    if name == "__dict__":
        return observer.outside_value(object.__getattribute__(value, name), ("attr", source, name), loose)
    if isinstance(found, property):
        observer.class_has(kind, name)
        return observer.apply(found.fget, value)
    by_hand = isinstance(of_class(type(found), "__get__"), types.FunctionType)
    if found is not None and hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
        if by_hand:
            return _described(observer, found, value, name)
        _stop(observer, name, kind, "is a descriptor")
        return getattr(value, name)
    own = read(value, "__dict__") if kind.__dictoffset__ else {}
    if name in own:
        at = ("key", ("attr", source, "__dict__"), name) if by_python else ("attr", source, name)
        return observer.outside_value(own[name], at, loose) if outside else own[name]
    if found is None and not class_holds(kind, name):
        return _missing(observer, value, name, source)
    if type(found).__module__ == "torch.nn.modules._function":  # a function of torch.nn.functional by its name
        observer.class_has(kind, name)
        if outside:
            observer.guards.check("absent", ("attr", source, "__dict__"), name)
        return _of_python_module(observer, torch.nn.functional, found.name)
    if isinstance(found, functools.cached_property):
        if outside:
            observer.guards.check("absent", ("attr", source, "__dict__"), name)
        observer.class_has(kind, name)
        result = observer.apply(found.func, value)
        observer.set_plainly(object, value, name, result)
        return result
    if by_hand:
        return _described(observer, found, value, name)
    result = read(value, name)
    if isinstance(found, types.MemberDescriptorType) and not outside:
        return result
    if isinstance(found, (types.FunctionType, classmethod, staticmethod)):
        observer.class_has(kind, name)
        if outside and kind.__dictoffset__:  # an attribute of the object itself would come first
            observer.guards.check("absent", ("attr", source, "__dict__"), name)
        return result
    if isinstance(
        found, (types.MethodDescriptorType, types.WrapperDescriptorType, functools._lru_cache_wrapper)
    ):  # of C
        observer.class_has(kind, name)
        if outside and kind.__dictoffset__:
            observer.guards.check("absent", ("attr", source, "__dict__"), name)
        return result
    plain = (types.BuiltinFunctionType, types.MemberDescriptorType, type, Operator)
    if hasattr(type(found), "__get__") and not isinstance(found, plain):
        _stop(observer, name, kind, "is a descriptor")
        return result
    return observer.outside_value(result, ("attr", source, name) if outside else ("attr", ("const", kind), name), loose)


def _described(observer, descriptor, value, name):
    """What the ``__get__`` of a descriptor of Python gives."""
    observer.class_has(type(value), name)
    observer.outside_value(descriptor, ("const", descriptor))
    return observer.apply(observer.method(descriptor, "__get__"), value, type(value))


def registered_attribute(observer, module, name):
    """A parameter, a buffer or a layer of a module: what its ``__getattr__`` gives."""
    own, outside = module.__dict__, id(module) in observer.outside
    for registry in ("_parameters", "_buffers", "_modules"):
        if name in own.get(registry, ()):
            found = own[registry][name]
            if not outside:
                return found
            source = observer.known[id(module)][1]
            observer.guards.check("absent", ("attr", source, "__dict__"), name)
            return observer.outside_value(found, ("key", ("key", ("attr", source, "__dict__"), registry), name))
    if outside:
        for registry in ("_parameters", "_buffers", "_modules"):
            at = ("key", ("attr", observer.known[id(module)][1], "__dict__"), registry)
            observer.guards.check("absent", at, name)
    return module_class().__getattr__(module, name)


def _missing(observer, value, name, source):
    """What is neither an attribute of the object nor of its class: registered with a module, or given by ``__getattr__``."""
    kind, module = type(value), module_class()
    getter = of_class(kind, "__getattr__")
    if module and isinstance(value, module):
        own = value.__dict__
        if not isinstance(getter, types.FunctionType) and any(
            name in own.get(registry, ()) for registry in ("_parameters", "_buffers", "_modules")
        ):
            return registered_attribute(observer, value, name)
    if isinstance(getter, types.FunctionType):
        observer.class_has(kind, "__getattr__")
        observer.class_lacks(kind, name)
        if source is not None and kind.__dictoffset__:
            observer.guards.check("absent", ("attr", source, "__dict__"), name)
        return observer.apply(types.MethodType(getter, value), name)
    try:
        found = getattr(value, name)
    except AttributeError:
        if source is not None:
            observer.guards.check("noattr", source, name)
        raise
    _stop(observer, name, kind)
    return found
