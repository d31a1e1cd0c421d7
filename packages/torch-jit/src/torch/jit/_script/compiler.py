"""Functions to graphs: parameters with their types, the body, the result; each function once for the types it is used with."""

from __future__ import annotations

import ast
import inspect
import re

from .. import _ir as ir
from .._unique import unique_name
from ..annotations import count_of
from . import functions, methods, recurrent, replaced, resizing, types  # noqa: F401  (they fill the tables of library.py)
from .attributes import Attributes
from .blocks import Blocks
from .build import Builder
from .calls import Calls
from .choices import Choices
from .clean import clean
from .comprehensions import Comprehensions
from .conditions import Conditions
from .displays import Displays
from .errors import NotSupportedError, ScriptError, about
from .expressions import Expressions
from .library import FORMS, is_library
from .loops import Loops
from .marks import overloads_of
from .observed import types_of
from .scope import Frame, Function
from .selves import Selves, defining
from .source import source_of
from .statements import Statements
from .subscripts import Subscripts
from .values import Self, Static
from .whole import as_users, calling

Kind = inspect.Parameter

__all__ = ["Compiler", "Emitter", "Program", "compiler"]


class Emitter(
    Statements,
    Loops,
    Comprehensions,
    Displays,
    Conditions,
    Subscripts,
    Expressions,
    Selves,
    Attributes,
    Calls,
    Choices,
    Blocks,
    Builder,
):
    """Compiles the body of one function into one graph."""

    def __init__(self, graph, compiler):
        super().__init__(graph)
        self.compiler = compiler
        self.function, self.frame = None, Frame()
        self.in_cases = False  # of the arguments of a function of torch (choices.py)

    def where(self, node):
        if self.function is None or not hasattr(node, "lineno"):
            return self.place
        return self.function.source.where(node)


class Parameter:
    """A parameter of a compiled function."""

    __slots__ = ("count", "default", "inferred", "keyword", "name", "type")

    def __init__(self, name, type, default, keyword, inferred=False, count=0):
        self.count = count  # of a list: how many numbers one number may stand for
        self.inferred = inferred  # a tensor because nothing says what it is
        self.name, self.default, self.keyword = name, default, keyword
        self.type = type.unshaped()  # a trace knows more of its example than it asks of its arguments


class Program:
    """A compiled function: its graph, its parameters, and what it returns."""

    def __init__(self, name, function, parameters, returns, signature):
        self.name, self.function, self.parameters = name, function, parameters
        self.returns = returns and returns.unshaped()
        self.signature = signature

    def bind(self, emitter, args, kwargs):
        """Values for all parameters, from the items of a call."""
        items = emitter.bind(self.signature, args, kwargs, self.name)
        values = []
        for each in self.parameters:
            try:
                item = items[each.name]
                if isinstance(item, ir.Value) and item.type() == types.TENSOR:
                    item = emitter.number_of(item, each.type)
                if each.count and emitter.is_value(item) and emitter.type_of(item) == each.type.getElementType():
                    item = emitter.list_of([emitter.value(item)] * each.count)
                values.append(emitter.value(item, each.type))
            except ScriptError as error:
                error.message = f"{self.name}(): {about(error.message, each.name)}"
                raise
        return values


