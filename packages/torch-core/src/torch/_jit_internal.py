"""Names of the module in which PyTorch's scripts and layers find ``torch.jit``'s marks."""

import inspect
import sys
import types
import typing
import weakref
from typing import Dict, Final, List, Optional, Tuple, Union, get_args, get_origin  # noqa: F401, UP035

from torch.jit import export, ignore, interface, is_scripting, unused  # noqa: F401
from torch.jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3  # noqa: F401


def _copy_to_script_wrapper(fn):
    """A mark of a method that compiled modules keep; it stays as it is."""
    return fn


def _overload(func):
    """A mark of one of several forms of a function, as ``torch.jit._overload`` makes it."""
    import torch

    return torch.jit._overload(func)


def _overload_method(func):
    """A mark of one of several forms of a method, as ``torch.jit._overload_method`` makes it."""
    import torch

    return torch.jit._overload_method(func)


def weak_script(fn):
    """A mark of 2018 for functions that scripts compile when they call them, as they do all; it stays as it is.

    >>> torch._jit_internal.weak_script(len) is len
    True
    """
    return fn


weak_module = weak_script_method = weak_script


#: Functions that stand for one of two by a bool among their arguments: none here, max_pool2d looks at return_indices itself.
boolean_dispatched = weakref.WeakKeyDictionary()


class _disable_emit_hooks:
    """A block in which no hook is called that PyTorch's tests set; none is called here.

    >>> with torch._jit_internal._disable_emit_hooks():
    ...     print(torch._C._jit_get_emit_hooks())
    (None, None)
    """

    def __enter__(self):
        import torch

        self._hooks = torch._C._jit_get_emit_hooks()
        torch._C._jit_set_emit_hooks(None, None)

    def __exit__(self, *error):
        import torch

        torch._C._jit_set_emit_hooks(*self._hooks)


def check_empty_containers(obj):
    """A warning for an empty container, which is of any type of its kind.

    >>> torch._jit_internal.check_empty_containers([1])
    """
    if isinstance(obj, (list, dict, tuple)) and not obj:
        import warnings

        warnings.warn(
            "torch.jit.isinstance: an empty container has no inner type outside of a script: it is an instance of List[int] as "
            "well as of List[str]",
            stacklevel=3,
        )


def raise_error_container_parameter_missing(target_type):
    """RuntimeError for a container that does not say what is in it.

    >>> torch._jit_internal.raise_error_container_parameter_missing("List")
    Traceback (most recent call last):
    ...
    RuntimeError: Attempted to use List without a contained type. Please add a contained type, e.g. List[int]
    """
    if target_type.endswith("Dict"):
        raise RuntimeError(
            f"Attempted to use {target_type} without contained types. Please add contained type, e.g. {target_type}[int, int]"
        )
    raise RuntimeError(
        f"Attempted to use {target_type} without a contained type. Please add a contained type, e.g. {target_type}[int]"
    )


class fake_range:
    """Where a message says nothing of a source."""

    def highlight(self):
        """No lines."""
        return ""


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """One function of two, chosen by a bool argument.

    >>> from torch._jit_internal import boolean_dispatch
    >>> size = boolean_dispatch("whole", 1, False, lambda x, whole: len(x), lambda x, whole=False: len(x) / 2, "m", "size")
    >>> size([1, 2]), size([1, 2], whole=True)
    (1.0, 2)
    """

    def chosen(*args, **kwargs):
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__name__, chosen.__module__ = func_name or "chosen", module_name or __name__
    return chosen


class FunctionModifiers:
    """What the marks of `torch.jit` say of a function, as `get_torchscript_modifier` gives it."""

    UNUSED = "unused"
    IGNORE = "ignore"
    EXPORT = "export"
    DEFAULT = "default"
    _DROP = "drop"


def get_torchscript_modifier(fn):
    """The mark that a function has, one of `FunctionModifiers`; None for what is no function.

    >>> from torch._jit_internal import get_torchscript_modifier
    >>> get_torchscript_modifier(torch.jit.unused(lambda x: x)), get_torchscript_modifier(lambda x: x)
    ('unused', 'default')
    """
    fn = getattr(fn, "__func__", fn)
    return getattr(fn, "_torchscript_modifier", FunctionModifiers.DEFAULT) if callable(fn) else None


def is_ignored_fn(fn):
    """Whether programs leave a function to Python, or out."""
    return get_torchscript_modifier(fn) in ("unused", "ignore", "drop")


def should_drop(fn):
    """Whether programs leave a function out, and raise where they get to it."""
    return get_torchscript_modifier(fn) in ("unused", "drop")


def _is_drop_fn(fn):
    return get_torchscript_modifier(fn) == "drop"


def _of_origin(annotation, kind):
    return get_origin(annotation) is kind


def is_list(annotation):
    """Whether an annotation is ``List[T]``.

    >>> import typing, torch._jit_internal as names
    >>> names.is_list(typing.List[int]), names.is_optional(typing.Optional[int]), names.is_dict(tuple[int])
    (True, True, False)
    """
    return _of_origin(annotation, list)


def is_tuple(annotation):
    """Whether an annotation is ``Tuple[...]``."""
    return _of_origin(annotation, tuple)


def is_dict(annotation):
    """Whether an annotation is ``Dict[K, V]``."""
    return _of_origin(annotation, dict)


def is_union(annotation):
    """Whether an annotation is ``Union[...]`` or ``Optional[T]``."""
    return get_origin(annotation) in (Union, getattr(types, "UnionType", Union))


def is_optional(annotation):
    """Whether an annotation is ``Optional[T]``: a union of None and one type."""
    return is_union(annotation) and len(get_args(annotation)) == 2 and type(None) in get_args(annotation)


def is_final(annotation):
    """Whether an annotation is ``Final`` or ``Final[T]``."""
    return annotation is typing.Final or _of_origin(annotation, typing.Final)


def get_callable_argument_names(fn):
    """The names of the arguments that a function takes by position or by name.

    >>> from torch._jit_internal import get_callable_argument_names
    >>> get_callable_argument_names(lambda a, b=1, *rest, c: a)
    ['a', 'b']
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # C functions without a signature
        return []
    return [each.name for each in parameters if each.kind == each.POSITIONAL_OR_KEYWORD]


def _qualified_name(obj, mangle_name=True):
    """The name of a function or class within programs: ``__torch__.module.Class``."""
    name = getattr(obj, "__qualname__", None) or obj.__name__
    module = getattr(obj, "__module__", None) or "__main__"
    parts = [] if module == "__main__" else [module]
    return ".".join(["__torch__", *parts, name.split("<locals>.")[-1]])


def can_compile_class(cls):
    """Whether a class has a text to compile: those that are built in have none."""
    return not is_ignored_fn(cls) and inspect.isclass(cls) and cls.__module__ != "builtins"


def createResolutionCallbackFromFrame(frames_up=0):
    """What finds names as the caller, or one above, sees them; None for what it does not see.

    >>> from torch._jit_internal import createResolutionCallbackFromFrame
    >>> size = 3
    >>> createResolutionCallbackFromFrame()("size")
    3
    """
    frame = sys._getframe(frames_up + 1)
    local, around = frame.f_locals, frame.f_globals
    return lambda name: local[name] if name in local else around.get(name)


def createResolutionCallbackFromClosure(fn):
    """What finds names as a function sees them: its closure, then its module."""
    closure = inspect.getclosurevars(fn).nonlocals
    return lambda name: closure[name] if name in closure else fn.__globals__.get(name)
