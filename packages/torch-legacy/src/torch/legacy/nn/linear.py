"""Layers with weights, fully connected."""

import math

import torch
from torch.nn import functional as F

from .module import Formula

__all__ = [
    "Add", "BatchNormalization", "Bilinear", "CMul", "Cosine", "Euclidean", "Linear", "LookupTable", "Mul", "PartialLinear",
    "SpatialBatchNormalization", "VolumetricBatchNormalization", "WeightedEuclidean",
]  # fmt: skip


class Weighted(Formula):
    """``reset(stdv)`` draws parameters uniform on (-stdv sqrt(3), stdv sqrt(3)); without stdv on +-``_bound()``."""

    def _create(self, weight, bias=None):
        self.weight, self.gradWeight = torch.zeros(weight), torch.zeros(weight)
        self.bias = self.gradBias = None
        if bias is not None:
            self.bias, self.gradBias = torch.zeros(bias), torch.zeros(bias)
        self.reset()

    def _bound(self):
        return 1 / math.sqrt(self.weight.size(-1))

    def reset(self, stdv=None):
        bound = self._bound() if stdv is None else stdv * math.sqrt(3)
        for name in self._parameters():
            getattr(self, name).uniform_(-bound, bound)
        return self


class Linear(Weighted):
    """``weight x + bias``: (N, inputSize) or (inputSize) to outputSize.

    >>> torch.legacy.nn.Linear(3, 2).forward(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, inputSize, outputSize, bias=True):
        super().__init__()
        self._create((outputSize, inputSize), (outputSize,) if bias else None)

    def noBias(self):
        self.bias = self.gradBias = None
        return self

    def _formula(self, input):
        if input.dim() not in (1, 2):
            raise RuntimeError(f"{self}: expected 1 or 2 dims, got shape {tuple(input.shape)}")
        return F.linear(input, self.weight, self.bias)

    def __repr__(self):
        out, size = self.weight.shape
        return f"nn.{type(self).__name__}({size} -> {out})"


class PartialLinear(Linear):
    """A linear layer of which only the outputs of a partition are computed: ``setPartition(indices)``.

    >>> nn = torch.legacy.nn
    >>> nn.PartialLinear(3, 2).forward(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, inputsize, outputsize, bias=True):
        super().__init__(inputsize, outputsize, bias)
        self.resetPartition()

    def setPartition(self, indices):
        self.partition = torch.as_tensor(indices).long()

    def resetPartition(self):
        self.partition = None

    def _formula(self, input):
        if self.partition is None:
            return super()._formula(input)
        bias = None if self.bias is None else self.bias.index_select(0, self.partition)
        return F.linear(input, self.weight.index_select(0, self.partition), bias)


class Bilinear(Weighted):
    """``x1^T weight_k x2 + bias_k`` of the table [x1, x2].

    >>> nn = torch.legacy.nn
    >>> nn.Bilinear(2, 3, 4).forward([torch.ones(5, 2), torch.ones(5, 3)]).shape
    torch.Size([5, 4])
    """

    def __init__(self, inputSize1, inputSize2, outputSize, bias=True):
        super().__init__()
        self._create((outputSize, inputSize1, inputSize2), (outputSize,) if bias else None)

    def _formula(self, input):
        return F.bilinear(input[0], input[1], self.weight, self.bias)


class Add(Weighted):
    """``x + bias``: one number (``scalar``), or ``inputSize`` of them for each sample.

    >>> nn = torch.legacy.nn
    >>> layer = nn.Add(2)
    >>> layer.bias.fill_(3)
    tensor([3., 3.])
    >>> layer.forward(torch.ones(1, 2))
    tensor([[4., 4.]])
    """

    def __init__(self, inputSize, scalar=False):
        super().__init__()
        self.scalar = scalar
        self.bias = torch.zeros(1 if scalar else inputSize)
        self.gradBias = torch.zeros_like(self.bias)
        self.reset()

    def _bound(self):
        return 1 / math.sqrt(self.bias.numel())

    def _formula(self, input):
        if self.bias.numel() == 1:
            return input + self.bias
        return (input.reshape(-1, self.bias.numel()) + self.bias).view_as(input)


class Mul(Weighted):
    """``weight * x`` with a single weight.

    >>> nn = torch.legacy.nn
    >>> layer = nn.Mul()
    >>> layer.weight.fill_(3.0)
    tensor([3.])
    >>> layer.forward(torch.ones(2))
    tensor([3., 3.])
    """

    def __init__(self):
        super().__init__()
        self._create((1,))

    def _formula(self, input):
        return input * self.weight


class CMul(Weighted):
    """``weight * x`` element by element; the weight's size is that of a sample, or broadcasts to it.

    >>> nn = torch.legacy.nn
    >>> layer = nn.CMul(2)
    >>> layer.weight.fill_(3)
    tensor([3., 3.])
    >>> layer.forward(torch.ones(1, 2))
    tensor([[3., 3.]])
    """

    def __init__(self, *args):
        super().__init__()
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        self.size = torch.Size(size)
        self._create(self.size)

    def _bound(self):
        return 1 / math.sqrt(self.weight.numel())

    def _formula(self, input):
        n = self.weight.numel()
        if input.numel() % n == 0 and input.shape[1:].numel() in (n, input.numel()):
            return (input.reshape(-1, n) * self.weight.reshape(1, n)).view_as(input)
        return input * self.weight


