"""Spectral normalisation (Miyato 2018): the weight divided by its largest singular value, found by power iteration."""

from __future__ import annotations

import torch

from ..functional import normalize
from ..parameter import Parameter, is_lazy
from .weight_norm import _find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor
    from torch.nn import Module


__all__ = ["remove_spectral_norm", "spectral_norm"]


def as_matrix(weight, dim):
    """``weight`` with ``dim`` first and all other dims joined."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.shape[0], -1)


class SpectralNorm:
    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: Module, iterate: Any) -> Tensor:
        """The weight over ``u^T W v``, after some steps of ``v = W^T u / |.|``, ``u = W v / |.|`` in training."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if iterate:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
                # the next iteration must not change what this graph saved
                u, v = u.clone(), v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def right_vector(self, weight: Tensor, u: Any, sigma: Any) -> Any:
        """The ``v`` with ``u^T W v = sigma`` whose ``W v`` is nearest to a multiple of ``u``."""
        matrix = as_matrix(weight, self.dim)
        v = torch.mv(torch.linalg.pinv(matrix), u)
        return v * (sigma / torch.dot(u, torch.mv(matrix, v)))


class SpectralNormLoadStateDictPreHook:
    """Completes checkpoints of PyTorch 1.0 and before, which hold the divided weight in place of ``v``."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: Any,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        key = prefix + self.fn.name
        if key + "_v" in state_dict or not {key, key + "_orig", key + "_u"} <= state_dict.keys():
            return
        original, divided = state_dict[key + "_orig"], state_dict.pop(key)
        with torch.no_grad():
            sigma = original.norm() / divided.norm()
            state_dict[key + "_v"] = self.fn.right_vector(original, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Notes in the metadata of a state dict which form of spectral norm it holds."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: dict[str, Any], prefix: str, local_metadata: Any) -> None:
        local_metadata.setdefault("spectral_norm", {})[self.fn.name + ".version"] = 1


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide the weight ``name`` by its spectral norm before each forward; returns the module.

    ``dim`` is the dim of the outputs: 1 for transposed convolutions, else 0.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2), n_power_iterations=50)
    >>> y = layer(torch.zeros(1, 3))
    >>> torch.linalg.matrix_norm(layer.weight, 2).round(decimals=2).item()
    1.0
    """
    if _find(module, SpectralNorm, name)[1] is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        from ..modules.conv import _ConvTransposeNd

        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ValueError(f"spectral_norm: parameter {name!r} of {module} has no shape yet: run the module once first")
    with torch.no_grad():
        rows, columns = as_matrix(weight, dim).shape
        u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(SpectralNormStateDictHook(hook))
    module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Any:
    """Make the weight an ordinary parameter again; ValueError when it has no spectral norm. Returns the module.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
    >>> torch.nn.utils.remove_spectral_norm(layer)
    Linear(in_features=3, out_features=2, bias=True)
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    id, hook = _find(module, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    with torch.no_grad():
        weight = hook.compute_weight(module, False).detach()
    delattr(module, name)
    for suffix in ("_u", "_v", "_orig"):
        delattr(module, name + suffix)
    module.register_parameter(name, Parameter(weight))
    del module._forward_pre_hooks[id]
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for id in [id for id, other in hooks.items() if getattr(getattr(other, "hook", other), "fn", None) is hook]:
            del hooks[id]
    return module
