"""What programs ask the compiler about itself: counters, and lines about breaks and recompilations."""

import collections
import contextlib
import functools
import logging
import sys
import warnings

log = logging.getLogger("torch._dynamo")
graph_breaks_log = logging.getLogger("torch._dynamo.graph_breaks")
recompiles_log = logging.getLogger("torch._dynamo.recompiles")
#: counters["stats"]["unique_graphs"], counters["frames"]["ok"], counters["graph_break"][reason]
counters = collections.defaultdict(collections.Counter)


@contextlib.contextmanager
def disable_cache_limit():
    """A block in which a function may have any number of programs.

    >>> with torch._dynamo.utils.disable_cache_limit():
    ...     torch._dynamo.config.recompile_limit > 10**6
    True
    """
    from . import config

    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):
        yield


def is_compile_supported(device_type):
    """Whether programs can be compiled for a device."""
    return device_type == "cpu"


@functools.lru_cache(None)
def warn_once(msg, stacklevel=1):
    """A warning that is given once."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def same(a, b, *, tol=1e-4, equal_nan=False, **kwargs):
    """Whether two results are equal up to ``tol``: tensors, and containers of them."""
    import torch

    if isinstance(a, torch.Tensor):
        return (
            isinstance(b, torch.Tensor)
            and a.shape == b.shape
            and torch.allclose(a, b, rtol=tol, atol=tol, equal_nan=equal_nan)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tol=tol, equal_nan=equal_nan) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], tol=tol, equal_nan=equal_nan) for k in a)
    return a == b


def compile_times(repr="str", aggregate=False):
    """How long captures took, by name; nothing is measured: the headers and no values (``repr="csv"``), or a table of none."""
    return ([], []) if repr == "csv" else "TorchDynamo compilation metrics:\nFunction    Runtimes (s)"


def _name(function):
    return getattr(function, "__qualname__", type(function).__qualname__)


def _wanted(artifact):
    from torch import _logging

    return artifact in _logging.wanted()


def note_capture(function):
    """A program was captured."""
    counters["stats"]["unique_graphs"] += 1
    counters["frames"]["total"] += 1
    counters["frames"]["ok"] += 1


def note_break(function, reason):
    """A function is not captured."""
    counters["frames"]["total"] += 1
    counters["frames"]["ok"] += reason.foreseen
    counters["graph_break"][str(reason)] += 1
    if _wanted("graph_breaks"):
        graph_breaks_log.warning("%s runs as it was written: %s", _name(function), reason)


def note_recompile(function, programs, args, kwargs):
    """A function is captured again, since none of its programs fits."""
    counters["recompiles"][_name(function)] += 1
    if _wanted("recompiles"):
        reasons = "; ".join(dict.fromkeys(p.guards.why(args, kwargs) or "another mode of operators" for p in programs))
        recompiles_log.warning("%s is captured again: %s", _name(function), reasons)


def note_limit(function, count):
    """A function was captured too often."""
    counters["recompile_limit"][_name(function)] += 1
    warnings.warn(
        f"torch.compile: {_name(function)} was captured {count} times for different arguments and runs as it was written from now on "
        "(torch._dynamo.config.recompile_limit; TORCH_LOGS=recompiles names each time)",
        stacklevel=6,
    )
