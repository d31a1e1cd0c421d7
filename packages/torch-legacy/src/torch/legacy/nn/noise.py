"""Random layers, which keep their noise for backward, and a penalty."""

import torch

from .module import InPlace, Module

__all__ = ["Dropout", "L1Penalty", "RReLU", "SpatialDropout", "VolumetricDropout"]


class Dropout(InPlace):
    """Elements are zero with probability ``p``, the others are divided by ``1 - p``; nothing happens after ``evaluate()``.

    >>> nn = torch.legacy.nn
    >>> layer = nn.Dropout(0.5)
    >>> layer.forward(torch.ones(1000)).unique()
    tensor([0., 2.])
    """

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"{self}: p must be at least 0 and below 1, got {p}")
        self.p, self.inplace = p, inplace
        self.noise = torch.Tensor()

    def setp(self, p):
        self.p = p

    def _noise_shape(self, input):
        return input.shape

    def updateOutput(self, input):
        if self.train:
            chance = torch.full(self._noise_shape(input), 1 - self.p, dtype=input.dtype, device=input.device)
            self.noise = torch.bernoulli(chance) / self._kept_scale()
        return super().updateOutput(input)

    def _kept_scale(self):
        return 1 - self.p

    def _formula(self, input):
        return input * self.noise if self.train else input * 1


class SpatialDropout(Dropout):
    """Whole planes are zero with probability ``p``; after ``evaluate()`` all are multiplied by ``1 - p``.

    >>> nn = torch.legacy.nn
    >>> layer = nn.SpatialDropout()
    >>> layer.forward(torch.ones(1, 100, 2, 2)).shape
    torch.Size([1, 100, 2, 2])
    """

    nDim = 4

    def __init__(self, p=0.5):
        super().__init__(p)

    def _noise_shape(self, input):
        if input.dim() not in (self.nDim - 1, self.nDim):
            raise RuntimeError(f"{self}: expected {self.nDim - 1} or {self.nDim} dims, got shape {tuple(input.shape)}")
        planes = input.dim() - self.nDim + 2
        return (*input.shape[:planes], *(1,) * (self.nDim - 2))

    def _kept_scale(self):
        return 1

    def _formula(self, input):
        return input * self.noise if self.train else input * (1 - self.p)


class VolumetricDropout(SpatialDropout):
    """The same for planes of volumes.

    >>> nn = torch.legacy.nn
    >>> layer = nn.VolumetricDropout()
    >>> layer.forward(torch.ones(1, 10, 2, 2, 2)).shape
    torch.Size([1, 10, 2, 2, 2])
    """

    nDim = 5


class RReLU(InPlace):
    """x above 0, else x times a slope uniform on [lower, upper]; the middle slope after ``evaluate()``.

    >>> nn = torch.legacy.nn
    >>> layer = nn.RReLU(0.25, 0.25)
    >>> layer.forward(torch.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000])
    """

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        if not 0 <= lower <= upper:
            raise ValueError(f"{self}: expected 0 <= lower <= upper, got {lower} and {upper}")
        self.lower, self.upper, self.inplace = lower, upper, inplace
        self.noise = torch.Tensor()

    def updateOutput(self, input):
        if self.train:
            self.noise = torch.empty_like(input).uniform_(self.lower, self.upper)
        return super().updateOutput(input)

    def _formula(self, input):
        slope = self.noise if self.train else (self.lower + self.upper) / 2
        return torch.where(input > 0, input, input * slope)


class L1Penalty(Module):
    """The identity, whose gradient has that of ``l1weight * sum(|x|)`` added; the penalty is in ``loss``.

    >>> nn = torch.legacy.nn
    >>> layer = nn.L1Penalty(0.5)
    >>> _ = layer.forward(torch.tensor([-1.0, 2.0]))
    >>> layer.loss
    1.5
    """

    def __init__(self, l1weight, sizeAverage=False, provideOutput=True):
        super().__init__()
        self.l1weight, self.sizeAverage, self.provideOutput = l1weight, sizeAverage, provideOutput

    def _weight(self, input):
        return self.l1weight / input.numel() if self.sizeAverage else self.l1weight

    def updateOutput(self, input):
        self.loss = self._weight(input) * input.abs().sum().item()
        self.output = input
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = input.sign() * self._weight(input)
        if self.provideOutput:
            self.gradInput = self.gradInput + gradOutput
        return self.gradInput
