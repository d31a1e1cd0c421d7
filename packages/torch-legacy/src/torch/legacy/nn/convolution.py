"""Convolutions over time, images and volumes."""

import math

import torch
from torch.nn import functional as F

from .linear import Weighted

__all__ = [
    "SpatialConvolution", "SpatialConvolutionLocal", "SpatialConvolutionMap", "SpatialDilatedConvolution", "SpatialFullConvolution",
    "SpatialFullConvolutionMap", "SpatialSubSampling", "TemporalConvolution", "TemporalSubSampling", "VolumetricConvolution",
    "VolumetricFullConvolution",
]  # fmt: skip


def batched(formula, input, dims):
    """A formula of batches, for a batch or for a single sample without that dim."""
    if input.dim() == dims:
        return formula(input)
    if input.dim() == dims - 1:
        return formula(input.unsqueeze(0)).squeeze(0)
    raise RuntimeError(f"expected {dims - 1} or {dims} dims, got shape {tuple(input.shape)}")


class Convolution(Weighted):
    """Kernels ``weight`` of (nOutputPlane, nInputPlane, *) and a ``bias`` for each output plane."""

    def _bound(self):
        return 1 / math.sqrt(self.weight[0].numel())

    def noBias(self):
        self.bias = self.gradBias = None
        return self


class SpatialConvolution(Convolution):
    """Images (N, nInputPlane, H, W), or one of them, with kernels kH x kW, steps dH, dW and zeros padH, padW around.

    >>> torch.legacy.nn.SpatialConvolution(3, 8, 5, 5).forward(torch.ones(2, 3, 9, 9)).shape
    torch.Size([2, 8, 5, 5])
    """

    def __init__(self, nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None):
        super().__init__()
        self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
        self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
        self.padW, self.padH = padW, padW if padH is None else padH
        self._create((nOutputPlane, nInputPlane, kH, kW), (nOutputPlane,))

    _dilation = (1, 1)

    def _formula(self, input):
        def planes(x):
            return F.conv2d(x, self.weight, self.bias, (self.dH, self.dW), (self.padH, self.padW), self._dilation)

        return batched(planes, input, 4)

    def __repr__(self):
        return f"nn.{type(self).__name__}({self.nInputPlane} -> {self.nOutputPlane}, {self.kW}x{self.kH})"


class SpatialDilatedConvolution(SpatialConvolution):
    """The same with kernels spread out.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialDilatedConvolution(1, 2, 3, 3, dilationH=2).forward(torch.ones(1, 1, 7, 7)).shape
    torch.Size([1, 2, 3, 3])
    """

    def __init__(self, nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None, dilationH=1, dilationW=None):
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.dilationH, self.dilationW = dilationH, dilationH if dilationW is None else dilationW

    @property
    def _dilation(self):
        return self.dilationH, self.dilationW


class SpatialFullConvolution(Convolution):
    """The transpose of a convolution: (N, nInputPlane, H, W) to larger images; adjW and adjH add rows at the end.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialFullConvolution(1, 2, 3, 3).forward(torch.ones(1, 1, 5, 5)).shape
    torch.Size([1, 2, 7, 7])
    """

    def __init__(self, nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None, adjW=0, adjH=0):
        super().__init__()
        padH = padW if padH is None else padH
        if adjW > dW - 1 or adjH > dH - 1:
            raise ValueError(f"{self}: adjW and adjH must be smaller than dW and dH, got {adjW}, {adjH} and {dW}, {dH}")
        self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
        self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
        self.padW, self.padH, self.adjW, self.adjH = padW, padH, adjW, adjH
        self._create((nInputPlane, nOutputPlane, kH, kW), (nOutputPlane,))

    def _formula(self, input):
        step, pad, more = (self.dH, self.dW), (self.padH, self.padW), (self.adjH, self.adjW)
        return batched(lambda x: F.conv_transpose2d(x, self.weight, self.bias, step, pad, more), input, 4)


