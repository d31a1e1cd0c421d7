"""What may be called, and how: operators and plain functions of C by themselves, functions of Python watched, and a few of
torch trusted, since they depend only on their arguments.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import inspect
import operator
import sys
import types
import typing

import torch

from . import _modules, _transforms
from ._attributes import plain_attribute, registered_attribute
from ._builtins import OF_C, answer, followed, iterated
from ._guards import TYPES, is_key, of_class
from ._in_place import Forward
from ._numbers import Number, extreme
from ._opaque import is_registered, registered, unwatched
from ._sizes import as_python
from ._special import SPECIAL, is_named_by_dtype, number_of, of_2016
from ._tables import (
    ABSTRACT,
    BASES,
    BY_IDENTITY,
    CALLING,
    CONTAINERS,
    DICTS,
    FINDING,
    HEAP,
    ITERATING,
    MUTATING,
    OF_DTYPES,
    OF_TENSORS,
    PLAIN_OWNERS,
    PURE,
    TENSOR_FUNCTIONS,
    TRUSTED,
    VALUES,
    VIEWS,
    Operator,
    is_hashable,
    is_kind_of,
    is_mode,
    is_quiet,
    is_torchs,
    module_class,
    tensors_in,
)  # fmt: skip

#: methods of ``torch.nn.Module`` that are not looked into; where modules stand that hold others
_OF_MODULES = ("__call__", "__init__", "__setattr__", "__delattr__")
_CONTAINERS = "torch.nn.modules.container"


#: files with what stands for methods of tensors and of numbers while these are watched
_STANDINS = frozenset(("torch.compiler._sizes", "torch.compiler._special", "torch.compiler._numbers"))


def call(observer, function, args, kwargs):
    """``function(*args, **kwargs)``, by what kind of function it is."""
    kind = type(function)
    if kind is types.MethodType:
        return call(observer, function.__func__, (function.__self__, *args), kwargs)
    if kind is types.FunctionType:
        return _python(observer, function, args, kwargs)
    if kind is functools.partial:
        return call(observer, function.func, (*function.args, *args), {**function.keywords, **kwargs})
    if kind is functools._lru_cache_wrapper:
        return _kept(observer, function, args, kwargs)
    if kind is operator.attrgetter:
        return _gotten(observer, function, *args)
    if kind is operator.methodcaller:
        make, given = function.__reduce__()
        if make is not operator.methodcaller:  # a partial that has the name and the arguments by name
            return call(observer, observer.attr(args[0], make.args[0]), given, make.keywords)
        return call(observer, observer.attr(args[0], given[0]), given[1:], {})
    if kind in TYPES and isinstance(getattr(function, "__origin__", None), type):
        return _of_generic(observer, function, args, kwargs)
    if isinstance(function, Operator):
        return _operator(observer, function, args, kwargs)
    if isinstance(function, type):
        return _make(observer, function, args, kwargs)
    if kind in OF_C:
        return _builtin(observer, function, args, kwargs)
    if is_registered(kind):
        return _used(observer, function, args, kwargs, lambda: registered(observer, function, args, kwargs))
    module = module_class()
    if module and isinstance(function, module):
        return _module(observer, function, args, kwargs)
    target = of_class(kind, "__call__")
    if kind is Forward:
        return call(observer, function.plain, args, kwargs)
    if isinstance(target, types.FunctionType):
        observer.class_has(kind, "__call__")
        return _python(observer, target, (function, *args), kwargs)
    return _stopped(observer, f"{named(function)} is called", function, args, kwargs)


def _gotten(observer, getter, value):
    """What an ``operator.attrgetter`` gives."""

    def follow(path):
        found = value
        for name in path.split("."):
            found = observer.attr(found, name)
        return found

    found = tuple(map(follow, getter.__reduce__()[1]))
    return found if len(found) > 1 else found[0]


def _of_generic(observer, alias, args, kwargs):
    """An instance of a generic class with its parameters named, which it keeps."""
    made = call(observer, alias.__origin__, args, kwargs)
    if id(made) in observer.made:
        observer.set_attribute(made, "__orig_class__", alias)
    return made


def is_strange(function):
    """Whether a function is one of C of which nothing is known."""
    if type(function) is not types.BuiltinFunctionType:
        return False
    owner = function.__self__
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        return function not in PURE and function not in SPECIAL and not function.__name__.startswith("__")
    return False


def _stopped(observer, why, function, args, kwargs):
    """The observation is void, and the call goes on as Python."""
    observer.stop(why, sys._getframe(1))
    return function(*args, **kwargs)


def named(function):
    """A function by its name."""
    return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__qualname__


# --- functions of Python ---


def _python(observer, function, args, kwargs):
    if function.__code__ in observer.codes:  # made within
        return function(*args, **kwargs)
    marks, name = function.__dict__, str(function.__module__)
    if name in _STANDINS:
        return function(*args, **kwargs)
    if marks:
        if "_torchdynamo_disable" in marks:
            return _stopped(observer, f"{named(function)} is not to be compiled", function, args, kwargs)
        if "_torchdynamo_orig_callable" in marks:
            return call(observer, marks["_torchdynamo_orig_callable"], args, kwargs)
        if "_dynamo_marked_constant" in marks:
            return _assumed(observer, function, args, kwargs)
    if function in SPECIAL:
        return SPECIAL[function](observer, args, kwargs)
    if function.__name__ in _OF_MODULES and (module := module_class()):
        if function is vars(module).get(function.__name__):
            if function.__name__ == "__init__":
                return observer.aside(function, args, kwargs)[0]
            if function.__name__ == "__call__":
                return _forward(observer, *args[:1], args[1:], kwargs)
            return observer.set_plainly(module, *args)
    if id(function) in observer.transformed:
        return _transforms.run(observer, function, args, kwargs)
    if (handler := _transforms.handler(function, name)) is not None:
        return handler(observer, args, kwargs)
    trusted = name.startswith(TRUSTED) and not _has_functions(args, kwargs)
    if not trusted and is_torchs(name) and function.__name__ in TENSOR_FUNCTIONS:
        trusted = is_quiet(function.__code__.co_filename)
    if trusted:
        return _used(observer, function, args, kwargs, lambda: observer.trust(function, args, kwargs))
    if _is_generated(function):
        if function.__name__ == "__init__" and (data := _data_class(function, args)):
            return _filled(observer, data, function, args, kwargs)
        return observer.trust(function, args, kwargs)
    return observer.follow(function, args, kwargs)


def _assumed(observer, function, args, kwargs):
    """What a function gives that is said to give the same each time."""
    result = observer.aside(function, args, kwargs)[0]
    for tensor in tensors_in(result):
        if not observer.tracer.has_value(tensor):
            observer.keep_constant(tensor)
    return result


def _has_functions(args, kwargs):
    kinds = (types.FunctionType, types.MethodType)
    return any(isinstance(v, kinds) and not is_torchs(v.__module__) for v in (*args, *kwargs.values()))


def _is_generated(function):
    """``__init__`` of a dataclass and the like, which only keep their arguments."""
    return function.__code__.co_filename == "<string>" and function.__name__ in ("__init__", "__new__")


def _data_class(init, args):
    """The data class among those of an object whose ``__init__`` this is."""
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount + init.__code__.co_kwonlyargcount]
    for base in type(args[0]).__mro__ if args else ():
        fields = vars(base).get("__dataclass_fields__")
        if fields is not None and {n for n, f in fields.items() if f.init and _kind_of(f) != "ClassVar"} == set(names):
            return base
    return None


def _kind_of(field):
    """``Field``, ``ClassVar`` or ``InitVar``."""
    return {"_FIELD_CLASSVAR": "ClassVar", "_FIELD_INITVAR": "InitVar"}.get(field._field_type.name, "Field")


def _filled(observer, data, init, args, kwargs):
    """What the ``__init__`` of a data class does: its fields are set, one after the other, and what follows is called."""
    made = args[0]
    given = observer.aside(lambda: inspect.signature(init).bind(*args, **kwargs), (), {})[0].arguments
    observer.class_has(data, "__dataclass_fields__")
    frozen, initial = data.__dataclass_params__.frozen, []
    for name, field in data.__dataclass_fields__.items():
        kind = _kind_of(field)
        if kind == "ClassVar":
            continue
        if name in given:
            value = given[name]
        elif field.default_factory is not dataclasses.MISSING:
            value = observer.apply(field.default_factory)
        elif field.init and field.default is not dataclasses.MISSING:
            value = observer.outside_value(field.default, ("const", field.default))
        elif kind != "InitVar":
            continue  # its default is an attribute of the class
        if kind == "InitVar":
            initial.append(value)
        elif frozen:
            observer.set_plainly(object, made, name, value)
        else:
            observer.set_attribute(made, name, value)
    if hasattr(data, "__post_init__"):
        observer.apply(observer.attr(made, "__post_init__"), *initial)


def _known(observer, function, result):
    """A result whose tensors have to be known to the recording."""
    if not observer.result(result):
        observer.stop(f"{named(function)} gives a tensor that is not recorded")
    return result


def _kept(observer, function, args, kwargs):
    """What a cache keeps for arguments that are the same in each call: a constant, whatever it was made from."""

    def is_fixed(value):
        if type(value).__module__ == "typing":  # a generic type
            return True
        if _is_simple(value) or observer.known.get(id(value), (None, (None,)))[1] == ("const", value):
            return True
        of_contents = isinstance(value, (list, dict, set, tuple, torch.Tensor))
        return id(value) in observer.outside and id(value) not in observer.loose and not of_contents

    if not all(map(is_fixed, (*args, *kwargs.values()))):
        return _stopped(observer, f"{named(function)} keeps results of objects", function, args, kwargs)
    result = unwatched(observer, lambda: function(*args, **kwargs))
    return observer.outside_value(result, ("const", result))


def _used(observer, function, args, kwargs, run):
    """A result, where each tensor among the arguments has to be an argument of what was recorded: else it was read."""
    if observer.transforms:  # what stands for others is no argument of what is recorded
        return _known(observer, function, run())
    asked = (args[:1], {}) if getattr(function, "__name__", "") in OF_DTYPES else (args, kwargs)
    values = [observer.tracer.value_of(t) for t in tensors_in(asked) if observer.tracer.has_value(t)]
    before = [len(v.uses()) for v in values]
    result = _known(observer, function, run())
    if observer.reason is None and any(len(v.uses()) == n for v, n in zip(values, before)):
        if not any(result is t for t in tensors_in((args, kwargs))):
            observer.stop(f"{named(function)} reads a tensor")
    return result


def _module(observer, module, args, kwargs):
    base, kind = module_class(), type(module)
    if _modules.is_graph(kind) and id(module) in observer.outside:
        return _modules.with_hooks(observer, module, args, kwargs)
    optimized = sys.modules.get("torch._dynamo.eval_frame")
    if optimized is not None and isinstance(module, optimized.OptimizedModule):
        return call(observer, observer.attr(module, "_orig_mod"), args, kwargs)
    target = of_class(kind, "__call__")
    observer.class_has(kind, "__call__")
    if target is not base.__dict__["__call__"]:
        if isinstance(target, types.FunctionType):
            return _python(observer, target, (module, *args), kwargs)
        return _stopped(observer, f"{kind.__qualname__} has a __call__ of its own", module, args, kwargs)
    return _forward(observer, module, args, kwargs)


def _forward(observer, module, args, kwargs):
    """What ``nn.Module.__call__`` gives: the ``forward`` of a module, between its hooks."""
    if id(module) in observer.made and not module._hooked and not file_of_modules().running:
        return call(observer, observer.attr(module, "forward"), args, kwargs)
    if id(module) not in observer.outside:
        what = f"a {type(module).__qualname__} is called that comes from nowhere"
        return _stopped(observer, what, module_class().__call__, (module, *args), kwargs)
    file = file_of_modules()
    if module._hooked or file.running:
        return _modules.with_hooks(observer, module, args, kwargs)
    observer.guards.check("equal", ("attr", observer.known[id(module)][1], "_hooked"), False)
    observer.guards.check("len", ("const", file.running), 0)
    return call(observer, observer.attr(module, "forward"), args, kwargs)


def file_of_modules():
    """The file of ``torch.nn.Module``."""
    return sys.modules["torch.nn.modules.module"]


# --- functions of C ---


def _operator(observer, function, args, kwargs):
    name = function.__name__
    if name in VALUES and not (name in FINDING and observer.found is not None):
        observer.stop(f"{name} goes by the values of a tensor")
    if isinstance(kwargs.get("out"), torch.Tensor):
        return _into(observer, function, args, kwargs)
    for given in ("generator", "out", "requires_grad"):
        if kwargs.get(given) is not None and kwargs[given] is not False:
            observer.stop(f"{name}({given}=...) is called")
    if any(isinstance(a, torch.Generator) for a in args):
        observer.stop(f"{name} has a generator")
    owner = getattr(function, "__self__", None)
    given = (owner, *args) if isinstance(owner, torch.Tensor) else args
    numbers, first = observer.numbers, len(given) - len(args)
    lists = sum(isinstance(a, (tuple, list)) for a in given)

    def run():
        places = range(first, len(given)) if not lists else _parameters(function, len(given))[first:]
        return function(*map(numbers, args, places), **{k: numbers(v, k) for k, v in kwargs.items()})

    result = _used(observer, function, given, kwargs, run)
    if not isinstance(result, (torch.Tensor, tuple, list, type(None))) and name not in ("_holds", "promote_types"):
        observer.stop(f"{name} gives a {type(result).__name__}")
    return result


@functools.cache
def _parameters(function, count):
    """The names of an operator's first parameters: items of lists among the arguments have numbers as well."""
    text = function.schemas[0]
    named = text[text.index("(") + 1 : text.rindex(" -> ") - 1].split(", ")[:count]
    return [each.partition("=")[0].split(" ")[-1] for each in named] + list(range(len(named), count))


