"""Layers that move, choose and sum elements."""

import torch

from .module import Formula

__all__ = [
    "Max", "Mean", "Min", "Narrow", "Normalize", "Padding", "Replicate", "Reshape", "Select", "Squeeze", "Sum", "Transpose", "Unsqueeze", "View",
]  # fmt: skip


def _sizes(args):
    return torch.Size(args[0] if len(args) == 1 and not isinstance(args[0], int) else args)


class Reshape(Formula):
    """Samples in another shape: (N, *) to (N, *size); without N where the elements are those of one sample.

    >>> nn = torch.legacy.nn
    >>> nn.Reshape(2, 3).forward(torch.arange(6)).shape
    torch.Size([2, 3])
    """

    def __init__(self, *args):
        super().__init__()
        self.size = _sizes(args)

    def _formula(self, input):
        if input.numel() == self.size.numel() and (input.dim() == 0 or input.size(0) != 1):
            return input.reshape(self.size)
        return input.reshape(input.size(0), *self.size)


class View(Formula):
    """The whole input in another shape, of which one size may be -1.

    >>> nn = torch.legacy.nn
    >>> nn.View(2, 3).forward(torch.arange(6)).shape
    torch.Size([2, 3])
    """

    def __init__(self, *args):
        super().__init__()
        self.resetSize(*args)

    def resetSize(self, *args):
        self.size = _sizes(args)
        return self

    def _formula(self, input):
        return input.reshape(self.size)

    def __repr__(self):
        return f"nn.View({', '.join(map(str, self.size))})"


class Transpose(Formula):
    """Pairs of dims exchanged, one pair after the other: ``Transpose((0, 1), (1, 2))``.

    >>> nn = torch.legacy.nn
    >>> nn.Transpose((0, 1)).forward(torch.zeros(2, 3)).shape
    torch.Size([3, 2])
    """

    def __init__(self, *args):
        super().__init__()
        self.permutations = args

    def _formula(self, input):
        for a, b in self.permutations:
            input = input.transpose(a, b)
        return input.contiguous()


class Unsqueeze(Formula):
    """A dim of size 1 put in.

    >>> nn = torch.legacy.nn
    >>> nn.Unsqueeze(0).forward(torch.ones(2)).shape
    torch.Size([1, 2])
    """

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def _formula(self, input):
        return input.unsqueeze(self.dim)


class Squeeze(Formula):
    """A dim of size 1 left out, or all of them.

    >>> nn = torch.legacy.nn
    >>> nn.Squeeze().forward(torch.zeros(1, 3, 1)).shape
    torch.Size([3])
    """

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def _formula(self, input):
        return input.squeeze() if self.dim is None else input.squeeze(self.dim)


class Replicate(Formula):
    """The input ``nf`` times along a new dim.

    >>> nn = torch.legacy.nn
    >>> nn.Replicate(2).forward(torch.tensor([1.0, 2.0]))
    tensor([[1., 2.],
            [1., 2.]])
    """

    def __init__(self, nf, dim=0):
        super().__init__()
        if nf < 1:
            raise ValueError(f"{self}: nf must be at least 1, got {nf}")
        self.nfeatures, self.dim = nf, dim

    def _formula(self, input):
        shape = list(input.unsqueeze(self.dim).shape)
        shape[self.dim] = self.nfeatures
        return input.unsqueeze(self.dim).expand(shape)


class Select(Formula):
    """One slice of a dim.

    >>> nn = torch.legacy.nn
    >>> nn.Select(0, 1).forward(torch.arange(4))
    tensor(1)
    """

    def __init__(self, dimension, index):
        super().__init__()
        self.dimension, self.index = dimension, index

    def _formula(self, input):
        return input.select(self.dimension, self.index)