class SpatialConvolutionLocal(Convolution):
    """A convolution whose kernels differ from place to place: images of iH x iW.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialConvolutionLocal(1, 2, 5, 5, 3, 3).forward(torch.ones(1, 1, 5, 5)).shape
    torch.Size([1, 2, 3, 3])
    """

    def __init__(self, nInputPlane, nOutputPlane, iW, iH, kW, kH, dW=1, dH=1, padW=0, padH=None):
        super().__init__()
        self.padW, self.padH = padW, padW if padH is None else padH
        self.nInputPlane, self.nOutputPlane, self.iW, self.iH = nInputPlane, nOutputPlane, iW, iH
        self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
        self.oW = (iW + 2 * padW - kW) // dW + 1
        self.oH = (iH + 2 * self.padH - kH) // dH + 1
        if self.oW < 1 or self.oH < 1:
            raise ValueError(f"{self}: kernels {kH}x{kW} do not fit into images {iH}x{iW}")
        places = (self.oH, self.oW)
        self._create((*places, nOutputPlane, nInputPlane, kH, kW), (nOutputPlane, *places))

    def _bound(self):
        return 1 / math.sqrt(self.kW * self.kH * self.nInputPlane)

    def _formula(self, input):
        def planes(x):
            if x.shape[1:] != (self.nInputPlane, self.iH, self.iW):
                raise RuntimeError(
                    f"{self}: expected images ({self.nInputPlane}, {self.iH}, {self.iW}), got shape {tuple(x.shape)}"
                )
            patches = F.unfold(x, (self.kH, self.kW), padding=(self.padH, self.padW), stride=(self.dH, self.dW))
            kernels = self.weight.reshape(self.oH * self.oW, self.nOutputPlane, -1)
            out = torch.einsum("ncp,poc->nop", patches, kernels)
            return out.reshape(x.size(0), self.nOutputPlane, self.oH, self.oW) + self.bias

        return batched(planes, input, 4)


