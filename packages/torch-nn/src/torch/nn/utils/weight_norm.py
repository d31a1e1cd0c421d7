"""Weight normalisation (Salimans 2016): ``w = g v / |v|``, as a hook that recomputes the weight before each forward."""

from __future__ import annotations

import torch

from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch.nn import Module


__all__ = ["remove_weight_norm", "weight_norm"]


def norm_except_dim(v, dim):
    """The norms of ``v`` over all dims but ``dim``, with those dims kept as 1; ``dim`` -1 or None: over all."""
    return torch.norm_except_dim(v, 2, -1 if dim is None else dim)


class WeightNorm:
    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _find(module, kind, name):
    for id, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return id, hook
    return None, None


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Any:
    """Train length ``name_g`` and direction ``name_v`` of the weight ``name`` apart; returns the module.

    ``dim`` is the dim of the weight that counts the vectors; None treats the whole weight as one vector.

    >>> layer = weight_norm(torch.nn.Linear(20, 40))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (torch.Size([40, 1]), torch.Size([40, 20]))
    """
    if _find(module, WeightNorm, name)[1] is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Any:
    """Make the weight an ordinary parameter again; ValueError when it has no weight norm. Returns the module.

    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    >>> torch.nn.utils.remove_weight_norm(layer)
    Linear(in_features=3, out_features=2, bias=True)
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    id, hook = _find(module, WeightNorm, name)
    if hook is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    weight = hook.compute_weight(module).detach()
    delattr(module, name)
    del module._parameters[name + "_g"]
    del module._parameters[name + "_v"]
    setattr(module, name, Parameter(weight))
    del module._forward_pre_hooks[id]
    return module
