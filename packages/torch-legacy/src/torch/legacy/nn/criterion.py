"""Losses: a number from an input and a target, and its gradient by the input."""

import copy

import torch
from torch.nn import functional as F

from .module import Module, gradient_by
from .tables import each, recursiveAdd, recursiveType

__all__ = [
    "AbsCriterion", "BCECriterion", "ClassNLLCriterion", "ClassSimplexCriterion", "CosineEmbeddingCriterion", "Criterion", "CriterionTable",
    "CrossEntropyCriterion", "DistKLDivCriterion", "HingeEmbeddingCriterion", "L1Cost", "L1HingeEmbeddingCriterion", "MSECriterion",
    "MarginCriterion", "MarginRankingCriterion", "MultiCriterion", "MultiLabelMarginCriterion", "MultiLabelSoftMarginCriterion",
    "MultiMarginCriterion", "ParallelCriterion", "SmoothL1Criterion", "SoftMarginCriterion", "SpatialClassNLLCriterion",
    "WeightedMSECriterion",
]  # fmt: skip


class Criterion:
    """``forward(input, target)`` gives and keeps ``output``, a number; ``backward(input, target)`` gives ``gradInput``.

    >>> loss = torch.legacy.nn.MSECriterion()
    >>> x, t = torch.tensor([1.0, 3.0]), torch.zeros(2)
    >>> loss.forward(x, t), loss.backward(x, t)
    (5.0, tensor([1., 3.]))
    """

    def __init__(self):
        self.gradInput = torch.Tensor()
        self.output = 0.0
        self._type = self.gradInput.type()

    def _formula(self, input, target):
        raise NotImplementedError(f"{type(self).__name__}: define updateOutput and updateGradInput")

    def updateOutput(self, input, target):
        """Computes ``output``; what subclasses define.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().updateOutput(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        2.0
        """
        with torch.no_grad():
            self.output = float(self._formula(input, target))
        return self.output

    def forward(self, input, target):
        """The loss of an input against a target.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().forward(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        2.0
        """
        return self.updateOutput(input, target)

    def updateGradInput(self, input, target):
        """Computes ``gradInput``; what subclasses define.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().updateGradInput(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor([ 0., -2.])
        """
        one = torch.ones((), dtype=self._like(input).dtype, device=self._like(input).device)
        self.gradInput = gradient_by(lambda x: self._formula(x, target).reshape(()), input, one)
        return self.gradInput

    @staticmethod
    def _like(input):
        while isinstance(input, (list, tuple)):
            input = input[0]
        return input

    def backward(self, input, target):
        """The gradient of the last loss by the input.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().backward(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor([ 0., -2.])
        """
        return self.updateGradInput(input, target)

    def __call__(self, input, target):
        self.output = self.forward(input, target)
        return self.output

    def clone(self):
        """A copy with memory of its own.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().clone().sizeAverage
        True
        """
        return copy.deepcopy(self)

    def type(self, type=None, tensorCache=None):
        """The criterion with its tensors converted to a class of 2016; without one, the name of theirs.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().type(torch.DoubleTensor).gradInput.dtype
        torch.float64
        """
        if type is None:
            return self._type
        cache = {} if tensorCache is None else tensorCache
        for name, value in vars(self).items():
            if name != "_type":
                setattr(self, name, recursiveType(value, type, cache))
        self._type = type
        return self

    def float(self):
        """The criterion in float32.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().float().gradInput.dtype
        torch.float32
        """
        return self.type("torch.FloatTensor")

    def double(self):
        """The criterion in float64.

        >>> nn = torch.legacy.nn
        >>> nn.MSECriterion().double().gradInput.dtype
        torch.float64
        """
        return self.type("torch.DoubleTensor")

    def cuda(self):
        """The criterion on the GPU.

        >>> if torch.cuda.is_available():
        ...     loss = torch.legacy.nn.MSECriterion().cuda()
        """
        return self.type("torch.cuda.FloatTensor")

    def __repr__(self):
        return f"nn.{type(self).__name__}"


class Averaged(Criterion):
    """``sizeAverage``: the mean over elements or samples, else the sum."""

    def __init__(self, sizeAverage=True):
        super().__init__()
        self.sizeAverage = sizeAverage

    @property
    def _reduction(self):
        return "mean" if self.sizeAverage else "sum"

    def _reduced(self, values):
        return values.mean() if self.sizeAverage else values.sum()


class AbsCriterion(Averaged):
    """``|x - t|``.

    >>> nn = torch.legacy.nn
    >>> nn.AbsCriterion().forward(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    1.0
    """

    def _formula(self, input, target):
        return F.l1_loss(input, target, reduction=self._reduction)