class SpatialConvolutionMap(Convolution):
    """A convolution between the pairs of planes in ``conMatrix`` (n, 2): from which input plane to which output plane.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialConvolutionMap(nn.SpatialConvolutionMap.maps.oneToOne(3), 3, 3).forward(torch.ones(1, 3, 5, 5)).shape
    torch.Size([1, 3, 3, 3])
    """

    class maps:
        """Tables of connections.

        >>> nn = torch.legacy.nn
        >>> nn.SpatialConvolutionMap.maps.oneToOne(2)
        tensor([[0, 0],
                [1, 1]])
        """

        @staticmethod
        def full(nin, nout):
            """All with all."""
            return torch.tensor([[i, o] for o in range(nout) for i in range(nin)])

        @staticmethod
        def oneToOne(nfeat):
            """Each with its own."""
            return torch.arange(nfeat).unsqueeze(1).expand(nfeat, 2).contiguous()

        @staticmethod
        def random(nin, nout, nto):
            """``nto`` input planes for each output plane; all are used about as often."""
            if nto > nin:
                raise ValueError(f"random: each output takes nto={nto} different planes, there are {nin}")
            order = torch.cat([torch.randperm(nin) for _ in range(-(-nout * nto // nin) + 1)]).tolist()
            table = []
            for out in range(nout):
                chosen = []
                while len(chosen) < nto:  # the first in line that this plane does not have yet
                    chosen.append(order.pop(next((i for i, p in enumerate(order) if p not in chosen), 0)))
                table += [[p, out] for p in chosen]
            return torch.tensor(table)

    def __init__(self, conMatrix, kW, kH, dW=1, dH=1):
        super().__init__()
        self.connTable, self.kW, self.kH, self.dW, self.dH = conMatrix.long(), kW, kH, dW, dH
        self.nInputPlane, self.nOutputPlane = (int(n) + 1 for n in self.connTable.max(0)[0])
        self._create((len(conMatrix), kH, kW), (self.nOutputPlane,))

    def _bound(self):
        most = int(torch.bincount(self.connTable[:, 1]).max())
        return 1 / math.sqrt(self.kW * self.kH * most)

    def _dense(self, planes):
        """The kernels of all pairs of planes, zeros between those that are not connected."""
        dense = torch.zeros((*planes, self.kH, self.kW), dtype=self.weight.dtype, device=self.weight.device)
        return dense.index_put(self._places(), self.weight, accumulate=True)

    def _places(self):
        return self.connTable[:, 1], self.connTable[:, 0]

    def _formula(self, input):
        kernels = self._dense((self.nOutputPlane, self.nInputPlane))
        return batched(lambda x: F.conv2d(x, kernels, self.bias, (self.dH, self.dW)), input, 4)


class SpatialFullConvolutionMap(SpatialConvolutionMap):
    """The transpose of such a convolution.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialFullConvolutionMap(nn.SpatialConvolutionMap.maps.oneToOne(3), 3, 3).forward(torch.ones(1, 3, 5, 5)).shape
    torch.Size([1, 3, 7, 7])
    """

    def _places(self):
        return self.connTable[:, 0], self.connTable[:, 1]

    def _formula(self, input):
        kernels = self._dense((self.nInputPlane, self.nOutputPlane))
        return batched(lambda x: F.conv_transpose2d(x, kernels, self.bias, (self.dH, self.dW)), input, 4)


class SpatialSubSampling(Convolution):
    """For each plane, ``weight`` times the sum over kH x kW pixels, plus ``bias``.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialSubSampling(3, 2, 2, 2, 2).forward(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(self, nInputPlane, kW, kH, dW=1, dH=1):
        super().__init__()
        self.nInputPlane, self.kW, self.kH, self.dW, self.dH = nInputPlane, kW, kH, dW, dH
        self._create((nInputPlane,), (nInputPlane,))

    def _bound(self):
        return 1 / math.sqrt(self.kW * self.kH)

    def _formula(self, input):
        def planes(x):
            sums = F.avg_pool2d(x, (self.kH, self.kW), (self.dH, self.dW)) * (self.kH * self.kW)
            return sums * self.weight.view(-1, 1, 1) + self.bias.view(-1, 1, 1)

        return batched(planes, input, 4)


class TemporalConvolution(Convolution):
    """Sequences (N, T, inputFrameSize), or one of them, with kernels over kW frames and steps of dW.

    >>> nn = torch.legacy.nn
    >>> nn.TemporalConvolution(4, 2, 3).forward(torch.ones(1, 7, 4)).shape
    torch.Size([1, 5, 2])
    """

    def __init__(self, inputFrameSize, outputFrameSize, kW, dW=1):
        super().__init__()
        self.inputFrameSize, self.outputFrameSize, self.kW, self.dW = inputFrameSize, outputFrameSize, kW, dW
        self._create((outputFrameSize, inputFrameSize * kW), (outputFrameSize,))

    def _formula(self, input):
        def frames(x):
            kernels = self.weight.view(self.outputFrameSize, self.kW, self.inputFrameSize).transpose(1, 2)
            return F.conv1d(x.transpose(1, 2), kernels, self.bias, self.dW).transpose(1, 2)

        return batched(frames, input, 3)


class TemporalSubSampling(Convolution):
    """For each feature, ``weight`` times the sum over kW frames, plus ``bias``.

    >>> nn = torch.legacy.nn
    >>> nn.TemporalSubSampling(4, 2, 2).forward(torch.ones(1, 6, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, inputFrameSize, kW, dW=1):
        super().__init__()
        self.inputFrameSize, self.kW, self.dW = inputFrameSize, kW, dW
        self._create((inputFrameSize,), (inputFrameSize,))

    def _bound(self):
        return 1 / math.sqrt(self.kW)

    def _formula(self, input):
        def frames(x):
            sums = F.avg_pool1d(x.transpose(1, 2), self.kW, self.dW).transpose(1, 2) * self.kW
            return sums * self.weight + self.bias

        return batched(frames, input, 3)


class VolumetricConvolution(Convolution):
    """Volumes (N, nInputPlane, T, H, W), or one of them, with kernels kT x kH x kW.

    >>> nn = torch.legacy.nn
    >>> nn.VolumetricConvolution(1, 2, 3, 3, 3).forward(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def __init__(self, nInputPlane, nOutputPlane, kT, kW, kH, dT=1, dW=1, dH=1, padT=0, padW=None, padH=None):
        super().__init__()
        padW = padT if padW is None else padW
        self._step = (dT, dH, dW)
        self._pad = (padT, padW if padH is None else padH, padW)
        self._create((nOutputPlane, nInputPlane, kT, kH, kW), (nOutputPlane,))

    def _formula(self, input):
        return batched(lambda x: F.conv3d(x, self.weight, self.bias, self._step, self._pad), input, 5)


class VolumetricFullConvolution(Convolution):
    """The transpose of a convolution of volumes.

    >>> nn = torch.legacy.nn
    >>> nn.VolumetricFullConvolution(1, 2, 2, 2, 2).forward(torch.ones(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    def __init__(
        self, nInputPlane, nOutputPlane, kT, kW, kH, dT=1, dW=1, dH=1, padT=0, padW=0, padH=0, adjT=0, adjW=0, adjH=0
    ):
        super().__init__()
        self._step, self._pad, self._adj = (dT, dH, dW), (padT, padH, padW), (adjT, adjH, adjW)
        if any(a > s - 1 for a, s in zip(self._adj, self._step)):
            raise ValueError(f"{self}: adjT, adjW and adjH must be smaller than dT, dW and dH")
        self._create((nInputPlane, nOutputPlane, kT, kH, kW), (nOutputPlane,))

    def _formula(self, input):
        def planes(x):
            return F.conv_transpose3d(x, self.weight, self.bias, self._step, self._pad, self._adj)

        return batched(planes, input, 5)
