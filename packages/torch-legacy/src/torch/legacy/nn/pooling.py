"""Pooling, padding, enlarging, and normalisation over neighbourhoods."""

import torch
from torch.nn import functional as F

from .container import Sequential
from .convolution import batched
from .module import Formula

__all__ = [
    "SpatialAdaptiveMaxPooling", "SpatialAveragePooling", "SpatialContrastiveNormalization", "SpatialCrossMapLRN",
    "SpatialDivisiveNormalization", "SpatialFractionalMaxPooling", "SpatialLPPooling", "SpatialMaxPooling", "SpatialMaxUnpooling",
    "SpatialReflectionPadding", "SpatialReplicationPadding", "SpatialSubtractiveNormalization", "SpatialUpSamplingNearest",
    "SpatialZeroPadding", "TemporalMaxPooling", "VolumetricAveragePooling", "VolumetricMaxPooling", "VolumetricMaxUnpooling",
    "VolumetricReplicationPadding",
]  # fmt: skip


class Pooling(Formula):
    """``ceil()`` counts windows that reach over the end, ``floor()`` leaves them out."""

    ceil_mode = False
    dims = 4

    def ceil(self):
        self.ceil_mode = True
        return self

    def floor(self):
        self.ceil_mode = False
        return self

    def _formula(self, input):
        return batched(self._planes, input, self.dims)


class SpatialAveragePooling(Pooling):
    """Means over kH x kW pixels; zeros of the padding count, unless ``setCountExcludePad()``.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialAveragePooling(2, 2, 2, 2).forward(torch.arange(16.0).view(1, 1, 4, 4))
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """

    def __init__(self, kW, kH, dW=1, dH=1, padW=0, padH=0):
        super().__init__()
        self.kW, self.kH, self.dW, self.dH, self.padW, self.padH = kW, kH, dW, dH, padW, padH
        self.count_include_pad, self.divide = True, True

    def setCountIncludePad(self):
        self.count_include_pad = True
        return self

    def setCountExcludePad(self):
        self.count_include_pad = False
        return self

    def _planes(self, x):
        window, step, pad = (self.kH, self.kW), (self.dH, self.dW), (self.padH, self.padW)
        means = F.avg_pool2d(x, window, step, pad, self.ceil_mode, self.count_include_pad)
        return means if self.divide else means * (self.kH * self.kW)


class MaxPooling(Pooling):
    """Keeps the places of the largest in ``indices``."""

    indices = None

    def _planes(self, x):
        output, self.indices = self._pooled(x)
        self._shape = x.shape
        return output


class SpatialMaxPooling(MaxPooling):
    """The largest of kH x kW pixels.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialMaxPooling(2, 2).forward(torch.arange(16.0).view(1, 1, 4, 4))
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """

    def __init__(self, kW, kH, dW=None, dH=None, padW=0, padH=0):
        super().__init__()
        self.kW, self.kH, self.dW, self.dH = kW, kH, dW or kW, dH or kH
        self.padW, self.padH = padW, padH

    def _pooled(self, x):
        window, step, pad = (self.kH, self.kW), (self.dH, self.dW), (self.padH, self.padW)
        return F.max_pool2d(x, window, step, pad, ceil_mode=self.ceil_mode, return_indices=True)


