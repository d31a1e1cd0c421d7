"""Forward hooks and pre-hooks of compiled modules: functions of the module, compiled with it, that run around each of its calls."""

from __future__ import annotations

import inspect

from . import types
from .calls import modifier
from .errors import ScriptError
from .source import source_of
from .values import Static, TupleOf

__all__ = ["Attached", "Hooks", "hooks_of", "of_type", "register"]

_of_types = {}  # qualified name of classes -> [(class, its compiled hooks)]: archives bring classes of one name


class Hooks:
    """The hooks of a module by kind, in the order in which they run: Python functions, later programs."""

    def __init__(self, before=(), after=()):
        self.before, self.after = list(before), list(after)

    def __bool__(self):
        return bool(self.before or self.after)

    def key(self):
        return tuple(map(id, self.before)), tuple(map(id, self.after))


def register(cls, hooks):
    """Let :func:`of_type` find the compiled hooks of a class."""
    if hooks:
        _of_types.setdefault(cls.qualified_name(), []).append((cls, hooks))
    return hooks


def of_type(cls):
    """The compiled hooks of a class of modules."""
    return next((hooks for each, hooks in _of_types.get(cls.qualified_name(), ()) if each is cls), Hooks())


def hooks_of(module):
    """The hooks that are registered on a module of Python; ScriptError for those that no script can say."""
    name = type(module).__name__
    if module._backward_hooks or module._backward_pre_hooks:
        raise ScriptError(
            f"{name} has backward hooks, which a script does not run",
            way_out="remove them before torch.jit.script, and register them on the compiled module",
        )
    found = Hooks(module._forward_pre_hooks.values(), module._forward_hooks.values())
    given = {}
    for fn in (*found.before, *found.after):
        if not inspect.isfunction(fn):
            raise ScriptError(f"hook {fn!r} of {name} is not a function", way_out="remove it before torch.jit.script")
        if modifier(fn) in ("unused", "ignore", "drop"):
            raise ScriptError(
                f"hook '{fn.__name__}' of {name} is marked to be left out of scripts", way_out="remove it"
            )
        if given.setdefault(fn.__name__, fn) is not fn:
            word = "Pre-hook" if fn in found.before else "Hook"
            raise ScriptError(
                f"{word} '{fn.__name__}' on {name} has at least two different python definitions. Please use unique names for "
                "all hooks."
            )
        if hasattr(type(module), fn.__name__) or fn.__name__ in module.__dict__:
            raise ScriptError(
                f"Can't define hook: {fn.__name__} on class: {name} because a method or hook with that name already exists"
            )
    return found


def programs(compiler, concrete, forward=None):
    """The hooks of a description as compiled functions that take the module first."""
    if concrete.compiled_hooks is None:
        forward = forward or compiler.method_for(concrete, "forward")
        inner = [each.type for each in forward.parameters]
        before = [_pre_hook(compiler, concrete, fn, inner) for fn in concrete.hooks.before]
        after, given = [], forward.returns
        for fn in concrete.hooks.after:
            program = _hook(compiler, concrete, fn, inner, given)
            after.append(program)
            given = given if types.is_none(program.returns) else program.returns
        concrete.compiled_hooks = register(concrete.type, Hooks(before, after))
    return concrete.compiled_hooks


def _compiled(compiler, concrete, fn):
    found = concrete.programs.get((fn.__name__, fn))
    if found is None:
        source = source_of(fn)
        names = list(inspect.signature(fn).parameters.values())[1:]
        signature = inspect.Signature(names)
        from .compiler import declared_result

        parameters = compiler.parameters(fn, source, signature)
        full = f"{concrete.type.qualified_name()}.{fn.__name__}"
        store = concrete.programs, (fn.__name__, fn)
        found = compiler.compile(
            source, signature, parameters, declared_result(fn, source), full, store, concrete, type(concrete.python)
        )
    return found


def _pre_hook(compiler, concrete, fn, inner):
    name, module = fn.__name__, type(concrete.python).__name__
    wanted = _tuple_text(inner)
    results = ["None", *([str(inner[0].annotation_str)] if len(inner) == 1 else []), wanted]
    way_out = (
        f"Pre-hooks for module '{module}' are expected to have the following signature: {name}(self, input: {wanted}) "
        f"with a return type of either {', '.join(map(repr, results[:-1]))} or {results[-1]!r}; remove it from the "
        "module if it is not to be compiled"
    )
    what = f"Pre-hook '{name}' on module '{module}'"
    if "return" not in fn.__annotations__ and not _has_comment(fn):
        raise _error(
            fn, f"{what} is missing a return annotation. Return annotations are required, please add one", way_out
        )
    _takes(fn, what, 2, way_out)
    program = _compiled(compiler, concrete, fn)
    _typed_input(fn, what, program, inner, way_out)
    found = program.returns
    if types.is_none(found) or (len(inner) == 1 and found == inner[0] and found.kind() != "TupleType"):
        return program
    if found.kind() != "TupleType":
        raise _error(
            fn,
            f"{what} returned the wrong type of: '{found.annotation_str}'. The returned value must be None, a value or "
            "a tuple of the arguments",
            way_out,
        )
    if list(found.containedTypes()) != inner:
        raise _error(
            fn,
            f"{what} returned the wrong type of: '{found.annotation_str}'. The returned tuple contains the wrong inner types",
            way_out,
        )
    return program