def _into(observer, function, args, kwargs):
    """``out=`` is written to when the result is there; one that would grow, or that is differentiated, is left to the operator."""
    out = kwargs["out"]
    others = {k: v for k, v in kwargs.items() if k != "out"}
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors_in((args, kwargs))):
        return _stopped(
            observer, f"{function.__name__}(out=...) is called on tensors that need gradients", function, args, kwargs
        )
    drawn = observer.aside(torch.get_rng_state, (), {})[0]
    result = _operator(observer, function, args, others)
    if not isinstance(result, torch.Tensor) or result.shape != out.shape or result.dtype != out.dtype:
        observer.stop(f"{function.__name__}(out=...) gets another shape or dtype than out has")
    if observer.reason is not None:
        # The operator itself resizes out, casts to its dtype or refuses to, with the same random numbers.
        torch.set_rng_state(drawn)
        return function(*args, **kwargs)
    same = _operator(observer, torch.Tensor.expand_as, (out, result), {})  # an error at sizes where they differ
    _operator(observer, torch.Tensor.copy_, (same, result), {})
    return out


def _builtin(observer, function, args, kwargs):
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if function is len and len(args) == 1 and isinstance(of_class(type(args[0]), "__len__"), types.FunctionType):
        return observer.apply(observer.method(args[0], "__len__"))
    known = is_hashable(function)
    if known and function in SPECIAL:
        return SPECIAL[function](observer, args, kwargs)
    if known and function in (max, min) and not kwargs and (found := extreme(function, args)) is not None:
        return found
    if known and (found := answer(observer, function, args)) is not None:
        return found
    if known and function in ITERATING:
        args = iterated(observer, function, args)
    if known and function in CALLING:
        args, kwargs = followed(observer, function, args, kwargs)
    if isinstance(owner, torch.Tensor) or getattr(function, "__objclass__", None) is torch.Tensor:
        if name in OF_TENSORS:
            if name != "to" and any(True for t in tensors_in((args, kwargs))):
                observer.stop(f"{name} reads a tensor")
            return _known(observer, function, function(*args, **kwargs))
        if isinstance(of_class(torch.Tensor, name), Operator):
            return _operator(observer, function, args, kwargs)
        return _stopped(observer, f"the method {name} of a tensor is called", function, args, kwargs)
    contained = id(owner) in observer.outside and is_kind_of(type(owner), dict, collections.OrderedDict, list)
    if (
        contained
        or type(owner) in CONTAINERS
        or type(owner) in VIEWS
        or type(owner) in DICTS
        or isinstance(owner, PLAIN_OWNERS)
    ):
        if name in MUTATING:
            observer.changes(owner)
        if name in _TAKING:
            kind = dict if isinstance(owner, dict) else iter
            args = tuple(each for given in args for each in iterated(observer, kind, (given,)))
        if name == "sort":
            args, kwargs = followed(observer, function, args, kwargs)
        if name in BY_IDENTITY and not all(_is_simple(each) or _is_itself(each) for each in args[:1]):
            observer.stop(f"{name}() looks for an object")
        return function(*args, **kwargs)
    if (known and function in PURE) or isinstance(function, operator.itemgetter):
        _check_given(observer, args, kwargs)
        if function is collections._count_elements:
            observer.changes(args[0])
        if function in (operator.is_, operator.is_not):
            args = tuple(map(observer.compared, args))
        return function(*args, **kwargs)
    if type(owner) is types.GeneratorType and name in ("send", "throw", "close", "__next__"):
        return function(*args, **kwargs)
    if name == "__getattr__" and isinstance(owner, module_class() or ()):
        return registered_attribute(observer, owner, *args)
    if name == "fromkeys" and owner in BASES:
        return function(*args, **kwargs)
    if name == "__new__" and owner is tuple and len(args) == 2 and hasattr(args[0], "_fields"):
        return function(args[0], observer.iter(args[1]))  # of a named tuple
    if name == "__new__" and owner in BASES and args and isinstance(args[0], type) and args[0].__flags__ & HEAP:
        made = function(*args[:1])
        observer.kept.append(made)
        observer.made.add(id(made))
        return made
    if name == "__getattribute__" and getattr(function, "__objclass__", None) is object and owner is not None:
        return plain_attribute(observer, owner, *args)
    if owner is not None and id(owner) in observer.made:  # what C has for all classes
        if name in ("__setattr__", "__delattr__"):
            return observer.set_plainly(object, owner, *args)
        return function(*args, **kwargs)
    if name in ("__init__", "__new__") and (
        owner is None or owner is object or type(function) is types.MethodWrapperType
    ):
        return function(*args, **kwargs)
    if name == "__subclasses__" and observer.reason is None:  # a table by class that is filled as it is used
        observer.settles = True
    return _stopped(observer, f"{named(function)}() is called", function, args, kwargs)


