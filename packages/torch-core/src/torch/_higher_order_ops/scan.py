"""A loop over slices that carries a value, and the operator that it is in graphs."""

from .._operators.loops import scan
from .._ops import HigherOrderOperator

__all__ = ["ScanOp", "scan", "scan_op"]


class ScanOp(HigherOrderOperator):
    """``scan_op(graph, init, xs, more)``: lists of tensors; the graph gets the carry, slices of ``xs``, and ``more``."""

    def __call__(self, combine_fn, init, xs, additional_inputs=()):
        def combine(carry, slices):
            found = combine_fn(*carry, *slices, *additional_inputs)
            return list(found[: len(carry)]), list(found[len(carry) :])

        carry, results = scan(combine, list(init), list(xs))
        return (*carry, *results)


scan_op = ScanOp("scan")
