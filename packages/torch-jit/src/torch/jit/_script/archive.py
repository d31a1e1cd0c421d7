"""Programs as the texts of an archive: one file for each module of Python, with the classes and functions that it has."""

from __future__ import annotations

import keyword
import math

from .. import _ir as ir
from . import contexts, types
from .compiler import compiler
from .hooks import of_type
from .literals import literal
from .printer import Printer

__all__ = ["Writer", "texts_of"]


class Writer:
    """Collects what programs refer to, and writes it."""

    def __init__(self):
        self.tensors = []
        self.parts = {}  # qualified name -> text, in the order in which they were reached
        self.waiting = []
        self.seen = set()
        self.finals = {}  # of the qualified name of a module's class, its constants by name

    def note(self, what):
        """A function or type that a text refers to, or the name of a class of contexts."""
        if isinstance(what, str):
            self._queue(what, what)
            return
        if isinstance(what, ir.Function):
            self._queue(what.qualified_name, what)
            return
        kind = what.kind()
        for each in what.containedTypes() if kind not in ("ClassType", "InterfaceType", "EnumType") else ():
            self.note(each)
        if kind in ("ClassType", "InterfaceType", "EnumType") or (kind == "TupleType" and what.field_names()):
            self._queue(what.qualified_name(), what)

    def _queue(self, name, what):
        if name not in self.seen:
            self.seen.add(name)
            self.waiting.append((name, what))

    def run(self):
        """Write all that is queued, and what that refers to."""
        while self.waiting:
            name, what = self.waiting.pop(0)
            if isinstance(what, str):
                self.parts[name] = contexts.text_of(name)
            else:
                self.parts[name] = self._function(what) if isinstance(what, ir.Function) else self._type(what)
        return self

    def files(self):
        """Texts by their path below ``code/``."""
        found = {}
        for name, text in self.parts.items():
            path = name.rpartition(".")[0].replace(".", "/") + ".py"
            found[path] = found.get(path, "") + text
        return found

    def _function(self, function, indent=0, name=None):
        return Printer(function, self.tensors, self.note, name).text(indent)

    def _type(self, type):
        kind, name = type.kind(), type.qualified_name().rpartition(".")[2]
        if kind == "TupleType":
            fields = zip(type.field_names(), type.containedTypes())
            return f"class {name}(NamedTuple):\n" + "".join(f"  {n} : {self._note(t)}\n" for n, t in fields)
        if kind == "EnumType":
            members = type.enum_names_values()
            return f"class {name}(Enum):\n" + "".join(f"  {n} = {literal(v)}\n" for n, v in members)
        return self._interface(type, name) if kind == "InterfaceType" else self._class(type, name)

    def _final_lines(self, type):
        """The lines of the constants of a module that can be written as they are."""
        return [
            f"  {name} : Final[{self._note(types.of_value(value))}] = {literal(value)}"
            for name, value in self.finals.get(type.qualified_name(), {}).items()
            if name.isidentifier() and not keyword.iskeyword(name) and _is_plain(value)
        ]

    def _interface(self, type, name):
        text = f"class {name}(Interface):\n"
        for each in compiler.interfaces[type.qualified_name()].values():
            takes = "".join(f", {p.name}: {self._note(p.type)}" for p in each.parameters)
            text += f"  def {each.name}(self{takes}) -> {self._note(each.returns)}:\n    pass\n"
        return text

    def _note(self, type):
        self.note(type)
        return type.annotation_str

    def _class(self, type, name):
        module = type.is_module()
        lines = [f"class {name}(Module):" if module else f"class {name}:"]
        attributes = type.attributes()
        if module:
            for word, at in (("__parameters__", 2), ("__buffers__", 3)):
                names = "".join(f'"{each[0]}", ' for each in attributes if each[at])
                lines.append(f"  {word} = [{names}]")
        hooks = of_type(type)
        for word, found in (("__forward_pre_hooks__", hooks.before), ("__forward_hooks__", hooks.after)):
            if found:
                names = "".join(f'"{each.function.name}", ' for each in found)
                lines.append(f"  {word} = [{names}]")
        for field, of, *_ in attributes:
            note = self._note(of)
            lines.append(f"  {field} : {note}" if field.isidentifier() else f'  __annotations__["{field}"] = {note}')
        lines += self._final_lines(type)
        text = "\n".join(lines) + "\n"
        methods = {each.name: each for each in type.methods()}
        methods.update((each.function.name, each.function) for each in (*hooks.before, *hooks.after))
        for method in methods.values():
            text += self._function(method, 1)
        if not attributes and not type.methods() and not module:
            text += "  pass\n"
        return text


def _is_plain(value):
    if type(value) in (tuple, list):
        return bool(value) and all(map(_is_plain, value))
    return value is None or type(value) in (int, bool, str) or (type(value) is float and math.isfinite(value))


def texts_of(functions):
    """The files of functions and of all that they call, and the tensors that they name."""
    writer = Writer()
    for each in functions:
        writer.note(each)
    writer.run()
    return writer.files(), writer.tensors
