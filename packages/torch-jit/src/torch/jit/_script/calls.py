"""Calls: of operators, of Python functions (compiled in their turn), of methods, modules and classes."""

from __future__ import annotations

import ast
import functools
import inspect
import types as python_types

import torch

from .. import _ir as ir
from .._errors import raised
from . import library, operators, quantized, types
from .displays import Spread
from .errors import NotSupportedError, ScriptError, about, nearest
from .expressions import OF_TENSORS
from .scope import EXITS, FALLS, MAYBE, Frame, Function, flags
from .statements import Local
from .values import Bound, Invalid, Items, Self, Static, Super, TupleOf

__all__ = ["Calls", "modifier"]


def modifier(fn):
    """What a decorator has said about a function: "ignore", "unused", "export" or None."""
    return getattr(fn, "_torchscript_modifier", None)


#: operators of a list of tensors, which functions of torch take one by one as well
LISTED = {"block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul", "meshgrid"}


class Calls:
    """Emits calls."""

    def resolve(self, node):
        """The Python object that an expression of names and attributes is, or None."""
        if isinstance(node, ast.Name):
            if self.frame.get(node.id) is not None:
                item = self.frame.get(node.id)
                return item.value if isinstance(item, Static) else None
            return self.function.source.lookup(node.id, None)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return None if owner is None or isinstance(owner, torch.nn.Module) else getattr(owner, node.attr, None)
        if isinstance(node, (ast.Subscript, ast.Tuple, ast.BinOp)):
            try:
                return types._evaluate(ast.unparse(node), self.function.source)
            except ScriptError:
                return None
        return None

    def static(self, item, what):
        if isinstance(item, Static):
            return item.value
        raise self.error(f"{what} must be known while compiling")

    def visit_Call(self, node):
        special = self._special(node)
        if special is not None:
            return special()
        target = self.visit(node.func)
        args = self.elements_of(node.args)
        kwargs = {}
        for each in node.keywords:
            item = self.visit(each.value)
            if each.arg is not None:
                kwargs[each.arg] = item
            elif isinstance(item, Static) and isinstance(item.value, dict):
                kwargs.update({k: v if self.is_item(v) else Static(v) for k, v in item.value.items()})
            else:
                raise self.error(
                    "keyword-arg expansion is not supported",
                    "** takes a dict that is known while compiling",
                    NotSupportedError,
                )
        return self.call(target, args, kwargs)

    def is_item(self, value):
        return isinstance(value, (ir.Value, Static, TupleOf, Items, Self, Bound))

    def _special(self, node):
        """Calls whose arguments are not evaluated as others are."""
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "super" and self.frame.get("super") is None:
            return lambda: Super(self.function.cls, self.frame.get(self._self_name()))
        found = self.resolve(node.func)
        handler = library.special(found)
        return None if handler is None else lambda: handler(self, node)

    def _self_name(self):
        return self.function.source.tree.args.args[0].arg

    # -- what is called ---------------------------------------------------------------------------------------------------

    def call(self, target, args, kwargs):
        """Call an item with items."""
        if isinstance(target, Static):
            return self.call_python(target.value, args, kwargs)
        if isinstance(target, Bound):
            return self.call_bound(target, args, kwargs)
        if isinstance(target, Self):
            if target.concrete.is_module:
                return self.call_module(target, args, kwargs)
            return self.method(target.value, "__call__", args, kwargs)
        if isinstance(target, ir.Value):
            if target.type().kind() in ("ClassType", "InterfaceType") or types.is_of_objects(target.type()):
                return self.method(target, "__call__", args, kwargs)
            raise self.error(f"cannot call a value of type {target.type()}")
        raise self.error(f"cannot call a value: {self.describe(target)}")

    def call_python(self, fn, args, kwargs):
        if isinstance(fn, Local):
            return self._local(fn, args, kwargs)
        handler = library.function(fn)
        if handler is not None:
            self._fits(handler, fn, args, kwargs)
            result = handler(self, *args, **kwargs)
            return Static(None) if result is None else result
        program = getattr(fn, "_script_function", None)
        if program is not None:
            return self.call_function(program, args, kwargs)
        if (kind := quantized.name_of(fn)) is not None:
            return quantized.emit(self, kind, args, kwargs)
        row = library.row_of(fn)
        if row is not None:
            defaults = {name: Static(value) for name, value in library.defaults_of(fn, len(args), kwargs).items()}
            return self.row(row, args, {**kwargs, **defaults})
        if library.is_foldable(fn) and all(isinstance(each, Static) for each in (*args, *kwargs.values())):
            return self._folded(fn, args, kwargs)
        if isinstance(fn, type):
            return self.construct(fn, args, kwargs)
        if inspect.isfunction(fn) or isinstance(fn, python_types.MethodType):
            return self._python_function(fn, args, kwargs)
        own = inspect.getattr_static(type(fn), "__call__", None)
        if inspect.isfunction(own) and modifier(own) == "ignore":
            return self.call_out(python_types.MethodType(own, fn), args, kwargs)
        if isinstance(fn, torch.nn.Module):
            raise self.error(
                "Cannot call a ScriptModule that is not a submodule of the caller: a module outside of the module being compiled",
                "make it an attribute of that module",
            )
        wrapped = getattr(fn, "__wrapped__", None)
        if wrapped is not None and wrapped is not fn:
            return self.call_python(wrapped, args, kwargs)
        what = f"Python builtin {fn!r}" if inspect.isbuiltin(fn) else self.describe(Static(fn))
        raise self.error(
            f"{what} is currently not supported in TorchScript",
            "mark a Python function with @torch.jit.ignore to call it as it is",
        )

    def _fits(self, handler, fn, args, kwargs):
        """ScriptError for arguments that what stands for a function does not take."""
        try:
            inspect.signature(handler).bind(self, *args, **kwargs)
        except TypeError as error:
            raise self.error(f"{getattr(fn, '__name__', fn)}(): {error}") from None

    def _folded(self, fn, args, kwargs, otherwise=None):
        """The result for what is known; an error is that of the call when it is reached, where there is another way to it."""
        try:
            return Static(fn(*(each.value for each in args), **{k: each.value for k, each in kwargs.items()}))
        except Exception as error:
            if otherwise is not None:
                return otherwise()
            raise self.error(f"{type(error).__name__}: {error}") from None

    def _python_function(self, fn, args, kwargs):
        if modifier(fn) in ("unused", "drop"):
            return self._unused(fn)
        if modifier(fn) == "ignore":
            return self.call_out(fn, args, kwargs)
        if hasattr(fn, "__prepare_scriptable__"):
            fn = fn.__prepare_scriptable__()
        fn = library.unwrapped(fn)
        if isinstance(fn, python_types.MethodType) and isinstance(fn.__self__, type):  # a classmethod
            return self.inline_user(fn.__func__, args, kwargs, Static(fn.__self__), fn.__self__)
        if isinstance(fn, python_types.MethodType):
            raise self.error(f"{fn.__qualname__} is a method of an object outside of the program")
        if library.is_library(fn):
            return self.of_library(fn, args, kwargs)
        return self.call_function(self.compiler.function_for(fn, self, args, kwargs), args, kwargs)

    def of_library(self, fn, args, kwargs):
        """A function of torch, compiled into this place, if need be by cases; where that cannot be done, called in Python."""
        above = self.function
        if self.in_cases or (above.library and above.above is not None):
            return self.inline(fn, args, kwargs)
        since, frame, first = self.last(), self.frame, None
        for way in (self.inline, self.by_cases, self._as_operator, self._by_public_name):
            try:
                return way(fn, args, kwargs)
            except (ScriptError, RecursionError) as error:
                self.frame, first = frame, first or error
                self.discard(since)
        raise first

    def _as_operator(self, fn, args, kwargs):
        """A call at run time of what is an operator in PyTorch, whose name archives have."""
        public, called = getattr(torch, fn.__name__, None), operators.operator(fn.__name__)
        if called is None or library.unwrapped(public) is not fn:
            raise self.error(f"{fn.__name__} is no operator")
        parameters = inspect.signature(fn).parameters
        if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters.values()):
            return self.python_operator(fn.__name__, called, args, kwargs)
        items = self.bind(inspect.signature(fn), args, kwargs, fn.__name__)
        given = {k: v for k, v in items.items() if not (isinstance(v, Static) and v.value is parameters[k].default)}
        last = max((i for i, name in enumerate(parameters) if name in given), default=-1)
        before = [name for i, name in enumerate(parameters) if i <= last]
        places = [name for name in before if parameters[name].kind != inspect.Parameter.KEYWORD_ONLY]
        named = {name: item for name, item in given.items() if name not in places}
        return self.python_operator(fn.__name__, called, [items[each] for each in places], named)

    def _by_public_name(self, fn, args, kwargs):
        spaces = (torch, torch.nn.functional, torch.nn.init, torch.sparse, torch.linalg, torch.special)
        found = (getattr(space, fn.__name__, None) for space in spaces)
        public = next((f for f in found if f is not None and library.unwrapped(f) is fn), None)
        if public is None:
            raise self.error(f"{fn.__name__} has no public name")
        return self.call_out(public, args, kwargs)

    def _unused(self, fn):
        self.node(
            "prim::RaiseException",
            [
                self.constant(f"{fn.__qualname__}: this Python function is annotated to be ignored and cannot be run"),
                self.constant("Error"),
            ],
        )
        returns = self.compiler.notes_of(fn).get("return", torch.Tensor)
        return self.uninitialized(self.known(types.from_annotation, returns, self.function.source))

    def call_out(self, fn, args, kwargs, owner=None):
        """A call of Python at run time; such a program cannot be saved."""
        items = self.bind(inspect.signature(fn), args, kwargs, fn.__name__, skip=owner is not None)
        notes = self.compiler.notes_of(fn, not library.is_library(fn))
        values = []
        several = [each.name for each in inspect.signature(fn).parameters.values() if each.kind == each.VAR_POSITIONAL]
        for name, item in items.items():
            if name in several:
                values += [self.value(each) for each in item.items]
                continue
            wanted = None
            if name in notes and not library.is_library(fn):
                wanted = self.known(types.from_annotation, notes[name], self.function.source)
            try:
                values.append(self.value(item, wanted))
            except ScriptError as error:
                error.message = f"{fn.__name__}(): {about(error.message, name)}"
                raise
        returns = self.known(types.from_annotation, notes.get("return", torch.Tensor), self.function.source)
        called = _by_name(fn if owner is None else python_types.MethodType(fn, owner.concrete.python))
        if owner is not None:  # of the module that runs: others share its program
            values, called = [owner.value, *values], of_running(fn)
        if not library.is_library(fn):
            called = returning(called, returns, fn.__qualname__)
        made = self.node("prim::PythonOp", values, [returns])
        made.ival_("pyobj", called)
        made.s_("name", fn.__qualname__)
        return made.output()

    def python_operator(self, name, fn, args, kwargs):
        """An operator that is a function of Python here: called at run time."""
        values = [self.argument(each) for each in args]
        named = list(kwargs)
        values += [self.argument(kwargs[each]) for each in named]
        wanted = operators.result_of(fn)
        made = self.node("prim::PythonOp", values, [wanted])

        def call(*given):
            at = len(given) - len(named)
            result = fn(*given[:at], **dict(zip(named, given[at:])))
            return list(result) if is_list else result

        is_list = wanted.kind() == "ListType"
        made.ival_("pyobj", call)
        made.s_("name", name)
        made.s_("operator", ",".join([name, *named]))
        output = made.output()
        return TupleOf(self.elements(output)) if wanted.kind() == "TupleType" else output

    def call_function(self, program, args, kwargs):
        """A call of a compiled function."""
        items = program.bind(self, args, kwargs)
        values = [self.constant(program.function), *items]
        return self.node("prim::CallFunction", values, [program.returns]).output()

    def bind(self, signature, args, kwargs, name, skip=False):
        """Arguments by name, with defaults; items."""
        if any(isinstance(each, Spread) for each in args):
            raise self.error(f"{name}: * of a list whose length is not known while compiling")
        if skip:
            signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            message = misfit(name, signature, args, kwargs) or f"{name}(): {error}"
            raise self.error(message, nearest_argument(signature, kwargs)) from None
        for parameter in signature.parameters.values():
            if parameter.kind == parameter.VAR_POSITIONAL:
                given = bound.arguments.get(parameter.name, ())
                bound.arguments[parameter.name] = TupleOf(given)
            elif parameter.kind == parameter.VAR_KEYWORD:
                bound.arguments[parameter.name] = Static(dict(bound.arguments.get(parameter.name, {})))
            elif parameter.name not in bound.arguments:
                bound.arguments[parameter.name] = Static(parameter.default)
        return {each: bound.arguments[each] for each in signature.parameters}

    # -- inlined --------------------------------------------------------------------------------------------------------

    def inline(self, fn, args, kwargs, owner=None, cls=None):
        """Compile a library's function into this place, for arguments as they are."""
        source = self.known(self.compiler.source_of, fn)
        first = [] if owner is None else [owner]
        items = self.bind(inspect.signature(fn), [*first, *args], kwargs, fn.__name__)
        inner = Function(source, True, owner=owner, cls=cls, above=self.function)
        return self.run_function(inner, items)

    def _local(self, local, args, kwargs):
        """A function within a function: it sees the names around it as they are now."""
        names = [each.arg for each in local.tree.args.args]
        items = {**dict(zip(names, args)), **kwargs, **{flag: Static(False) for flag in flags}}
        inner = Function(self.function.source.inner(local.tree), True, owner=self.function.owner, cls=self.function.cls,
                         above=self.function)  # fmt: skip
        found = {}
        result = self.run_function(inner, items, self.frame, found)
        for name in inner.shared:
            if name in found:
                self.frame.set(name, found[name])
        return result

    def run_function(self, inner, items, around=None, found=None):
        """Emit the body of a function with its parameters bound; returns its result."""
        depth, above = 0, inner.above
        while above is not None:
            depth, above = depth + 1, above.above
        if depth > 60:
            raise self.error(f"function '{inner.source.function}' is called recursively without end")
        kept = self.function, self.frame, self.place
        self.function, self.frame = inner, Frame(around, self.block)
        self.frame.names.update(items)
        try:
            status = self.body(inner.source.tree.body)
            if found is not None:
                found.update(self.frame.names)
            return self.result(status)
        except ScriptError as error:
            if kept[2] is not None and inner.above is not None and not inner.library:
                error.places.append(kept[2])
            elif kept[2] is not None and inner.above is not None:
                error.places = [kept[2], *error.places] if not kept[0].library else error.places
            raise
        finally:
            self.function, self.frame, self.place = kept

    def result(self, status):
        """What a function returns, however control has left it."""
        if status == EXITS:
            return self.frame.get("$ret")
        declared = self.function.returns
        maybe_none = declared is None or declared.kind() in ("NoneType", "OptionalType", "UnionType", "AnyType")
        if status in (FALLS, MAYBE) and not maybe_none:
            raise self.error(
                f"{self.function.source.function} was not annotated as having type None, but does not return along all paths"
            )
        if status == FALLS or self.frame.get("$ret") is None:
            if status != FALLS and declared is not None:
                return self.uninitialized(declared)
            return Static(None)
        made, frames = self.open_if(self.value(self.frame.get("$returned")))
        values = {}
        for frame, item in zip(frames, (self.frame.get("$ret"), Static(None))):
            with self.within(frame.block):
                values[id(frame)] = self.value(item)
        return self.joined_value(made, values, frames)

    # -- methods --------------------------------------------------------------------------------------------------------

    def call_bound(self, bound, args, kwargs):
        owner = bound.owner
        if isinstance(owner, Self):
            return self.call_method(owner, bound.name, args, kwargs)
        if isinstance(owner, Super):
            return self._super(owner, bound.name, args, kwargs)
        if isinstance(owner, (TupleOf, Items, Static)) and not isinstance(getattr(owner, "value", None), str):
            found = library.tuple_method(self, owner, bound.name, args)
            if found is not None:
                return found
            owner = self.value(owner)
        if isinstance(owner, Static):
            if all(isinstance(each, Static) for each in (*args, *kwargs.values())):
                called = lambda: self.method(self.value(owner), bound.name, args, kwargs)
                return self._folded(getattr(owner.value, bound.name), args, kwargs, called)
            owner = self.value(owner)
        return self.method(owner, bound.name, args, kwargs)

    def _super(self, owner, name, args, kwargs):
        concrete = owner.owner.concrete
        mro = (type(concrete.python) if concrete.is_module else concrete.cls).__mro__
        for cls in mro[mro.index(owner.cls) + 1 :]:
            if name in cls.__dict__:
                fn = cls.__dict__[name]
                return self.call_inherited(owner.owner, fn, cls, args, kwargs)
        raise self.error(f"no class above {owner.cls.__name__} has {name}")

    def method(self, value, name, args, kwargs):
        """Call a method of a value: of a tensor, list, dict, text or object."""
        kind = value.type().kind()
        if kind == "ClassType":
            return self.call_object(value, name, args, kwargs)
        if kind == "InterfaceType":
            return self.call_interface(value, name, args, kwargs)
        if types.is_of_objects(value.type()):
            return self.of_each(value, lambda part: self.method(part, name, args, kwargs))
        if kind == "OptionalType":
            raise self.error(
                f"the value is of type {value.type()} and may be None, which has no {name}",
                "test `is not None` before, on a local name",
            )
        handler = library.method(kind, name)
        if handler is not None:
            result = handler(self, value, *args, **kwargs)
            return Static(None) if result is None else result
        if kind == "TensorType" and not library.has_row(name):
            fn = getattr(torch.Tensor, name, None)
            if (row := library.row_of(fn)) is not None:  # another name of an operator
                return self.row(row, [value, *args], kwargs)
            if inspect.ismethoddescriptor(fn) and operators.operator(name) is not None:
                return self.python_operator(name, operators.operator(name), [value, *args], kwargs)
            if inspect.isfunction(fn):
                return self._python_method(fn, value, args, kwargs)
            if name == "tolist":
                hint = "annotate the list that it makes: y: List[float] = x.tolist()"
                raise self.error("Expected type hint for result of tolist()", hint)
            names = [each for each in dir(torch.Tensor) if not each.startswith("_")]
            raise self.error(f"'Tensor' object has no attribute or method {name!r}", nearest(name, names))
        return self.row(name, [value, *args], kwargs)

    def _python_method(self, fn, value, args, kwargs):
        since, frame = self.last(), self.frame
        try:
            return self.inline(library.unwrapped(fn), [value, *args], kwargs)
        except (ScriptError, RecursionError):
            self.frame = frame
            self.discard(since)
            called = operators.operator(fn.__name__)
            if called is None:
                raise
            return self.python_operator(fn.__name__, called, [value, *args], kwargs)

    def row(self, name, args, kwargs):
        """Call an operator; trailing numbers may stand for a list of them."""
        if any(isinstance(each, Spread) for each in args):
            first = [each for each in args[:1] if isinstance(each, ir.Value) and each.type() == types.TENSOR]
            args = [*first, self.spread_list(args[len(first) :])]
        if "out" in kwargs and isinstance(kwargs["out"], Static) and kwargs["out"].value is None:
            kwargs = {key: item for key, item in kwargs.items() if key != "out"}
        if isinstance(kwargs.get("out"), ir.Value) and kwargs["out"].type().kind() == "TensorType":
            out = kwargs["out"]  # the result is copied into it, as schemas of operators have no out
            made = self.value(self.row(name, args, {key: item for key, item in kwargs.items() if key != "out"}))
            self.op("resize_as_", out, made)
            return self.op("copy_", out, made)
        kwargs, learns = self._of_factory(name, kwargs)
        if learns is not None:
            made = self.value(self.row(name, args, kwargs))
            return self.python_operator("requires_grad_", operators.operator("requires_grad_"), [made, learns], {})
        values = [self.argument(each) for each in args]
        if name in _INDEXED and len(values) > 1 and values[1].type() == ir.ListType(types.TENSOR):
            values[1] = self.node("prim::unchecked_cast", [values[1]], [_OPTIONAL_TENSORS]).output()
        if name in LISTED and len(values) and all(each.type().kind() == "TensorType" for each in values):
            values = [self.list_of(values)]
        named = {key: self.argument(each) for key, each in kwargs.items() if key != "_stacklevel"}
        name = library.row_name(name)
        if any(each.type().kind() == "TensorType" for each in values):
            name = OF_TENSORS.get(name, name)
        result = self.op(name, *values, **named)
        if isinstance(result, (tuple, list)):
            return TupleOf(result)
        return Static(None) if result is None else result

    @staticmethod
    def _of_factory(name, kwargs):
        """The words of a factory that its row lacks taken out, where they say nothing; and ``requires_grad``."""
        plain = {"layout": (None, torch.strided), "pin_memory": (None, False), "requires_grad": (None, False)}
        known = {word for word in plain if word in kwargs}
        if not known:
            return kwargs, None
        rows = [str(row) for row in ir.signatures(library.row_name(name))]
        if not any(" device=" in row for row in rows):
            return kwargs, None
        has = {each for each in known if any(f" {each}=" in row for row in rows)}
        silent = {
            each for each in known - has if isinstance(kwargs[each], Static) and kwargs[each].value in plain[each]
        }
        learns = kwargs.get("requires_grad") if "requires_grad" not in silent else None
        if isinstance(learns, Static) and not learns.value:
            learns = None
        gone = silent if learns is None else {*silent, "requires_grad"}
        return {each: item for each, item in kwargs.items() if each not in gone}, learns

    def argument(self, item):
        """An argument of an operator: a tuple is passed as a list where its elements are alike."""
        if isinstance(item, Invalid):
            raise self.error(item.why)
        if isinstance(item, Static) and isinstance(item.value, (tuple, list)) and not item.value:
            return self.list_of([], ir.ListType(types.INT))
        if isinstance(item, Static) and isinstance(item.value, (tuple, torch.Size)):
            kinds = {type(each) for each in item.value}
            if len(kinds) == 1 and kinds <= {int, float, bool}:
                return self.value(Static(list(item.value)))
        if isinstance(item, TupleOf) and item.type is None and item.items:
            values = [self.value(each) for each in item.items]
            if all(each.type() == values[0].type() for each in values):
                return self.list_of(values)
        return self.value(item)


