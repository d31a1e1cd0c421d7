"""Tensors with as many rows as values say: ``x.nonzero()``, ``x[mask]``, ``torch.unique(x)``. A program that is wanted whole takes them, as long as it asks
nothing of their number: a size that is read makes the observation void.
"""

from __future__ import annotations

import functools
import re
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
        if observer.takes_numbers:  # there is a run after this one, in which such a size is a value
            observer.first_read = observer.first_read or observer.frames_of(sys._getframe(3))
            return False
        observer.stop("the size of a tensor is read that values decide", sys._getframe(3))
        return True

    def follows(self, value):
        """Whether a value of the graph is computed from one whose size values decide, or is a number that was read of one."""
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
            if finds(node, self.observer.dtypes) or _reads(node):
                known[number] = True
            elif left := [v for v in inputs if v.unique() not in known]:
                open_ += left
            else:
                known[number] = any(known[v.unique()] for v in _of_size(node, inputs))
        return known[value.unique()]


def finds(node, dtypes):
    """Whether a node, or one within, gives as many rows as values say."""
    kind = node.kind()
    if kind.startswith("aten::") and kind[6:] in FINDING:
        return True
    if kind == "aten::where":
        return node.inputsSize() == 1
    if kind == "aten::one_hot":
        return node.inputsAt(1).toIValue() == -1
    if kind == "aten::repeat_interleave":  # without an output_size, which stands last
        return _is_repeated(node) and list(node.inputs())[-1].type().kind() == "NoneType"
    if kind == "aten::index" and not all(counts(v, dtypes) for v in _parts(node.inputsAt(1))):
        return True
    return any(finds(inner, dtypes) for block in node.blocks() for inner in block.nodes())


def _is_repeated(node):
    """Whether the counts of a repetition stand in a tensor."""
    return node.inputsSize() == 2 or node.inputsAt(1).type().kind() == "TensorType"


def takes_apart(node):
    """Whether a node takes a list apart that has as many tensors as a tensor has dims, whatever their sizes are."""
    made = node.inputsAt(0).node()
    return made.kind() == "aten::nonzero_tuple" or (made.kind() == "aten::where" and made.inputsSize() == 1)


def _reads(node):
    """Whether a node reads a number of a tensor."""
    return node.kind() in ("aten::Int", "aten::Float", "aten::Bool") and (
        node.inputsAt(0).type().kind() == "TensorType" and node.inputsAt(0).node().kind() != "prim::NumToTensor"
    )


#: how many inputs of a node say whether its blocks run
_CONDITIONS = {"prim::If": 1, "prim::Loop": 2}


def _of_size(node, inputs):
    """The inputs of a node that its size may follow from: not the numbers that it computes with, and not conditions."""
    if node.kind() in _CONDITIONS:
        return inputs[_CONDITIONS[node.kind()] :]
    if node.kind() in ("aten::arange", "aten::range") or node.kind().startswith("prim::") or node.outputsSize() != 1:
        return inputs
    kinds = _kinds(str(node.schema())) if node.output().type().kind() == "TensorType" else ()
    return [v for v, kind in zip(inputs, kinds) if kind not in ("Scalar", "float")] if kinds else inputs


@functools.cache
def _kinds(schema):
    """The types of the parameters of a schema, without ``?`` and lengths of lists."""
    inside = _LENGTHS.sub("", schema[schema.index("(") + 1 : schema.rindex(" -> ") - 1])
    return [each.partition(" ")[0] for each in inside.split(", ") if each not in ("", "*")]


_LENGTHS = re.compile(r"\[[^\]]*\]|\?")


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
