"""Orders, running reductions and reductions."""

import torch

from .source import call, with_zeros

CALLS = {
    # --- orders
    "sort": [lambda t: call(t.spread(2, 3), 0, True), lambda t: call(t.spread(4)), lambda t: call(t())],
    **{name: [] for name in ("_unique", "_unique_dim", "_unique_consecutive")},  # no slope: test_backward.py
    "topk": [lambda t: call(t.spread(2, 5), 2), lambda t: call(t.spread(5, 2), 3, 0, False)],
    "kthvalue": [lambda t: call(t.spread(2, 5), 2), lambda t: call(t.spread(5, 2), 3, 0, True), lambda t: call(t(), 1)],
    "median(Tensor self)": [lambda t: call(t.spread(2, 3))],
    "nanmedian(Tensor self)": [lambda t: call(t.spread(2, 3))],
    "median(Tensor self, int": [lambda t: call(t.spread(2, 3), 1), lambda t: call(t.spread(4, 3), 0, True)],
    "nanmedian(Tensor self, int": [lambda t: call(t.spread(2, 3), 1), lambda t: call(t.spread(4, 3), 0, True)],
    "mode": [lambda t: call(t.spread(2, 3)), lambda t: call(t.spread(4, 3), 0, True)],
    # --- running reductions
    "cumsum": [lambda t: call(t(2, 3), 1), lambda t: call(t(4, 2), 0), lambda t: call(t(), 0)],
    "cumprod": [
        lambda t: call(t(2, 3), 1),
        lambda t: call(t(4, 2), 0),
        lambda t: call(t(), 0),
        lambda t: call(with_zeros(t, 5, 2), 0),
    ],
    "cummax": [lambda t: call(t.spread(2, 5), 1), lambda t: call(t.spread(5, 2), 0)],
    "cummin": [lambda t: call(t.spread(2, 5), 1), lambda t: call(t.spread(5, 2), 0)],
    "logcumsumexp": [lambda t: call(t(2, 3), 1), lambda t: call(t(4, 2), 0), lambda t: call(t(), 0)],
    "_linear_recurrence": [
        lambda t: call(t(2, 4), t(2, 4), 1),
        lambda t: call(t(4, 2), t(4, 2), 0, True),
        lambda t: call(t(), t(), 0),
    ],
    # --- reductions
    "sum": [lambda t: call(t(2, 3)), lambda t: call(t(2, 3, 2), [0, -1]), lambda t: call(t(2, 3), [1], True)],
    "mean": [lambda t: call(t(2, 3)), lambda t: call(t(2, 3, 2), [0, -1]), lambda t: call(t(2, 3), [1], True)],
    "prod": [
        lambda t: call(t.positive(2, 3)),
        lambda t: call(t.positive(2, 3), 1),
        lambda t: call(torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]], dtype=torch.float64), 1, True),
        lambda t: call(torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)),
    ],
    "max(Tensor self)": [lambda t: call(t.spread(2, 3))],
    "min(Tensor self)": [lambda t: call(t.spread(2, 3))],
    "max(Tensor self, int": [lambda t: call(t.spread(2, 3), 1), lambda t: call(t.spread(2, 3), 0, True)],
    "min(Tensor self, int": [lambda t: call(t.spread(2, 3), 1)],
    "amax": [lambda t: call(t.spread(2, 3), [0, 1]), lambda t: call(t.spread(2, 3), [1], True)],
    "amin": [lambda t: call(t.spread(2, 3))],
    "var(Tensor self, int[1]? dim=None": [
        lambda t: call(t(2, 3)),
        lambda t: call(t(2, 3), [1], correction=0, keepdim=True),
    ],
    "std(Tensor self, int[1]? dim=None": [lambda t: call(t(2, 3)), lambda t: call(t(2, 3), [1], correction=0)],
    "var_mean(Tensor self, int[1]? dim=None": [lambda t: call(t(2, 3), [1])],
    "vector_norm": [
        lambda t, p=p: call(t.spread(2, 4) + 0.02, p, [1]) for p in (0.5, 1, 1.5, 2, 3, float("inf"), float("-inf"))
    ]
    + [lambda t: call(t(2, 3), 2)],
    "logsumexp": [lambda t: call(t(2, 3), [1]), lambda t: call(t(2, 3), [0, 1], True)],
}