class Narrow(Formula):
    """``length`` slices of a dim from ``offset`` on; a negative length counts from the end, -1 for the last.

    >>> nn = torch.legacy.nn
    >>> nn.Narrow(0, 1, 2).forward(torch.arange(4))
    tensor([1, 2])
    """

    def __init__(self, dimension, offset, length=1):
        super().__init__()
        self.dimension, self.index, self.length = dimension, offset, length

    def _formula(self, input):
        length = self.length
        if length < 0:
            length = input.size(self.dimension) - self.index + length + 1
        return input.narrow(self.dimension, self.index, length)


class Padding(Formula):
    """``|pad|`` slices of ``value`` in a dim: at the start for a negative pad, else at the end; ``index`` slices further in.

    Where inputs of ``nInputDim`` dims come in batches, ``dim`` is counted without the batch.

    >>> nn = torch.legacy.nn
    >>> nn.Padding(0, 2).forward(torch.ones(2))
    tensor([1., 1., 0., 0.])
    """

    def __init__(self, dim, pad, value=0, index=0, nInputDim=0):
        super().__init__()
        self.dim, self.pad, self.value, self.index, self.nInputDim = dim, pad, value, index, nInputDim

    def _formula(self, input):
        dim = self.dim + (self.nInputDim > 0 and input.dim() != self.nInputDim)
        size = input.size(dim)
        place = self.index if self.pad < 0 else size - self.index
        shape = list(input.shape)
        shape[dim] = abs(self.pad)
        filling = input.new_full(shape, self.value)
        return torch.cat([input.narrow(dim, 0, place), filling, input.narrow(dim, place, size - place)], dim)


class Sum(Formula):
    """The sum along a dim, or the mean (``sizeAverage``).

    >>> nn = torch.legacy.nn
    >>> nn.Sum(1).forward(torch.tensor([[1.0, 3.0], [4.0, 2.0]]))
    tensor([4., 6.])
    """

    def __init__(self, dimension=0, sizeAverage=False):
        super().__init__()
        self.dimension, self.sizeAverage = dimension, sizeAverage

    def _formula(self, input):
        return input.mean(self.dimension) if self.sizeAverage else input.sum(self.dimension)


class Mean(Sum):
    """The mean along a dim.

    >>> nn = torch.legacy.nn
    >>> nn.Mean(1).forward(torch.tensor([[1.0, 3.0], [4.0, 2.0]]))
    tensor([2., 3.])
    """

    def __init__(self, dimension):
        super().__init__(dimension, True)


class Max(Formula):
    """The largest along a dim.

    >>> nn = torch.legacy.nn
    >>> nn.Max(1).forward(torch.tensor([[1.0, 3.0], [4.0, 2.0]]))
    tensor([3., 4.])
    """

    def __init__(self, dimension=0):
        super().__init__()
        self.dimension = dimension

    def _formula(self, input):
        return input.max(self.dimension)[0]


class Min(Max):
    """The smallest along a dim.

    >>> nn = torch.legacy.nn
    >>> nn.Min(1).forward(torch.tensor([[1.0, 3.0], [4.0, 2.0]]))
    tensor([1., 2.])
    """

    def _formula(self, input):
        return input.min(self.dimension)[0]


class Normalize(Formula):
    """Rows divided by their p-norm, ``(sum |x|^p + eps)^(1 / p)``, or by ``max |x| + eps`` for infinite p.

    >>> nn = torch.legacy.nn
    >>> nn.Normalize(2).forward(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """

    def __init__(self, p, eps=1e-10):
        super().__init__()
        if not p > 0:
            raise ValueError(f"{self}: the norm must have p > 0, got {p}")
        self.p, self.eps = p, eps

    def _formula(self, input):
        if input.dim() not in (1, 2):
            raise RuntimeError(f"{self}: expected 1 or 2 dims, got shape {tuple(input.shape)}")
        sizes = input.abs()
        if self.p == float("inf"):
            return input / (sizes.max(-1, keepdim=True)[0] + self.eps)
        return input / (sizes.pow(self.p).sum(-1, keepdim=True) + self.eps).pow(1 / self.p)
