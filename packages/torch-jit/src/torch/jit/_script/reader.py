"""The ``code/`` of TorchScript archives: Python text that the compiler reads, and never runs.

Names lead to files: ``__torch__.torch.nn.functional.relu`` is ``relu`` in ``code/__torch__/torch/nn/functional.py``.  Types are
read from the tree of their annotation; nothing of the text is evaluated or executed.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import math
import re

from .. import _ir as ir
from .._unique import unique_name
from . import quantized, types
from .compiler import Compiler, Parameter, Program, all_arguments, compiler
from .errors import ScriptError
from .source import _MISSING, Source
from .text import BUILTINS, FORMS, Constants, Operators, Path, TextEmitter, TextFunction

__all__ = ["Code"]

_SIMPLE = {
    "Tensor": types.TENSOR, "int": types.INT, "float": types.FLOAT, "bool": types.BOOL, "str": types.STR,
    "complex": types.COMPLEX, "NoneType": types.NONE, "None": types.NONE, "number": types.NUMBER, "Scalar": types.NUMBER,
    "Any": types.ANY, "Device": types.DEVICE, "Generator": types.GENERATOR, "Layout": types.INT, "Dtype": types.INT,
}  # fmt: skip


_holders = {}  # of a name, whose it is in this process, by what tells archives apart


def _constant(node):
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        raise ScriptError(f"{ast.unparse(node)[:100]} is no constant") from None


class TextSource(Source):
    """A text of an archive, whose names lead nowhere else."""

    def __init__(self, tree, file, lines, names, code):
        super().__init__(tree, file, lines, 1, names)
        self.code = code

    def lookup(self, name, default=_MISSING):
        for scope in self.names:
            if name in scope:
                return scope[name]
        if default is _MISSING:
            raise KeyError(name)
        return default

    def visible(self):
        return [name for scope in self.names for name in scope]

    def inner(self, tree):
        return TextSource(tree, self.file, self.lines, self.names, self.code)

    def read_type(self, text):
        return self.code.type_of(ast.parse(text, mode="eval").body)


class TextCompiler(Compiler):
    """The compiler of one archive."""

    emitter_class = TextEmitter

    def __init__(self, code):
        super().__init__()
        self.code, self.interfaces = code, compiler.interfaces  # whose names are those of this process

    def has_method(self, cls, name):
        return name in self.code.methods.get(cls.qualified_name(), ())

    def method_of_class(self, cls, name, emitter=None):
        return self.code.method(cls, name)


class Code:
    """All texts of an archive: ``files`` by their path below ``code/``, the constants that they name, and the version of its
    format, which says what some operators mean.
    """

    def __init__(self, files, constants=(), version=10):
        self.version = version
        self.files, self.trees, self.found, self.methods, self.enums = files, {}, {}, {}, {}
        whole = repr(sorted(files.items())).encode()
        self.identity = object() if constants else hashlib.sha256(whole).digest()
        self.written = {}  # of a class, its name in the archive
        self.finals = {}  # of a class, its constants by name
        self.listed = {}  # of a class, what its text assigns to names, such as __parameters__
        self.compiler = TextCompiler(self)
        self.names = {
            "torch": Operators("aten"), "ops": Operators(""), "CONSTANTS": Constants(constants), "inf": math.inf,
            "nan": math.nan, "infj": complex(0, math.inf), "nanj": complex(0, math.nan), "__torch__": Path(self, "__torch__"),
            **FORMS,
        }  # fmt: skip
        self.names = {**BUILTINS, **self.names}

    # -- names ------------------------------------------------------------------------------------------------------------

    def tree(self, module):
        """The definitions of a file by name, or None."""
        if module not in self.trees:
            path = module.replace(".", "/") + ".py"
            text = self.files.get(path)
            if text is None:
                self.trees[module] = None
            else:
                try:
                    tree = ast.parse(text, f"code/{path}")
                except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                    raise ScriptError(
                        f"code/{path} is no text of a program: {str(error) or 'it nests too deeply'}"
                    ) from None
                lines = text.splitlines(keepends=True)
                self.trees[module] = {node.name: (node, lines, path) for node in tree.body if hasattr(node, "name")}
        return self.trees[module]

    def find(self, name):
        """The class or function of a qualified name, or None."""
        if name in self.found:
            return self.found[name]
        module, _, last = name.rpartition(".")
        entry = (self.tree(module) or {}).get(last)
        if entry is None:
            return None
        node, lines, path = entry
        source = TextSource(node, f"code/{path}", lines, [self.names], self)
        if isinstance(node, ast.FunctionDef):
            self.found[name] = TextFunction(self, self._unique(name), source)
        else:
            self._class(name, node, source)
        return self.found[name]

    def signature_of(self, name, method):
        """The signature of a method of a class that the texts have, or None."""
        module, _, last = name.rpartition(".")
        node = (self.tree(module) or {}).get(last, (None,))[0]
        found = next((each for each in getattr(node, "body", ()) if getattr(each, "name", None) == method), None)
        return None if found is None else self._signature(found, self._defaults(found))

    def _unique(self, name):
        """The name of a class or function in this process, where another archive may have one of the same name: types are told
        apart by their names. Of archives with the same texts, and no tensors among their constants, each is that of the other.
        """
        holder = _holders.setdefault(name, {})
        if self.identity not in holder:
            made = unique_name(name)
            if made != name and not isinstance(self.identity, bytes):
                return made
            holder[self.identity] = made
        return holder[self.identity]

    def _class(self, name, node, source):
        base = ast.unparse(node.bases[0]) if node.bases else ""
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        if base == "NamedTuple":
            names, inner = [each.target.id for each in fields], [self.type_of(each.annotation) for each in fields]
            self.found[name] = types.named_tuple_of(name, names, inner)
            return
        if base == "Enum":
            values = [(each.targets[0].id, _constant(each.value)) for each in node.body if isinstance(each, ast.Assign)]
            self.enums[name], made = types.enum_named(name, values)
            self.found[name], self.enums[made.qualified_name()] = made, self.enums[name]
            return
        if base in ("Interface", "ModuleInterface"):
            self.found[name] = self._interface(name, node, source)
            return
        own, listed = self._unique(name), {}
        self.written[own] = name
        made = self.found[name] = ir.ClassType(own, base == "Module")
        for each in node.body:
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
                listed[each.targets[0].id] = _constant(each.value)
        self.listed[own] = listed
        parameters, buffers = listed.get("__parameters__", ()), listed.get("__buffers__", ())
        for each in node.body:
            if isinstance(each, ast.AnnAssign):
                if ast.unparse(each.annotation).startswith("Final["):
                    if each.value is not None and isinstance(each.target, ast.Name):
                        self._final(own, each.target.id, each.value)
                    continue
                field, note = each.target.id, each.annotation
            elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Subscript):
                field, note = _constant(each.targets[0].slice), each.value
            else:
                continue
            made.add_attribute(field, self.type_of(note), field in parameters, field in buffers)
        self.methods[own] = {
            each.name: {"tree": each, "source": source} for each in node.body if isinstance(each, ast.FunctionDef)
        }

    def _final(self, cls, field, value):
        """A constant of a module; what is no constant here is not asked for, as the program has it in its methods."""
        with contextlib.suppress(ScriptError):
            self.finals.setdefault(cls, {})[field] = _constant(value)

    def _interface(self, name, node, source):
        own = self._unique(name)
        made, methods = ir.InterfaceType(own), {}
        self.found[name], self.compiler.interfaces[own] = made, methods
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                parameters, signature = self._declared(each)
                returns = types.TENSOR if each.returns is None else self.type_of(each.returns)
                rest = signature.replace(parameters=list(signature.parameters.values())[1:])
                methods[each.name] = Program(each.name, None, parameters[1:], returns, rest)
        return made

    def type_of(self, node):
        """The type that the tree of an annotation says."""
        if isinstance(node, ast.Name) and node.id in _SIMPLE:
            return _SIMPLE[node.id]
        if isinstance(node, ast.Constant) and node.value is None:
            return types.NONE
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.type_of(ast.parse(node.value, mode="eval").body)
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            found = quantized.packed_type(name) if name.startswith(quantized.CLASSES) else self.find(name)
            if isinstance(found, ir.Type):
                return found
            raise ScriptError(f"the archive has no class {name}")
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self._generic(node.value.id, [self.type_of(each) for each in inner])
        raise ScriptError(f"{ast.unparse(node)} is no type of the script language")

    @staticmethod
    def _generic(name, inner):
        single = {"List": ir.ListType, "Optional": ir.OptionalType, "Future": ir.FutureType, "Final": lambda each: each}
        if name in single:
            return single[name](inner[0])
        if name == "Dict":
            return ir.DictType(*inner)
        if name == "Tuple":
            return ir.TupleType(inner)
        if name == "Union":
            return types.union(inner)
        raise ScriptError(f"{name}[...] is no type of the script language")

    # -- functions and methods ----------------------------------------------------------------------------------------------

    def method(self, cls, name):
        """The program of a method of a class, without self; None where there is none."""
        table = self.methods.get(cls.qualified_name(), {})
        entry = table.get(name)
        if entry is None:
            return None
        if "program" not in entry:
            full = f"{cls.qualified_name()}.{name}"
            cls.add_method(self.compile(full, entry["source"].inner(entry["tree"]), entry, "program").function)
        full = entry["program"]
        signature = full.signature.replace(parameters=list(full.signature.parameters.values())[1:])
        return Program(full.name, full.function, full.parameters[1:], full.returns, signature)

    def compile(self, name, source, store, key):
        """Compile a function of the text; ``store[key]`` gets the program at once, for those that call themselves."""
        node = source.tree
        parameters, signature = self._declared(node)
        returns = self.type_of(node.returns) if node.returns is not None else None
        try:
            return self.compiler.compile(source, signature, parameters, returns, name, (store, key))
        except RecursionError:
            raise ScriptError(f"{name} is nested too deep") from None

    def _declared(self, node):
        """Parameters and signature of a definition."""
        arguments = all_arguments(node)
        defaults = self._defaults(node)
        parameters = [
            Parameter(each.arg, self.type_of(each.annotation) if each.annotation else types.TENSOR, default, False)
            for each, default in zip(arguments, defaults)
        ]
        return parameters, self._signature(node, defaults)

    def _defaults(self, node):
        given = node.args.defaults
        missing = [inspect.Parameter.empty] * (len(node.args.args) - len(given))
        return missing + [self._default(each) for each in given]

    @staticmethod
    def _signature(node, defaults):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        try:
            return inspect.Signature(
                [inspect.Parameter(each.arg, kind, default=it) for each, it in zip(all_arguments(node), defaults)]
            )
        except ValueError as error:
            raise ScriptError(f"{node.name}: {error}") from None

    def _default(self, node):
        try:
            return ast.literal_eval(node)
        except ValueError:
            text = ast.unparse(node)
            known = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
            if text in known:
                return known[text]
            if re.fullmatch(r"CONSTANTS\.c\d+", text):
                at, tensors = int(text.removeprefix("CONSTANTS.c")), self.names["CONSTANTS"].values
                if at < len(tensors):
                    return tensors[at]
            if text.startswith("annotate("):
                return _constant(node.args[1])
            raise ScriptError(f"the default {text} is no constant") from None

    def listed_hooks(self, cls, which):
        """The names of the hooks of a class, each once for each time that it runs."""
        found = self.listed.get(cls.qualified_name(), {}).get(which, ())
        if not isinstance(found, (list, tuple)) or not all(isinstance(each, str) for each in found):
            raise ScriptError(f"the archive's class {cls.qualified_name()} has a {which} that is no list of names")
        return found

    def compile_all(self, cls):
        """All methods of a class."""
        for name in self.methods.get(cls.qualified_name(), {}):
            self.method(cls, name)
