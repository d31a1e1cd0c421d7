"""The transformations of ``torch.func`` under the name of PyTorch's own module."""

from __future__ import annotations

from .._lazy import later

NAMES = ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap")


__getattr__, __dir__ = later(globals(), names=dict.fromkeys(NAMES, "func"), base="torch")
