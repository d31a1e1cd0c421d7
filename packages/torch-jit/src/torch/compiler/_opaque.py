"""Calls that a program makes as they are: of an ``autograd.Function``, whose derivative is its own."""

from __future__ import annotations

import sys

import torch
from torch._seams import OpOverload, OpOverloadPacket
from torch.jit import _ir as ir

from ._guards import is_plain
from ._tables import tensors_in


def applied(observer, args, kwargs):
    """``Function.apply``: a node that calls it with the tensors of the graph; all other arguments are constants."""
    kind, *given = args
    at = [i for i, value in enumerate(given) if isinstance(value, torch.Tensor)]
    why = _unfit(observer, given, at, kwargs)
    if why:
        observer.stop(f"{kind.__name__}.apply() {why}")
        return kind.apply(*given, **kwargs)
    before = unwatched(observer, lambda: [_content(given[i]) for i in at])
    result = unwatched(observer, lambda: kind.apply(*given))
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(r, torch.Tensor) and not any(r is given[i] for i in at) for r in results):
        observer.stop(f"{kind.__name__}.apply() gives something else than new tensors")
    if not unwatched(observer, lambda: all(_unchanged(given[i], b) for i, b in zip(at, before))):
        observer.stop(f"{kind.__name__}.apply() writes to its arguments")
    if observer.reason is None:
        _noted(observer, kind, given, at, result, results)
    return result


def _content(tensor):
    """What tells whether a tensor is written to: how often it was, or a copy where nobody counts."""
    return tensor.detach().clone() if tensor.is_inference() else tensor._version


def _unchanged(tensor, before):
    if not tensor.is_inference():
        return tensor._version == before
    return bool(((tensor == before) | (tensor != tensor)).all())


def registered(observer, function, args, kwargs):
    """An operator of ``torch.ops`` or ``torch.library``: recorded as what it is, whatever its functions do."""
    from ._observer import _thread

    operator, numbers = getattr(function, "_opoverload", function), observer.numbers
    args, kwargs = tuple(map(numbers, args)), {k: numbers(v) for k, v in kwargs.items()}
    before = _thread.observer, observer.working, observer.in_operator
    _thread.observer, observer.working, observer.in_operator = None, True, True
    try:
        result = operator(*args, **kwargs)
    finally:
        _thread.observer, observer.working, observer.in_operator = before
    if result is not None and not any(True for _ in tensors_in(result)):
        observer.stop(f"{operator} gives a {type(result).__name__}")
    return result


def is_registered(kind):
    """Whether a class is that of operators of ``torch.ops``, or of one that ``torch.library`` made."""
    library = sys.modules.get("torch.library")
    return issubclass(kind, (OpOverload, OpOverloadPacket, *((library.CustomOpDef,) if library else ())))


def _unfit(observer, given, at, kwargs):
    if kwargs or not at:
        return "is called without tensors, or with arguments by name"
    for i, value in enumerate(given):
        if i in at:
            if not observer.tracer.has_value(value):
                return "takes a tensor that is not recorded"
        elif any(True for _ in tensors_in(value)):
            return "takes tensors within others"
        elif not is_plain(value) and id(value) not in observer.outside and not isinstance(value, type):
            return f"takes a {type(value).__qualname__}"
    return None


def unwatched(observer, run):
    """A call of which nothing is recorded, and nothing seen: what it reads it reads at each call again."""
    from ._observer import _thread

    recording = ir._native.Recording(None)
    before = _thread.observer, observer.working, observer.reason
    _thread.observer, observer.working, observer.reason = (
        None,
        True,
        "run aside",
    )  # functions that tell it ask for a reason
    try:
        return run()
    finally:
        _thread.observer, observer.working, observer.reason = before
        recording.end()


def _noted(observer, kind, given, at, result, results):
    observer.where()  # the mode of gradients that it runs in
    single = not isinstance(result, tuple)
    casts, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    def apply(*tensors):
        values = list(given)
        for i, tensor in zip(at, tensors):
            values[i] = tensor
        if casts:
            with torch.autocast("cpu", dtype=dtype):
                out = kind.apply(*values)
        else:
            out = kind.apply(*values)
        return out if single or len(out) > 1 else out[0]

    apply.__name__ = apply.__qualname__ = f"{kind.__name__}_apply"
    graph = observer.graph
    node = graph.create("prim::PythonOp", [observer.tracer.value_of(given[i]) for i in at], len(results))
    node.ival_("pyobj", apply)
    node.s_("name", kind.__qualname__)
    graph.insertNode(node)
    for tensor, out in zip(results, node.outputs()):
        out.setType(ir.TensorType.get())
        observer.tracer.set_value(tensor, out)
        observer.tensors.add(id(tensor))
        observer.kept.append(tensor)
    for i in at:
        given[i] = None  # the program keeps no tensor of its first call
