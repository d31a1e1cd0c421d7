"""What may be called, and how: operators and plain functions of C by themselves, functions of Python watched, and a
few of torch trusted, since they depend on their arguments alone.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import itertools
import math
import operator
import os
import sys
import threading
import types

import torch

Operator = type(torch.relu)
DICTS = (collections.OrderedDict, collections.defaultdict, types.MappingProxyType)
INDEXED = frozenset((list, tuple, dict, str, bytes, range, torch.Size, slice, *DICTS))

#: functions in C that depend on their arguments and change nothing
_PURE = {
    abs, all, any, bool, bytes, callable, chr, complex, dict, divmod, enumerate, filter, float, format, frozenset, hash, int,
    isinstance, issubclass, iter, len, list, map, max, min, next, ord, pow, range, reversed, round, set, slice, sorted, str,
    sum, tuple, zip, repr, collections.OrderedDict, collections.defaultdict, collections.deque, object,
    functools.reduce, functools.partial, torch.Size, torch.device, torch.is_grad_enabled, torch.get_default_dtype, torch.is_inference_mode_enabled, torch._C._casts,
}  # fmt: skip
_PURE -= {hash}
for _module in (math, operator, itertools):
    _PURE |= {f for n, f in vars(_module).items() if callable(f) and not n.startswith("_")}
_PURE -= {operator.setitem, operator.delitem, operator.attrgetter, operator.methodcaller}
_PURE -= {getattr(operator, n) for n in dir(operator) if n.startswith("i") and n[1:] in dir(operator)}
#: methods in C of tensors that are no operators
_OF_TENSORS = frozenset(
    ["dim", "element_size", "get_device", "is_complex", "is_contiguous", "is_floating_point", "is_same_size", "is_signed", "ndimension", "nelement", "numel", "size", "stride", "to"]
)  # fmt: skip
#: attributes of tensors that follow from what is guarded, or are operators
_TENSOR_ATTRIBUTES = frozenset(
    [
        "shape",
        "dtype",
        "device",
        "ndim",
        "layout",
        "requires_grad",
        "is_cpu",
        "is_cuda",
        "is_meta",
        "is_sparse",
        "is_quantized",
        "is_nested",
        "itemsize",
        "nbytes",
        "T",
        "mT",
        "H",
        "mH",
        "real",
        "imag",
        "is_mkldnn",
        "is_sparse_csr",
        "is_mps",
        "is_xla",
        "is_xpu",
        "is_leaf",
    ]
)
#: methods in Python of tensors, and properties, that are operators composed of others
_TENSOR_FUNCTIONS = frozenset(
    [
        "adjoint",
        "bfloat16",
        "bool",
        "byte",
        "cdouble",
        "cfloat",
        "chalf",
        "char",
        "corrcoef",
        "cov",
        "cpu",
        "double",
        "fill_diagonal_",
        "float",
        "float_power_",
        "half",
        "int",
        "long",
        "narrow_copy",
        "renorm",
        "renorm_",
        "short",
        "type_as",
        "unsafe_chunk",
        "unsafe_split",
        "unsafe_split_with_sizes",
        "where",
        "is_conj",
        "is_neg",
        "is_distributed",
    ]
)
#: operators that answer by numbers, or by tensors whose size depends on values
_VALUES = frozenset(
    [
        "equal",
        "allclose",
        "is_nonzero",
        "item",
        "_local_scalar_dense",
        "nonzero",
        "masked_select",
        "unique",
        "_unique",
        "_unique2",
        "unique_dim",
        "unique_consecutive",
        "bincount",
        "argwhere",
        "nonzero_static",
        "is_coalesced",
        "_nnz",
        "resize_",
        "resize_as_",
        "set_",
        "detach_",
        "result_type",
        "can_cast",
    ]
)
_MUTATING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "clear",
        "sort",
        "reverse",
        "update",
        "setdefault",
        "add",
        "discard",
        "appendleft",
        "popleft",
        "extendleft",
        "move_to_end",
        "__setitem__",
        "__delitem__",
        "rotate",
        "difference_update",
        "intersection_update",
        "symmetric_difference_update",
    ]
)
_BY_IDENTITY = frozenset(
    ["index", "count", "remove", "get", "pop", "setdefault", "__contains__", "__getitem__", "discard", "add"]
)
_PLAIN_OWNERS = (str, bytes, int, float, complex, bool, tuple, range, slice, frozenset, torch.dtype, torch.device)
_CONTAINERS = (list, dict, set, collections.OrderedDict, collections.defaultdict, collections.deque)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
#: folders and files of torch whose functions depend on their arguments alone
_TRUSTED = (
    "torch.nn.functional",
    "torch.functional",
    "torch.special",
    "torch.linalg",
    "torch.fft",
    "torch._composed",
    "torch._tensor",
    "torch.nn.modules.utils",
)
_DISTRUSTED = frozenset(("compile", "manual_seed", "seed"))
_own = threading.local()


def module_class():
    """torch.nn.Module, if anybody has loaded it."""
    nn = sys.modules.get("torch.nn")
    return getattr(nn, "Module", ()) if nn is not None else ()


def tensor_classes():
    """Classes of tensors beside Tensor itself that are tensors and nothing else."""
    nn = sys.modules.get("torch.nn")
    if nn is None:
        return ()
    return (nn.Parameter, *([nn.Buffer] if hasattr(nn, "Buffer") else []))


def is_callable_in_c(value):
    """Functions and classes of C, and bound methods of those."""
    return isinstance(value, (Operator, types.BuiltinFunctionType, type))


def of_class(kind, name):
    """What a class has under a name, as it lies there; None if nothing."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def is_quiet(file):
    """Whether functions of a file of torch (by its path from there) may run by themselves, called by C for an operator."""
    return not any(part in _LOUD for part in file.split(os.sep))