class Compiler:
    """What has been compiled so far."""

    def __init__(self):
        self.programs = {}
        self.running = []
        self.concretes = {}  # qualified name of a class -> the description of its modules
        self.interfaces = {}  # qualified name of an interface -> its methods by name, declared

    source_of = staticmethod(source_of)
    notes_of = staticmethod(lambda fn, compiled=True: notes_of(fn, compiled))
    emitter_class = Emitter

    def concrete_of(self, cls):
        found = self.concretes.get(cls.qualified_name())
        return found if found is not None and found.type is cls else None

    def has_method(self, cls, name):
        return cls.find_method(name) is not None

    # -- functions ----------------------------------------------------------------------------------------------------

    def function_for(self, fn, emitter=None, args=(), kwargs=None):
        """The program of a Python function, for the types of a call where the function does not say them."""
        source = emitter.known(source_of, fn) if emitter else source_of(fn)
        signature = inspect.signature(fn)
        given = {}
        if emitter is not None:
            items = emitter.bind(signature, args, kwargs or {}, fn.__name__)
            of_one = lambda name: signature.parameters[name].kind not in (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD)
            items = {name: item for name, item in items.items() if of_one(name) and emitter.is_value(item)}
            given = {name: emitter.type_of(item) for name, item in items.items()}
        passed = signature.bind_partial(*args, **kwargs or {}).arguments
        parameters, saying = self.overloaded(fn, passed, given) or (self.parameters(fn, source, signature, given), fn)
        key = fn, tuple(str(each.type) for each in parameters)
        found = self.programs.get(key)
        if found is None:
            try:
                returns = declared_result(saying, source if saying is fn else source_of(saying))
                name = unique_name(types.qualified(fn))
                found = self.compile(source, signature, parameters, returns, name, (self.programs, key))
            except ScriptError as error:
                if emitter is not None and emitter.place is not None:
                    error.places.append(emitter.place)
                raise
        if found.returns is None:
            raise ScriptError(
                f"function '{fn.__name__}' is called recursively before it is known what it returns", emitter and emitter.place,
                "annotate its result: def f(...) -> Tensor",
            )  # fmt: skip
        return found

    def function_of_library(self, fn, public):
        """The program of a function of torch, for arguments of the types that it declares."""
        source, signature = calling(public, fn), inspect.signature(fn)
        parameters = self.parameters(fn, source_of(fn), signature)
        for each in parameters:
            each.type, each.count = as_users(each.type, fn.__name__)
            if each.count and isinstance(each.default, (int, float)):
                each.default = [each.default] * each.count
        name = unique_name(types.qualified(fn))
        return self.compile(source, signature, parameters, None, name, (self.programs, (fn, None)))

    # -- methods ------------------------------------------------------------------------------------------------------

    def method_for(self, concrete, name, emitter=None, args=(), kwargs=None):
        """The program of a method of a module, for the types of a call where the method does not say them."""
        fn = concrete.function(name)
        source = emitter.known(source_of, fn) if emitter else source_of(fn)
        library = is_library(fn)
        signature = without_self(inspect.signature(fn))
        given = {}
        if emitter is not None:
            items = emitter.bind(signature, args, kwargs or {}, fn.__name__)
            given = {each: emitter.type_of(item) for each, item in items.items() if emitter.is_value(item)}
            if fn in FORMS:
                parameter, wanted, form = FORMS[fn]
                if parameter in given and given[parameter].annotation_str == wanted:
                    fn, source = form, emitter.known(source_of, form)
                    signature = without_self(inspect.signature(fn))
        if name == "__setstate__" and len(signature.parameters) == 1:
            given = self._state_of(
                lambda: self.method_for(concrete, "__getstate__"), concrete.function("__getstate__"), signature
            )
        passed = signature.bind_partial(*args, **kwargs or {}).arguments
        parameters, saying = self.overloaded(fn, passed, given, without_self) or (
            self.parameters(fn, source, signature, given, library=library), fn,
        )  # fmt: skip
        key = name, tuple(str(each.type) for each in parameters)
        found = concrete.programs.get(key)
        if found is None:
            several = sum(1 for each, _ in concrete.programs if each == name)
            full = f"{concrete.type.qualified_name()}.{name}" + (f"__{several}" if several else "")
            store = concrete.programs, key
            cls = defining(type(concrete.python), name)
            try:
                returns = declared_result(saying, source if saying is fn else source_of(saying), library)
                found = self.compile(source, signature, parameters, returns, full, store, concrete, cls, library)
            except ScriptError as error:
                if emitter is not None and emitter.place is not None:
                    error.places.append(emitter.place)
                raise
            concrete.type.add_method(found.function)
        if found.returns is None:
            raise ScriptError(
                f"method '{name}' is called recursively before it is known what it returns", emitter and emitter.place,
                "annotate its result: def f(...) -> Tensor",
            )  # fmt: skip
        return found

    @staticmethod
    def _state_of(compiled, getstate, signature):
        """The type of what ``__setstate__`` takes, where nothing says it: that which ``__getstate__`` gives."""
        if getstate is None:
            raise ScriptError(
                "__setstate__ has no __getstate__ beside it", way_out="define both, marked @torch.jit.export"
            )
        return {next(iter(signature.parameters)): compiled().returns}

    def overloaded(self, fn, passed, given, bound=lambda signature: signature):
        """The first overload that takes what a call passes, of the types given: its parameters and itself, or None."""
        for each in overloads_of(fn) if passed else ():
            signature = bound(inspect.signature(each))
            if not set(passed) <= set(signature.parameters):
                continue
            parameters = self.parameters(each, source_of(each), signature)
            types_fit = all(given[p.name].isSubtypeOf(p.type) for p in parameters if p.name in {*passed} & {*given})
            if types_fit and all(p.name in passed or p.default is not inspect.Parameter.empty for p in parameters):
                return parameters, each
        return None

    def method_of_class(self, cls, name, emitter=None):
        """The program of a method of a script class or of a loaded one, or None."""
        concrete = self.concrete_of(cls)
        if concrete is not None and not concrete.is_module:
            return concrete.method(name, emitter)
        found = cls.find_method(name)
        if found is None or concrete is not None:
            return None
        return loaded(found)

    def parameters(self, fn, source, signature, given=(), skip=0, library=False):
        """Parameters with types: annotated, by a type comment, by the call, by the default, else Tensor."""
        names = list(signature.parameters.values())[skip:]
        given = given if library else {**types_of(fn), **dict(given)}
        comments, _ = comment_types(source, [each.name for each in names])
        found = []
        for each in names:
            where = next((arg for arg in all_arguments(source.tree) if arg.arg == each.name), source.tree)
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                raise NotSupportedError(
                    f"{fn.__name__}: Compiled functions can't take variable number of arguments "
                    f"({'*' if each.kind == each.VAR_POSITIONAL else '**'}{each.name})",
                    source.where(where),
                    "a script needs each argument by name; take a list",
                )
            try:
                type = self._parameter_type(each, comments, given, source, library)
            except ScriptError as error:
                error.places = error.places or [source.where(where)]
                raise
            said = each.name in comments or each.annotation is not each.empty
            count, default = source.counts.get(each.name) or count_of(each.annotation), each.default
            if count and isinstance(default, (int, float)):
                default = [default] * count
            else:
                self._check_default(each, type, source.where(where), library, said)
            inferred = not (said or library or each.name in given or each.default is not each.empty)
            found.append(Parameter(each.name, type, default, each.kind == each.KEYWORD_ONLY, inferred, count))
        return found

    @staticmethod
    def _check_default(parameter, type, where, library, said):
        """ScriptError for a default of another type than the annotation says."""
        default = parameter.default
        if library or default is parameter.empty:
            return
        if _is_mutable(default):
            raise ScriptError(
                "Mutable default parameters are not supported because Python binds them to the function and they persist "
                f"across function calls: {parameter.name}={default!r}",
                where,
                "make the default None, and the list or dict within the function",
            )
        if not said:  # an overload, or the call, is of another type
            return
        try:
            of = types.of_value(default)
        except ScriptError:
            return  # what has no type is told where it is used
        numbers = (types.INT, types.FLOAT, types.COMPLEX)
        inner = type.getElementType() if types.is_optional(type) else type
        widens = of in numbers and inner in numbers and numbers.index(of) <= numbers.index(inner)
        if of.isSubtypeOf(type) or widens or isinstance(default, (list, tuple, dict)) or of == types.BOOL:
            return
        raise ScriptError(
            f'Expected a default value of type {type} on parameter "{parameter.name}", got {default!r}', where
        )

    def _parameter_type(self, parameter, comments, given, source, library):
        name = parameter.name
        if name in comments:
            return comments[name]
        if parameter.annotation is not parameter.empty:
            try:
                found = types.from_annotation(parameter.annotation, source)
            except ScriptError:
                if not library:
                    raise
                found = types.ANY
            if not library:
                return found
            inner = found.getElementType() if types.is_optional(found) else found
            if name not in given and parameter.default is None and inner.kind() in ("UnionType", "AnyType"):
                return types.NONE
            none = name in given and types.is_none(given[name])  # compiled for it: branches on None are decided
            if found != types.ANY and not none and (name not in given or given[name].isSubtypeOf(found)):
                return found
        if name in given:
            return given[name]
        if parameter.default is not parameter.empty and parameter.default is not None:
            return types.of_value(parameter.default)
        if library and parameter.default is None:
            return ir.OptionalType(types.TENSOR)
        return types.TENSOR

    def compile(self, source, signature, parameters, returns, name, store, owner=None, cls=None, library=False):
        """Compile a function; with ``owner``, a method of what that describes.  ``store`` is a dict and a key of it."""
        function = ir.Function(name, None)
        program = Program(source.function, function, parameters, returns, signature)
        programs, key = store
        programs[key] = program
        try:
            graph = ir.Graph()
            emitter = self.emitter_class(graph, self)
            items = {}
            if owner is not None:
                if not source.tree.args.args:
                    raise ScriptError(f"{source.function}: methods must have a self argument")
                items[source.tree.args.args[0].arg] = Self(owner, graph.addInput("self", owner.type))
            for each in parameters:
                value = graph.addInput(each.name, each.type)
                items[each.name] = Static(None) if types.is_none(each.type) else value
                emitter.inferred |= {value} if each.inferred else set()
            inner = Function(source, library, returns, items.get("self"), cls)
            inner.unions = {each.name: each.type for each in parameters if each.type.kind() == "UnionType"}
            result = emitter.run_function(inner, items)
            value = emitter.value(result, returns)
            graph.registerOutput(value)
            program.returns = value.type() if returns is None else returns
            clean(graph)
            function.graph = graph
        except BaseException:
            del programs[key]
            raise
        set_defaults(function, parameters)
        return program