#: methods of containers that iterate over their arguments
_TAKING = frozenset(("extend", "extendleft", "update", "__iadd__", "join"))


def _check_given(observer, args, kwargs):
    """Functions of C that other functions of C are given would be called unseen; methods may change what they are called on."""
    for each in (*args, *kwargs.values()):
        changes = isinstance(each, OF_C) and getattr(each, "__name__", "") in MUTATING
        if changes and hasattr(each, "__self__"):
            observer.changes(each.__self__)
        elif changes or is_strange(each):
            observer.stop(f"{named(each)}() is called")


def _is_simple(value):
    return is_key(value) or (isinstance(value, tuple) and all(map(_is_simple, value)))


def _is_itself(value):
    """Whether an object equals only itself: what is found is then the same object in each call."""
    kind = type(value)
    return kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__


def _generated(observer, function, args, kwargs):
    """What a function of ``contextlib.contextmanager`` gives: the generator is followed, what drives it is Python's own."""
    made = object.__new__(contextlib._GeneratorContextManager)
    made.gen = call(observer, function, args, kwargs)
    made.func, made.args, made.kwds = function, args, kwargs
    observer.kept.append(made)
    observer.made.add(id(made))
    return made


class _Named(typing.TypedDict):
    pass


def _make(observer, kind, args, kwargs):
    """An instance of a class."""
    if kind is super or (kind is type and len(args) == 1):
        return kind(*map(as_python, args), **kwargs)
    if kind in (int, float, bool) and len(args) == 1 and (found := number_of(observer, kind, args[0])) is not None:
        return found
    if (found := answer(observer, kind, args)) is not None:
        return found
    if kind in PURE:
        if kind in CALLING:
            args, kwargs = followed(observer, kind, args, kwargs)
        _check_given(observer, args, kwargs)
        if kind is range:  # counted in C
            args = tuple(a.or_escape("counts a range") if isinstance(a, Number) else a for a in args)
        return kind(*(iterated(observer, kind, args) if kind in ITERATING else args), **kwargs)
    if issubclass(kind, BaseException):
        return kind(*args, **kwargs)
    if kind in SPECIAL:
        return SPECIAL[kind](observer, args, kwargs)
    if issubclass(kind, enum.Enum) and kind.__members__:
        return observer.aside(kind, args, kwargs)[0]
    if type(kind) is type(_Named):
        return dict(*args, **kwargs)
    if kind in (operator.attrgetter, operator.methodcaller):
        return kind(*args, **kwargs)
    if is_mode(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return observer.trust(kind, args, kwargs)
    if kind is contextlib._GeneratorContextManager:
        return _generated(observer, *args)
    if is_named_by_dtype(kind) and (made := of_2016(observer, kind, args, kwargs)) is not None:
        return made
    return _instance(observer, kind, args, kwargs)


def _layer(observer, kind, args, kwargs):
    """A module of a class of torch's own, without parameters: its making is not looked into."""
    (made, own, holds), computes = observer.aside(_layer_made, (kind, args, kwargs), {})
    if computes or (holds and kind.__module__ != _CONTAINERS):
        observer.stop(f"a {kind.__qualname__} is made")
    observer.kept.append(made)
    observer.made.update(id(each) for each in own if id(each) not in observer.outside)
    return made


def _layer_made(kind, args, kwargs):
    """A module, all that it consists of, and whether that has tensors."""
    made = kind(*args, **kwargs)
    return made, list(made.modules()), any(True for _ in (*made.parameters(), *made.buffers()))


def _instance(observer, kind, args, kwargs):
    """An instance of a class of Python: made by its own ``__new__`` or one of C, and filled by its ``__init__``."""
    new, init = of_class(kind, "__new__"), of_class(kind, "__init__")
    calls = of_class(type(kind), "__call__") is type.__dict__["__call__"]
    module = module_class()
    if module and issubclass(kind, module) and is_torchs(kind.__module__):
        return _layer(observer, kind, args, kwargs)
    strange = issubclass(kind, torch.Tensor) or not kind.__flags__ & HEAP
    ours = isinstance(new, staticmethod) and isinstance(new.__func__, types.FunctionType)
    base = None if ours else getattr(new, "__self__", None)
    if strange or not calls or not (ours or base in BASES) or kind.__flags__ & ABSTRACT:
        return _stopped(observer, f"a {kind.__qualname__} is made", kind, args, kwargs)
    if ours and is_torchs(new.__func__.__module__):  # it looks at what is given
        made = observer.aside(new.__func__, (kind, *args), kwargs)[0]
        observer.kept.append(made)
        observer.made.add(id(made))
    elif ours:
        observer.class_has(kind, "__new__")
        made = observer.apply_all(new.__func__, (kind, *args), kwargs)
        if not isinstance(made, kind):
            return made
    elif init is object.__init__ and base is object and (args or kwargs):
        return kind(*args, **kwargs)  # for the error
    else:
        made = base.__new__(kind)
        observer.kept.append(made)
        observer.made.add(id(made))
    if isinstance(init, types.FunctionType):
        observer.class_has(kind, "__init__")
        call(observer, init, (made, *args), kwargs)
    elif init is not object.__init__:
        _check_given(observer, args, kwargs)
        init(made, *(map(observer.iter, args)), **kwargs)
    return made
