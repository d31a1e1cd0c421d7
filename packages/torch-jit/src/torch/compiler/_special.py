"""Functions with a meaning of their own while a program is captured, blocks of ``with``, and the reads of values that
make it void.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import importlib
import inspect
import sys
import types
import typing

import torch
from torch import _seams
from torch.jit import _ir as ir

from ._attributes import attribute
from ._branches import cond, while_loop
from ._copies import COPIES
from ._guards import is_key, is_plain, of_class
from ._instrument import catches, may_drop
from ._numbers import MATH, Number
from ._opaque import applied
from ._opaque import unwatched as unwatched_call
from ._sizes import Size, as_python
from ._tables import FEW, is_cast, is_mode, is_torchs, tensors_in
from ._trees import TREES


def _getattr(observer, args, kwargs):
    if len(args) not in (2, 3) or type(args[1]) is not str:
        return getattr(*args, **kwargs)
    try:
        return attribute(observer, args[0], args[1])
    except AttributeError:
        if len(args) == 2:
            raise
        return args[2]


def _hasattr(observer, args, kwargs):
    try:
        attribute(observer, *args)
    except AttributeError:
        return False
    return True


def _setattr(observer, args, kwargs):
    value, name, new = args
    return setattr(observer.store(value, name), name, new)


def _vars(observer, args, kwargs):
    return attribute(observer, args[0], "__dict__")


def _delattr(observer, args, kwargs):
    value, name = args
    return delattr(observer.store(value, name), name)


def _plainly(observer, args, kwargs):
    """``object.__setattr__`` and ``object.__delattr__``."""
    value, name, *new = args
    observer.store(value, name)
    observer.set_plainly(object, value, name, *new)


def _looked_up(function):
    """A function that tells what a class or a function is made of, which stays."""

    def told(observer, args, kwargs):
        return observer.aside(function, args, kwargs)[0]

    return told


def _id(observer, args, kwargs):
    """A number that tells objects apart within a call, and means nothing outside of it."""
    known = observer.known.get(id(args[0]))
    if known is None or (known[2] and observer.changes_with_calls(known[1])):
        observer.stop("id() is called")
    observer.ids.add(id(args[0]))
    return id(args[0])


def _hash(observer, args, kwargs):
    """Of what is equal where it is the same value; by their own ``__hash__`` of other objects."""
    (value,) = args
    if isinstance(of_class(type(value), "__hash__"), types.FunctionType) and not isinstance(value, torch.Tensor):
        return hash(_Hashed(observer.apply(observer.method(value, "__hash__"))))
    if not is_key(value) or not is_plain(value):
        observer.stop(f"hash() of a {type(value).__qualname__} is called")
    return hash(value)


class _Hashed:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number


def _as_tensor(observer, args, kwargs):
    """``torch.as_tensor``: of a tensor itself, or what ``to`` makes of it; of numbers as ``torch.tensor``."""
    given = dict(zip(("data", "dtype", "device"), args)) | kwargs
    data = given.pop("data", None)
    if not isinstance(data, torch.Tensor):
        return _tensor(observer, (data,), given)
    options = {name: value for name, value in given.items() if value is not None}
    return observer.apply_all(data.to, (), options) if options else data


def _tensor(observer, args, kwargs):
    """``torch.tensor`` of numbers: the same each time, and new each time."""
    if len(args) == 1 and (numbers := _changing_numbers(args[0])):
        return _of_numbers(observer, args[0], numbers, kwargs)
    if args and isinstance(args[0], Size):
        args = args[0].or_escape("becomes a tensor"), *args[1:]
    result = torch.tensor(*args, **kwargs)
    if kwargs.get("requires_grad") or any(True for _ in tensors_in((args, kwargs))) or not all(map(_numbers, args)):
        observer.stop(f"torch.tensor of a {type(args[0]).__qualname__} is called" if args else "torch.tensor is called")
    if observer.reason is None:
        observer.give_constant(result)
    return result


def is_named_by_dtype(kind):
    """Whether a class is ``torch.Tensor`` or one of 2016 (``torch.FloatTensor``), whose call makes a tensor of memory or of numbers."""
    if kind is torch.Tensor:
        return True
    return type(kind) is type(torch.FloatTensor) and not kind.is_cuda and not kind.is_sparse


def of_2016(observer, kind, args, kwargs):
    """``torch.FloatTensor(2, 3)`` and ``torch.FloatTensor([1, 2])``; None of what is called with anything else."""
    dtype = torch.get_default_dtype() if kind is torch.Tensor else kind.dtype
    sizes = args[0] if len(args) == 1 and type(args[0]) is torch.Size else args
    if kwargs:
        return None
    if all(type(each) is int or isinstance(each, Size) for each in sizes):
        return observer.apply_all(torch.empty, tuple(sizes or (0,)), {"dtype": dtype, "device": "cpu"})
    if len(args) == 1 and type(args[0]) in (list, tuple) and _numbers(args[0]):
        return _tensor(observer, args, {"dtype": dtype, "device": "cpu"})
    return None


def _changing_numbers(data):
    """A number that changes, or a list with some among its numbers, as plain numbers; else None."""
    items = data if type(data) in (list, tuple) else (data,)
    if not any(isinstance(each, Size) for each in items):
        return None
    found = [each.number if isinstance(each, Size) else each for each in items]
    return found if all(type(each) in (int, float, bool) for each in found) else None


def _of_numbers(observer, data, numbers, options):
    """``torch.tensor`` of numbers of which some change: values of the graph as well."""
    options = {"dtype": torch.tensor(numbers).dtype, **options}
    items = data if type(data) in (list, tuple) else (data,)
    made = [observer.apply_all(torch.full, ((), each), options) for each in items]
    return made[0] if items is not data else observer.apply(torch.stack, made)


def _numbers(value):
    if isinstance(value, (list, tuple)):
        return all(map(_numbers, value))
    return isinstance(value, (bool, int, float, complex, torch.dtype, torch.device, type(None)))


def _isinstance(observer, args, kwargs):
    """A size that may change is an int to a program; a class may be registered with an abstract one later, where either is of the
    program's.
    """
    value = as_python(args[0])
    if len(args) != 2 or kwargs:
        return isinstance(value, *args[1:], **kwargs)
    kinds = tuple(_classes(args[1]))
    answer = isinstance(value, kinds if len(kinds) > 1 else kinds[0] if kinds else ())
    for kind in () if answer else kinds:
        if isinstance(kind, abc.ABCMeta) and not (
            _is_of_python(kind.__module__) and _is_of_python(type(value).__module__)
        ):
            observer.guards.lacks(kind, type(value))
    return answer


_ALIAS = type(typing.Mapping)  # what typing calls classes by, which asks in Python
_UNION = types.UnionType, type(typing.Union[int, str])  # noqa: UP007, the class that it has


def _classes(kinds):
    """The classes of tuples within tuples, and of unions."""
    if isinstance(kinds, _UNION):
        kinds = kinds.__args__
    if not isinstance(kinds, tuple):
        yield kinds.__origin__ if isinstance(kinds, _ALIAS) else kinds
        return
    for kind in kinds:
        yield from _classes(kind)


def _is_of_python(name):
    return is_torchs(name) or name.partition(".")[0] in sys.stdlib_module_names - {"__main__"}


def _update_wrapper(observer, args, kwargs):
    """What ``functools.wraps`` does, to a function that was made within."""
    wrapper = args[0] if args else kwargs["wrapper"]
    if getattr(wrapper, "__code__", None) not in observer.codes:
        observer.stop(f"the attributes of a {type(wrapper).__qualname__} are set")
    observer.working, before = True, observer.working
    try:
        return functools.update_wrapper(*args, **kwargs)
    finally:
        observer.working = before


def _compiling(observer, args, kwargs):
    observer.asks = True
    return True


def _of_casts(question):
    """What autocast is asked for: guards know whether it is on for any device, and what it casts to on the CPU."""

    def told(observer, args, kwargs):
        devices = [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]
        if devices != ["cpu"] and (devices or question is torch.get_autocast_dtype):
            observer.stop(f"{question.__name__}() is called")
        return observer.aside(question, args, kwargs)[0]

    return told


def _is_seen(observer, args, kwargs):
    """Whether an operator may not stand for several: a program keeps it whole, and only ``vmap`` has no rule for it."""
    return bool(observer.transforms)


def _states(check):
    """``torch._check`` and the like: a truth that only values tell is stated by the program."""

    def states(observer, args, kwargs):
        cond = args[0] if args else kwargs.get("cond")
        if isinstance(cond, Number):
            return cond.__torch_check__(None)
        return observer.follow(check, args, kwargs)

    return states


_CHECKS = torch._check, torch._check_index, torch._check_value, torch._check_type, torch._check_not_implemented
#: function: how(observer, args, kwargs)
SPECIAL = {
    isinstance: _isinstance, torch.compiler.is_compiling: _compiling, torch.compiler.is_dynamo_compiling: _compiling,
    torch.compiler.is_exporting: lambda observer, args, kwargs: False, torch._C._get_tracing_state: lambda observer, args, kwargs: None, getattr: _getattr, hasattr: _hasattr, setattr: _setattr,
    delattr: _delattr, id: _id, vars: _vars, object.__setattr__: _plainly, object.__delattr__: _plainly,
    **{each: _looked_up(each) for each in (
        dataclasses.fields, dataclasses.is_dataclass, inspect.signature, inspect.unwrap, inspect.isfunction, inspect.ismethod, inspect.isclass,
        typing.get_origin, typing.get_args,
    )},
    **{each: _of_casts(each) for each in (torch.is_autocast_enabled, torch.get_autocast_dtype)},
    torch.tensor: _tensor, torch.as_tensor: _as_tensor, hash: _hash, functools.update_wrapper: _update_wrapper, torch.cond: cond, torch.while_loop: while_loop,
    _seams.is_seen: _is_seen, torch.autograd.Function.apply.__func__: applied, **{each: _states(each) for each in _CHECKS}, **MATH, **TREES, **COPIES,
}  # fmt: skip


# --- with ---


class _Manager:
    """A context manager of Python whose methods are watched."""

    def __init__(self, observer, value):
        self.observer, self.value = observer, value

    def __enter__(self):
        return self.observer.apply(self.observer.attr(self.value, "__enter__"))

    def __exit__(self, *error):
        return self.observer.apply(self.observer.attr(self.value, "__exit__"), *error)


class _Mode:
    """A mode of gradients: the operators see it (Observer.where), the functions behind it are torch's own."""

    def __init__(self, observer, value):
        self.observer, self.value = observer, value

    def __enter__(self):
        return self.observer.trust(self.value.__enter__, (), {})

    def __exit__(self, *error):
        return self.observer.trust(self.value.__exit__, error, {})


