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
    shared.

    >>> nn = torch.legacy.nn
    >>> nn.recursiveType([torch.ones(1), [torch.ones(1)]], torch.DoubleTensor)
    [tensor([1.], dtype=torch.float64), [tensor([1.], dtype=torch.float64)]]
    """
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
    """``t1`` in the form and shapes of ``t2``, with whatever values; both.

    >>> nn = torch.legacy.nn
    >>> table, _ = nn.recursiveResizeAs([torch.empty(0)], [torch.ones(2, 3)])
    >>> table[0].shape
    torch.Size([2, 3])
    """
    if isinstance(t2, (list, tuple)):
        t1 = list(t1) if isinstance(t1, (list, tuple)) else [t1]
        t1 = (t1 + [t2[i].new() if isinstance(t2[i], torch.Tensor) else [] for i in range(len(t1), len(t2))])[: len(t2)]
        return [recursiveResizeAs(a, b)[0] for a, b in zip(t1, t2)], t2
    if not isinstance(t2, torch.Tensor):
        raise RuntimeError(f"recursiveResizeAs: expected tensors or lists of them, got {type(t1)} and {type(t2)}")
    t1 = t1 if isinstance(t1, torch.Tensor) else t2.new()
    return t1.resize_(t2.shape), t2


def recursiveFill(t2, val):
    """Every tensor filled with a number, in place.

    >>> nn = torch.legacy.nn
    >>> table = [torch.empty(1), [torch.empty(2)]]
    >>> nn.recursiveFill(table, 7)
    [tensor([7.]), [tensor([7., 7.])]]
    >>> table
    [tensor([7.]), [tensor([7., 7.])]]
    """
    return each(lambda t: t.fill_(val), t2)


def recursiveAdd(t1, val=1, t2=None):
    """``t1 += val * t2`` in place; ``t1 += t2`` when ``val`` is a table; both.

    >>> nn = torch.legacy.nn
    >>> table, _ = nn.recursiveAdd([torch.ones(1), [torch.ones(1)]], 2, [torch.ones(1), [torch.ones(1)]])
    >>> table
    [tensor([3.]), [tensor([3.])]]
    """
    if t2 is None:
        val, t2 = 1, val
    for a, b in zip(leaves(t1), leaves(t2)):
        a.add_(b, alpha=val)
    return t1, t2


def recursiveCopy(t1, t2):
    """``t2``'s values into ``t1``, which takes its form; both.

    >>> nn = torch.legacy.nn
    >>> table, _ = nn.recursiveCopy([torch.empty(1)], [torch.ones(1)])
    >>> table
    [tensor([1.])]
    """
    t1, t2 = recursiveResizeAs(t1, t2)
    for a, b in zip(leaves(t1), leaves(t2)):
        a.copy_(b)
    return t1, t2


def addSingletondimension(*args):
    """``(tensor, dim)``: a view with a dim of size 1; ``(out, tensor, dim)`` writes it to a tensor.

    >>> nn = torch.legacy.nn
    >>> nn.addSingletondimension(torch.ones(2, 3), 1).shape
    torch.Size([2, 1, 3])
    """
    *out, tensor, dim = args
    if not 0 <= dim <= tensor.dim():
        raise RuntimeError(f"addSingletondimension: dim must be from 0 to {tensor.dim()}, got {dim}")
    view = tensor.unsqueeze(dim)
    return out[0].set_(view) if out else view


def contiguousView(output, input, *args):
    """A view of ``input`` in a shape, or of its contiguous copy.

    >>> torch.legacy.nn.contiguousView(torch.empty(0), torch.zeros(2, 3).t(), 6).shape
    torch.Size([6])
    """
    if output is None:
        output = input.new()
    source = input if input.is_contiguous() else input.contiguous()
    shape = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    return output.set_(source.view(shape))


def clear(self, *args):
    """Empty tensors in place of the named attributes, tables included; the object itself.

    >>> nn = torch.legacy.nn
    >>> layer = nn.Abs()
    >>> _ = layer.forward(torch.ones(2))
    >>> nn.clear(layer, "output")
    nn.Abs
    >>> layer.output
    tensor([])
    """
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
