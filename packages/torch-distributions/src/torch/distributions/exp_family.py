"""Exponential families: densities ``exp(<t(x), theta> - F(theta) + k(x))``."""

from __future__ import annotations

import torch

from .distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution that tells its natural parameters theta and its log normaliser F.

    Entropy and the divergence of two members of one family follow from F by automatic differentiation
    (Nielsen and Nock, "Entropies and cross-entropies of exponential families", 2010).

    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        """The natural parameters, a tuple of tensors."""
        raise NotImplementedError(f"{type(self).__name__}._natural_params")

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError(f"{type(self).__name__}._log_normalizer")

    @property
    def _mean_carrier_measure(self):
        """The expectation of k(x)."""
        raise NotImplementedError(f"{type(self).__name__}._mean_carrier_measure")

    def entropy(self) -> Tensor:
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        with torch.enable_grad():
            normaliser = self._log_normalizer(*natural)
            slopes = torch.autograd.grad(normaliser.sum(), natural, create_graph=True)
        result = normaliser - self._mean_carrier_measure
        for p, slope in zip(natural, slopes):
            result = result - (p * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