_LOUD = frozenset(
    [
        "modules",
        "optim",
        "distributed",
        "distributions",
        "utils",
        "jit",
        "export",
        "fx",
        "func",
        "_dynamo",
        "compiler",
        "nested",
    ]
)


def _is_quiet(file):
    from ._observer import of_torch

    file = of_torch(file)
    return file is not None and is_quiet(file)


def defaults(function):
    """Default values of parameters, with where they stand; numbers are part of the function and stay as long as it does."""
    at = ("attr", ("const", function), "__defaults__")
    for i, value in enumerate(function.__defaults__ or ()):
        yield value, ("index", at, i)
    for name, value in (function.__kwdefaults__ or {}).items():
        yield value, ("key", ("attr", ("const", function), "__kwdefaults__"), name)


# --- attributes ---


def attribute(observer, value, name):
    """``value.name``, guarded if ``value`` is from outside."""
    if isinstance(value, torch.Tensor):
        if name in _TENSOR_ATTRIBUTES or name in _TENSOR_FUNCTIONS or name in _OF_TENSORS:
            found = getattr(value, name)
        else:
            found = getattr(value, name)
            if not isinstance(getattr(found, "__func__", found), Operator) and not _is_bound_operator(value, name):
                observer.stop(f"the attribute {name} of a tensor is read", sys._getframe(2))
        if isinstance(found, torch.Tensor) and not observer.result(found):
            observer.stop(f"the attribute {name} of a tensor is no operator", sys._getframe(2))
        return found
    kind = type(value)
    if isinstance(value, types.ModuleType):
        observer.working = True  # a part of torch may be loaded now
        try:
            found = getattr(value, name)
        finally:
            observer.working = False
        space = vars(value)
        if (not _of_torch(value.__name__) and name in space) or (
            _of_torch(value.__name__)
            and not callable(found)
            and name in space
            and not isinstance(found, types.ModuleType)
        ):
            observer.outside_value(found, ("key", ("const", space), name))
        return found
    if isinstance(value, type):
        found = getattr(value, name)
        if not _of_torch(value.__module__) and value.__module__ != "builtins":
            if isinstance(found, types.MethodType) and found.__self__ is value:
                observer.outside_value(found.__func__, ("attr", ("attr", ("const", value), name), "__func__"))
            else:
                observer.outside_value(found, ("attr", ("const", value), name))
        return found
    if isinstance(value, super):
        return getattr(value, name)
    if isinstance(value, (types.MethodType, types.FunctionType, types.BuiltinFunctionType, Operator)):
        found = getattr(value, name)
        if isinstance(value, types.FunctionType) and id(value) in observer.outside:
            observer.outside_value(found, ("attr", ("const", value), name))
        elif name not in ("__name__", "__self__", "__func__", "__qualname__"):
            observer.stop(f"the attribute {name} of a {kind.__name__} is read", sys._getframe(2))
        return found
    if isinstance(value, BaseException) or kind.__module__ == "builtins" or kind in DICTS or kind in _PURE_TYPES:
        return getattr(value, name)
    if id(value) not in observer.outside and not _has_plain_dict(value):
        found = getattr(value, name)
        if not isinstance(value, tuple):
            observer.stop(f"the attribute {name} of a {kind.__qualname__} is read", sys._getframe(2))
        return found
    return _of_object(observer, value, name)


