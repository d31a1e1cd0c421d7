"""Functions of single numbers, and softmax."""

import torch
from torch.nn import functional as F

from .module import Formula, InPlace, Module
from .tables import each

__all__ = [
    "Abs", "AddConstant", "Clamp", "Contiguous", "Copy", "ELU", "Exp", "GradientReversal", "HardShrink", "HardTanh", "Identity", "LeakyReLU",
    "Log", "LogSigmoid", "LogSoftMax", "MulConstant", "PReLU", "Power", "ReLU", "ReLU6", "Sigmoid", "SoftMax", "SoftMin", "SoftPlus",
    "SoftShrink", "SoftSign", "SpatialSoftMax", "Sqrt", "Square", "Tanh", "TanhShrink", "Threshold",
]  # fmt: skip


def _function(name, formula, doc):
    return type(
        name, (Formula,), {"_formula": lambda self, input: formula(input), "__doc__": doc, "__module__": __name__}
    )


Abs = _function(
    "Abs",
    torch.abs,
    "``|x|``.\n\n>>> torch.legacy.nn.Abs().forward(torch.tensor([0.5, 2.0]))\ntensor([0.5000, 2.0000])\n",
)
Exp = _function(
    "Exp",
    torch.exp,
    "``exp(x)``.\n\n>>> torch.legacy.nn.Exp().forward(torch.tensor([0.5, 2.0]))\ntensor([1.6487, 7.3891])\n",
)
Log = _function(
    "Log",
    torch.log,
    "``log(x)``.\n\n>>> torch.legacy.nn.Log().forward(torch.tensor([0.5, 2.0]))\ntensor([-0.6931,  0.6931])\n",
)
LogSigmoid = _function(
    "LogSigmoid",
    F.logsigmoid,
    "``log(1 / (1 + exp(-x)))``.\n\n>>> torch.legacy.nn.LogSigmoid().forward(torch.tensor([0.5, 2.0]))\ntensor([-0.4741, -0.1269])\n",
)
Sigmoid = _function(
    "Sigmoid",
    torch.sigmoid,
    "``1 / (1 + exp(-x))``.\n\n>>> torch.legacy.nn.Sigmoid().forward(torch.tensor([0.5, 2.0]))\ntensor([0.6225, 0.8808])\n",
)
SoftSign = _function(
    "SoftSign",
    F.softsign,
    "``x / (1 + |x|)``.\n\n>>> torch.legacy.nn.SoftSign().forward(torch.tensor([0.5, 2.0]))\ntensor([0.3333, 0.6667])\n",
)
Square = _function(
    "Square",
    torch.square,
    "``x^2``.\n\n>>> torch.legacy.nn.Square().forward(torch.tensor([0.5, 2.0]))\ntensor([0.2500, 4.0000])\n",
)
Tanh = _function(
    "Tanh",
    torch.tanh,
    "``tanh(x)``.\n\n>>> torch.legacy.nn.Tanh().forward(torch.tensor([0.5, 2.0]))\ntensor([0.4621, 0.9640])\n",
)
TanhShrink = _function(
    "TanhShrink",
    F.tanhshrink,
    "``x - tanh(x)``.\n\n>>> torch.legacy.nn.TanhShrink().forward(torch.tensor([0.5, 2.0]))\ntensor([0.0379, 1.0360])\n",
)
Contiguous = _function(
    "Contiguous",
    lambda x: x.contiguous(),
    "The input, contiguous.\n\n>>> torch.legacy.nn.Contiguous().forward(torch.zeros(2, 3).t()).is_contiguous()\nTrue\n",
)


class Identity(Module):
    """The input itself, tensors and tables alike.

    >>> nn = torch.legacy.nn
    >>> nn.Identity().forward(torch.ones(2))
    tensor([1., 1.])
    """

    def updateOutput(self, input):
        self.output = input
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = gradOutput
        return self.gradInput