class MSECriterion(Averaged):
    """``(x - t)^2``.

    >>> nn = torch.legacy.nn
    >>> nn.MSECriterion().forward(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    2.0
    """

    def _formula(self, input, target):
        return F.mse_loss(input, target, reduction=self._reduction)


class WeightedMSECriterion(Averaged):
    """``(weight (x - t))^2`` with weights for the elements of a sample, or of the batch.

    >>> nn = torch.legacy.nn
    >>> nn.WeightedMSECriterion(torch.tensor([1.0, 3.0])).forward(torch.zeros(1, 2), torch.ones(1, 2))
    5.0
    """

    def __init__(self, weight, sizeAverage=True):
        super().__init__(sizeAverage)
        self.weight = weight.clone()

    def _formula(self, input, target):
        weight = self.weight if self.weight.dim() == target.dim() else self.weight.expand_as(target)
        return F.mse_loss(input * weight, target * weight, reduction=self._reduction)


class SmoothL1Criterion(Averaged):
    """``(x - t)^2 / 2`` up to a distance of 1, ``|x - t| - 1 / 2`` beyond.

    >>> nn = torch.legacy.nn
    >>> nn.SmoothL1Criterion().forward(torch.zeros(2), torch.tensor([0.5, 3.0]))
    1.3125
    """

    def _formula(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self._reduction)


class DistKLDivCriterion(Averaged):
    """``t (log t - x)`` for logarithms x of probabilities.

    >>> nn = torch.legacy.nn
    >>> nn.DistKLDivCriterion().forward(torch.tensor([0.25, 0.75]).log(), torch.tensor([0.5, 0.5]))
    0.07192051410675049
    """

    def _formula(self, input, target):
        return F.kl_div(input, target, reduction=self._reduction)


class SoftMarginCriterion(Averaged):
    """``log(1 + exp(-t x))`` for targets 1 and -1.

    >>> nn = torch.legacy.nn
    >>> nn.SoftMarginCriterion().forward(torch.zeros(1), torch.ones(1))
    0.6931471824645996
    """

    def _formula(self, input, target):
        return F.soft_margin_loss(input, target, reduction=self._reduction)


class MarginCriterion(Averaged):
    """``max(0, margin - t x)`` for targets 1 and -1.

    >>> nn = torch.legacy.nn
    >>> nn.MarginCriterion().forward(torch.tensor([0.3]), torch.tensor([1.0]))
    0.699999988079071
    """

    def __init__(self, margin=1, sizeAverage=True):
        super().__init__(sizeAverage)
        self.margin = margin

    def _formula(self, input, target):
        return self._reduced((self.margin - input * target).clamp(min=0))


class HingeEmbeddingCriterion(Averaged):
    """x for target 1, ``max(0, margin - x)`` for target -1.

    >>> nn = torch.legacy.nn
    >>> nn.HingeEmbeddingCriterion().forward(torch.tensor([0.3, 0.3]), torch.tensor([1.0, -1.0]))
    0.5
    """

    def __init__(self, margin=1, sizeAverage=True):
        super().__init__(sizeAverage)
        self.margin = margin

    def _formula(self, input, target):
        return F.hinge_embedding_loss(input, torch.as_tensor(target), self.margin, reduction=self._reduction)


class L1Cost(Criterion):
    """``sum |x|``; the target is not looked at.

    >>> nn = torch.legacy.nn
    >>> nn.L1Cost().forward(torch.tensor([-1.0, 2.0]))
    3.0
    """

    def _formula(self, input, target):
        return input.abs().sum()

    def updateOutput(self, input, target=None):
        return super().updateOutput(input, target)

    forward = updateOutput

    def updateGradInput(self, input, target=None):
        return super().updateGradInput(input, target)

    backward = updateGradInput


class L1HingeEmbeddingCriterion(Criterion):
    """The distance d = ``sum |x1 - x2|`` of the table [x1, x2] for target 1, ``max(0, margin - d)`` for target -1.

    >>> nn = torch.legacy.nn
    >>> nn.L1HingeEmbeddingCriterion().forward([torch.tensor([1.0]), torch.tensor([3.0])], torch.tensor([1.0]))
    2.0
    """

    def __init__(self, margin=1):
        super().__init__()
        self.margin = margin

    def _formula(self, input, target):
        distance = (input[0] - input[1]).abs().sum()
        positive = (target.item() if isinstance(target, torch.Tensor) else target) == 1
        return distance if positive else (self.margin - distance).clamp(min=0)


class MarginRankingCriterion(Averaged):
    """``max(0, margin - t (x1 - x2))`` of the table [x1, x2]: x1 should be larger for target 1.

    >>> nn = torch.legacy.nn
    >>> nn.MarginRankingCriterion().forward([torch.tensor([1.0]), torch.tensor([3.0])], torch.tensor([1.0]))
    2.0
    """

    def __init__(self, margin=0, sizeAverage=True):
        super().__init__(sizeAverage)
        self.margin = margin

    def _formula(self, input, target):
        return self._reduced((self.margin - target * (input[0] - input[1])).clamp(min=0))


