"""Script classes: attributes are what ``__init__`` assigns; methods are compiled as they are reached."""

from __future__ import annotations

import abc
import ast
import dataclasses
import inspect
import re
import typing

from .. import _ir as ir
from .._unique import unique_name
from . import types
from .compiler import compiler, declared_result, without_self
from .errors import AnnotationError, NoFactoryError, NotSupportedError, ScriptError
from .source import Source, source_of

__all__ = ["ClassConcrete", "compile_class"]


class ClassConcrete:
    """The description of a script class."""

    is_concrete, is_module = True, False

    def __init__(self, cls, type):
        self.cls, self.type, self.python = cls, type, None
        self.around = {}  # the variables of the function that the class is defined in
        self.slots, self.children, self.constants, self.failed = {}, {}, {}, {}
        self.programs, self.open = {}, False

    def add_slot(self, name, type):
        self.slots[name] = type
        self.type.add_attribute(name, type)

    def known(self):
        return [*self.slots, *(each for each in dir(self.cls) if not each.startswith("__"))]

    def has(self, name):
        return name in self.slots or hasattr(self.cls, name)

    def function(self, name):
        found = inspect.getattr_static(self.cls, name, None)
        return found if inspect.isfunction(found) else None

    def method(self, name, emitter=None):
        """The program of a method, or None."""
        if name in self.programs:
            return self.programs[name]
        made = _generated(self.cls, name)
        fn, source = made if made is not None else (self.function(name), None)
        if fn is None:
            return None
        source = source or source_of(fn)
        source.names = [*source.names, {self.cls.__name__: self.cls, **self.around}]
        signature = without_self(inspect.signature(fn))
        given = {}
        if name == "__setstate__" and len(signature.parameters) == 1:
            given = compiler._state_of(lambda: self.method("__getstate__"), self.function("__getstate__"), signature)
        parameters = compiler.parameters(fn, source, signature, given)
        full = f"{self.type.qualified_name()}.{name}"
        try:
            returns = declared_result(fn, source)
            store = self.programs, name
            found = compiler.compile(source, signature, parameters, returns, full, store, self, self.cls)
        except ScriptError as error:
            if emitter is not None and emitter.place is not None:
                error.places.append(emitter.place)
            raise
        self.type.add_method(found.function)
        return found


def compile_class(cls):
    """The type of a Python class as a script class; compiles its ``__init__``."""
    if cls in types._classes:
        return types._classes[cls]
    if not inspect.isclass(cls) or cls.__module__ in ("builtins", "typing"):
        raise AnnotationError(f"Unknown type annotation: {cls!r}")
    if cls.__module__.split(".")[0] == "torch":
        raise AnnotationError(f"Unknown type annotation: {cls.__module__}.{cls.__qualname__}")
    for base in cls.__mro__[1:]:
        if base not in _PLAIN and base.__module__.split(".")[0] in ("builtins", "collections", "torch", "typing"):
            raise NotSupportedError(
                f"{cls.__name__} has the base class {base.__qualname__}, and a script class does not support inheritance of "
                "what is no script class",
                way_out="keep such an object in an attribute",
            )
    type = ir.ClassType(unique_name(types.qualified(cls)))
    concrete = ClassConcrete(cls, type)
    types._classes[cls] = type
    compiler.concretes[type.qualified_name()] = concrete
    concrete.open = True
    try:
        for base in reversed(cls.__mro__):
            for name, note in inspect.get_annotations(base).items():
                if not _is_no_field(note) and name not in concrete.slots:
                    concrete.add_slot(name, types.from_annotation(note, _names_of(base)))
        concrete.method("__init__")
    except BaseException:
        del types._classes[cls], compiler.concretes[type.qualified_name()]
        raise
    finally:
        concrete.open = False
    return type


_PLAIN = frozenset({object, abc.ABC, typing.Generic, typing.Protocol})


def _is_no_field(note):
    """Whether an annotation in a class's body is about something else than its objects: ``ClassVar``, ``InitVar``."""
    if isinstance(note, str):
        return re.match(r"(typing\.|dataclasses\.)?(ClassVar|InitVar)\b", note) is not None
    of_class = note is typing.ClassVar or typing.get_origin(note) is typing.ClassVar
    return of_class or note is dataclasses.InitVar or isinstance(note, dataclasses.InitVar)