def _keeps(leave):
    """Whether an ``__exit__`` lets all exceptions pass."""
    return isinstance(leave, types.FunctionType) and not may_drop(leave.__code__)


def manager(observer, value):
    """What stands for a context manager."""
    kind = type(value)
    if is_mode(kind):
        if id(value) in observer.outside:
            if is_cast(kind):
                for name in ("device", "fast_dtype", "_enabled", "_cache_enabled"):
                    observer.attr(value, name)
            else:
                observer.stop("a context manager from outside is entered")
        return _Mode(observer, value)
    if kind is contextlib._GeneratorContextManager and id(value) in observer.made:
        observer.catches = (
            observer.catches or observer.aside(catches, (value.func.__code__,), {})[0]
        )  # around its yield
        return value
    own, leave = isinstance(of_class(kind, "__enter__"), types.FunctionType), of_class(kind, "__exit__")
    if own and not is_torchs(kind.__module__) and kind.__module__ != "contextlib":
        observer.catches = observer.catches or not observer.aside(_keeps, (leave,), {})[0]
        return _Manager(observer, value)
    observer.stop(f"a block of {kind.__qualname__} is entered")
    return value


# --- reads of values ---

_READS = (
    "__bool__", "__int__", "__float__", "__complex__", "__index__", "__array__", "__contains__", "__repr__", "__str__", "__format__",
    "item", "tolist", "numpy", "data_ptr", "is_nonzero", "storage", "untyped_storage", "__dlpack__", "__reduce_ex__", "__deepcopy__",
    "requires_grad_", "backward", "register_hook", "retain_grad", "share_memory_", "__long__", "__nonzero__",
)  # fmt: skip


