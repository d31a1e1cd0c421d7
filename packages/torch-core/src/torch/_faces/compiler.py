"""``torch.compiler`` and ``torch.compile`` while torch-jit is not installed: what is compiled runs as it was written.

The objects that come back are of the kinds that programs expect: a module comes wrapped, with ``_orig_mod`` inside, a
function as a function. Nothing is captured, so that nothing can be asked about a graph.
"""

from __future__ import annotations

import functools

from torch._absent import absent_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor", "onnxrt", "openxla", "tvm")


def no_compiler() -> str:
    """Why nothing is compiled, and the command that mends it."""
    from torch import _install

    return _install.absent("the compiler is", "torch-jit")


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    shapes_spec=None,
) -> Any:
    """Return the module or function, ready to be called; usable as a decorator.

    The results are those of the module or function itself, at its own speed. RuntimeError for a mode or an option that does not
    exist or one beside the other, ValueError for an unknown backend, NotImplementedError for a backend of one's own, which
    would want a graph.

    >>> @torch.compile
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    backend = get_default_backend() if backend is None else backend
    check(model, mode, options, backend, recompile_limit, shapes_spec)
    if callable(backend):
        raise NotImplementedError(f"torch.compile: the backend {backend!r} wants a graph, and {no_compiler()}")
    if backend not in BACKENDS:
        raise ValueError(f"torch.compile: unknown backend {backend!r}; known are {', '.join(BACKENDS)}")
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
    return model if disable else _wrapped(model)


_default: Any = "inductor"


def set_default_backend(backend: Any) -> None:
    """What ``torch.compile`` uses where it is not told: a name or a function; None stands for "inductor" again.

    >>> torch.compiler.set_default_backend("eager")
    >>> torch.compiler.get_default_backend()
    'eager'
    >>> torch.compiler.set_default_backend(None)
    """
    global _default
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"set_default_backend: backend must be a string or callable, got {type(backend)}")
    _default = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """What ``torch.compile`` uses where it is not told.

    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return _default


def check(model, mode, options, backend, recompile_limit=None, shapes_spec=None):
    """RuntimeError for a mode or an option that does not exist, for one beside the other, and for what cannot be called;
    ValueError for a limit that is no count, NotImplementedError for a spec of shapes.
    """
    if mode is not None and options is not None:
        raise RuntimeError("torch.compile: give either mode or options, not both")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"torch.compile: unrecognized mode {mode!r}; it must be one of {', '.join(MODES)}")
    if model is not None and not callable(model):
        raise RuntimeError(f"torch.compile: expected a module or function, got {type(model).__name__}")
    if options is not None and backend == "inductor":  # other backends have options of their own
        from torch._inductor import _options

        _options.check(options)
    if recompile_limit is not None and (type(recompile_limit) is not int or recompile_limit < 0):
        raise ValueError(f"torch.compile: recompile_limit must be an int that is not negative, got {recompile_limit!r}")
    if shapes_spec is not None:
        raise NotImplementedError(
            "torch.compile: shapes_spec is not taken; torch._dynamo.mark_dynamic(tensor, dim) says which sizes change"
        )


def _wrapped(model):
    from torch import _dynamo

    if isinstance(model, type):
        return model
    if _is_module(model):
        return model if isinstance(model, _dynamo.OptimizedModule) else _dynamo.OptimizedModule(model)

    @functools.wraps(model)
    def compiled(*args, **kwargs):
        return model(*args, **kwargs)

    compiled._torchdynamo_orig_callable = model
    return compiled


def _compile_in_place(module, **settings):
    """For Module.compile: the settings are looked at, and the module stays as it is."""
    compile(module, **settings)


def _is_module(model):
    import sys

    nn = sys.modules.get("torch.nn")
    return nn is not None and isinstance(model, nn.Module)


def is_compiling() -> bool:
    """Whether this code is being captured or compiled: never, without a compiler."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def _marked(fn=None, **options):
    return fn if fn is not None else lambda function: function


def disable(fn=None, recursive=True, *, reason=None) -> Any:
    """Mark what is not to be compiled; it comes back as it is."""
    return _marked(fn)


def allow_in_graph(fn) -> Any:
    """Mark a function, or several, as opaque to the compiler; it comes back as it is."""
    return fn


def assume_constant_result(fn) -> Any:
    """Mark a function whose result is a constant of the graph; it comes back as it is."""
    return fn


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False) -> Any:
    """A decorator for the form of a function that graphs are to take; both stay as they are."""
    return _marked


def nested_compile_region(fn=None, **options) -> Any:
    """Mark a function that is compiled once for all its calls; it comes back as it is."""
    return _marked(fn)


def wrap_numpy(fn) -> Any:
    """A function of arrays as a function of tensors.

    >>> torch.compiler.wrap_numpy(lambda a: a * 2)(torch.ones(2))
    tensor([2., 2.])
    """
    import torch
    from torch._pytree import tree_map_only

    @functools.wraps(fn)
    def of_tensors(*args, **kwargs):
        import numpy

        args, kwargs = tree_map_only(torch.Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(numpy.ndarray, torch.as_tensor, fn(*args, **kwargs))

    return of_tensors


class set_stance:
    """How compiled functions behave; with nothing compiled, all of them behave as ``force_eager``."""

    STANCES = ("default", "eager_then_compile", "aot_eager_then_compile", "fail_on_recompile", "force_eager")

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self.STANCES:
            raise RuntimeError(f"set_stance: unknown stance {stance!r}; it must be one of {', '.join(self.STANCES)}")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __call__(self, fn):
        return fn


def reset() -> None:
    """Forget what has been compiled."""


def cudagraph_mark_step_begin() -> None:
    """Tell CUDA graphs that a step begins; there are none."""


def list_backends(exclude_tags=("debug", "experimental")) -> list[str]:
    """Names of backends that are installed: none."""
    return []


load_compiled_function = absent_function("torch.compiler", "load_compiled_function", no_compiler)
save_cache_artifacts = absent_function("torch.compiler", "save_cache_artifacts", no_compiler)
load_cache_artifacts = absent_function("torch.compiler", "load_cache_artifacts", no_compiler)
