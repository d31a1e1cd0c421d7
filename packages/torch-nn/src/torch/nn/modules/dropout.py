"""Dropout layers: active in training, the identity in evaluation."""

from __future__ import annotations

from ._function import Function
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    _function = None

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Each element is zero with probability ``p``, else divided by ``1 - p`` (Hinton 2012).

    >>> torch.nn.Dropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    _function = Function("dropout")


class Dropout1d(_DropoutNd):
    """Drops whole channels of (N, C, L)."""

    _function = Function("dropout1d")


class Dropout2d(_DropoutNd):
    """Drops whole channels of (N, C, H, W): neighbouring pixels are too alike for dropping single ones (Tompson 2015).

    >>> channels = torch.nn.Dropout2d(0.5)(torch.ones(1, 100, 4, 4))
    >>> channels.unique(), channels.amin((2, 3)).equal(channels.amax((2, 3)))
    (tensor([0., 2.]), True)
    """

    _function = Function("dropout2d")


class Dropout3d(_DropoutNd):
    """Drops whole channels of (N, C, D, H, W).

    >>> torch.nn.Dropout3d(0.5).eval()(torch.ones(1, 2, 1, 1, 1)).flatten()
    tensor([1., 1.])
    """

    _function = Function("dropout3d")


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1, for SELU networks (Klambauer 2017).

    >>> layer = torch.nn.AlphaDropout(p=0.2)
    >>> layer.eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    _function = Function("alpha_dropout")


class FeatureAlphaDropout(_DropoutNd):
    """:class:`AlphaDropout` of whole channels."""

    _function = Function("feature_alpha_dropout")
