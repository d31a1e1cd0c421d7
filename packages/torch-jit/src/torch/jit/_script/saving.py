"""``torch.jit.save`` and ``torch.jit.load``: TorchScript archives, written as PyTorch reads them and read without running
anything in them."""

from __future__ import annotations

import enum
import errno
import os
import sys

import torch
from torch._seams import need

from .. import _ir as ir
from . import composed, hooks
from .archive import Writer
from .errors import ScriptError
from .function import ScriptFunction
from .interfaces import conform
from .module import RecursiveScriptModule, ScriptModule, child_of, known_wrapper, state_method
from .packed import PARTS, from_state, is_packed, state_of
from .printer import Printer
from .reader import Code
from .types import type_of_packed
from .unit import program_of

__all__ = ["load", "save"]


def _container():
    need("serialize")
    from torch.serialize import program

    return program


def _object(value):
    """The program's object behind a compiled module, or the object itself."""
    return value if isinstance(value, ir.Object) else getattr(value, "_c", None)


def _export():
    from ...export import _scripted

    return _scripted


class _Saver:
    def __init__(self, container):
        self.container, self.writer = container, Writer()
        self.known, self.classes, self.packs = {}, {}, {}

    def instance(self, name, *args):
        cls = self.classes.get(name)
        if cls is None:
            cls = self.classes[name] = type("Instance", (self.container.Instance,), {"type_name": name})
        return cls(*args)

    def stored(self, value, type):
        """A value as the archive's pickle has it."""
        kind = type.kind()
        if kind == "OptionalType":
            return None if value is None else self.stored(value, type.getElementType())
        if kind == "ListType":
            inner = type.getElementType()
            return self.container.Tagged([self.stored(each, inner) for each in value], type.annotation_str)
        if kind == "DictType":
            key, inner = type.containedTypes()
            pairs = {self.stored(k, key): self.stored(v, inner) for k, v in value.items()}
            return self.container.Tagged(pairs, type.annotation_str)
        if kind == "TupleType":
            return tuple(self.stored(each, inner) for each, inner in zip(value, type.containedTypes()))
        if isinstance(value, enum.Enum):
            self.writer.note(type)
            return self.instance(type.qualified_name(), value.value)
        if kind == "PyObjectType":
            return self.packed(value)
        object = _object(value)
        return value if object is None else self.object(object)

    def packed(self, value):
        """Packed weights of a quantized layer."""
        found = self.packs.get(id(value))
        if found is None:
            name, state = state_of(value)
            made = self.instance(name)
            self.packs[id(value)] = value, made
            made.state = tuple(self._part(part, text) for part, text in zip(state, PARTS[name]))
            return made
        return found[1]

    def _part(self, part, text):
        if not isinstance(part, list):
            return part
        return self.container.Tagged(
            [each if type_of_packed(each) is None else self.packed(each) for each in part], text
        )

    def object(self, object):
        found = self.known.get(object)
        if found is None:
            cls = object._type()
            self.writer.note(cls)
            if (module := known_wrapper(object)) is not None:
                self.writer.finals.setdefault(cls.qualified_name(), module.constants_of())
            found = self.known[object] = self.instance(cls.qualified_name())
            getter = state_method(cls)
            if getter is not None:
                returns = next(iter(getter.graph.outputs())).type()
                found.state = self.stored(object.call("__getstate__"), returns)
                return found
            for name, of, *_ in cls.attributes():
                found.attributes[name] = self.stored(object.getattr(name), of)
        return found


def save(m, f, _extra_files=None):
    """Write a compiled module or function, or an exported program, to a path or file object; PyTorch and :func:`load` read it.

    ``_extra_files`` maps names to texts that are kept beside it.  A member ``program.txt`` has the program for the runtime
    without Python: ``torch-run`` and the C and C++ interfaces load the same file.

    >>> import io
    >>> out = io.BytesIO()
    >>> torch.jit.save(torch.jit.script(torch.nn.Linear(2, 3)), out)
    >>> torch.jit.load(io.BytesIO(out.getvalue()))(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """
    if type(m) is not RecursiveScriptModule and isinstance(m, ScriptModule) and not hasattr(m, "_c"):
        m = program_of(m)
    container = _container()
    saver = _Saver(container)
    if "torch.export.exported_program" in sys.modules and isinstance(m, _export().ExportedProgram):
        m = _export().scripted(m)
    if isinstance(m, ScriptFunction):
        program = m._run
        root = saver.instance("__torch__.PlaceholderModule")
        root.attributes["training"] = True
        head = "class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        method = Printer(m._run, saver.writer.tensors, saver.writer.note, "forward", "__torch__.PlaceholderModule")
        saver.writer.parts["__torch__.PlaceholderModule"] = head + method.text(1)
    elif isinstance(_object(m), ir.Object):
        program = _object(m)
        root = saver.object(program)
    else:
        raise AttributeError(f"torch.jit.save: expected a compiled module or function, got {type(m).__name__}")
    saver.writer.run()
    constants = [each if isinstance(each, torch.Tensor) else saver.packed(each) for each in saver.writer.tensors]
    container.write_program(f, root, constants, saver.writer.files(), _extra_files, _runtime_form(program))