_PURE_TYPES = frozenset((torch.Size, torch.device, torch.dtype, torch.layout, torch.memory_format, collections.deque))


def _is_bound_operator(value, name):
    return isinstance(of_class(torch.Tensor, name), Operator)


def _of_torch(name):
    name = name or ""
    return (
        name == "torch"
        or name.startswith("torch.")
        or name in ("math", "operator", "itertools", "functools", "builtins", "typing")
    )


def _has_plain_dict(value):
    from ._observer import _has_dict

    return _has_dict(value)


def _of_object(observer, value, name):
    """An attribute of an object of Python: of its own, of its class, or of neither."""
    kind = type(value)
    if isinstance(value, tuple) and name in getattr(kind, "_fields", ()):
        return getattr(value, name)
    if isinstance(value, enum.Enum) and name in ("value", "name", "_value_", "_name_"):
        return vars(value)[f"_{name.strip('_')}_"]
    from_outside = id(value) in observer.outside
    source = observer.known[id(value)][1] if from_outside else None
    of_arguments = observer.known[id(value)][2] if from_outside else False
    if type(of_class(kind, "__getattribute__")) is types.FunctionType:
        observer.stop(f"{kind.__qualname__} has a __getattribute__ of its own", sys._getframe(3))
        return getattr(value, name)
    found = of_class(kind, name)
    own = getattr(value, "__dict__", {})
    is_data = found is not None and hasattr(type(found), "__set__")
    if isinstance(found, property):
        if not _of_torch(getattr(found.fget, "__module__", "")):
            observer.outside_value(found.fget, ("attr", ("attr", ("const", kind), name), "fget"))
        return call(observer, found.fget, (value,), {})
    if is_data and not isinstance(found, types.MemberDescriptorType):
        if name != "__dict__":
            observer.stop(f"the attribute {name} of a {kind.__qualname__} is a descriptor", sys._getframe(3))
        else:
            observer.stop(f"the dict of a {kind.__qualname__} is read", sys._getframe(3))
        return getattr(value, name)
    if name in own:
        return observer.outside_value(own[name], ("attr", source, name), of_arguments) if from_outside else own[name]
    module = module_class()
    if module and isinstance(value, module) and found is None:
        return _of_module(observer, value, name, source, from_outside)
    if found is None:
        return _missing(observer, value, name, source, kind)
    result = getattr(value, name)
    if isinstance(found, (types.FunctionType, classmethod)) and isinstance(result, types.MethodType):
        if not _of_torch(kind.__module__) or not _of_torch(result.__func__.__module__):
            above = (
                ("attr", ("attr", ("const", kind), name), "__func__")
                if isinstance(found, classmethod)
                else ("attr", ("const", kind), name)
            )
            observer.outside_value(result.__func__, above)
        if from_outside:  # an attribute of the object itself would come first
            observer.guards.check("absent", ("attr", source, "__dict__"), name) if hasattr(value, "__dict__") else None
        return result
    if isinstance(found, functools.cached_property):
        observer.stop(f"{name} is a cached property", sys._getframe(3))
        return result
    if isinstance(found, staticmethod):
        observer.outside_value(result, ("attr", ("const", kind), name))
        return result
    if hasattr(type(found), "__get__") and not isinstance(
        found, (types.BuiltinFunctionType, types.MemberDescriptorType, type, Operator)
    ):
        observer.stop(f"the attribute {name} of a {kind.__qualname__} is a descriptor", sys._getframe(3))
        return result
    if from_outside:
        return observer.outside_value(result, ("attr", source, name), of_arguments)
    return observer.outside_value(result, ("attr", ("const", kind), name))


