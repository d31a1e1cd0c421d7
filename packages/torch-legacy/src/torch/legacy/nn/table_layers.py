"""Layers of tables: sums, products, distances, and picking entries."""

import torch
from torch.nn import functional as F

from .module import Formula, Module
from .tables import each

__all__ = [
    "CAddTable", "CDivTable", "CMulTable", "CSubTable", "CosineDistance", "DotProduct", "FlattenTable", "Index", "JoinTable", "MM", "MV",
    "MaskedSelect", "MixtureTable", "NarrowTable", "PairwiseDistance", "SelectTable", "SplitTable",
]  # fmt: skip


class CAddTable(Formula):
    """The sum of all entries; ``inplace`` adds to the first.

    >>> nn = torch.legacy.nn
    >>> nn.CAddTable().forward([torch.ones(2), torch.ones(2)])
    tensor([2., 2.])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def updateOutput(self, input):
        super().updateOutput(input)
        if self.inplace:
            self.output = input[0].copy_(self.output)
        return self.output

    def _formula(self, input):
        total = input[0] * 1
        for other in input[1:]:
            total = total + other
        return total


class CSubTable(Formula):
    """The first entry less the second.

    >>> nn = torch.legacy.nn
    >>> nn.CSubTable().forward([torch.tensor([5.0]), torch.tensor([3.0])])
    tensor([2.])
    """

    def _formula(self, input):
        return input[0] - input[1]


class CMulTable(Formula):
    """The product of all entries, element by element.

    >>> nn = torch.legacy.nn
    >>> nn.CMulTable().forward([torch.tensor([2.0]), torch.tensor([3.0])])
    tensor([6.])
    """

    def _formula(self, input):
        product = input[0] * 1
        for other in input[1:]:
            product = product * other
        return product


class CDivTable(Formula):
    """The first entry over the second.

    >>> nn = torch.legacy.nn
    >>> nn.CDivTable().forward([torch.tensor([6.0]), torch.tensor([2.0])])
    tensor([3.])
    """

    def _formula(self, input):
        return input[0] / input[1]


class JoinTable(Formula):
    """All entries joined along a dim.

    >>> nn = torch.legacy.nn
    >>> nn.JoinTable(0).forward([torch.ones(2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """

    def __init__(self, dimension):
        super().__init__()
        self.dimension = dimension

    def _formula(self, input):
        return torch.cat(list(input), self.dimension)


class SplitTable(Formula):
    """The list of a dim's slices.

    >>> nn = torch.legacy.nn
    >>> nn.SplitTable(0).forward(torch.eye(2))
    [tensor([1., 0.]), tensor([0., 1.])]
    """

    def __init__(self, dimension):
        super().__init__()
        self.dimension = dimension

    def _formula(self, input):
        return list(input.unbind(self.dimension))


class SelectTable(Formula):
    """One entry, which may be a table.

    >>> nn = torch.legacy.nn
    >>> nn.SelectTable(1).forward([torch.zeros(1), torch.ones(1)])
    tensor([1.])
    """

    def __init__(self, index):
        super().__init__()
        self.index = index

    def _formula(self, input):
        return each(lambda t: t * 1, input[self.index])


class NarrowTable(Formula):
    """``length`` entries from ``offset`` on.

    >>> nn = torch.legacy.nn
    >>> nn.NarrowTable(1, 2).forward([torch.zeros(1), torch.ones(1), torch.ones(1)])
    [tensor([1.]), tensor([1.])]
    """

    def __init__(self, offset, length=1):
        super().__init__()
        self.offset, self.length = offset, length

    def _formula(self, input):
        return each(lambda t: t * 1, list(input[self.offset : self.offset + self.length]))


class FlattenTable(Module):
    """All tensors of nested tables in one list.

    >>> nn = torch.legacy.nn
    >>> nn.FlattenTable().forward([torch.ones(1), [torch.zeros(1)]])
    [tensor([1.]), tensor([0.])]
    """

    def updateOutput(self, input):
        from .tables import leaves

        self.output = leaves(input)
        return self.output

    def updateGradInput(self, input, gradOutput):
        from .tables import formed_as

        self.gradInput = formed_as(input, gradOutput)
        return self.gradInput


class Index(Formula):
    """Slices of a dim by their indices: of the table [tensor, indices].

    >>> nn = torch.legacy.nn
    >>> nn.Index(0).forward([torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2, 0])])
    tensor([3., 1.])
    """

    def __init__(self, dimension):
        super().__init__()
        self.dimension = dimension

    def _formula(self, input):
        return input[0].index_select(self.dimension, input[1].long())


class MaskedSelect(Formula):
    """Elements where a mask is not 0: of the table [tensor, mask].

    >>> nn = torch.legacy.nn
    >>> nn.MaskedSelect().forward([torch.tensor([1.0, 2.0]), torch.tensor([0, 1], dtype=torch.uint8)])
    tensor([2.])
    """

    def _formula(self, input):
        return input[0].masked_select(input[1].bool())


class MM(Formula):
    """The product of the table [A, B], of matrices or of batches of them, either transposed on demand.

    >>> nn = torch.legacy.nn
    >>> nn.MM().forward([torch.ones(2, 3), torch.ones(3, 4)]).shape
    torch.Size([2, 4])
    """

    def __init__(self, transA=False, transB=False):
        super().__init__()
        self.transA, self.transB = transA, transB

    def _formula(self, input):
        a, b = input
        if a.dim() not in (2, 3) or a.dim() != b.dim():
            raise RuntimeError(
                f"{self}: expected two matrices or two batches, got {tuple(a.shape)} and {tuple(b.shape)}"
            )
        return torch.matmul(a.mT if self.transA else a, b.mT if self.transB else b)


class MV(Formula):
    """The product of the table [matrix, vector], or of batches of both.

    >>> nn = torch.legacy.nn
    >>> nn.MV().forward([torch.ones(2, 3), torch.ones(3)])
    tensor([3., 3.])
    """

    def __init__(self, trans=False):
        super().__init__()
        self.trans = trans

    def _formula(self, input):
        m, v = input
        if m.dim() not in (2, 3) or m.dim() != v.dim() + 1:
            raise RuntimeError(
                f"{self}: expected matrix and vector or batches, got {tuple(m.shape)} and {tuple(v.shape)}"
            )
        return torch.matmul(m.mT if self.trans else m, v.unsqueeze(-1)).squeeze(-1)


class DotProduct(Formula):
    """The inner product of rows of the table [a, b].

    >>> nn = torch.legacy.nn
    >>> nn.DotProduct().forward([torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]])])
    tensor([11.])
    """

    def _formula(self, input):
        return (input[0] * input[1]).sum(-1).reshape(-1)


class CosineDistance(Formula):
    """The cosine of the angle between rows of the table [a, b].

    >>> nn = torch.legacy.nn
    >>> nn.CosineDistance().forward([torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0]])])
    tensor([1.])
    """

    def _formula(self, input):
        a, b = (t.reshape(-1, t.size(-1)) for t in input)
        return (a * b).sum(1) / ((a * a).sum(1) + 1e-12).sqrt() / ((b * b).sum(1) + 1e-12).sqrt()


class PairwiseDistance(Formula):
    """The p-norm of the difference of rows of the table [a, b].

    >>> nn = torch.legacy.nn
    >>> nn.PairwiseDistance(2).forward([torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]])])
    tensor([5.])
    """

    def __init__(self, p):
        super().__init__()
        if p % 1 != 0:
            raise ValueError(f"{self}: expected a whole number for p, got {p}")
        self.norm = p

    def _formula(self, input):
        a, b = (t.reshape(-1, t.size(-1)) for t in input)
        return F.pairwise_distance(a, b, self.norm, eps=0.0)


class MixtureTable(Formula):
    """The sum of experts weighted by gates: of the table [gates, experts].

    Gates are (N, k) or (k); experts are a list of k tensors, or one tensor that counts them in ``dim``.

    >>> nn = torch.legacy.nn
    >>> nn.MixtureTable().forward([torch.tensor([[0.5, 0.5]]), [torch.ones(1, 2), torch.zeros(1, 2)]])
    tensor([[0.5000, 0.5000]])
    """

    def __init__(self, dim=1):
        super().__init__()
        self.dim = dim

    def _formula(self, input):
        gates, experts = input
        batched = gates.dim() == 2
        if isinstance(experts, (list, tuple)):
            experts, dim = torch.stack(list(experts), int(batched)), int(batched)
        else:
            dim = self.dim if batched else 0
        shape = [1] * experts.dim()
        shape[dim] = gates.size(-1)
        if batched:
            shape[0] = gates.size(0)
        return (experts * gates.reshape(shape)).sum(dim)
