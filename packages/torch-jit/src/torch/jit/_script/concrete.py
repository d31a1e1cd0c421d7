"""What the compiler knows of a module: which attributes are slots, children, constants, and which cannot be used.

Modules of one class with the same slots, constants and children share one description, one type and their compiled
methods.
"""

from __future__ import annotations

import inspect
import typing

import torch

from .. import _ir as ir
from .._unique import unique_name
from . import observed, types
from .calls import modifier
from .compiler import compiler
from .errors import NotSupportedError, ScriptError
from .hooks import Hooks, hooks_of
from .library import REPLACED, is_library
from .shells import identity, shell_of

__all__ = ["Concrete", "describe", "forget", "form_of"]

_OWN = frozenset(torch.nn.Module().__dict__) - {"training"}
_shared = {}  # key of a description -> the description


class Concrete:
    """The description of modules of one type."""

    is_concrete = is_module = True
    open = False

    def __init__(self, python):
        self.python = python
        self.slots, self.children, self.constants, self.failed = {}, {}, {}, {}
        self.kinds = {}  # of slots: "parameter", "buffer" or "attribute"
        self.programs = {}
        # Methods that came from texts: the module gets their compiled forms in their place.
        self.texts = {
            name: fn for name, fn in python.__dict__.items() if inspect.isfunction(fn) and hasattr(fn, "_text")
        }
        self.hooks, self.compiled_hooks = Hooks(), None
        self.type = None

    def release(self):
        """Keep a shell of the module, which may go from now on."""
        module, self.python = self.python, shell_of(self.python, {*self.constants, "forward"})
        for name, value in self.constants.items():
            if inspect.ismethod(value) and value.__self__ is module:
                self.constants[name] = self.python.__dict__[name]

    def function(self, name):
        """The Python function behind a method, or None."""
        found = self.texts.get(name) or self.python.__dict__.get(name)
        if found is not None and (inspect.isfunction(found) or hasattr(found, "_script_function")):
            return found
        if inspect.ismethod(found) and found.__self__ is self.python:
            return found.__func__
        found = inspect.getattr_static(type(self.python), name, None)
        for cls in type(self.python).__mro__:
            if (cls, name) in REPLACED and getattr(cls, name) is found:
                return REPLACED[cls, name]
        return found if inspect.isfunction(found) or hasattr(found, "_script_function") else None

    def names(self):
        return [*self.slots, *self.children, *self.constants]

    def registered(self, registry):
        """The names in ``_modules``, ``_parameters`` or ``_buffers``."""
        return list(self.python.__dict__[registry])

    def known(self):
        return [*self.names(), *(each for each in dir(type(self.python)) if not each.startswith("__"))]

    def has(self, name):
        return name in self.names() or name in self.failed or hasattr(type(self.python), name)

    def key(self):
        """What must be the same for two modules to share their methods."""
        forward = self.python.__dict__.get("forward")
        children = tuple(
            (name, None if each is None else each.type.qualified_name()) for name, each in self.children.items()
        )
        slots = tuple((name, str(type), self.kinds[name]) for name, type in self.slots.items())
        constants = tuple((name, _text(value, self.python)) for name, value in self.constants.items())
        texts = tuple((name, fn._text) for name, fn in self.texts.items())
        own = type(self.python), identity(forward, self.python) if forward else None, texts
        return *own, slots, constants, children, tuple(self.failed), self.hooks.key(), observed.number()


class Loaded:
    """A child that is compiled already, or came from a file: its methods are those of its type."""

    is_concrete = False

    def __init__(self, type):
        self.type = type


def _text(value, module):
    if isinstance(value, (int, float, bool, str, tuple, torch.dtype, torch.device, type(None))):
        return type(value).__name__, repr(value)
    return identity(value, module)


def form_of(module):
    """What a script is compiled of in the place of a module: a quantized layer has another form there."""
    for cls in type(module).__mro__:
        if cls.__module__.startswith("torch.ao.nn.quantized.reference."):
            raise NotSupportedError(
                f"{cls.__name__} of torch.ao.nn.quantized.reference rounds its weights at each call, which torch.jit.script does not "
                "compile: torch.jit.trace records it"
            )
    if not type(module).__module__.startswith("torch.ao.nn."):
        return module
    from . import quantized_layers

    return quantized_layers.form_of(module)


def describe(module, memo=None, apart=False):
    """The description of a module and, through its children, of those below it; ``apart`` from modules that are alike."""
    memo = {} if memo is None else memo
    found = memo.get(id(module))
    if found is None:
        found = memo[id(module)] = _describe(form_of(module), memo, apart)
    return found