def _of_module(observer, value, name, source, from_outside):
    """A parameter, buffer or module that is registered."""
    kind = type(value)
    for base in kind.__mro__:
        if type(base.__dict__.get("__getattr__")) is types.FunctionType and not _of_torch(base.__module__):
            observer.stop(f"{kind.__qualname__} has a __getattr__ of its own", sys._getframe(4))
            return getattr(value, name)
    for registry in ("_parameters", "_buffers", "_modules"):
        if name in value.__dict__.get(registry, ()):
            found = value.__dict__[registry][name]
            if from_outside:
                at = ("key", ("key", ("attr", source, "__dict__"), registry), name)
                observer.guards.check("absent", ("attr", source, "__dict__"), name)
                return observer.outside_value(found, at)
            return found
    return _missing(observer, value, name, source, kind)


def _missing(observer, value, name, source, kind):
    getter = of_class(kind, "__getattr__")
    if isinstance(getter, types.FunctionType) and not _of_torch(getter.__module__):
        return observer.call(types.MethodType(getter, value), name)
    try:
        return getattr(value, name)
    except AttributeError:
        if source is not None:
            observer.guards.check("noattr", source, name)
        raise


# --- calls ---


def call(observer, function, args, kwargs):
    """``function(*args, **kwargs)``, by what kind of function it is."""
    kind = type(function)
    if kind is types.MethodType:
        return call(observer, function.__func__, (function.__self__, *args), kwargs)
    if kind is types.FunctionType:
        return _python(observer, function, args, kwargs)
    if kind is functools.partial:
        return call(observer, function.func, (*function.args, *args), {**function.keywords, **kwargs})
    if isinstance(function, Operator):
        return _operator(observer, function, args, kwargs)
    if isinstance(function, type):
        return _make(observer, function, args, kwargs)
    if kind in (
        types.BuiltinFunctionType,
        types.MethodWrapperType,
        types.WrapperDescriptorType,
        types.MethodDescriptorType,
        operator.itemgetter,
    ):
        return _builtin(observer, function, args, kwargs)
    module = module_class()
    if module and isinstance(function, module):
        return _module(observer, function, args, kwargs)
    target = of_class(kind, "__call__")
    if isinstance(target, types.FunctionType):
        observer.outside_value(target, ("attr", ("const", kind), "__call__"))
        return _python(observer, target, (function, *args), kwargs)
    observer.stop(f"{_named(function)} is called", sys._getframe(2))
    return function(*args, **kwargs)


def _named(function):
    return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__qualname__


def _python(observer, function, args, kwargs):
    inner = function.__dict__.get("_torchdynamo_orig_callable") if function.__dict__ else None
    if function.__dict__ and "_torchdynamo_disable" in function.__dict__:
        observer.stop(f"{_named(function)} is not to be compiled", sys._getframe(3))
        return function(*args, **kwargs)
    if inner is not None:
        return call(observer, inner, args, kwargs)
    name = function.__module__ or ""
    if function.__dict__ and "_dynamo_marked_constant" in function.__dict__:
        return observer.trust(function, args, kwargs)
    if function in _SPECIAL:
        return _SPECIAL[function](observer, args, kwargs)
    if name.startswith(_TRUSTED) and function.__name__ not in _DISTRUSTED and not _has_functions(args, kwargs):
        return _checked(observer, function, args, kwargs, observer.trust(function, args, kwargs))
    if (
        name.startswith("torch.")
        and _is_quiet(function.__code__.co_filename)
        and not name.startswith("torch.autograd")
        and function.__name__ in _TENSOR_FUNCTIONS
    ):
        return _checked(observer, function, args, kwargs, observer.trust(function, args, kwargs))
    if _is_generated(function):
        return observer.trust(function, args, kwargs)
    return observer.follow(function, args, kwargs)


