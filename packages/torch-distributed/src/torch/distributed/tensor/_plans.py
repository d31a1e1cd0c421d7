"""How an operator is computed on pieces: each dim of its tensors has a label, and a mesh cuts along labels.

``i k, k j -> i j`` is a product.  Cut along ``i``, each rank has rows of the first factor and all of the second, and gets
rows of the product; cut along ``k``, which no result has, it gets a summand of the product.  A dim without a label (None)
stays whole.  For every dim of the mesh the way is taken that moves the least.
"""

from dataclasses import dataclass, field

import torch

from ._dtensor import wrap
from ._layout import Spec, local_layout
from ._redistribute import Enter, redistribute
from .placement_types import Partial, Replicate, Shard

__all__ = ["Plan", "carry_out"]


@dataclass
class Plan:
    """What is computed of which tensors.

    ``labels`` has a tuple for each operand, ``results`` a shape and a tuple for each result, ``run`` computes the pieces
    of the results from those of the operands, given with ``sized`` also the shapes that they shall have.  Labels in
    ``sums`` are summed over; with ``linear``, one operand may be summands.
    """

    operands: list
    labels: list
    results: list
    run: object
    sums: frozenset = frozenset()
    linear: bool = False
    sized: bool = False
    several: bool = field(default=False)

    def allows(self, label) -> bool:
        """Whether the operator can be cut along a label."""
        lengths = {
            operand._spec.shape[dim]
            for operand, labels in zip(self.operands, self.labels, strict=True)
            for dim, one in enumerate(labels)
            if one == label
        }
        return len(lengths) == 1 and (label in self.sums or all(label in labels for _, labels in self.results))


@dataclass(frozen=True)
class _Summands:
    """The way in which operand ``index`` stays summands."""

    index: int


def _required(labels, index, way):
    """How an operand lies along a dim of the mesh for a way, and whether ranks use it for parts of the result."""
    if way is None:
        return Replicate(), False
    if isinstance(way, _Summands):
        return (Partial(), False) if way.index == index else (Replicate(), True)
    return (Shard(labels.index(way)), False) if way in labels else (Replicate(), True)


def _cost(current, wanted, elements):
    """What a change moves, in elements."""
    if current == wanted or (isinstance(current, Replicate) and not isinstance(wanted, Partial)):
        return 0
    return 2 * elements if isinstance(current, Partial) and isinstance(wanted, Replicate) else elements


def _ways(plan, dim):
    """The ways that are near to how the operands lie along a dim of the mesh; the first of equals is taken."""
    ways = {}
    for index, (operand, labels) in enumerate(zip(plan.operands, plan.labels, strict=True)):
        placement = operand._spec.placements[dim]
        if isinstance(placement, Shard):
            label = labels[placement.dim]
            if label is not None and plan.allows(label):
                ways[label] = None
        elif placement == Partial() and plan.linear:
            ways[_Summands(index)] = None
    ways[None] = None
    return ways


def _choose(plan, dim):
    def cost(way):
        return sum(
            _cost(operand._spec.placements[dim], _required(labels, index, way)[0], operand._spec.shape.numel())
            for index, (operand, labels) in enumerate(zip(plan.operands, plan.labels, strict=True))
        )

    return min(_ways(plan, dim), key=cost)


def _placement(labels, way):
    """How a result lies along a dim of the mesh."""
    if way is None:
        return Replicate()
    return Shard(labels.index(way)) if way in labels else Partial()


def carry_out(plan: Plan):
    """The results of a plan, as DTensors: one, or a tuple if there are ``several``."""
    mesh = plan.operands[0]._spec.mesh
    ways = [_choose(plan, dim) for dim in range(mesh.ndim)]
    pieces = []
    for index, (operand, labels) in enumerate(zip(plan.operands, plan.labels, strict=True)):
        required = [_required(labels, index, way) for way in ways]
        piece = redistribute(operand.to_local(), operand._spec, [placement for placement, _ in required])
        if torch.is_grad_enabled() and piece.requires_grad:
            for dim, (_, shared) in enumerate(required):
                if shared:
                    piece = Enter.apply(piece, mesh.get_group(dim))
        pieces.append(piece)
    specs = [
        Spec(mesh, tuple(_placement(labels, way) for way in ways), torch.Size(shape)) for shape, labels in plan.results
    ]
    if plan.sized:
        made = plan.run(*pieces, sizes=[local_layout(spec.shape, mesh, spec.placements)[0] for spec in specs])
    else:
        made = plan.run(*pieces)
    if not plan.several:
        return wrap(made, specs[0])
    return tuple(wrap(one, spec) for one, spec in zip(made, specs, strict=True))
