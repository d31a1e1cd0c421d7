"""The state of an optimizer that has made no step: what a checkpoint holds needs places to be loaded into."""

import contextlib

import torch

from ..optim import ZeroRedundancyOptimizer

__all__ = ["begun"]

#: Their steps need more than gradients of zeros.
LEFT_OUT = (torch.optim.LBFGS, torch.optim.SparseAdam, ZeroRedundancyOptimizer)


@contextlib.contextmanager
def begun(optimizer):
    """A block in which the optimizer has a state: its own, or the one that a step without gradients and rate makes."""
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if optimizer.state or isinstance(optimizer, LEFT_OUT) or any(p.grad is not None for p in parameters):
        yield
        return
    groups = [group for group in optimizer.param_groups if "lr" in group]
    rates = [group["lr"] for group in groups]
    for group, rate in zip(groups, rates, strict=True):
        group["lr"] = torch.zeros_like(rate) if isinstance(rate, torch.Tensor) else 0.0
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    try:
        optimizer.step()
        yield
    finally:
        for group, rate in zip(groups, rates, strict=True):
            group["lr"] = rate
        for parameter in parameters:
            parameter.grad = None
        optimizer.state.clear()