def _has_functions(args, kwargs):
    return any(
        isinstance(v, (types.FunctionType, types.MethodType)) and not _of_torch(v.__module__)
        for v in (*args, *kwargs.values())
    )


def _is_generated(function):
    """``__init__`` of a dataclass and the like, which only keep their arguments."""
    return function.__code__.co_filename == "<string>" and function.__name__ in ("__init__", "__new__")


def _checked(observer, function, args, kwargs, result):
    if not observer.result(result):
        observer.stop(f"{_named(function)} gives a tensor that no operator made", sys._getframe(4))
    elif (
        isinstance(result, (bool, int, float))
        and any(True for _ in _all_tensors((args, kwargs)))
        and not isinstance(result, bool)
    ):
        observer.stop(f"{_named(function)} gives a number", sys._getframe(4))
    return result


def _all_tensors(value):
    from ._observer import _tensors

    return _tensors(value)


def _operator(observer, function, args, kwargs):
    name = function.__name__
    if name in _VALUES:
        observer.stop(f"{name} goes by the values of a tensor", sys._getframe(3))
    if kwargs.get("requires_grad") or "generator" in kwargs or "out" in kwargs:
        given = next(n for n in ("generator", "out", "requires_grad") if n in kwargs)
        if kwargs[given] is not None and kwargs[given] is not False:
            observer.stop(f"{name}({given}=...) is called", sys._getframe(3))
    if any(isinstance(a, torch.Generator) for a in args):
        observer.stop(f"{name} has a generator", sys._getframe(3))
    result = function(*args, **kwargs)
    if not observer.result(result):
        observer.stop(f"{name} gives a tensor that is not recorded", sys._getframe(3))
    elif not isinstance(result, (torch.Tensor, tuple, list)) and result is not None:
        observer.stop(f"{name} gives a {type(result).__name__}", sys._getframe(3))
    return result


_ITERATING = frozenset((enumerate, zip, list, tuple, set, frozenset, sum, any, all, iter, reversed, max, min, dict))


def _iterated(observer, function, args):
    """The arguments of a builtin that iterates: over all of them, or the first."""
    if function is zip:
        return tuple(map(observer.iter, args))
    if not args or (len(args) > 1 and function in (max, min)):
        return args
    return args if function is reversed else (observer.iter(args[0]), *args[1:])


def _builtin(observer, function, args, kwargs):
    if (
        function is len
        and len(args) == 1
        and isinstance(method := of_class(type(args[0]), "__len__"), types.FunctionType)
    ):
        return call(observer, observer.method(args[0], method, "__len__"), (), {})
    if _hashable(function) and function in _ITERATING:
        args = _iterated(observer, function, args)
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    special = _SPECIAL.get(function) if _hashable(function) else None
    if special is not None:
        return special(observer, args, kwargs)
    if isinstance(owner, torch.Tensor) or (
        isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType))
        and getattr(function, "__objclass__", None) is torch.Tensor
    ):
        if name not in _OF_TENSORS:
            if isinstance(of_class(torch.Tensor, name), Operator):
                return _operator(observer, function, args, kwargs)
            observer.stop(f"the method {name} of a tensor is called", sys._getframe(3))
        return _checked_to(observer, function, args, kwargs, name)
    if owner is not None and isinstance(owner, _CONTAINERS) and type(owner) in _CONTAINERS:
        if name in _MUTATING and id(owner) in observer.outside:
            observer.stop(f"{name}() changes a {type(owner).__name__} from outside", sys._getframe(3))
        if name in _BY_IDENTITY and any(not _simple(a) for a in args[:1]):
            observer.stop(f"{name}() looks for an object", sys._getframe(3))
        return function(*args, **kwargs)
    if isinstance(owner, _PLAIN_OWNERS) or type(owner) in _VIEWS or type(owner) in DICTS:
        if name in _BY_IDENTITY and any(not _simple(a) for a in args[:1]):
            observer.stop(f"{name}() looks for an object", sys._getframe(3))
        return function(*args, **kwargs)
    if (_hashable(function) and function in _PURE) or isinstance(function, operator.itemgetter):
        return function(*args, **kwargs)
    if name in ("__init__", "__new__", "__init_subclass__") and (
        owner is None or owner is object or isinstance(function, types.MethodWrapperType)
    ):
        return function(*args, **kwargs)
    observer.stop(f"{_named(function)}() is called", sys._getframe(3))
    return function(*args, **kwargs)


