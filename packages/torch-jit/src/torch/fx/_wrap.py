"""Functions and methods that stay whole while a program is traced, and whether one is traced."""

import inspect
import threading

from torch import _pytree as pytree

from ._compatibility import compatibility
from ._patches import recording
from .proxy import Proxy, _whereabouts

_thread = threading.local()

# Globals that wrap() named: (id of the module's dict, name) -> that dict. Libraries read and extend both.
_wrapped_fns_to_patch: dict = {}
_wrapped_methods_to_patch: list = []
_MARK = "__fx_wrapped__"  # in the globals of generated programs, which come and go


def _current_tracer():
    stack = getattr(_thread, "tracers", None)
    return stack[-1] if stack else None


def is_fx_tracing() -> bool:
    """Whether this thread is tracing just now."""
    return _current_tracer() is not None


is_fx_symbolic_tracing = is_fx_tracing


def _record_wrapped(func, args, kwargs):
    proxy = Proxy._record("call_function", func, args, kwargs)
    proxy.node.meta["is_wrapped"] = True
    return proxy


def _create_wrapped_func(orig_fn):
    return recording(orig_fn, _record_wrapped)


def _create_wrapped_method(cls, name):
    func = getattr(cls, name)
    return recording(func, lambda func, args, kwargs: Proxy._record("call_method", name, args, kwargs))


@compatibility(is_backward_compatible=True)
def wrap(fn_or_name):
    """Keep a function of this module whole: its calls become one node and its inside is not traced.

    Call it at the top of a module, with the function's name, or as a decorator; for builtins as well: ``wrap("len")``.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            f"wrap: expected a callable or a string name of a global function, got {type(fn_or_name).__name__}"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if name is None:
        raise RuntimeError(f"wrap: {fn_or_name!r} has no name under which its module could find it")
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError(f"wrap must be called at the top level of a module{_whereabouts(frame)}")
    space = frame.f_globals
    if frame.f_code.co_filename.startswith("<eval_with_key>"):
        space.setdefault(_MARK, []).append(name)
    else:
        _wrapped_fns_to_patch[(id(space), name)] = space
    return fn_or_name


def _find_proxy(*objects_to_search):
    """The first Proxy among objects, or None."""
    found = []
    pytree.tree_map(lambda leaf: found.append(leaf) if isinstance(leaf, Proxy) else None, objects_to_search)
    return found[0] if found else None
