"""How losses are summed up: ``reduction='none' | 'mean' | 'sum'``, and the booleans of 2018 that said the same."""

import warnings

__all__ = ["NONE", "MEAN", "SUM", "code", "legacy", "reduce_loss"]

NONE, MEAN, SUM = 0, 1, 2


class _Codes(dict):
    def __missing__(self, reduction):
        if reduction == "elementwise_mean":
            warnings.warn(
                "reduction='elementwise_mean' is deprecated, please use reduction='mean' instead.", stacklevel=4
            )
            return MEAN
        raise ValueError(f"{reduction!r} is not a valid value for reduction: use 'none', 'mean' or 'sum'")


_codes = _Codes(none=NONE, mean=MEAN, sum=SUM)


def legacy(size_average, reduce, stacklevel=4, warn=True):
    """The ``reduction`` that 2018's ``size_average`` and ``reduce`` spelt."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = "none" if not reduce else "mean" if size_average else "sum"
    if warn:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=stacklevel,
        )
    return reduction


def code(size_average, reduce, reduction):
    """The number that the operators take for ``reduction``."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    return _codes[reduction]


def reduce_loss(loss, reduction):
    """Sum up a loss given element by element; ``reduction`` is a number from :func:`code`."""
    return loss.mean() if reduction == MEAN else loss.sum() if reduction == SUM else loss
