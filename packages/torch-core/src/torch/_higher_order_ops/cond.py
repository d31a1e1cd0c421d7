"""``torch.cond``, and the operator that it is in graphs."""

from .._operators.loops import cond
from .._ops import HigherOrderOperator

__all__ = ["CondOp", "cond", "cond_op"]


class CondOp(HigherOrderOperator):
    """``cond_op(pred, true_graph, false_graph, operands)``: a tuple of what the graph gives."""

    def __call__(self, pred, true_fn, false_fn, operands=()):
        return cond(pred, true_fn, false_fn, operands)


cond_op = CondOp("cond")
