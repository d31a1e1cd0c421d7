"""``torch.jit`` while torch-jit is not installed: what PyTorch does under ``PYTORCH_JIT=0``. Decorated functions and modules stay
plain Python, tracing gives back what was traced, and only files of compiled programs are refused.
"""

import contextlib
import functools
import typing
from typing import Final  # noqa: F401  (a name of torch.jit)

from torch import _parts
from torch._absent import absent_function


def no_programs() -> str:
    """Why a program is not made, and the command that mends it."""
    from torch import _install

    return _install.absent("programs are", "torch-jit")


# --- compiling: nothing changes ---


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None) -> typing.Any:
    """Return the function, class or module as it is.

    >>> @torch.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if not callable(obj):
        raise TypeError(f"torch.jit.script: expected a function, class or module, got {type(obj).__name__}")
    return obj


def trace(func, example_inputs=None, *args, example_kwarg_inputs=None, **kwargs) -> typing.Any:
    """Return the function or module as it is; the example inputs are not run."""
    if not callable(func):
        raise TypeError(f"torch.jit.trace: expected a function or module, got {type(func).__name__}")
    return func


def _get_trace_graph(f, args=(), kwargs=None, **options):
    """Raises NotImplementedError: tracing records nothing."""
    raise NotImplementedError(f"torch.jit._get_trace_graph: {no_programs()}")


def trace_module(mod, inputs, *args, **kwargs) -> typing.Any:
    """Return the module as it is; the inputs are not run."""
    return mod


def _same(fn):
    return fn


def _decorator(doc):
    def mark(fn=None, *args, **kwargs):
        return fn if callable(fn) else _same

    mark.__doc__ = doc
    return mark


script_method = _decorator("Mark a method of a ScriptModule; it stays as it is.")
script_if_tracing = _decorator("Mark a function to be compiled while tracing; it stays as it is.")
_script_if_tracing = script_if_tracing
ignore = _decorator("Mark what the compiler leaves to Python; it stays as it is.")
unused = _decorator("Mark what the compiler must not reach; it stays as it is.")
export = _decorator("Mark a method to be compiled beside forward; it stays as it is.")
interface = _decorator("Mark a class as an interface of modules; it stays as it is.")
_overload = _decorator("Mark a signature of an overloaded function; it stays as it is.")
_overload_method = _decorator("Mark a signature of an overloaded method; it stays as it is.")
_drop = _decorator("Mark what compiled programs leave out; it stays as it is.")


def freeze(mod, preserved_attrs=None, optimize_numerics=True) -> typing.Any:
    """Return the module as it is; ValueError in training mode."""
    if mod.training:
        raise ValueError("torch.jit.freeze: the module is in training mode; call .eval() first")
    return mod


def optimize_for_inference(mod, other_methods=None) -> typing.Any:
    """Return the module as it is."""
    return mod


def is_scripting() -> bool:
    """Whether this code runs compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether a trace is being recorded: never."""
    return False


# --- types and values ---


class Attribute(typing.NamedTuple):
    """A value with the type that compiled code is to give it."""

    value: typing.Any
    type: typing.Any


def annotate(the_type, the_value) -> typing.Any:
    """The value: its type is a word to the compiler."""
    return the_value


def isinstance(obj, target_type) -> bool:
    """Whether an object is of a type, with ``List[int]``, ``Dict``, ``Tuple``, ``Optional`` and ``Union`` looked into.

    >>> import typing
    >>> torch.jit.isinstance([1, 2], typing.List[int]), torch.jit.isinstance(["a"], typing.List[int])
    (True, False)
    """
    from torch._jit_internal import check_empty_containers, raise_error_container_parameter_missing

    if type(target_type) is tuple:
        return any(isinstance(obj, t) for t in target_type)
    if type(target_type) in (list, dict, set):
        raise RuntimeError(
            f"The second argument to `torch.jit.isinstance` must be a type or a tuple of types, got {target_type!r}"
        )
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type in _BARE:
        raise_error_container_parameter_missing(_BARE[target_type])
    if origin in (list, dict, tuple):
        check_empty_containers(obj)
    if origin is None:
        return obj is None if target_type in (None, type(None)) else _is_a(obj, target_type)
    if origin is typing.Union or origin.__name__ == "UnionType":
        return any(isinstance(obj, t) for t in inner)
    if not _is_a(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        return len(obj) == len(inner) and all(map(isinstance, obj, inner))
    return all(isinstance(each, inner[0]) for each in obj)


_BARE = {getattr(typing, name): name for name in ("List", "Dict", "Tuple", "Optional")}
_is_a = __builtins__["isinstance"] if type(__builtins__) is dict else __builtins__.isinstance
_isinstance = isinstance


def _unwrap_optional(x):
    """The value, which must not be None."""
    assert x is not None, "Unwrapping null optional"
    return x


class TracerWarning(Warning):
    """A trace would not hold for other inputs."""

    @staticmethod
    def ignore_lib_warnings():
        """Hide such warnings where libraries cause them; there are none."""


class TracingCheckError(Exception):
    """A trace that computes something else than what was traced."""


class Error(RuntimeError):
    """An error of a compiled program."""


class ScriptWarning(Warning):
    """A warning of the compiler."""


# --- calls beside each other ---


def fork(func, *args, **kwargs) -> typing.Any:
    """Call the function, and return a future of its result."""
    from torch.futures import Future

    future = Future()
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:  # told to whoever waits
        future.set_exception(error)
    return future


def wait(future) -> typing.Any:
    """The result of a future."""
    return future.wait()


_fork, _wait = fork, wait


# --- settings ---


@contextlib.contextmanager
def optimized_execution(should_optimize) -> typing.Any:
    """Whether compiled programs are optimised within the block."""
    yield


@contextlib.contextmanager
def fuser(name) -> typing.Any:
    """Which fuser compiled programs use within the block."""
    yield


class strict_fusion:
    """Compiled code within the block must fuse; there is none."""

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


_fusion_strategy = [("STATIC", 2), ("DYNAMIC", 10)]


def set_fusion_strategy(strategy) -> typing.Any:
    """Set how often fused code may be specialised, which changes nothing here; returns what was set before.

    >>> import torch
    >>> before = torch.jit.set_fusion_strategy([("DYNAMIC", 2)])
    >>> torch.jit.set_fusion_strategy(before)
    [('DYNAMIC', 2)]
    """
    for kind, _ in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise RuntimeError(f"set_fusion_strategy: a kind is 'STATIC' or 'DYNAMIC', got {kind!r}")
    before = list(_fusion_strategy)
    _fusion_strategy[:] = [(kind, count) for kind, count in strategy]
    return before


def enable_onednn_fusion(enabled) -> None:
    """Switch a fuser of compiled programs."""


def onednn_fusion_enabled() -> bool:
    """Whether that fuser is on: it does not exist."""
    return False


# --- compiled programs ---


def _refused(name):
    return absent_function("torch.jit", name, no_programs)


save = _refused("save")
load = _refused("load")
jit_module_from_flatbuffer = _refused("jit_module_from_flatbuffer")
save_jit_module_to_flatbuffer = _refused("save_jit_module_to_flatbuffer")
CompilationUnit = _refused("CompilationUnit")
export_opnames = _refused("export_opnames")
last_executed_optimized_graph = _refused("last_executed_optimized_graph")


class ScriptFunction:
    """The class of compiled functions, of which there are none."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torch.jit.ScriptFunction: {no_programs()}")


@functools.cache
def _script_module():
    class ScriptModule(_parts.need("nn").Module):
        """A plain module, as under ``PYTORCH_JIT=0``."""

        __module__ = __name__

        def __init__(self, arg=None):
            super().__init__()

    return ScriptModule


#: What stands with a kind of module of which there are none: where there are some, and a question that it answers.
_NONE = "Programs are in the distribution 'torch-jit'.\n\n>>> isinstance(torch.ones(1), torch.jit.{name})\nFalse\n"


def __getattr__(name):
    if name in ("ScriptModule", "RecursiveScriptModule", "TopLevelTracedModule", "TracedModule"):
        base = _script_module()
        if name != "ScriptModule":
            # A kind of its own, so that no plain module is taken for one.
            base = type(name, (base,), {"__module__": __name__, "__doc__": _NONE.format(name=name)})
        globals()[name] = base
        return base
    if name == "Future":
        from torch.futures import Future

        return Future
    raise AttributeError(f"module 'torch.jit' has no attribute {name!r}: {no_programs()}")