class Cosine(Weighted):
    """The cosine of the angle between x and each of ``outputSize`` weights.

    >>> nn = torch.legacy.nn
    >>> nn.Cosine(3, 2).forward(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, inputSize, outputSize):
        super().__init__()
        self._create((outputSize, inputSize))

    def _formula(self, input):
        lengths = input.norm(dim=-1, keepdim=True) * self.weight.norm(dim=-1)
        return F.linear(input, self.weight) / (lengths + 1e-12)


class Euclidean(Weighted):
    """The distance of x from each of ``outputSize`` centres, the columns of ``weight``.

    >>> nn = torch.legacy.nn
    >>> nn.Euclidean(3, 2).forward(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, inputSize, outputSize):
        super().__init__()
        self._create((inputSize, outputSize))

    def _bound(self):
        return 1 / math.sqrt(self.weight.size(0))

    def _formula(self, input):
        return (input.unsqueeze(-1) - self.weight).norm(dim=-2)


class WeightedEuclidean(Euclidean):
    """The same with coordinates stretched by ``diagCov``, one column for each centre.

    >>> nn = torch.legacy.nn
    >>> nn.WeightedEuclidean(3, 2).forward(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    _parameter_names = ("weight", "diagCov")

    def __init__(self, inputSize, outputSize):
        super().__init__(inputSize, outputSize)
        self.diagCov = torch.ones(inputSize, outputSize)
        self.gradDiagCov = torch.zeros(inputSize, outputSize)

    def reset(self, stdv=None):
        super().reset(stdv)
        if hasattr(self, "diagCov"):
            self.diagCov.fill_(1)
        return self

    def _formula(self, input):
        return ((input.unsqueeze(-1) - self.weight) * self.diagCov).norm(dim=-2)


class LookupTable(Formula):
    """The rows of ``weight`` with the indices in the input, which count from 0; that of ``paddingValue`` learns nothing.

    With ``maxNorm``, rows that are longer (in the norm ``normType``, 2 by default) are shortened where they are used.

    >>> nn = torch.legacy.nn
    >>> nn.LookupTable(10, 3).forward(torch.tensor([1, 5])).shape
    torch.Size([2, 3])
    """

    def __init__(self, nIndex, nOutput, paddingValue=-1, maxNorm=None, normType=None):
        super().__init__()
        self.weight, self.gradWeight = torch.empty(nIndex, nOutput), torch.zeros(nIndex, nOutput)
        self.paddingValue, self.maxNorm, self.normType = paddingValue, maxNorm, normType
        self.reset()

    def setPadding(self, paddingValue):
        self.paddingValue = paddingValue
        return self

    def setMaxNorm(self, maxNorm):
        self.maxNorm = maxNorm
        return self

    def setNormType(self, normType):
        self.normType = normType
        return self

    def reset(self, stdv=1):
        self.weight.normal_(0, 1 if stdv is None else stdv)
        return self

    def updateOutput(self, input):
        if self.maxNorm:
            with torch.no_grad():
                F.embedding(input.long(), self.weight, max_norm=self.maxNorm, norm_type=self.normType or 2.0)
        return super().updateOutput(input)

    def _formula(self, input):
        padding = self.paddingValue if self.paddingValue is not None and self.paddingValue >= 0 else None
        return F.embedding(input.long(), self.weight, padding)


class BatchNormalization(Formula):
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, by statistics of the batch, and by running ones after
    ``evaluate()``: (N, nOutput).

    >>> nn = torch.legacy.nn
    >>> nn.BatchNormalization(2, affine=False).forward(torch.tensor([[1.0, 10.0], [3.0, 30.0]])).round(decimals=2)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    """

    nDim = 2

    def __init__(self, nOutput, eps=1e-05, momentum=0.1, affine=True):
        super().__init__()
        self.eps, self.momentum, self.affine = eps, momentum, affine
        self.running_mean, self.running_var = torch.zeros(nOutput), torch.ones(nOutput)
        self.weight = self.bias = self.gradWeight = self.gradBias = None
        if affine:
            self.weight, self.bias = torch.empty(nOutput), torch.empty(nOutput)
            self.gradWeight, self.gradBias = torch.zeros(nOutput), torch.zeros(nOutput)
        self.reset()

    def reset(self, stdv=None):
        if self.affine:
            self.weight.uniform_()
            self.bias.zero_()
        self.running_mean.zero_()
        self.running_var.fill_(1)
        return self

    def updateOutput(self, input):
        if input.dim() != self.nDim or input.size(1) != self.running_mean.numel():
            raise RuntimeError(
                f"{self}: expected {self.nDim} dims with {self.running_mean.numel()} features, got shape {tuple(input.shape)}"
            )
        if self.train:
            with torch.no_grad():
                F.batch_norm(input, self.running_mean, self.running_var, training=True, momentum=self.momentum)
        return super().updateOutput(input)

    def _formula(self, input):
        statistics = (None, None) if self.train else (self.running_mean, self.running_var)
        return F.batch_norm(input, *statistics, self.weight, self.bias, self.train, self.momentum, self.eps)


class SpatialBatchNormalization(BatchNormalization):
    """The same for each plane of images: (N, nOutput, H, W).

    >>> nn = torch.legacy.nn
    >>> nn.SpatialBatchNormalization(3).forward(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    nDim = 4


class VolumetricBatchNormalization(BatchNormalization):
    """The same for each plane of volumes: (N, nOutput, T, H, W).

    >>> nn = torch.legacy.nn
    >>> nn.VolumetricBatchNormalization(3).forward(torch.ones(2, 3, 2, 2, 2)).shape
    torch.Size([2, 3, 2, 2, 2])
    """

    nDim = 5