_INDEXED = frozenset({"index", "index_put", "index_put_"})  # by tensors of which some may be None
_OPTIONAL_TENSORS = ir.ListType(ir.OptionalType(types.TENSOR))


def returning(fn, type, name):
    """``fn``, whose result must be of the type that the program takes it for."""

    def call(*given):
        result = fn(*given)
        try:
            return types.taken(result, type)
        except TypeError:
            raise raised("RuntimeError")(
                f"{name}: expected its result to be of type {type}, but instead got value of type "
                f"{result.__class__.__name__}, {result!r:.100}: return what the annotation says (without one, a tensor)"
            ) from None

    return call


def of_running(fn):
    """A method of Python, to be called with the object of a program and the arguments by place."""

    def call(object, *given):
        from .module import wrapper_of

        return _by_name(python_types.MethodType(fn, wrapper_of(object)))(*given)

    return call


def _by_name(fn):
    """The function taking all of its arguments by place."""
    named = [each.name for each in inspect.signature(fn).parameters.values() if each.kind == each.KEYWORD_ONLY]
    if not named:
        return fn

    @functools.wraps(fn)
    def call(*given):
        at = len(given) - len(named)
        return fn(*given[:at], **dict(zip(named, given[at:])))

    return call


def misfit(name, signature, args, kwargs):
    """What does not fit the parameters of a call, or "" where Python's own words tell."""
    parameters = signature.parameters.values()
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    open_ended = {each.kind for each in parameters}
    needed = [each.name for each in parameters if each.kind == each.KEYWORD_ONLY and each.default is each.empty]
    if len(args) > len(places) and inspect.Parameter.VAR_POSITIONAL not in open_ended:
        for each in needed:
            if each not in kwargs:
                return (
                    f"{name}(): Argument {each} not provided: it is given by name, and there are {len(args)} arguments"
                )
        return f"{name}(): Expected at most {len(places)} arguments but found {len(args)} positional arguments"
    for key in kwargs:
        if key not in signature.parameters and inspect.Parameter.VAR_KEYWORD not in open_ended:
            return f"{name}(): Keyword argument {key} unknown"
        if key in [each.name for each in places[: len(args)]]:
            return f"{name}(): Keyword argument {key} specified twice"
    for each in (*places[len(args) :], *(p for p in parameters if p.kind == p.KEYWORD_ONLY)):
        if each.default is each.empty and each.name not in kwargs:
            return f"{name}(): Argument {each.name} not provided"
    return ""


def nearest_argument(signature, kwargs):
    """The parameter that a keyword may have meant."""
    unknown = [name for name in kwargs if name not in signature.parameters]
    return nearest(unknown[0], signature.parameters) if unknown else ""