def _hook(compiler, concrete, fn, inner, given):
    name, module = fn.__name__, type(concrete.python).__name__
    way_out = (
        f"This hook was expected to have the following signature: {name}(self, input: {_tuple_text(inner)}, output: "
        f"{given.annotation_str}), where output is what forward or the hook before it returns; remove it from the module "
        "if it is not to be compiled"
    )
    what = f"Hook '{name}' on module '{module}'"
    _takes(fn, what, 3, way_out)
    program = _compiled(compiler, concrete, fn)
    _typed_input(fn, what, program, inner, way_out)
    if not given.isSubtypeOf(program.parameters[1].type):
        found = program.parameters[1].type.annotation_str
        raise _error(
            fn, f"{what} has the wrong type for the output argument. Received type: '{found}'. Expected type: "
            f"'{given.annotation_str}'", way_out,
        )  # fmt: skip
    return program


def _takes(fn, what, count, way_out):
    found = len(inspect.signature(fn).parameters)
    if found != count:
        raise _error(fn, f"{what} was expected to only have exactly {count} inputs but it had {found} inputs", way_out)


def _typed_input(fn, what, program, inner, way_out):
    found = program.parameters[0].type
    if found.kind() != "TupleType":
        raise _error(
            fn,
            f"{what} expected the input argument to be typed as a Tuple but found type: '{found.annotation_str}' instead",
            way_out,
        )
    parts = list(found.containedTypes())
    if len(parts) != len(inner):
        raise _error(
            fn, f"{what} has the wrong number of contained types for the input argument's Tuple. Received type: "
            f"'{found.annotation_str}'", way_out,
        )  # fmt: skip
    if parts != inner:
        raise _error(
            fn, f"{what} has the wrong inner types for the input tuple argument. Received type: "
            f"'{found.annotation_str}'", way_out,
        )  # fmt: skip


def _has_comment(fn):
    return bool(getattr(source_of(fn).tree, "type_comment", None))


def _tuple_text(inner):
    return f"Tuple[{', '.join(each.annotation_str for each in inner) or '()'}]"


def _error(fn, message, way_out):
    source = source_of(fn)
    return ScriptError(message, source.where(source.tree), way_out)


def call(emitter, owner, args, kwargs):
    """Emit a call of a module that has hooks."""
    concrete = owner.concrete
    forward = emitter.compiler.method_for(concrete, "forward", emitter, args, kwargs)
    hooks = programs(emitter.compiler, concrete, forward)
    given = emitter.value(TupleOf(forward.bind(emitter, args, kwargs)))
    for program in hooks.before:
        found = _run(emitter, program, owner, [given])
        if not types.is_none(program.returns):
            given = found if found.type().kind() == "TupleType" else emitter.value(TupleOf([found]))
    output = emitter.call_method(owner, "forward", emitter.elements(given), {})
    for program in hooks.after:
        found = _run(emitter, program, owner, [given, output])
        output = output if types.is_none(program.returns) else found
    return output


def _run(emitter, program, owner, items):
    values = program.bind(emitter, items, {})
    made = emitter.node(
        "prim::CallFunction", [emitter.constant(program.function), owner.value, *values], [program.returns]
    )
    return Static(None) if types.is_none(program.returns) else made.output()


class Attached:
    """A compiled hook as the compiled module's own registry holds it."""

    def __init__(self, method):
        self.method = method

    def __call__(self, module, args, *output):
        return self.method(args, *output)


def loaded(code, cls):
    """The hooks that the text of a class lists, compiled."""
    found = Hooks()
    for names, into in ((code.listed_hooks(cls, "__forward_pre_hooks__"), found.before),
                        (code.listed_hooks(cls, "__forward_hooks__"), found.after)):  # fmt: skip
        for name in names:
            program = code.method(cls, name)
            if program is None:
                raise ScriptError(f"the archive's class {cls.qualified_name()} has no hook {name!r}")
            into.append(program)
    return register(cls, found)
