"""``torch.compile`` and ``torch.compiler``: functions and modules as programs, captured while they run.

A call of a compiled function is observed once. What it computes becomes a graph, what it reads from outside becomes
guards, and as long as those hold the graph is run in place of the Python. What a graph cannot say (prints, reads of
values, changes of objects) makes the function run as it was written.
"""

from __future__ import annotations

import functools

from torch._faces.compiler import check, get_default_backend
from torch._faces.compiler import set_default_backend as set_default_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: Any = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return the module or function, compiled at its first call; usable as a decorator.

    The results are those of the module or function itself. With ``fullgraph`` a program that cannot be captured whole
    raises ``torch._dynamo.exc.Unsupported``, which names the line. ``backend`` may be a function that takes an
    ``fx.GraphModule`` and example inputs, and returns a callable. ``recompile_limit`` is in place of that of
    ``torch._dynamo.config``; each call of ``compile`` counts its own programs, as ``isolate_recompiles`` asks. RuntimeError for
    a mode or an option that does not exist or one beside the other, ``InvalidBackend`` for an unknown backend.

    >>> @torch.compile
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    from . import _backends

    backend = get_default_backend() if backend is None else backend
    check(model, mode, options, backend, recompile_limit, shapes_spec)
    how = _backends.lookup(backend)
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            name=name,
            disable=disable,
            recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles,
        )
    from torch._dynamo import config

    if disable or config.disable or isinstance(model, type):
        return model
    settings = {
        "backend": backend,
        "fullgraph": fullgraph,
        "dynamic": dynamic,
        "options": options,
        "recompile_limit": recompile_limit,
    }
    return _wrapped(model, how, settings)


def _wrapped(model, how, settings):
    from ._compiled import Compiled, function_of

    of = functools.partial(
        Compiled,
        backend=how,
        fullgraph=settings["fullgraph"],
        dynamic=settings["dynamic"],
        options=settings["options"],
        limit=settings["recompile_limit"],
    )

    if _is_module(model):
        from torch._dynamo.eval_frame import OptimizedModule

        if isinstance(model, OptimizedModule):
            model = model._orig_mod
        return OptimizedModule(model, of(model), settings)
    model = getattr(model, "_torchdynamo_orig_callable", model)
    return function_of(model, of(model))


def _is_module(model):
    import sys

    nn = sys.modules.get("torch.nn")
    return nn is not None and isinstance(model, nn.Module)


def is_compiling() -> bool:
    """Whether this code is being captured, by :func:`torch.compile` or :func:`torch.export.export`.

    >>> torch.compiler.is_compiling()
    False
    """
    return is_dynamo_compiling() or is_exporting()


def is_dynamo_compiling() -> bool:
    """Whether this code is being captured by :func:`torch.compile`.

    >>> torch.compile(lambda x: x + 1 if torch.compiler.is_dynamo_compiling() else x)(torch.zeros(1))
    tensor([1.])
    """
    from ._observer import current

    observer = current()
    if observer is None or observer.reason is not None:
        return False
    observer.asks = True
    return True


def is_exporting() -> bool:
    """Whether this code is being exported.

    >>> torch.compiler.is_exporting()
    False
    """
    import sys

    recorder = sys.modules.get("torch.export._recorder")
    return recorder is not None and recorder.is_recording()


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: Any = None) -> Any:
    """Mark what is not to be captured: a function that calls it runs as it was written.

    >>> @torch.compiler.disable
    ... def plain(x):
    ...     return x + 1
    >>> plain(torch.ones(1))
    tensor([2.])
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    fn = getattr(fn, "_torchdynamo_orig_callable", fn)
    if isinstance(fn, type):
        return fn
    if _is_module(fn):
        forward = disable(fn.forward)
        fn.__dict__["forward"] = forward
        return fn

    @functools.wraps(fn)
    def plain(*args, **kwargs):
        return fn(*args, **kwargs)

    plain._torchdynamo_disable = True
    plain._torchdynamo_disable_msg = reason
    plain._torchdynamo_orig_callable = fn
    return plain


def allow_in_graph(fn: Callable[..., Any]) -> Any:
    """Mark a function, or several, as one that may stand in a graph; operators are captured one by one all the same."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise RuntimeError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Any:
    """Mark a function whose result is taken for a constant of the programs that call it."""
    fn._dynamo_marked_constant = True
    return fn


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Any:
    """A decorator for what stands for a function in captured programs: Python code in place of code in C."""
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function, got {type(original_fn).__name__}")

    def register(fn):
        from . import _calls, _special

        _special.SPECIAL[original_fn] = lambda observer, args, kwargs: _calls.call(observer, fn, args, kwargs)
        return fn

    return register


def nested_compile_region(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a function that is compiled once for all its calls; it is captured with its callers, and comes back as it is."""
    return fn if fn is not None else lambda function: function


def wrap_numpy(fn: Callable[..., Any]) -> Any:
    """A function of arrays as a function of tensors.

    >>> torch.compiler.wrap_numpy(lambda a: a * 2)(torch.ones(2))
    tensor([2., 2.])
    """
    from torch._faces.compiler import wrap_numpy

    return wrap_numpy(fn)


def reset() -> None:
    """Forget what has been captured.

    >>> torch.compiler.reset()
    """
    import sys

    if "torch.compiler._compiled" in sys.modules:
        sys.modules["torch.compiler._compiled"].reset()


def cudagraph_mark_step_begin() -> Any:
    """Tell CUDA graphs that a step begins; there are none."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> Any:
    """Names of backends that are installed; those that only help to find faults, with ``exclude_tags=None``.

    >>> "inductor" in torch.compiler.list_backends()
    True
    """
    from . import _backends

    return _backends.names(exclude_tags)


def __getattr__(name: str) -> Any:
    if name == "set_stance":
        from ._stances import set_stance

        return set_stance
    if name == "_compile_in_place":
        from ._in_place import compile_in_place

        return compile_in_place
    if name in ("load_compiled_function", "save_cache_artifacts", "load_cache_artifacts"):
        from torch._seams import absent_function

        return absent_function("torch.compiler", name, "programs are not kept on disk: a process makes them anew")
    raise AttributeError(f"module 'torch.compiler' has no attribute {name!r}")
