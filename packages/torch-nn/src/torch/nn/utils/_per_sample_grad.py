"""Gradients for each example of a batch, kept beside the parameters."""

import functools

import torch
from torch._pytree import tree_leaves, tree_map
from torch.nn.utils.stateless import functional_call

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(module, *, batch_size=None, loss_reduction="sum", batch_first=True):
    """The module as a function whose backward leaves ``p.grad_sample``, the gradients of a parameter for each example.

    Examples lie along the first dim of every tensor that is given (the second when ``batch_first`` is False).
    ``loss_reduction="mean"`` multiplies by the number of examples, as a mean had divided by it.

    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> call_for_per_sample_grads(layer)(torch.tensor([[1.0], [5.0]])).sum().backward()
    >>> layer.weight.grad_sample.flatten()
    tensor([1., 5.])
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, torch.nn.Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for parameter in module.parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError("Current Tensor has a non-None grad_sample: set it to None before the next call")
    dim = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def run(*args, **kwargs):
        sizes = {t.shape[dim] for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        if batch_size is not None:
            sizes.add(batch_size)
        if len(sizes) != 1:
            raise RuntimeError(f"the batch size cannot be told: dim {dim} of the inputs has sizes {sorted(sizes)}")
        count = sizes.pop()
        names = [name for name, p in module.named_parameters() if p.requires_grad]
        by_name = dict(module.named_parameters())
        # An example sees views of its own row of the copies, whose gradients are those of the example.
        copies = {name: _collected(by_name[name], count, loss_reduction) for name in names}
        results = []
        for i in range(count):
            cut = lambda t: t.narrow(dim, i, 1) if isinstance(t, torch.Tensor) else t  # noqa: B023
            own = {name: copy[i] for name, copy in copies.items()}
            results.append(functional_call(module, own, tree_map(cut, args), tree_map(cut, kwargs)))
        return tree_map(lambda *parts: torch.cat(parts, dim), results[0], *results[1:])

    return run


def _collected(parameter, count, loss_reduction):
    """Copies of a parameter, one for each example, that leave their gradients as ``parameter.grad_sample``."""
    copies = parameter.detach().expand(count, *parameter.shape).clone().requires_grad_()

    def keep(grad):
        grad = grad * count if loss_reduction == "mean" else grad
        before = getattr(parameter, "grad_sample", None)
        parameter.grad_sample = grad if before is None else before + grad

    copies.register_hook(keep)
    return copies