def _describe(module, memo, apart):
    if hasattr(module, "_c") and isinstance(getattr(module, "_c", None), ir.Object):
        module._complete()
        cls = module._c._type()
        return compiler.concrete_of(cls) or Loaded(cls)
    concrete = Concrete(module)
    concrete.hooks = hooks_of(module)
    for name, value in module._parameters.items():
        if torch.nn.parameter.is_lazy(value):
            raise RuntimeError(
                f"'{torch.typename(type(module))}' has uninitialized parameters {name}. Did you forget to run a forward pass?"
            )
        _slot(concrete, name, types.NONE if value is None else types.TENSOR, "parameter")
    for name, value in module._buffers.items():
        wanted = _annotation(type(module), name)
        _slot(concrete, name, wanted or (types.NONE if value is None else types.TENSOR), "buffer")
    for name, child in module._modules.items():
        declared = _annotation(type(module), name)
        if isinstance(declared, ir.Type) and types.interface_in(declared) is not None:
            _slot(concrete, name, declared, "interface")
            continue
        concrete.children[name] = None if child is None else describe(child, memo, apart)
    library = is_library(type(module))
    ignored = set(getattr(module, "__jit_ignored_attributes__", ()))
    listed = set(getattr(type(module), "__constants__", ()))
    for name, value in module.__dict__.items():
        if name in _OWN or name in ("_declared", "_made") or name in ignored or (name == "forward" and callable(value)):
            continue
        _attribute(concrete, name, value, library, listed)
    if "training" not in concrete.slots:
        _slot(concrete, "training", types.BOOL, "attribute")
    key = concrete.key()
    shared = _shared.get(key)
    if shared is not None and not apart:
        return shared
    name = unique_name(types.qualified(type(module)))
    concrete.type = ir.ClassType(name, is_module=True)
    for name, slot in concrete.slots.items():
        kind = concrete.kinds[name]
        concrete.type.add_attribute(name, slot, kind == "parameter", kind == "buffer")
    for name, child in concrete.children.items():
        concrete.type.add_attribute(name, types.NONE if child is None else child.type)
    compiler.concretes[concrete.type.qualified_name()] = concrete
    if not apart:
        _shared[key] = concrete
    concrete.release()
    return concrete


def forget(concrete):
    """Let the next module that is like this one be described anew, with methods of its own."""
    for key in [key for key, each in _shared.items() if each is concrete]:
        del _shared[key]


def _slot(concrete, name, type, kind):
    concrete.slots[name] = type
    concrete.kinds[name] = kind


def _annotation(cls, name):
    """The type that the class's body declares for an attribute, or None."""
    for each in cls.__mro__:
        note = inspect.get_annotations(each).get(name)
        if note is None:
            continue
        module = inspect.getmodule(each)
        if isinstance(note, str):
            names = {**vars(typing), **(vars(module) if module else {})}
            try:
                note = eval(note, names)  # the text of an annotation, of the same trust as its class
            except Exception:
                return None
        if types.annotation_is_final(note):
            return typing.Final
        try:
            return types.from_annotation(note)
        except ScriptError:
            return None
    return None


def _derived(value, wanted):
    """The class of an object that is annotated with a base of it, so that its own methods are called (PyTorch calls those of
    the base)."""
    bases = [types._classes.get(base) for base in type(value).__mro__[1:]]
    return types.instance(value) if wanted.kind() == "ClassType" and wanted in bases else None


def _attribute(concrete, name, value, library, listed):
    """One attribute of an instance: a constant, a slot, or something that cannot be used."""
    if name == "training":
        _slot(concrete, name, types.BOOL, "attribute")
        return
    wanted = _annotation(type(concrete.python), name)
    declared = concrete.python.__dict__.get("_declared", {})
    if isinstance(value, torch.jit.Attribute) or name in declared:
        declared = declared[name] if name in declared else value.type  # noqa: SIM401 (a value has no type where it is declared)
        _slot(concrete, name, types.from_annotation(declared), "attribute")
        return
    if type(value) in types._classes and (compiled := types.instance(value)) is not None:
        _slot(concrete, name, compiled, "attribute")
        return
    if callable(value) and not isinstance(value, torch.nn.Module) and wanted is None:
        if modifier(value) != "script_method":  # which came from a text and is a method
            concrete.constants[name] = value
        return
    if wanted is typing.Final or name in listed or (library and wanted is None and not isinstance(value, torch.Tensor)):
        concrete.constants[name] = value
        return
    if wanted is not None:
        _slot(concrete, name, _derived(value, wanted) or wanted, "attribute")
        return
    if isinstance(value, torch.qscheme):
        concrete.constants[name] = value
        return
    try:
        found = types.of_value(value)
    except ScriptError as error:
        of = f"{type(value).__module__}.{type(value).__qualname__}"
        concrete.failed[name] = f"failed to convert Python type '{of}' to a TorchScript type: {error.message}"
        if isinstance(value, (list, tuple, dict)) and any(isinstance(each, torch.nn.Module) for each in value):
            concrete.failed[name] = (
                f"Could not infer type of {type(value).__name__} element: Cannot infer concrete type of torch.nn.Module: a list of "
                "modules must be a torch.nn.ModuleList"
            )
        return
    if isinstance(value, (list, dict)) and not value:
        concrete.failed[name] = f"it is empty: annotate it in the class, {name}: List[int]"
        return
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        concrete.constants[name] = value
        return
    _slot(concrete, name, found, "attribute")
