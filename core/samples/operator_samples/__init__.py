"""Calls of every operator, beside the rows: what the suites for dtypes, out=, Meta, other devices, gradients, batches,
dual numbers, traces, autocast and threads call.

A new operator that is element-wise, or whose arguments are found by trying, needs no line here. Others stand in the
table of their family: by row (the start of its schema, or its name where that is enough), functions of a ``Source`` of
random tensors that give the arguments.
"""

import functools
import re

import torch
from torch import _C

from . import composed, indices, layers, layouts, matrices, pointwise, products, reductions, sparse, views
from .found import found_calls
from .source import Source, call

INFO = {info["schema"]: info for info in _C._rows()}
ONLY_FOR_GRADIENTS = ("nograd", "outputs", "seed")
INTEGRAL, BOOL_ONLY = (5, 6, 7), 7  # of Attr::dtypes, in the order of the enumeration in row.h
#: Calls fit to be differentiated by their floating-point tensors. An empty list: tests of gradients are elsewhere.
CALLS = {}
for family in (pointwise, views, indices, reductions, products, layers, sparse):
    CALLS |= family.CALLS
ELSEWHERE = {name for name, calls in CALLS.items() if not calls} | set(matrices.CALLS)
#: The other calls.
OTHERS = matrices.CALLS | composed.CALLS | layouts.CALLS


def name_of(schema):
    return schema.partition("(")[0]


def in_place(schema):
    return "(a!) self" in schema


def _pointwise(schema):
    """Calls of an element-wise operator of only tensors, with shapes that broadcast against each other."""
    info = INFO[schema]
    head = schema.partition("(")[2].rpartition(") -> ")[0]
    parameters = [p.strip() for p in head.split(",") if p.strip() != "*"]
    required = [p for p in parameters if "=" not in p]
    if not info["pointwise"] or not all(re.match(r"(Tensor|Number)(\(a!\))? ", p) for p in required):
        return []
    low, high = max(info["low"], -3), min(info["high"], 3)
    margin = (high - low) * 0.02

    def operand(t, shape):
        if info["dtypes"] in INTEGRAL:
            return t.index(2, *shape).bool() if info["dtypes"] == BOOL_ONLY else t.index(6, *shape) + 1
        return t(*shape, low=low + margin, high=high - margin)

    def sample(t):
        return call(*[operand(t, shape) for shape, _ in zip([(2, 3), (3,), (2, 1)], required)])

    return [sample]


def _in(table, schema):
    """The entry of a row, or None: the longest key that its schema begins with, or its name, or that without ``_``."""
    plain = name_of(schema)
    for key in sorted((k for k in table if schema.startswith(k)), key=len, reverse=True):
        if "(" in key or key == plain:
            return table[key]
    if in_place(schema) and plain.endswith("_"):
        return table.get(plain[:-1])
    return None


def calls_of(schema):
    """The calls of a row that are fit to be differentiated."""
    if name_of(schema) in ELSEWHERE:
        return []
    written = _in(CALLS, schema)
    return _pointwise(schema) if written is None else written


@functools.cache
def samples_of(schema):
    """Calls of a row for tests that need no gradients: those above, other written ones, or found by trying. Those of an
    operator in place are the calls of the other form that self has the shape and dtype for."""
    samples = calls_of(schema) or _in(OTHERS, schema) or found_calls(schema)
    return [_with_room(s) for s in samples if _fits(schema, s)] if in_place(schema) else samples


def _with_room(sample):
    """The call with self in the shape of the result, where operands are broadcast."""

    def roomy(t):
        args, kwargs = sample(t)
        try:
            shape = torch.broadcast_shapes(*[a.shape for a in args if isinstance(a, torch.Tensor)])
            return (args[0].expand(shape).clone(), *args[1:]), kwargs
        except (RuntimeError, AttributeError):
            return args, kwargs

    return roomy


def _fits(schema, sample):
    args, kwargs = _with_room(sample)(Source(schema))
    kwargs = {k: v for k, v in kwargs.items() if k not in ONLY_FOR_GRADIENTS}
    try:
        _C._operator(name_of(schema))(*args, **kwargs)
    except (RuntimeError, TypeError, NotImplementedError):
        return False
    return True


def cases(schema):
    """(args, kwargs) of each sample of a row, made anew in each call."""
    for number, sample in enumerate(samples_of(schema)):
        args, kwargs = sample(Source(f"{schema} {number}"))
        yield args, {k: v for k, v in kwargs.items() if k not in ONLY_FOR_GRADIENTS}


__all__ = ["CALLS", "ELSEWHERE", "INFO", "Source", "call", "calls_of", "cases", "in_place", "name_of", "samples_of"]