def _is_mutable(default):
    if isinstance(default, tuple):
        return any(map(_is_mutable, default))
    return isinstance(default, (list, dict, set))


def set_defaults(function, parameters):
    """Tell the compiled function the values of arguments that are left out."""
    defaults = {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}
    function.set_defaults(defaults)


def all_arguments(tree):
    args = tree.args
    rest = [each for each in (args.vararg, args.kwarg) if each is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


def comment_types(source, names):
    """Types from ``# type: (Tensor, int) -> Tensor`` and from comments beside the arguments; and the result's."""
    found, returns = {}, None
    for each in all_arguments(source.tree):
        if each.type_comment:
            source.counts[each.arg] = count_of(each.type_comment)
            found[each.arg] = types.from_annotation(each.type_comment, source)
    comment = getattr(source.tree, "type_comment", None)
    _check_prefix(source)
    if comment:
        arrow = "->" in comment.partition("#")[0]
        try:  # without an arrow, it speaks of the parameters only
            tree = ast.parse(comment if arrow else f"{comment.partition('#')[0]} -> None", mode="func_type")
        except SyntaxError:
            raise ScriptError(f"the type comment {comment!r} cannot be read", source.where(source.tree)) from None
        given = [ast.unparse(each) for each in tree.argtypes]
        if len(given) == len(names) + 1 and len(all_arguments(source.tree)) > len(names):  # with self
            given = given[1:]
        elif len(given) == len(names) - 1 and names[0] == "self":
            names = names[1:]  # without self
        if given != ["..."] and len(given) != len(names):
            raise ScriptError(
                f"Number of type annotations ({len(given)}) did not match the number of function parameters ({len(names)})",
                source.where(source.tree),
                ", ".join(names),
            )
        if given != ["..."]:
            source.counts.update({name: count_of(text) for name, text in zip(names, given)})
            found.update({name: types.from_annotation(text, source) for name, text in zip(names, given)})
        if arrow:
            returns = types.from_annotation(ast.unparse(tree.returns), source)
    return found, returns


def _check_prefix(source):
    """ScriptError for a comment between a head and its body that looks like one about types, and is none: ``#type:``."""
    body = getattr(source.tree, "body", None)
    if not isinstance(body, list) or not body:
        return
    for number in range(source.tree.lineno, body[0].lineno):
        line = source.lines[number - 1] if number <= len(source.lines) else ""
        if re.match(r"\s*#\s*type\s*:", line) and "# type:" not in line and "ignore" not in line:
            raise ScriptError(
                f"The annotation prefix in line {line.strip()!r} is probably invalid.\nIt must be '# type:'",
                source.where(source.tree),
            )


def declared_result(fn, source, library=False):
    """The type that a function says it returns, or None."""
    if library:
        return None
    signature = inspect.signature(fn)
    names = list(signature.parameters)
    _, returns = comment_types(source, names)
    if returns is not None:
        return returns
    note = signature.return_annotation
    if note is inspect.Signature.empty:
        return None
    try:
        return types.from_annotation(note, source)
    except ScriptError as error:
        error.places = error.places or [source.where(source.tree)]
        raise


def notes_of(fn, compiled=True):
    """The annotations of a function, or what its type comment says; of its result too (``return``)."""
    if fn.__annotations__ or not compiled:
        return fn.__annotations__
    try:
        source = source_of(fn)
    except ScriptError:
        return {}
    found, returns = comment_types(source, list(inspect.signature(fn).parameters))
    return found if returns is None else {**found, "return": returns}


def without_self(signature):
    """The signature of a bound method."""
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def loaded(function):
    """A method that came as a graph: its parameters are the graph's inputs."""
    inputs = list(function.graph.inputs())[1:]
    empty = inspect.Parameter.empty
    defaults = function.defaults()
    names = [each.debugName() for each in inputs]
    found = [Parameter(name, each.type(), defaults.get(name, empty), False) for name, each in zip(names, inputs)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each.name, kind, default=each.default) for each in found])
    return Program(function.name, function, found, next(iter(function.graph.outputs())).type(), signature)


compiler = Compiler()