def _simple(value):
    from ._guards import is_plain

    return is_plain(value) or (isinstance(value, tuple) and all(map(_simple, value)))


def _hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _checked_to(observer, function, args, kwargs, name):
    result = function(*args, **kwargs)
    if not observer.result(result):
        observer.stop(f"{name} gives a tensor that is not recorded", sys._getframe(4))
    return result


def _module(observer, module, args, kwargs):
    base = module_class()
    kind = type(module)
    optimized = sys.modules.get("torch._dynamo.eval_frame")
    if optimized is not None and isinstance(module, optimized.OptimizedModule):
        return call(observer, observer.attr(module, "_orig_mod"), args, kwargs)
    target = of_class(kind, "__call__")
    if target is not base.__dict__["__call__"]:
        if isinstance(target, types.FunctionType):
            observer.outside_value(target, ("attr", ("const", kind), "__call__"))
            return _python(observer, target, (module, *args), kwargs)
        observer.stop(f"{kind.__qualname__} has a __call__ of its own", sys._getframe(3))
        return module(*args, **kwargs)
    if id(module) in observer.outside:
        source = observer.known[id(module)][1]
    else:  # within a container that torch iterates: it is fixed with that
        source = ("const", module)
        observer.outside_value(module, source)
        source = observer.known[id(module)][1]
    from torch.nn.modules import module as file

    if module._hooked or file.running:
        observer.stop(f"{kind.__qualname__} has hooks", sys._getframe(3))
        return module(*args, **kwargs)
    observer.guards.check("equal", ("attr", source, "_hooked"), False)
    observer.guards.check("len", ("const", file.running), 0)
    return call(observer, observer.attr(module, "forward"), args, kwargs)


def _make(observer, kind, args, kwargs):
    """An instance of a class."""
    if kind in (type, super):
        if len(args) != 1 and kind is type:
            observer.stop("a class is made", sys._getframe(3))
        return kind(*args, **kwargs)
    if kind in _PURE:
        if kind in _ITERATING:
            args = _iterated(observer, kind, args)
        return kind(*args, **kwargs)
    if issubclass(kind, BaseException):
        return kind(*args, **kwargs)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return observer.trust(kind, args, kwargs)
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(observer, args, kwargs)
    if _managers(kind):
        return observer.trust(kind, args, kwargs)
    new, init = of_class(kind, "__new__"), of_class(kind, "__init__")
    plain = type(kind) is type and new is object.__dict__["__new__"] and isinstance(init, types.FunctionType)
    if not plain or issubclass(kind, (torch.Tensor, module_class() or torch.Tensor)) or kind.__flags__ & 512 == 0:
        observer.stop(f"a {kind.__qualname__} is made", sys._getframe(3))
        return kind(*args, **kwargs)
    made = object.__new__(kind)
    observer.kept.append(made)
    if not _is_generated(init):
        observer.outside_value(init, ("attr", ("const", kind), "__init__"))
        call(observer, init, (made, *args), kwargs)
    elif hasattr(kind, "__dataclass_fields__") and not hasattr(kind, "__post_init__"):
        observer.trust(init, (made, *args), kwargs)
    else:
        observer.stop(f"a {kind.__qualname__} is made", sys._getframe(3))
        init(made, *args, **kwargs)
    return made


# --- with ---


