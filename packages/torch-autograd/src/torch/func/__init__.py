"""Functions that make functions: gradients, Jacobians and batches of functions of tensors.

>>> import torch
>>> torch.func.grad(torch.sin)(torch.tensor(0.0))
tensor(1.)
>>> torch.func.vmap(torch.dot)(torch.eye(2), torch.ones(2, 2))
tensor([1., 1.])
"""

from __future__ import annotations

from torch._seams import need as _need

from ._functionalize import functionalize
from ._grad import grad, grad_and_value, vjp
from ._jacobian import hessian, jacfwd, jacrev
from ._jvp import jvp, linearize
from ._rearrange import rearrange
from ._vmap import debug_unwrap, vmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_OF_MODULES = ("replace_all_batch_norm_modules_", "stack_module_state")

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with the tensors of a dict, or of several that share no name, in place of its own.

    ValueError for a name in two dicts, RuntimeError for names that the module has not when ``strict``.

    >>> layer = torch.nn.Linear(1, 1)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 1), "bias": torch.ones(1)}, torch.ones(1))
    tensor([2.])
    """
    _need("nn")
    from torch.nn.utils.stateless import functional_call as call

    return call(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict)


def __getattr__(name):
    if name in _OF_MODULES:
        _need("nn")
        from torch.nn.utils import stateless

        globals()[name] = found = getattr(stateless, name)
        return found
    raise AttributeError(f"module 'torch.func' has no attribute {name!r}")
