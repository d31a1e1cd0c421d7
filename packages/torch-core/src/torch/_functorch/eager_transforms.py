"""The transformations of ``torch.func`` under the name of PyTorch's own module."""

from __future__ import annotations

NAMES = ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap")


def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(f"module 'torch._functorch.eager_transforms' has no attribute {name!r}")
    from .. import func

    return getattr(func, name)


def __dir__():
    return list(NAMES)
