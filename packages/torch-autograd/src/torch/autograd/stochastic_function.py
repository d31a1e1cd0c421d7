"""A name of 2017: functions that draw samples and were given a reward afterwards."""

from __future__ import annotations

from .function import Function

__all__ = ["StochasticFunction"]


class StochasticFunction(Function):
    """Says what took its place: a log probability times the reward, as any other loss.

    >>> torch.autograd.stochastic_function.StochasticFunction()
    Traceback (most recent call last):
        ...
    RuntimeError: StochasticFunction was removed in 0.4: draw a sample, and ca...
    """

    def __init__(self) -> None:
        raise RuntimeError(
            "StochasticFunction was removed in 0.4: draw a sample, and call backward() on -log_prob(sample) * reward"
        )