def _managers(kind):
    grad = sys.modules.get("torch.autograd.grad_mode")
    return kind is contextlib.nullcontext or (
        grad is not None and kind in (grad.no_grad, grad.enable_grad, grad.set_grad_enabled)
    )


class _Manager:
    """A context manager of Python whose methods are watched."""

    def __init__(self, observer, value):
        self.observer, self.value = observer, value

    def __enter__(self):
        return self.observer.call(self.observer.attr(self.value, "__enter__"))

    def __exit__(self, *error):
        return self.observer.call(self.observer.attr(self.value, "__exit__"), *error)


class _Quiet:
    """A mode of gradients: the operators see it (Observer.where), the functions behind it are torch's own."""

    def __init__(self, observer, value):
        self.observer, self.value = observer, value

    def __enter__(self):
        return self.observer.trust(self.value.__enter__, (), {})

    def __exit__(self, *error):
        return self.observer.trust(self.value.__exit__, error, {})


def manager(observer, value):
    """What stands for a context manager."""
    if _managers(type(value)):
        if id(value) in observer.outside:
            observer.stop("a context manager from outside is entered", sys._getframe(2))
        return _Quiet(observer, value)
    if (
        isinstance(of_class(type(value), "__enter__"), types.FunctionType)
        and not _of_torch(type(value).__module__)
        and type(value).__module__ != "contextlib"
    ):
        return _Manager(observer, value)
    observer.stop(f"a block of {type(value).__qualname__} is entered", sys._getframe(2))
    return value


# --- functions with a meaning of their own ---


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
    observer.store(args[0], args[1])
    return setattr(*args)


def _tensor(observer, args, kwargs):
    """``torch.tensor`` of numbers: the same each time, and new each time."""
    result = torch.tensor(*args, **kwargs)
    if kwargs.get("requires_grad") or any(True for _ in _all_tensors((args, kwargs))):
        observer.stop("torch.tensor of tensors is called", sys._getframe(4))
    if not all(_numbers(a) for a in args):
        observer.stop(f"torch.tensor of a {type(args[0]).__qualname__} is called", sys._getframe(4))
    if observer.reason is None:
        observer.give_constant(result)
    return result


def _numbers(value):
    if isinstance(value, (list, tuple)):
        return all(map(_numbers, value))
    return isinstance(value, (bool, int, float, complex, torch.dtype, torch.device, type(None)))


def _compiling(observer, args, kwargs):
    return True


_SPECIAL = {
    torch.compiler.is_compiling: _compiling,
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    torch.tensor: _tensor,
}


def special(function, how):
    """What a call of a function means while it is watched: how(observer, args, kwargs)."""
    _SPECIAL[function] = how


def constant(value):
    """A function's meaning: always this value."""
    return lambda observer, args, kwargs: value


# --- reads of values ---

_READS = (
    "__bool__", "__int__", "__float__", "__complex__", "__index__", "__array__", "__contains__", "__repr__", "__str__", "__format__", "item",
    "tolist", "numpy", "data_ptr", "is_nonzero", "storage", "untyped_storage", "__dlpack__", "__reduce_ex__", "__deepcopy__",
    "requires_grad_", "backward", "register_hook", "retain_grad", "share_memory_", "__long__", "__nonzero__",
)  # fmt: skip
_lock = threading.Lock()
_users = 0
_before = {}


def _watching(name):
    method = _before[name]

    def read(self, *args, **kwargs):
        from ._observer import current

        observer = current()
        if observer is not None and observer.reason is None:
            observer.stop(f"{name} of a tensor is asked for", sys._getframe(1))
        return method(self, *args, **kwargs)

    read.__name__ = name
    return read


@contextlib.contextmanager
def reads_watched():
    """A block in which reads of tensors' values make this thread's observation void."""
    global _users
    with _lock:
        if _users == 0:
            for name in _READS:
                if name in torch.Tensor.__dict__:
                    _before[name] = torch.Tensor.__dict__[name]
            for name in _before:
                setattr(torch.Tensor, name, _watching(name))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for name, method in _before.items():
                    setattr(torch.Tensor, name, method)
                _before.clear()