class CosineEmbeddingCriterion(Averaged):
    """1 less the cosine of the rows of [x1, x2] for target 1, ``max(0, cosine - margin)`` for target -1.

    >>> nn = torch.legacy.nn
    >>> nn.CosineEmbeddingCriterion().forward([torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])], torch.tensor([1.0]))
    1.0
    """

    def __init__(self, margin=0, sizeAverage=True):
        super().__init__(sizeAverage)
        self.margin = margin

    def _formula(self, input, target):
        a, b = (t.reshape(-1, t.size(-1)) for t in input)
        cosine = (a * b).sum(1) / ((a * a).sum(1) + 1e-12).sqrt() / ((b * b).sum(1) + 1e-12).sqrt()
        target = torch.as_tensor(target, device=a.device).reshape(-1)
        return self._reduced(torch.where(target == 1, 1 - cosine, (cosine - self.margin).clamp(min=0)))


class WeightsAveraged(Averaged):
    """With a weight for each class or element."""

    def __init__(self, weights=None, sizeAverage=True):
        super().__init__(sizeAverage)
        self.weights = weights


class BCECriterion(WeightsAveraged):
    """``-(t log x + (1 - t) log(1 - x))`` for probabilities x, with 1e-12 added inside the logarithms.

    >>> nn = torch.legacy.nn
    >>> nn.BCECriterion().forward(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]))
    0.6931471824645996
    """

    def _formula(self, input, target):
        values = -(target * (input + 1e-12).log() + (1 - target) * (1 - input + 1e-12).log())
        return self._reduced(values if self.weights is None else values * self.weights)


class ClassNLLCriterion(WeightsAveraged):
    """Minus the logarithm of the probability of the target's class: x are logarithms, (N, C) or (C).

    >>> nn = torch.legacy.nn
    >>> nn.ClassNLLCriterion().forward(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([1]))
    0.28768205642700195
    """

    def __init__(self, weights=None, sizeAverage=True, ignore_index=-100):
        super().__init__(weights, sizeAverage)
        self.ignore_index = ignore_index

    def _formula(self, input, target):
        if input.dim() == 1:
            input, target = input.unsqueeze(0), torch.as_tensor(target, device=input.device).reshape(1)
        return F.nll_loss(input, target.long(), self.weights, ignore_index=self.ignore_index, reduction=self._reduction)


class SpatialClassNLLCriterion(ClassNLLCriterion):
    """The same for each pixel: (N, C, H, W) with targets (N, H, W).

    >>> nn = torch.legacy.nn
    >>> nn.SpatialClassNLLCriterion().forward(torch.zeros(1, 2, 2, 2), torch.zeros(1, 2, 2, dtype=torch.long))
    0.0
    """


class CrossEntropyCriterion(ClassNLLCriterion):
    """The same for unnormalised logarithms.

    >>> nn = torch.legacy.nn
    >>> nn.CrossEntropyCriterion().forward(torch.zeros(1, 2), torch.tensor([1]))
    0.6931471824645996
    """

    def __init__(self, weights=None):
        super().__init__(weights)

    def _formula(self, input, target):
        return super()._formula(torch.log_softmax(input, -1), target)


class MultiLabelMarginCriterion(Averaged):
    """``max(0, 1 - (x[target] - x[other])) / C`` for several targets of each sample, listed up to the first -1.

    >>> nn = torch.legacy.nn
    >>> nn.MultiLabelMarginCriterion().forward(torch.tensor([[0.1, 0.2, 0.4]]), torch.tensor([[2, -1, 0]]))
    0.5
    """

    def _formula(self, input, target):
        return F.multilabel_margin_loss(input, target.long(), reduction=self._reduction)


class MultiLabelSoftMarginCriterion(WeightsAveraged):
    """The mean binary cross entropy of ``sigmoid(x)`` with targets 0 and 1.

    >>> nn = torch.legacy.nn
    >>> nn.MultiLabelSoftMarginCriterion().forward(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 1.0]]))
    0.6931471824645996
    """

    def __init__(self, weights=None):
        super().__init__(weights)

    def _formula(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, self.weights)


