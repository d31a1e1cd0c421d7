"""Tensors with as many rows as values say: ``x.nonzero()``, ``x[mask]``. A program that is wanted whole takes them, as long as it asks
nothing of their number: a size that is read makes the observation void.
"""

from __future__ import annotations

import sys

import torch

from ._tables import FINDING

__all__ = ["Found", "counts", "finds"]


class Found:
    """Stands where sizes are watched (:mod:`._sizes`), for a run whose sizes do not change."""

    inside = 0

    def __init__(self, observer):
        self.observer, self._follows = observer, {}  # number of a value -> whether its size follows from values

    def concerns(self, tensor):
        """Whether a size is read that only values tell: then the observation is void."""
        observer = self.observer
        if not tensor.dim() or not self.follows(observer.tracer.value_of(tensor)):
            return False
        observer.stop("the size of a tensor is read that values decide", sys._getframe(3))
        return True

    def follows(self, value):
        """Whether a value of the graph is computed from one whose size values decide."""
        open_, known = [value], self._follows
        while open_:
            at = open_[-1]
            number, node = at.unique(), at.node()
            if number in known:
                open_.pop()
                continue
            if node.kind() == "prim::Param":
                known[number] = False
                continue
            inputs = list(node.inputs())
            if finds(node, self.observer.dtypes):
                known[number] = True
            elif left := [v for v in inputs if v.unique() not in known]:
                open_ += left
            else:
                known[number] = any(known[v.unique()] for v in inputs)
        return known[value.unique()]


def finds(node, dtypes):
    """Whether a node, or one within, gives as many rows as values say."""
    kind = node.kind()
    if kind.startswith("aten::") and kind[6:] in FINDING:
        return True
    if kind == "aten::index" and not all(counts(v, dtypes) for v in _parts(node.inputsAt(1))):
        return True
    return any(finds(inner, dtypes) for block in node.blocks() for inner in block.nodes())


def counts(value, dtypes):
    """Whether a tensor among indices stands for as many elements as it has; a mask does not."""
    kind = value.type()
    if kind.kind() == "NoneType":
        return True
    if kind.kind() != "TensorType":
        return False
    return dtypes.get(value.unique(), kind.dtype()) not in (None, torch.bool, torch.uint8)


def _parts(value):
    node = value.node()
    return node.inputs() if node.kind() == "prim::ListConstruct" else [value]
