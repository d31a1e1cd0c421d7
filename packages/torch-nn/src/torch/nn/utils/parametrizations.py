"""Ready-made parametrizations: orthogonal matrices, weight norm, spectral norm."""

from __future__ import annotations

import torch

from ..functional import normalize
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix
from .weight_norm import norm_except_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _Orthogonal(Module):
    """Matrices with orthonormal columns (or rows, where there are fewer), as a function of free ones.

    ``base`` makes the identity map to the matrix that was there, so that training begins with it.
    """

    def __init__(self, weight: Tensor, kind: Any, trivialize: Any) -> None:
        super().__init__()
        if kind == "householder" and weight.is_complex():
            raise ValueError("orthogonal: the householder parametrization does not support complex tensors")
        self.shape = weight.shape
        self.kind = kind
        self.trivialize = trivialize
        if trivialize:
            self.register_buffer("base", None)

    def forward(self, x: Any) -> Tensor:
        tall = x.shape[-2] >= x.shape[-1]
        a = x if tall else x.transpose(-2, -1)
        n, k = a.shape[-2:]
        if self.kind == "householder":
            # H = 1 - 2 v v^T / v^T v for each column v of ones on the diagonal; what is on it says which sign Q's has.
            v = a.tril(-1)
            signs = torch.where(torch.diagonal(a, dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(a.dtype)
            q = torch.linalg.householder_product(v, 2 / (1 + (v * v).sum(-2))) * signs.unsqueeze(-2)
            if self.trivialize and self.base is not None:
                q = self.base @ q
        else:
            lower = a.tril()
            if n != k:
                lower = torch.cat([lower, lower.new_zeros(*a.shape[:-1], n - k)], -1)
            skew = lower - lower.mH
            identity = torch.eye(n, dtype=a.dtype, device=a.device)
            if self.kind == "matrix_exp":
                q = torch.matrix_exp(skew)
            else:  # Cayley's map
                q = torch.linalg.solve(identity - skew / 2, identity + skew / 2)
            if self.trivialize and self.base is not None:
                q = self.base @ q
            q = q[..., :k]
        return q if tall else q.transpose(-2, -1)

    def right_inverse(self, value: Any) -> Tensor:
        if value.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected a matrix or batch of matrices of shape {tuple(self.shape)}, got {tuple(value.shape)}"
            )
        tall = value.shape[-2] >= value.shape[-1]
        a = value if tall else value.transpose(-2, -1)
        n, k = a.shape[-2:]
        if self.kind == "householder" and not self.trivialize:
            reflections, tau = torch.geqrf(a)
            diagonal = torch.diagonal(reflections, dim1=-2, dim2=-1)
            diagonal.copy_(
                torch.where((diagonal < 0) != (tau == 0), -1.0, 1.0)
            )  # without a reflection forward makes one
            return reflections if tall else reflections.transpose(-2, -1)
        if not self.trivialize:
            raise NotImplementedError("only use_trivialization=True can begin with a given matrix")
        q, r = torch.linalg.qr(a, mode="complete")
        q = q.clone()
        q[..., :k] = q[..., :k] * torch.diagonal(r, dim1=-2, dim2=-1).sgn().unsqueeze(-2)
        self.base = q
        start = torch.zeros_like(a)  # every map takes -1 on the diagonal to the identity
        torch.diagonal(start, dim1=-2, dim2=-1).fill_(-1)
        return start if tall else start.transpose(-2, -1)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep the matrix ``name`` orthogonal while it is trained; returns the module.

    ``orthogonal_map``: 'matrix_exp', 'cayley' or 'householder' (the default for matrices that are not square).
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    map_ = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, map_, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> Any:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Any:
    """Train length (``original0``) and direction (``original1``) of the weight apart (Salimans 2016); returns the module."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OfOldWeightNorm(name))
    return module


class _OfOldWeightNorm:
    """Gives what ``nn.utils.weight_norm`` saved of a tensor the names that its parametrization has."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        length, direction = (f"{prefix}{self.name}{suffix}" for suffix in ("_g", "_v"))
        if length in state_dict and direction in state_dict:
            new = f"{prefix}parametrizations.{self.name}.original"
            state_dict[new + "0"], state_dict[new + "1"] = state_dict.pop(length), state_dict.pop(direction)


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim, eps, n_power_iterations
        if weight.dim() > 1:
            matrix = as_matrix(weight.detach(), dim)
            rows, columns = matrix.shape
            self.register_buffer("_u", normalize(matrix.new_empty(rows).normal_(0, 1), dim=0, eps=eps))
            self.register_buffer("_v", normalize(matrix.new_empty(columns).normal_(0, 1), dim=0, eps=eps))
            self._iterate(matrix, 15)

    @torch.no_grad()
    def _iterate(self, matrix, steps):
        for _ in range(steps):
            self._u = normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps)
            self._v = normalize(torch.mv(matrix.mH, self._u), dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / torch.vdot(self._u.clone(), torch.mv(matrix, self._v.clone()))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide the weight by its largest singular value (Miyato 2018); returns the module."""
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    if dim is None:
        from ..modules.conv import _ConvTransposeNd

        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