def _runtime_form(program):
    """What writes program.txt: the form that ``torch-run`` and libtorch_program read, over the tensors of the archive."""

    def text(place):
        if isinstance(program, ir.Object) and hooks.of_type(program._type()):
            return ir._native.refusal_text("the module has forward hooks of its own, which only Python runs")
        try:
            text, tensors = ir._native.program_text(program, composed.graph_of)
        except NotImplementedError as error:
            return ir._native.refusal_text(str(error))
        if any(tensor.is_quantized for tensor in tensors):
            return ir._native.refusal_text("the program has quantized tensors, which only Python computes with")
        lines = []
        for number, tensor in enumerate(tensors):
            member, offset = place(tensor)
            lines.append(ir._native.tensor_line(number, tensor, offset, member))
        head, rest = text.split("\n", 1)
        return "\n".join([head, "".join(lines) + rest])

    return text


class _Loader:
    def __init__(self, program):
        self.known = {}
        self.code = Code(program.texts, [self._constant(each) for each in program.constants], program.version)

    def _constant(self, value):
        if isinstance(value, torch.Tensor):
            return value
        if not isinstance(value, _container().Instance) or not is_packed(value.type_name):
            raise ScriptError(
                f"the archive has a constant of {getattr(value, 'type_name', type(value).__name__)}, expected tensors and packed weights"
            )
        return self.packed(value)

    def packed(self, instance):
        """Packed weights of the archive, or None where it has no such thing there."""
        if not isinstance(instance, _container().Instance) or not is_packed(instance.type_name):
            return None
        if id(instance) not in self.known:
            self.known[id(instance)] = None  # what holds itself finds nothing
            self.known[id(instance)] = from_state(instance.type_name, instance.state, self.packed)
        return self.known[id(instance)]

    def object(self, instance):
        """The program's object that an instance of the archive describes."""
        found = self.known.get(id(instance))
        if found is not None:
            return found
        if is_packed(instance.type_name):
            return self.packed(instance)
        cls = self.code.find(instance.type_name)
        if not isinstance(cls, ir.Type):
            raise ScriptError(f"the archive has no class {instance.type_name}")
        if cls.kind() == "EnumType":
            return self.code.enums[instance.type_name](instance.args[0])
        made = self.known[id(instance)] = ir.Object(cls)
        setter = self.code.method(cls, "__setstate__")
        if setter is not None:
            self.code.method(cls, "__getstate__")  # what is saved again says its state as before
            made.call("__setstate__", self.value(instance.state, setter.parameters[0].type))
            for name, *_ in cls.attributes():
                if made.getattr(name) is None:
                    made.setattr(name, None)  # which says that it is none of these
            return made
        for name, of, *_ in cls.attributes():
            if name not in instance.attributes:
                raise ScriptError(
                    f"the archive has a {instance.type_name} without {name!r} of type {of.annotation_str}"
                )
            made.setattr(name, self.value(instance.attributes[name], of))
        return made

    def value(self, value, type):
        kind = type.kind()
        if kind == "OptionalType":
            return None if value is None else self.value(value, type.getElementType())
        if kind == "ListType" and isinstance(value, list):
            return [self.value(each, type.getElementType()) for each in value]
        if kind == "DictType" and isinstance(value, dict):
            return {key: self.value(each, type.containedTypes()[1]) for key, each in value.items()}
        if kind == "TupleType" and isinstance(value, tuple):
            return tuple(self.value(each, inner) for each, inner in zip(value, type.containedTypes()))
        if not isinstance(value, _container().Instance):
            return value
        made = self.object(value)
        if kind == "PyObjectType" and type_of_packed(made) != type:
            raise ScriptError(f"the archive has a {value.type_name} where its program has a {type.annotation_str}")
        if kind == "InterfaceType":
            conform(made._type(), type, self.code.compiler)
        return made

    def module(self, object, known):
        """The compiled module of an object, and those below it."""
        found = known.get(object)
        if found is None:
            cls = object._type()
            children = {}
            for name, of, *_ in cls.attributes():
                child = child_of(object, name, of)
                if child is not None:
                    children[name] = self.module(child, known)
            self.code.compile_all(cls)
            hooks.loaded(self.code, cls)
            found = known[object] = RecursiveScriptModule(object, children)
            found.__dict__["_finals"] = self.code.finals.get(cls.qualified_name(), {})
        return found


class MissingFile(FileNotFoundError, ValueError):
    """There is no such file; caught as ValueError, which it is in PyTorch, and as FileNotFoundError."""


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Read a compiled module from an archive of :func:`save` or of PyTorch.

    The texts of the archive are compiled, never run as Python.  ``_extra_files`` is a dict whose values are filled in.
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise MissingFile(errno.ENOENT, "The provided filename does not exist", os.fspath(f))
        if os.path.isdir(f):
            raise MissingFile(errno.EISDIR, "The provided filename is a directory", os.fspath(f))
    program = _container().read_program(f, map_location)
    named = f"torch.jit.load: {os.fspath(f) if isinstance(f, (str, os.PathLike)) else f'{type(f).__name__} object'}"
    for name in _extra_files or ():
        if name in program.extra:
            _extra_files[name] = program.extra[name]
    if not isinstance(program.root, _container().Instance):
        raise RuntimeError(f"{named} holds no module")
    try:
        loader = _Loader(program)
        return loader.module(loader.object(program.root), {})
    except ScriptError as error:
        error.message = f"{named}: {error.message}"
        raise
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise RuntimeError(f"{named} is not the archive of a program: {error!r}") from error
