"""``torch.jit.script`` and what goes with it."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import inspect
import sys

import torch
from torch import nn

from .. import _native, _state
from . import types
from .classes import compile_class
from .compiler import compiler
from .convert import to_object
from .errors import FrontendError, NotSupportedError, ScriptError
from .function import ScriptFunction, script_function
from .library import is_library, unwrapped
from .marks import _drop, _overload, _overload_method, export, ignore, interface, script_method, unused
from .module import RecursiveScriptModule, ScriptModule, compile_module
from .observed import from_examples
from .replaced import standing_for
from .saving import load, save
from .source import seen_from
from .unit import CompilationUnit

__all__ = [
    "CompilationUnit", "FrontendError", "NotSupportedError", "RecursiveScriptModule", "ScriptError", "ScriptFunction",
    "ScriptModule", "_drop", "_overload", "_overload_method", "load", "save", "export", "ignore", "interface", "script",
    "script_if_tracing", "script_method", "unused",
]  # fmt: skip


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compile a function, module or class of the script language, a typed part of Python.

    A compiled module shares parameters and buffers with the module that it was made from.  RuntimeError, with the place
    and the way out, for what the language lacks.  Arguments whose types nothing says have those of ``example_inputs``, a list
    with the arguments of calls, or a dict of such lists by module or function.

    >>> @torch.jit.script
    ... def clip(x, bound: float = 1.0):
    ...     if bool(x.norm() > bound):
    ...         x = x / x.norm() * bound
    ...     return x
    >>> clip(torch.tensor([3.0, 4.0]))
    tensor([0.6000, 0.8000])
    """
    if not _state.enabled() or isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    if example_inputs is not None:
        with from_examples(obj, example_inputs), seen_from(sys._getframe(_frames_up + 1)):
            return ScriptFunction(compiler.function_for(obj), obj) if inspect.isfunction(obj) else script(obj)
    obj = _prepared(standing_for(obj), {})
    if isinstance(obj, nn.Module):
        return compile_module(obj)
    if isinstance(obj, (list, dict)):
        return _container(obj)
    if isinstance(obj, (_native.ScriptList, _native.ScriptDict)):
        return obj
    if inspect.isclass(obj) or inspect.isfunction(obj):
        with seen_from(sys._getframe(_frames_up + 1)):
            return _class(obj) if inspect.isclass(obj) else script_function(unwrapped(obj), obj)
    if inspect.ismethod(obj):
        raise TypeError(
            f"torch.jit.script: {obj.__qualname__} is a method; give its module, with the method marked @export"
        )
    if any(map(inspect.isfunction, vars(type(obj)).values())) and not is_library(type(obj)):
        compile_class(type(obj))  # which says what is wrong with it
        return to_object(obj)
    raise TypeError(f"torch.jit.script: expected a function, class or module, got {type(obj).__name__}")


def _prepared(obj, memo):
    """What an object says is to be compiled in its place, by ``__prepare_scriptable__``; so for the modules below it."""
    if id(obj) in memo:
        return memo[id(obj)][1]
    is_asked = not isinstance(obj, type) and hasattr(obj, "__prepare_scriptable__")
    made = obj.__prepare_scriptable__() if is_asked else obj
    memo[id(obj)] = obj, made
    if isinstance(made, nn.Module) and not isinstance(made, ScriptModule):
        for name, child in made._modules.items():
            if child is not None:
                made._modules[name] = _prepared(child, memo)
    return made


collections.abc.MutableSequence.register(_native.ScriptList)
collections.abc.MutableMapping.register(_native.ScriptDict)


def _container(values):
    """A list or dict that programs share with Python; its type is that of what is in it."""
    type = types.of_value(values)
    if isinstance(values, list):
        return _native.ScriptList(values, type.getElementType())
    return _native.ScriptDict(values, type.getKeyType(), type.getValueType())


def _class(cls):
    if issubclass(cls, nn.Module):
        raise RuntimeError(f"Type {cls!r} cannot be compiled since it inherits from nn.Module; give an instance of it")
    if types.is_named_tuple(cls) or issubclass(cls, enum.Enum):
        types.from_annotation(cls)
        return cls
    concrete = compiler.concretes[compile_class(cls).qualified_name()]
    for name, value in cls.__dict__.items():
        if name == "__eq__" and dataclasses.is_dataclass(cls) and value.__code__.co_filename == "<string>":
            continue  # the comparison that @dataclass writes; fields may be what scripts do not compare
        if inspect.isfunction(value) and getattr(value, "_torchscript_modifier", None) is None:
            if not name.startswith("__") or name in (
                "__init__",
                "__len__",
                "__call__",
                "__getitem__",
                "__eq__",
                "__add__",
            ):
                concrete.method(name)
    return cls


def script_if_tracing(fn):
    """Compile a function when a trace gets to it first; until then it is plain Python."""

    @functools.wraps(fn)
    def run(*args, **kwargs):
        if not torch.jit.is_tracing():
            return fn(*args, **kwargs)
        return script(fn)(*args, **kwargs)

    run.__script_if_tracing_wrapper = True
    return run
