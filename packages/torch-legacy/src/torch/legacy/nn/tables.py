"""Tables: lists of tensors and of tables, in which modules of several inputs and outputs deal."""

import torch

__all__ = [
    "addSingletondimension",
    "clear",
    "contiguousView",
    "recursiveAdd",
    "recursiveCopy",
    "recursiveFill",
    "recursiveResizeAs",
    "recursiveType",
]


def each(function, table):
    """A table of the same form with a function of each tensor."""
    if isinstance(table, (list, tuple)):
        return [each(function, t) for t in table]
    return function(table)


def leaves(table):
    """The tensors of a table, one after the other."""
    if isinstance(table, (list, tuple)):
        return [leaf for t in table for leaf in leaves(t)]
    return [table]


def formed_as(table, values):
    """The reverse of :func:`leaves`: the values in the form of a table."""
    values = iter(values)
    return each(lambda _: next(values), table)


def recursiveType(param, type, tensorCache=None):
    """Tensors converted to a type, in lists, dictionaries, modules and criterions; ``tensorCache`` keeps what is shared
    shared."""
    from .criterion import Criterion
    from .module import Module

    cache = {} if tensorCache is None else tensorCache
    if isinstance(param, list):
        for i, p in enumerate(param):
            param[i] = recursiveType(p, type, cache)
    elif isinstance(param, dict):
        for key, p in param.items():
            param[key] = recursiveType(p, type, cache)
    elif isinstance(param, (Module, Criterion)):
        param.type(type, cache)
    elif isinstance(param, torch.Tensor) and param.is_floating_point() and param.type() != type:
        if id(param) not in cache:
            cache[id(param)] = param.type(type), param  # the original too, so that its id stays its own
        return cache[id(param)][0]
    return param


def recursiveResizeAs(t1, t2):
    """``t1`` in the form and shapes of ``t2``, with whatever values; both."""
    if isinstance(t2, (list, tuple)):
        t1 = list(t1) if isinstance(t1, (list, tuple)) else [t1]
        t1 = (t1 + [t2[i].new() if isinstance(t2[i], torch.Tensor) else [] for i in range(len(t1), len(t2))])[: len(t2)]
        return [recursiveResizeAs(a, b)[0] for a, b in zip(t1, t2)], t2
    if not isinstance(t2, torch.Tensor):
        raise RuntimeError(f"recursiveResizeAs: expected tensors or lists of them, got {type(t1)} and {type(t2)}")
    t1 = t1 if isinstance(t1, torch.Tensor) else t2.new()
    return t1.resize_(t2.shape), t2


def recursiveFill(t2, val):
    """Every tensor filled with a number, in place."""
    return each(lambda t: t.fill_(val), t2)


def recursiveAdd(t1, val=1, t2=None):
    """``t1 += val * t2`` in place; ``t1 += t2`` when ``val`` is a table; both."""
    if t2 is None:
        val, t2 = 1, val
    for a, b in zip(leaves(t1), leaves(t2)):
        a.add_(b, alpha=val)
    return t1, t2


def recursiveCopy(t1, t2):
    """``t2``'s values into ``t1``, which takes its form; both."""
    t1, t2 = recursiveResizeAs(t1, t2)
    for a, b in zip(leaves(t1), leaves(t2)):
        a.copy_(b)
    return t1, t2


def addSingletondimension(*args):
    """``(tensor, dim)``: a view with a dim of size 1; ``(out, tensor, dim)`` writes it to a tensor."""
    *out, tensor, dim = args
    if not 0 <= dim <= tensor.dim():
        raise RuntimeError(f"addSingletondimension: dim must be from 0 to {tensor.dim()}, got {dim}")
    view = tensor.unsqueeze(dim)
    return out[0].set_(view) if out else view


def contiguousView(output, input, *args):
    """A view of ``input`` in a shape, or of its contiguous copy."""
    if output is None:
        output = input.new()
    source = input if input.is_contiguous() else input.contiguous()
    shape = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    return output.set_(source.view(shape))


def clear(self, *args):
    """Empty tensors in place of the named attributes, tables included; the object itself."""
    names = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    for name in names:
        value = getattr(self, name, None)
        if isinstance(value, torch.Tensor):
            setattr(self, name, value.new())
        elif isinstance(value, (list, tuple)):
            setattr(self, name, [])
        else:
            setattr(self, name, None)
    return self
