"""``torch.while_loop``, and the operator that it is in graphs."""

from .._operators.loops import while_loop
from .._ops import HigherOrderOperator

__all__ = ["WhileLoopOp", "while_loop", "while_loop_op"]


class WhileLoopOp(HigherOrderOperator):
    """``while_loop_op(cond_graph, body_graph, carried, more)``: both graphs get ``more`` behind what is carried."""

    def __call__(self, cond_fn, body_fn, carried_inputs, additional_inputs=()):
        def asked(*values):
            found = cond_fn(*values)
            return found[0] if isinstance(found, (tuple, list)) else found

        return while_loop(asked, body_fn, carried_inputs, additional_inputs)


while_loop_op = WhileLoopOp("while_loop")
