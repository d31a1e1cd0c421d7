"""Convolutions, pooling, normalisations, losses and dropout."""

import torch
from torch import _C as core

from .source import call

POOL = {"stride": [2], "padding": [1], "dilation": [1]}
CONV = [
    lambda t: call(t(2, 3, 7), t(4, 3, 3), t(4), [2], [1], [1], False, [0], 1),
    lambda t: call(t(1, 4, 5, 4), t(4, 2, 3, 2), None, [1, 2], [1, 0], [1, 1], False, [0, 0], 2),
    lambda t: call(t(2, 3, 4), t(3, 2, 3), t(2), [2], [1], [1], True, [1], 1),
    lambda t: call(t(1, 2, 3, 3, 3), t(2, 2, 2, 2, 2), t(2), [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1),
]


def _winners(t):
    return core._operator("max_pool")(t.spread(1, 2, 6), [3], **POOL, ceil_mode=False, keep_winners=True)[1]


CALLS = {
    # --- convolutions and pooling
    "convolution": CONV,
    "convolution_backward": [
        lambda t: call(t(2, 4, 4), t(2, 3, 7), t(4, 3, 3), [2], [1], [1], False, [0], 1, True, True, True),
        lambda t: call(
            t(1, 4, 5, 2), t(1, 4, 5, 4), t(4, 2, 3, 2), [1, 2], [1, 0], [1, 1], False, [0, 0], 2, True, True, False
        ),
        lambda t: call(t(2, 2, 8), t(2, 3, 4), t(3, 2, 3), [2], [1], [1], True, [1], 1, True, True, True),
    ],
    "max_pool": [lambda t: call(t.spread(1, 2, 6), [3], **POOL, ceil_mode=False, keep_winners=True)],
    "max_pool_backward": [lambda t: call(t(1, 2, 3), _winners(t), input_size=[6], kernel_size=[3], **POOL)],
    "max_pool_gather": [lambda t: call(t(1, 2, 6), _winners(t), kernel_size=[3], **POOL)],
    "avg_pool": [lambda t: call(t(1, 2, 6), [3], [2], [1], False, True, None)],
    "avg_pool_backward": [lambda t: call(t(1, 2, 3), [6], [3], [2], [1], False, False, None)],
    "adaptive_avg_pool": [lambda t: call(t(1, 2, 5, 4), [3, 2])],
    "adaptive_avg_pool_backward": [lambda t: call(t(1, 2, 3, 2), [5, 4])],
    "adaptive_max_pool": [lambda t: call(t.spread(1, 2, 5, 4), [3, 2])],
    "plane_gather": [lambda t: call(t(2, 5), t.index(5, 2, 3), 1)],
    "plane_scatter": [lambda t: call(t(2, 3), t.index(5, 2, 3), [5], True)],
    "resample(": [
        lambda t: call(t(2, 4), 1, torch.tensor([[0, 1, 3], [1, 2, 3]]), t(2, 3, dtype=torch.float64), nograd=(3,))
    ],
    "resample_backward": [
        lambda t: call(t(2, 3), 1, torch.tensor([[0, 1, 3], [1, 2, 3]]), t(2, 3, dtype=torch.float64), 4, nograd=(3,))
    ],
    # --- normalisations, softmax, losses
    "native_batch_norm(": [
        lambda t: call(t(3, 2, 4), t(2), t(2), t(2), t.positive(2), True, 0.1, 1e-5, nograd=(3, 4), outputs=1),
        lambda t: call(t(3, 2), None, None, t(2), t.positive(2), False, 0.1, 1e-5, nograd=(3, 4), outputs=1),
    ],
    "_native_layer_norm(": [
        lambda t: call(t(3, 2, 4), [2, 4], t(2, 4), t(2, 4), 1e-5),
        lambda t: call(t(3, 4), [4], None, None, 1e-5),
    ],
    "_native_group_norm(": [
        lambda t: call(t(2, 4, 3), 2, t(4), t(4), 1e-5),
        lambda t: call(t(2, 4), 2, None, None, 1e-5),
        lambda t: call(t(1, 3, 2, 2), 1, t(3), None, 1e-5),
    ],
    "softmax(": [lambda t: call(t(2, 3), 1)],
    "_safe_softmax": [lambda t: call(t(2, 3), 1)],
    "_attention(": [lambda t: call(t(2, 3, 4), t(2, 5, 4), t(2, 5, 2), t(3, 5), False, 0.5)],
    "_attention_weights": [
        lambda t: call(t(2, 3, 4), t(2, 5, 4), t(3, 5), False, 0.5),
        lambda t: call(t(2, 3, 4), t(3, 4), None, True, 0.5),
    ],
    "_attention_forward": [
        lambda t: call(t(2, 3, 4), t(2, 5, 4), t(2, 5, 2), t(2, 1, 5), False, 0.5, True, outputs=1),
        lambda t: call(t(2, 2, 3, 4), t(2, 1, 3, 4), t(3, 2), None, True, 0.5, False, outputs=1),
    ],
    "_attention_backward": [
        lambda t: call(t(2, 3, 2), t(2, 3, 4), t(2, 5, 4), t(2, 5, 2), t(3, 5), torch.empty(0), False, 0.5)
    ],
    "log_softmax(": [lambda t: call(t(2, 3), 0)],
    "softmax_backward": [lambda t: call(t(2, 3), t(2, 3), 1)],
    "log_softmax_backward": [lambda t: call(t(2, 3), t(2, 3), 1)],
    "embedding(": [lambda t: call(t(4, 3), t.index(4, 2, 2))],
    "embedding_dense_backward": [lambda t: call(t(2, 2, 3), t.index(4, 2, 2), 4, 1, False)],
    "nll_loss_forward": [
        lambda t, r=r: call(t(4, 3), t.index(3, 4), t.positive(3), r, -100, nograd=(2,), outputs=1) for r in (0, 1, 2)
    ],
    "nll_loss_backward": [
        lambda t: call(t(), t(4, 3), t.index(3, 4), None, 1, -100, torch.tensor(4.0, dtype=torch.float64), nograd=(6,)),
    ],
    # --- away from places where distances have no slope: test_distance.py
    "_cdist_forward": [],
    # --- recurrent: test_recurrent.py
    "_recurrence": [],
    # --- random: what was drawn is drawn again for each evaluation
    "native_dropout(": [lambda t: call(t(5), 0.4, True, seed=3, outputs=1)],
    # with the same random numbers a draw moves otherwise than at constant rank: test_sampling.py
    **{name: [] for name in ("_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad")},
    "native_dropout_backward": [lambda t: call(t(5), t.mask(5), 2.5)],
}
