"""Interfaces: methods that classes and modules have, whichever they are.  A value of one is called by name at run time."""

from __future__ import annotations

import inspect

import torch

from .. import _ir as ir
from .._unique import unique_name
from . import types
from .compiler import Program, compiler, declared_result, loaded, without_self
from .errors import ScriptError
from .source import source_of

__all__ = ["compile_interface", "conform", "extends"]


_of_modules = set()  # names of interfaces that only modules have


def compile_interface(cls):
    """The type of a class that is marked as an interface; its methods are only declared."""
    name = unique_name(types.qualified(cls))
    made = types._classes[cls] = ir.InterfaceType(name)
    methods = compiler.interfaces[name] = {}
    if issubclass(cls, torch.nn.Module):
        _of_modules.add(name)
    try:
        for each, fn in vars(cls).items():
            if inspect.isfunction(fn):
                source, signature = source_of(fn), without_self(inspect.signature(fn))
                parameters = compiler.parameters(fn, source, signature)
                methods[each] = Program(each, None, parameters, declared_result(fn, source) or types.TENSOR, signature)
    except ScriptError:
        del types._classes[cls], compiler.interfaces[name]
        raise
    return made


def conform(cls, interface, compiler=compiler):
    """See to it that a class has the methods of an interface, compiled; ScriptError says what is missing."""
    name = interface.qualified_name()
    declared = compiler.interfaces.get(name)
    if declared is None or cls.has_interface(name):
        return
    if name in _of_modules and not cls.is_module():
        raise ScriptError(
            f"Object of type {cls} is no module: only a ScriptModule class can be subtype of module interface {interface}"
        )
    for each, wanted in declared.items():
        found = _program(cls, each, compiler)
        misses = f"Object of type {cls} is not compatible with interface {interface}"
        if found is None:
            raise ScriptError(f"{misses}: it has no method {each!r}")
        if not _fits(found, wanted):
            raise ScriptError(
                f"{misses}:\n  (1) its method is {_declaration(found)}\n  (2) the interface's is {_declaration(wanted)}"
            )
        if found.function.name != each:
            raise ScriptError(f"{misses}: its method {each!r} is compiled for several types", way_out="annotate it")
    cls.add_interface(name)


def extends(interface, other, compiler=compiler):
    """Whether an interface has all methods of another one."""
    has, wanted = (compiler.interfaces.get(each.qualified_name()) for each in (interface, other))
    if (
        has is None
        or wanted is None
        or (other.qualified_name() in _of_modules) > (interface.qualified_name() in _of_modules)
    ):
        return False
    return all(name in has and _fits(has[name], each) for name, each in wanted.items())


def _program(cls, name, compiler):
    concrete = compiler.concrete_of(cls)
    if concrete is None or not concrete.is_module:
        found = compiler.method_of_class(cls, name)
        return found if found is not None or cls.find_method(name) is None else loaded(cls.find_method(name))
    return None if concrete.function(name) is None else compiler.method_for(concrete, name)


def _fits(found, wanted):
    return (
        [each.name for each in found.parameters] == [each.name for each in wanted.parameters]
        and all(asked.type.isSubtypeOf(each.type) for each, asked in zip(found.parameters, wanted.parameters))
        and found.returns.isSubtypeOf(wanted.returns)
    )


def _declaration(program):
    takes = ", ".join(f"{each.type.annotation_str} {each.name}" for each in program.parameters)
    return f"{program.name}({takes}) -> {program.returns.annotation_str}"


types.compile_interface, types.conform, types.extends = compile_interface, conform, extends