class GradientReversal(Module):
    """The identity, whose gradient is turned around: ``-lambd * gradOutput``.

    >>> nn = torch.legacy.nn
    >>> layer, x = nn.GradientReversal(), torch.ones(2)
    >>> _ = layer.forward(x)
    >>> layer.backward(x, torch.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, lambd=1):
        super().__init__()
        self.lambd = lambd

    def setLambda(self, lambd):
        self.lambd = lambd

    def updateOutput(self, input):
        self.output = input.view_as(input)
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = -self.lambd * gradOutput
        return self.gradInput


class Copy(Module):
    """The input as another type, and its gradient as the first again; ``dontCast`` keeps both through ``type()``.

    >>> nn = torch.legacy.nn
    >>> nn.Copy(torch.FloatTensor, torch.DoubleTensor).forward(torch.ones(2)).dtype
    torch.float64
    """

    def __init__(self, intype, outtype, dontCast=False):
        super().__init__()
        self.intype, self.outtype, self.dontCast = intype, outtype, dontCast

    def updateOutput(self, input):
        self.output = each(lambda t: t.type(self.outtype), input)
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = each(lambda t: t.type(self.intype), gradOutput)
        return self.gradInput

    def type(self, type=None, tensorCache=None):
        return self if type and self.dontCast else super().type(type, tensorCache)


class Power(Formula):
    """``x^p``.

    >>> nn = torch.legacy.nn
    >>> nn.Power(2).forward(torch.tensor([3.0]))
    tensor([9.])
    """

    def __init__(self, p):
        super().__init__()
        self.pow = p

    def _formula(self, input):
        return input.pow(self.pow)


class Sqrt(Formula):
    """``sqrt(x + b)``, with gradient 0 where that is 0; ``eps`` is another name of ``b``.

    >>> nn = torch.legacy.nn
    >>> nn.Sqrt().forward(torch.tensor([9.0]))
    tensor([3.])
    """

    def __init__(self, b=0, eps=0):
        super().__init__()
        self.eps = b or eps

    def _formula(self, input):
        moved = input + self.eps
        zero = moved == 0
        return moved.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


class AddConstant(InPlace):
    """``x + constant_scalar``.

    >>> nn = torch.legacy.nn
    >>> nn.AddConstant(3).forward(torch.ones(2))
    tensor([4., 4.])
    """

    def __init__(self, constant_scalar, inplace=False):
        super().__init__()
        self.constant_scalar, self.inplace = constant_scalar, inplace

    def _formula(self, input):
        return input + self.constant_scalar


class MulConstant(InPlace):
    """``x * constant_scalar``.

    >>> nn = torch.legacy.nn
    >>> nn.MulConstant(3).forward(torch.ones(2))
    tensor([3., 3.])
    """

    def __init__(self, constant_scalar, inplace=False):
        super().__init__()
        self.constant_scalar, self.inplace = constant_scalar, inplace

    def _formula(self, input):
        return input * self.constant_scalar


class HardTanh(InPlace):
    """x, held between ``min_value`` and ``max_value``.

    >>> nn = torch.legacy.nn
    >>> nn.HardTanh().forward(torch.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    def __init__(self, min_value=-1, max_value=1, inplace=False):
        super().__init__()
        if not max_value > min_value:
            raise ValueError(f"{self}: max_value must be above min_value, got {min_value} and {max_value}")
        self.min_val, self.max_val, self.inplace = min_value, max_value, inplace

    def _formula(self, input):
        return F.hardtanh(input, self.min_val, self.max_val)


class Clamp(HardTanh):
    """x, held between ``min_value`` and ``max_value``.

    >>> nn = torch.legacy.nn
    >>> nn.Clamp(-1, 1).forward(torch.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(self, min_value, max_value):
        super().__init__(min_value, max_value)


class ReLU6(HardTanh):
    """x, held between 0 and 6.

    >>> nn = torch.legacy.nn
    >>> nn.ReLU6().forward(torch.tensor([-1.0, 8.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace=False):
        super().__init__(0, 6, inplace)


class Threshold(InPlace):
    """x above ``threshold``, else ``value``.

    >>> nn = torch.legacy.nn
    >>> nn.Threshold(2.0, -9.0).forward(torch.tensor([1.0, 3.0]))
    tensor([-9.,  3.])
    """

    def __init__(self, threshold=0, value=0, inplace=False):
        super().__init__()
        self.threshold, self.val, self.inplace = threshold, value, inplace

    def _formula(self, input):
        return F.threshold(input, self.threshold, self.val)


class ReLU(Threshold):
    """x above 0, else 0.

    >>> nn = torch.legacy.nn
    >>> nn.ReLU().forward(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace=False):
        super().__init__(0, 0, inplace)


class LeakyReLU(InPlace):
    """x above 0, else ``negval * x``.

    >>> nn = torch.legacy.nn
    >>> nn.LeakyReLU(0.1).forward(torch.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negval=1 / 100, inplace=False):
        super().__init__()
        self.negval, self.inplace = negval, inplace

    def _formula(self, input):
        return F.leaky_relu(input, self.negval)


class ELU(InPlace):
    """x above 0, else ``alpha * (exp(x) - 1)``.

    >>> nn = torch.legacy.nn
    >>> nn.ELU().forward(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def _formula(self, input):
        return F.elu(input, self.alpha)


class PReLU(Formula):
    """x above 0, else ``weight * x``: one weight, or one for each of ``nOutputPlane`` planes.

    >>> nn = torch.legacy.nn
    >>> nn.PReLU().forward(torch.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000])
    """

    def __init__(self, nOutputPlane=0):
        super().__init__()
        self.nOutputPlane = nOutputPlane
        self.weight = torch.full((max(nOutputPlane, 1),), 0.25)
        self.gradWeight = torch.zeros_like(self.weight)

    def _formula(self, input):
        one_sample = self.nOutputPlane and input.dim() in (1, 3)
        return F.prelu(input.unsqueeze(0), self.weight).squeeze(0) if one_sample else F.prelu(input, self.weight)


class HardShrink(Formula):
    """x where ``|x| > lambd``, else 0.

    >>> nn = torch.legacy.nn
    >>> nn.HardShrink().forward(torch.tensor([-0.3, 0.7]))
    tensor([0.0000, 0.7000])
    """

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def _formula(self, input):
        return F.hardshrink(input, self.lambd)


class SoftShrink(Formula):
    """x moved towards 0 by ``lambd``, at most to 0.

    >>> nn = torch.legacy.nn
    >>> nn.SoftShrink().forward(torch.tensor([-2.0, 0.25]))
    tensor([-1.5000,  0.0000])
    """

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def _formula(self, input):
        return F.softshrink(input, self.lambd)


class SoftPlus(Formula):
    """``log(1 + exp(beta x)) / beta``; x itself where ``beta x > threshold``.

    >>> nn = torch.legacy.nn
    >>> nn.SoftPlus().forward(torch.zeros(1))
    tensor([0.6931])
    """

    def __init__(self, beta=1, threshold=20):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def _formula(self, input):
        return F.softplus(input, self.beta, self.threshold)


class SoftMax(Formula):
    """``exp(x) / sum(exp(x))`` along ``dim``: by default the first, or the second where the first counts samples (2 and 4
    dims).

    >>> nn = torch.legacy.nn
    >>> nn.SoftMax().forward(torch.zeros(1, 2))
    tensor([[0.5000, 0.5000]])
    """

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def _dim(self, input):
        if self.dim is None and input.dim() not in (1, 2, 3, 4):
            raise RuntimeError(f"{self}: expected 1 to 4 dims, or a dim, got shape {tuple(input.shape)}")
        return (0, 1)[input.dim() in (2, 4)] if self.dim is None else self.dim

    def _formula(self, input):
        return torch.softmax(input, self._dim(input))


class LogSoftMax(SoftMax):
    """The logarithm of :class:`SoftMax`.

    >>> nn = torch.legacy.nn
    >>> nn.LogSoftMax().forward(torch.zeros(1, 2))
    tensor([[-0.6931, -0.6931]])
    """

    def _formula(self, input):
        return torch.log_softmax(input, self._dim(input))


class SoftMin(SoftMax):
    """:class:`SoftMax` of ``-x``.

    >>> nn = torch.legacy.nn
    >>> nn.SoftMin().forward(torch.zeros(1, 2))
    tensor([[0.5000, 0.5000]])
    """

    def _formula(self, input):
        return torch.softmax(-input, self._dim(input))


class SpatialSoftMax(SoftMax):
    """:class:`SoftMax` over planes, for each pixel: (C, H, W) or (N, C, H, W).

    >>> nn = torch.legacy.nn
    >>> nn.SpatialSoftMax().forward(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def __init__(self):
        super().__init__()