class MultiMarginCriterion(WeightsAveraged):
    """``max(0, margin - x[target] + x[other])^p / C`` for all other classes; p is 1 or 2.

    >>> nn = torch.legacy.nn
    >>> nn.MultiMarginCriterion().forward(torch.tensor([[0.1, 0.2, 0.4]]), torch.tensor([2]))
    0.5
    """

    def __init__(self, p=1, weights=None, margin=1, sizeAverage=True):
        super().__init__(weights, sizeAverage)
        if p not in (1, 2):
            raise ValueError(f"{self}: p must be 1 or 2, got {p}")
        self.p, self.margin = p, margin

    def _formula(self, input, target):
        target = torch.as_tensor(target, device=input.device).long()
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weights, reduction=self._reduction)


class ClassSimplexCriterion(MSECriterion):
    """The squared distance from the corner of a regular simplex that stands for the target's class.

    >>> nn = torch.legacy.nn
    >>> nn.ClassSimplexCriterion(3).forward(torch.zeros(2, 3), torch.tensor([0, 2])) > 0
    True
    """

    def __init__(self, nClasses):
        super().__init__()
        if nClasses < 2:
            raise ValueError(f"{self}: expected at least 2 classes, got {nClasses}")
        self.nClasses = nClasses
        self.simplex = self._corners(nClasses)

    @staticmethod
    def _corners(n):
        """n unit vectors of n entries with equal angles: those of the axes less their mean, put into triangular form."""
        centred = torch.eye(n, dtype=torch.float64) - 1 / n
        gram = centred @ centred.mT * (n / (n - 1))
        factor = torch.linalg.cholesky(gram[: n - 1, : n - 1])
        last = torch.linalg.solve_triangular(factor, gram[: n - 1, n - 1 :], upper=False).mT
        return F.pad(torch.cat([factor, last]), (0, 1)).to(torch.get_default_dtype())

    def _corner(self, input, target):
        corners = self.simplex.to(input).index_select(0, target.reshape(-1).long())
        return corners if input.dim() == 2 else corners.squeeze(0)

    def _formula(self, input, target):
        return super()._formula(input, self._corner(input, target))

    def getPredictions(self, input):
        """The inner products with all corners."""
        return input.reshape(-1, self.nClasses) @ self.simplex.to(input).mT

    def getTopPrediction(self, input):
        """The class of the nearest corner."""
        return self.getPredictions(input).max(1)[1]


class MultiCriterion(Criterion):
    """A weighted sum of criterions of the same input and target.

    >>> nn = torch.legacy.nn
    >>> nn.MultiCriterion().add(nn.MSECriterion()).add(nn.AbsCriterion(), 0.5).forward(torch.tensor([1.0]), torch.tensor([3.0]))
    5.0
    """

    def __init__(self):
        super().__init__()
        self.criterions, self.weights = [], []

    def add(self, criterion, weight=1):
        self.criterions.append(criterion)
        self.weights.append(weight)
        return self

    def updateOutput(self, input, target):
        self.output = sum(w * c.updateOutput(input, target) for c, w in zip(self.criterions, self.weights))
        return self.output

    def updateGradInput(self, input, target):
        total = each(torch.zeros_like, input)
        for criterion, weight in zip(self.criterions, self.weights):
            recursiveAdd(total, weight, criterion.updateGradInput(input, target))
        self.gradInput = total
        return total


class ParallelCriterion(MultiCriterion):
    """A weighted sum of criterions, each of its own entry of the input table; ``repeatTarget`` gives all one target.

    >>> nn = torch.legacy.nn
    >>> nn.ParallelCriterion().add(nn.MSECriterion()).add(nn.AbsCriterion()).forward([torch.ones(1), torch.ones(1)], [torch.zeros(1), torch.zeros(1)])
    2.0
    """

    def __init__(self, repeatTarget=False):
        super().__init__()
        self.repeatTarget = repeatTarget

    def _entries(self, input, target):
        targets = [target] * len(input) if self.repeatTarget else target
        return list(zip(self.criterions, self.weights, input, targets))

    def updateOutput(self, input, target):
        self.output = sum(w * c.updateOutput(x, t) for c, w, x, t in self._entries(input, target))
        return self.output

    def updateGradInput(self, input, target):
        entries = self._entries(input, target)
        self.gradInput = [each(lambda g, w=w: g * w, c.updateGradInput(x, t)) for c, w, x, t in entries]
        return self.gradInput


class CriterionTable(Module):
    """A criterion as a module of the table [input, target].

    >>> nn = torch.legacy.nn
    >>> nn.CriterionTable(nn.MSECriterion()).forward([torch.tensor([1.0]), torch.tensor([3.0])])
    4.0
    """

    def __init__(self, criterion):
        super().__init__()
        self.criterion = criterion
        self.gradInput = [criterion.gradInput]

    def updateOutput(self, input):
        self.output = self.criterion.updateOutput(*input)
        return self.output

    def updateGradInput(self, input, gradOutput=None):
        self.gradInput = [self.criterion.updateGradInput(*input)]
        return self.gradInput