def unwatched(name):
    """The method of tensors that reads, as it is when nobody watches."""
    return reads_watched.before[name]


def _watching(name):
    def read(self, *args, **kwargs):
        from ._observer import current

        method, observer = unwatched(name), current()
        if observer is None or observer.reason is not None or (name == "requires_grad_" and observer.transforming):
            return method(self, *args, **kwargs)
        if name == "item" and not args and observer.may_read(self):
            return observer.read_number(self)
        if name == "__index__" and observer.may_read(self) and self.dtype is not torch.bool:
            return observer.read_index(self, sys._getframe(1))
        if name == "tolist" and observer.may_read(self, FEW):
            return observer.read_list(self)
        observer.stop(f"{name} of a tensor is asked for", sys._getframe(1))
        return method(self, *args, **kwargs)

    read.__name__ = name
    return read


def number_of(observer, kind, value):
    """``int``, ``float`` or ``bool`` of a number that a program reads of a tensor, or of the tensor; None where it is none."""
    if isinstance(value, torch.Tensor) and observer.may_read(value):
        value = observer.read_number(value)
        return value.converted(kind) if isinstance(value, Number) else kind(value)
    return value.converted(kind) if isinstance(value, Number) else None


def _constant(name):
    def table(*key):
        from ._observer import current

        own, observer = unwatched(name), current()
        if observer is None or observer.reason is not None:
            return own(*key)
        found = unwatched_call(observer, lambda: own(*key))
        for each in found:
            if not observer.tracer.has_value(each):
                observer.keep_constant(each)
        return found

    table.__wrapped__ = table
    table._dynamo_marked_constant = True  # not to be looked into
    return table


_resizes = importlib.import_module("torch.nn.functional.interpolate")  # a function has this name as well
#: a block in which reads of tensors' values make this thread's observation void; what ``interpolate`` keeps for sizes, places and
#: weights of pixels are constants of a program
reads_watched = ir._native.Replaced(
    [
        *((torch.Tensor, name, _watching(name)) for name in _READS if name in vars(torch.Tensor)),
        *((_resizes, name, _constant(name)) for name in ("_nearest", "_table")),
    ]
)