class SpatialAdaptiveMaxPooling(MaxPooling):
    """The largest of as many windows as give images of h x w.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialAdaptiveMaxPooling(2, 2).forward(torch.ones(1, 3, 5, 7)).shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(self, w, h):
        super().__init__()
        self.w, self.h = w, h

    def _pooled(self, x):
        return F.adaptive_max_pool2d(x, (self.h, self.w), return_indices=True)


class SpatialFractionalMaxPooling(MaxPooling):
    """The largest of windows of random size: to arg1 x arg2 pixels, or to these fractions of width and height.

    ``fixPoolingRegions()`` keeps the windows of the last call.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialFractionalMaxPooling(2, 2, 4, 4).forward(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    def __init__(self, poolSizeW, poolSizeH, arg1, arg2):
        super().__init__()
        if min(poolSizeW, poolSizeH) < 2:
            raise ValueError(f"{self}: windows must be at least 2 x 2, got {poolSizeH} x {poolSizeW}")
        self.poolSizeW, self.poolSizeH = poolSizeW, poolSizeH
        self.as_ratio = not (arg1 >= 1 and arg2 >= 1)
        if self.as_ratio and not (0 < arg1 < 1 and 0 < arg2 < 1):
            raise ValueError(f"{self}: expected two sizes from 1, or two fractions below 1, got {arg1} and {arg2}")
        self.wanted = arg1, arg2
        self.randomSamples, self.fixed = None, False

    def fixPoolingRegions(self, val=True):
        self.fixed = val
        return self

    def updateOutput(self, input):
        if not self.fixed or self.randomSamples is None:
            x = input if input.dim() == 4 else input.unsqueeze(0)
            self.randomSamples = torch.rand(x.size(0), x.size(1), 2, dtype=x.dtype, device=x.device)
        return super().updateOutput(input)

    def _pooled(self, x):
        w, h = self.wanted
        size = (int(x.size(2) * h), int(x.size(3) * w)) if self.as_ratio else (int(h), int(w))
        return F.fractional_max_pool2d(
            x, (self.poolSizeH, self.poolSizeW), size, return_indices=True, _random_samples=self.randomSamples
        )


class SpatialLPPooling(Pooling):
    """``(sum x^p)^(1 / p)`` over kH x kW pixels.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialLPPooling(1, 2, 1, 2).forward(torch.tensor([[[[3.0], [4.0]]]]))
    tensor([[[[5.]]]])
    """

    def __init__(self, nInputPlane, pnorm, kW, kH, dW=None, dH=None):
        super().__init__()
        self.nInputPlane, self.pnorm, self.kW, self.kH, self.dW, self.dH = (
            nInputPlane,
            pnorm,
            kW,
            kH,
            dW or kW,
            dH or kH,
        )

    def _planes(self, x):
        means = F.avg_pool2d(x.pow(self.pnorm), (self.kH, self.kW), (self.dH, self.dW), 0, self.ceil_mode)
        return (means * (self.kH * self.kW)).pow(1 / self.pnorm)


class SpatialMaxUnpooling(Formula):
    """Values back in the places that a :class:`SpatialMaxPooling` took them from, zeros elsewhere.

    >>> nn = torch.legacy.nn
    >>> pool = nn.SpatialMaxPooling(2, 2)
    >>> nn.SpatialMaxUnpooling(pool).forward(pool.forward(torch.arange(4.0).view(1, 1, 2, 2)))
    tensor([[[[0., 0.],
              [0., 3.]]]])
    """

    dims = 4

    def __init__(self, poolingModule):
        super().__init__()
        self.pooling = poolingModule

    def _formula(self, input):
        if self.pooling.indices is None:
            raise RuntimeError(f"{self}: the pooling module has not been run forward yet")

        def planes(x):
            shape, spatial = self.pooling._shape, self.dims - 2
            places = self.pooling.indices.reshape(*x.shape[:2], -1)
            whole = x.new_zeros((*x.shape[:2], shape[-spatial:].numel()))
            return whole.scatter(2, places, x.reshape(*x.shape[:2], -1)).reshape(*x.shape[:2], *shape[-spatial:])

        return batched(planes, input, self.dims)


class SpatialPadding(Formula):
    """``pad_r``, ``pad_t`` and ``pad_b`` are ``pad_l`` unless told; negative ones cut off."""

    mode = "constant"

    def __init__(self, pad_l, pad_r=None, pad_t=None, pad_b=None):
        super().__init__()
        self.pad = tuple(pad_l if p is None else p for p in (pad_l, pad_r, pad_t, pad_b))

    def _formula(self, input):
        return batched(lambda x: F.pad(x, self.pad, self.mode), input, 4)


class SpatialZeroPadding(SpatialPadding):
    """Zeros around images.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialZeroPadding(1).forward(torch.ones(1, 1, 1, 1))
    tensor([[[[0., 0., 0.],
              [0., 1., 0.],
              [0., 0., 0.]]]])
    """


class SpatialReflectionPadding(SpatialPadding):
    """Images mirrored at their edges.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialReflectionPadding(1, 1, 0, 0).forward(torch.arange(4.0).view(1, 1, 2, 2))
    tensor([[[[1., 0., 1., 0.],
              [3., 2., 3., 2.]]]])
    """

    mode = "reflect"


class SpatialReplicationPadding(SpatialPadding):
    """The edges of images repeated.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialReplicationPadding(1).forward(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    mode = "replicate"


class VolumetricReplicationPadding(Formula):
    """The sides of volumes repeated.

    >>> nn = torch.legacy.nn
    >>> nn.VolumetricReplicationPadding(1).forward(torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 4, 4, 4])
    """

    def __init__(self, pleft, pright=None, ptop=None, pbottom=None, pfront=None, pback=None):
        super().__init__()
        self.pad = tuple(pleft if p is None else p for p in (pleft, pright, ptop, pbottom, pfront, pback))

    def _formula(self, input):
        return batched(lambda x: F.pad(x, self.pad, "replicate"), input, 5)


class SpatialUpSamplingNearest(Formula):
    """Each pixel ``scale`` x ``scale`` times.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialUpSamplingNearest(2).forward(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """

    def __init__(self, scale):
        super().__init__()
        if scale != int(scale) or scale < 1:
            raise ValueError(f"{self}: expected a whole number for scale, got {scale}")
        self.scale_factor = int(scale)

    def _formula(self, input):
        return input.repeat_interleave(self.scale_factor, -1).repeat_interleave(self.scale_factor, -2)


class SpatialCrossMapLRN(Formula):
    """``x / (k + alpha / size * s)^beta``, where s sums the squares of ``size`` neighbouring planes.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialCrossMapLRN(3).forward(torch.ones(1, 4, 2, 2)).shape
    torch.Size([1, 4, 2, 2])
    """

    def __init__(self, size, alpha=0.0001, beta=0.75, k=1):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def _formula(self, input):
        return batched(lambda x: F.local_response_norm(x, self.size, self.alpha, self.beta, self.k), input, 4)


class Neighbourhood(Formula):
    """Means over a neighbourhood of all planes, weighted by a kernel; at borders, over what there is of it."""

    def __init__(self, nInputPlane, kernel):
        super().__init__()
        kernel = torch.ones(9, 9) if kernel is None else kernel
        if kernel.dim() not in (1, 2) or any(size % 2 == 0 for size in kernel.shape):
            raise ValueError(f"{self}: expected a kernel of 1 or 2 dims of odd size, got shape {tuple(kernel.shape)}")
        self.nInputPlane = nInputPlane
        self.kernel = torch.outer(kernel, kernel) if kernel.dim() == 1 else kernel

    def _mean(self, x):
        kernel = (self.kernel / (self.kernel.sum() * self.nInputPlane)).to(x)
        kernels = kernel.expand(1, self.nInputPlane, *kernel.shape)
        pad = [size // 2 for size in kernel.shape]
        return F.conv2d(x, kernels, padding=pad) / F.conv2d(torch.ones_like(x[:1]), kernels, padding=pad)

    def _formula(self, input):
        return batched(self._planes, input, 4)


class SpatialSubtractiveNormalization(Neighbourhood):
    """Images less the means of neighbourhoods.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialSubtractiveNormalization(1, torch.ones(3, 3)).forward(torch.ones(1, 1, 5, 5)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, nInputPlane=1, kernel=None):
        super().__init__(nInputPlane, kernel)

    def _planes(self, x):
        return x - self._mean(x)


class SpatialDivisiveNormalization(Neighbourhood):
    """Images over the root mean squares of neighbourhoods; roots up to ``threshold`` count as ``thresval``.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialDivisiveNormalization(1, torch.ones(3, 3)).forward(torch.ones(1, 1, 5, 5)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, nInputPlane=1, kernel=None, threshold=0.0001, thresval=None):
        super().__init__(nInputPlane, kernel)
        self.threshold, self.thresval = threshold, threshold if thresval is None else thresval

    def _planes(self, x):
        square = self._mean(x * x)
        small = square <= self.threshold**2
        return x / square.masked_fill(small, 1.0).sqrt().masked_fill(small, self.thresval)


class SpatialContrastiveNormalization(Sequential):
    """First the subtractive, then the divisive normalisation.

    >>> nn = torch.legacy.nn
    >>> nn.SpatialContrastiveNormalization(1, torch.ones(3, 3)).forward(torch.ones(1, 1, 5, 5)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, nInputPlane=1, kernel=None, threshold=0.0001, thresval=0.0001):
        super().__init__()
        self.add(SpatialSubtractiveNormalization(nInputPlane, kernel))
        self.add(SpatialDivisiveNormalization(nInputPlane, kernel, threshold, thresval))


class TemporalMaxPooling(Formula):
    """The largest of kW frames, for each feature: (N, T, C) or (T, C).

    >>> nn = torch.legacy.nn
    >>> nn.TemporalMaxPooling(2).forward(torch.ones(1, 6, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, kW, dW=None):
        super().__init__()
        self.kW, self.dW = kW, dW or kW

    def _formula(self, input):
        return batched(lambda x: F.max_pool1d(x.transpose(1, 2), self.kW, self.dW).transpose(1, 2), input, 3)


class VolumetricAveragePooling(Pooling):
    """Means over kT x kH x kW voxels.

    >>> nn = torch.legacy.nn
    >>> nn.VolumetricAveragePooling(2, 2, 2).forward(torch.ones(1, 1, 2, 2, 2)).flatten()
    tensor([1.])
    """

    dims = 5

    def __init__(
        self, kT, kW, kH, dT=None, dW=None, dH=None, padT=0, padW=0, padH=0, ceil_mode=False, count_include_pad=True
    ):
        super().__init__()
        self.window, self.step = (kT, kH, kW), (dT or kT, dH or kH, dW or kW)
        self.pad, self.ceil_mode, self.count_include_pad = (padT, padH, padW), ceil_mode, count_include_pad

    def _planes(self, x):
        return F.avg_pool3d(x, self.window, self.step, self.pad, self.ceil_mode, self.count_include_pad)


class VolumetricMaxPooling(MaxPooling):
    """The largest of kT x kH x kW voxels.

    >>> nn = torch.legacy.nn
    >>> nn.VolumetricMaxPooling(2, 2, 2).forward(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    dims = 5

    def __init__(self, kT, kW, kH, dT=None, dW=None, dH=None, padT=0, padW=0, padH=0):
        super().__init__()
        self.window, self.step, self.pad = (kT, kH, kW), (dT or kT, dH or kH, dW or kW), (padT, padH, padW)

    def _pooled(self, x):
        return F.max_pool3d(x, self.window, self.step, self.pad, ceil_mode=self.ceil_mode, return_indices=True)


class VolumetricMaxUnpooling(SpatialMaxUnpooling):
    """Values back in the places that a :class:`VolumetricMaxPooling` took them from, zeros elsewhere.

    >>> nn = torch.legacy.nn
    >>> pool = nn.VolumetricMaxPooling(2, 2, 2)
    >>> nn.VolumetricMaxUnpooling(pool).forward(pool.forward(torch.ones(1, 1, 4, 4, 4))).shape
    torch.Size([1, 1, 4, 4, 4])
    """

    dims = 5