def _names_of(cls):
    module = inspect.getmodule(cls)
    return Source(ast.Module([], []), "<class>", [], 1, [vars(module) if module else {}])


_ORDERED = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


def _may_be_none(annotation):
    """Whether a field of a dataclass may be None, as its annotation says or writes."""
    if isinstance(annotation, str):
        return "Optional" in annotation or "None" in annotation
    return type(None) in typing.get_args(annotation)


def _compared(field, sign):
    """Statements that return how two objects compare by a field, unless it is the same in both."""
    mine, its = f"self.{field.name}", f"other.{field.name}"
    if not _may_be_none(field.type):
        return f"    if {mine} != {its}:\n        return bool({mine} {sign} {its})\n"
    return (
        f"    mine, its = {mine}, {its}\n"
        "    if mine is None or its is None:\n"
        "        if mine is not None or its is not None:\n"
        f"            raise TypeError('{field.name}: None is neither smaller nor larger than a value')\n"
        f"    elif bool(mine != its):\n        return bool(mine {sign} its)\n"
    )


def _is_init(field):
    """Whether a field of a dataclass is only an argument: ``InitVar``."""
    of_text = isinstance(field.type, str) and re.match(r"(dataclasses\.)?InitVar\b", field.type)
    return isinstance(field.type, dataclasses.InitVar) or bool(of_text)


def _type_of_field(field):
    if not _is_init(field):
        return field.type
    return re.sub(r"^.*?InitVar\[(.*)\]$", r"\1", field.type) if isinstance(field.type, str) else field.type.type


def _generated(cls, name):
    """``__init__`` and comparisons that a dataclass has without a text, with a text."""
    if not dataclasses.is_dataclass(cls) or name not in ("__init__", "__eq__", *_ORDERED):
        return None
    fn = inspect.getattr_static(cls, name, None)
    if not inspect.isfunction(fn) or fn.__code__.co_filename != "<string>":  # written by hand, or not there
        return None
    fields = [each for each in dataclasses.fields(cls) if name == "__init__" or each.compare]
    if name == "__init__":
        if any(each.default_factory is not dataclasses.MISSING for each in fields):
            raise NoFactoryError(
                f"{cls.__name__}: Default factory initializers are not supported in TorchScript dataclasses"
            )
        fields = [each for each in cls.__dataclass_fields__.values() if each in fields or _is_init(each)]
        given = [each for each in fields if each.init]
        params = ", ".join(
            each.name + ("" if each.default is dataclasses.MISSING else f"={each.default!r}") for each in given
        )
        lines = [
            f"    self.{each.name} = {each.name if each.init else repr(each.default)}"
            for each in fields
            if not _is_init(each) and (each.init or each.default is not dataclasses.MISSING)
        ]
        extra = ", ".join(each.name for each in fields if _is_init(each))
        lines += [f"    self.__post_init__({extra})"] if hasattr(cls, "__post_init__") else []
        text = f"def __init__(self, {params}):\n" + ("\n".join(lines) or "    pass")
    elif name in _ORDERED:
        sign = _ORDERED[name]
        text = f"def {name}(self, other):\n" + "".join(_compared(each, sign[0]) for each in fields)
        text += f"    return {len(sign) == 2}"
    else:
        text = "def __eq__(self, other):\n" + "".join(
            f"    mine, its = self.{each.name}, other.{each.name}\n"
            "    if mine is None or its is None:\n"
            "        if mine is not None or its is not None:\n            return False\n"
            "    elif not (mine == its):\n        return False\n"
            if _may_be_none(each.type)
            else f"    if not (self.{each.name} == other.{each.name}):\n        return False\n"
            for each in fields
        )
        text += "    return True"
    names = {}
    exec(text, names)  # the text is put together only from the names of fields
    fn = names[name]
    fn.__annotations__ = {each.name: _type_of_field(each) for each in given} if name == "__init__" else {"other": cls}
    source = Source(ast.parse(text).body[0], f"<{name} of {cls.__name__}>", text.splitlines(keepends=True), 1,
                    _names_of(cls).names)  # fmt: skip
    return fn, source


types.compile_class = compile_class
