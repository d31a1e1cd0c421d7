"""Operators that pick or place elements."""

import torch

from .source import call, with_zeros

CALLS = {
    "index": [
        lambda t: call(t(4, 3), [t.index(4, 5)]),
        lambda t: call(t(4, 3), [None, t.index(3, 2, 2)]),
        lambda t: call(t(4), [t.mask(4)]),
    ],
    "index_put": [
        lambda t: call(t(4, 3), [torch.tensor([0, 2])], t(2, 3)),
        lambda t: call(t(4, 3), [t.index(4, 5)], t(3), accumulate=True),
        lambda t: call(t(4, 3), [torch.tensor([0, 2, 0])], t(3, 3)),  # of the first and the last the last one stays
    ],
    "index_select": [lambda t: call(t(4, 3), 0, t.index(4, 5)), lambda t: call(t(2, 4), 1, t.index(4, 3))],
    "bincount": [lambda t: call(t.index(4, 5), t(5)), lambda t: call(t.index(4, 5), t(5), 6)],
    "index_add(": [
        lambda t: call(t(4, 3), 0, t.index(4, 5), t(5, 3), alpha=2),
        lambda t: call(t(2, 4), -1, t.index(4, 2), t(2, 2)),
        lambda t: call(t(), 0, torch.tensor([0]), t()),
        lambda t: call(t(3), 0, torch.tensor(2), t(1)),
    ],
    "index_add_(": [lambda t: call(t(4, 3), 0, t.index(4, 5), t(5, 3), alpha=2)],
    "index_copy(": [
        lambda t: call(t(4, 3), 0, torch.tensor([2, 0, 2]), t(3, 3)),  # of the first and the last the last one stays
        lambda t: call(t(2, 4), -1, torch.tensor([3, 1], dtype=torch.int32), t(2, 2)),
        lambda t: call(t(), 0, torch.tensor([0]), t(1)),
        lambda t: call(t(3), 0, torch.tensor(2), t()),
    ],
    "index_copy_(": [lambda t: call(t(4, 3), 0, torch.tensor([2, 0, 2]), t(3, 3))],
    "index_fill": [lambda t: call(t(4, 3), 1, torch.tensor([2, 0]), 0.7), lambda t: call(t(), 0, torch.tensor([0]), 2)],
    "gather": [
        lambda t: call(t(4, 3), 0, t.index(4, 5, 2)),
        lambda t: call(t(2, 4, 2), -2, t.index(4, 2, 6, 1)),
        lambda t: call(t(), 0, torch.tensor([0, 0])),
        lambda t: call(t(3), 0, torch.tensor(2)),
    ],
    "scatter(Tensor self, int dim, Tensor index, Tensor src": [
        lambda t: call(t(4, 3), 0, t.index(4, 5, 2), t(5, 2)),  # meets itself: the last one stays
        lambda t: call(t(2, 4, 2), -2, t.index(4, 2, 3, 1), t(2, 4, 2)),
        lambda t: call(t(), 0, torch.tensor([0]), t(3)),
        lambda t: call(t(3), 0, torch.tensor(2), t(2)),
    ],
    "scatter_(Tensor(a!) self, int dim, Tensor index, Tensor src": [
        lambda t: call(t(4, 3), 0, t.index(4, 5, 2), t(5, 2))
    ],
    "scatter(Tensor self, int dim, Tensor index, Scalar": [lambda t: call(t(4, 3), 0, t.index(4, 5, 2), 0.5)],
    "scatter_(Tensor(a!) self, int dim, Tensor index, Scalar": [lambda t: call(t(4, 3), 0, t.index(4, 5, 2), 0.5)],
    "scatter_add": [
        lambda t: call(t(4, 3), 0, t.index(4, 5, 2), t(5, 2)),
        lambda t: call(t(2, 4, 2), -2, t.index(4, 2, 3, 1), t(2, 4, 2)),
        lambda t: call(t(), 0, torch.tensor([0]), t(3)),
        lambda t: call(t(3), 0, torch.tensor(2), t(2)),
    ],
    "scatter_reduce": [
        lambda t, how=how, own=own, c=c: call(*c(t), how, include_self=own)
        for how in ("sum", "mean", "prod", "amax", "amin")
        for own in (True, False)
        for c in (
            lambda t: (t.spread(4, 3) + 0.03, 0, t.index(4, 6, 2), t.spread(7, 2)),
            lambda t: (t.spread(2, 4, 2) + 0.03, -2, t.index(4, 2, 3, 1), t.spread(2, 3, 1)),
        )
    ]
    + [
        lambda t: call(t(3), 0, torch.tensor([], dtype=torch.int64), t(2), "sum"),  # nothing is written
        lambda t: call(t(), 0, torch.tensor([0, 0]), t(3), "prod"),
        lambda t: call(t(3), 0, torch.tensor(2), t(2), "prod"),
        lambda t: call(with_zeros(t, 3), 0, torch.tensor([0, 1, 1, 1, 2, 2]), with_zeros(t, 6), "prod"),
        lambda t: call(with_zeros(t, 3), 0, torch.tensor([2, 0, 2]), with_zeros(t, 3), "prod", include_self=False),
    ],
    "take": [lambda t: call(t(2, 3), torch.tensor([[0, -1, 5], [2, 2, 0]]))],
    "put": [
        lambda t: call(t(2, 3), torch.tensor([[0, -1], [2, 5]]), t(4)),  # -1 and 5 are the same place
        lambda t: call(t(2, 3), torch.tensor([0, 2, 2]), t(3), True),
    ],
    "masked_select": [lambda t: call(t(2, 3), t.mask(2, 3)), lambda t: call(t(3), t.mask(2, 3))],
    "masked_scatter(": [
        lambda t: call(t(2, 3), t.mask(2, 3), t(2, 4)),
        lambda t: call(t(3), t.mask(2, 1), t(6)),
    ],
    "masked_scatter_(": [lambda t: call(t(2, 3), t.mask(3), t(2, 4))],
}
