"""Operators composed of others, or without a gradient of their own, whose operands must fit each other."""

import torch

from .layers import POOL
from .source import call


def winners(t, high, *shape):
    return t.index(high, *shape).to(torch.uint8)


CALLS = {
    "_int8_linear": [
        lambda t: call(
            t(3, 5, dtype=torch.float32),
            t.index(9, 4, 5).to(torch.int8),
            t(4, low=0.5, high=2.0, dtype=torch.float32),
        )
    ],
    "_int8_dynamic": [
        lambda t: call(
            t(3, 5, dtype=torch.float32),
            t.index(9, 4, 5).to(torch.int8),
            t(4, low=0.5, high=2.0, dtype=torch.float32),
            None,
            True,
        )
    ],
    "_narrow_linear": [
        lambda t: call(
            t(3, 5, dtype=torch.float32),
            t.index(9, 4, 5).to(torch.int8),
            t(4, low=0.5, high=2.0, dtype=torch.float32),
            5,
        )
    ],
    "_cdist_forward": [lambda t, p=p: call(t(2, 3, 5), t(2, 6, 5), p, None) for p in (1.0, 2.0)],
    "_cdist_backward": [
        lambda t, p=p: call(t(2, 3, 6), t(2, 3, 5), t(2, 6, 5), p, t.positive(2, 3, 6)) for p in (1.0, 2.0)
    ],
    "_recurrence(": [
        lambda t: call(t(3, 2, 16), t(2, 4), t(2, 4), t(16, 4), t(16), "LSTM", False, True),
        lambda t: call(t(3, 2, 12), t(2, 4), None, t(12, 4), None, "GRU", True, True),
        lambda t: call(t(3, 2, 4), t(2, 4), None, t(4, 4), t(4), "RNN_TANH", True, False),
    ],
    "_recurrence_backward": [
        lambda t: call(t(3, 2, 4), t(2, 4), t(16, 4), t(4, 2, 4), t(4, 2, 4), t(3, 2, 16), "LSTM", True),
        lambda t: call(t(3, 2, 4), None, t(12, 4), t(4, 2, 4), t(0, 2, 4), t(3, 2, 16), "GRU", False),
        lambda t: call(t(3, 2, 4), None, t(4, 4), t(4, 2, 4), t(0, 2, 4), t(3, 2, 0), "RNN_RELU", False),
    ],
    "_int8_dense": [
        lambda t: call(
            winners(t, 9, 3, 5),
            t.index(9, 4, 5).to(torch.int8),
            t(4, low=0.5, high=2.0, dtype=torch.float32),
            None,
            3,
            4,
            False,
        )
    ],
    "_int8_convolution": [
        lambda t: call(
            winners(t, 9, 2, 3, 4, 4),
            t.index(9, 4, 3, 3, 3).to(torch.int8),
            t(4, low=0.5, high=2.0, dtype=torch.float32),
            None,
            [1, 1],
            [1, 1],
            [1, 1],
            1,
            3,
            4,
            True,
        )
    ],
    "_int8_packed_convolution": [  # of no rows: else the bytes are the processor's
        lambda t: call(
            t.index(9, 1, 2, 4, 4).to(torch.uint8),
            t.index(9, 0, 2, 3, 3).to(torch.int8),
            t.index(9, 0).to(torch.uint8),
            t(0, dtype=torch.float32),
            None,
            [1],
            [0],
            [1],
            0,
            0,
            False,
        )
    ],
    "_int8_pack": [lambda t: call(t.index(9, 0, 5).to(torch.int8))],  # of no rows: else the bytes are the processor's
    "native_batch_norm_backward": [
        lambda t: call(t(3, 2, 4), t(3, 2, 4), t(2), t(2), t.positive(2), t(2), t.positive(2), True, 1e-5)
    ],
    "batch_norm": [
        lambda t, train=train: call(t(3, 2, 4), t(2), t(2), t(2), t.positive(2), train, 0.1, 1e-5, False)
        for train in (True, False)
    ],
    "_native_group_norm_backward": [
        lambda t: call(t(2, 4, 3), t(2, 4, 3), 2, t(2, 2), t.positive(2, 2), t(4)),
        lambda t: call(t(2, 4), t(2, 4), 2, t(2, 2), t.positive(2, 2), None),
    ],
    "native_layer_norm_backward": [lambda t: call(t(2, 3), t(2, 3), [3], t(2, 1), t.positive(2, 1), t(3), t(3))],
    "instance_norm": [lambda t: call(t(3, 2, 4), t(2), t(2), None, None, True, 0.1, 1e-5, False)],
    "nll_loss": [lambda t: call(t(4, 3), t.index(3, 4))],
    "cross_entropy": [
        lambda t: call(t(4, 3), t.index(3, 4)),
        lambda t: call(t(4, 3), t.positive(4, 3), label_smoothing=0.1),
    ],
    "conv_transpose1d": [lambda t: call(t(2, 3, 4), t(3, 2, 3), t(2))],
    "conv_transpose2d": [lambda t: call(t(2, 3, 4, 4), t(3, 2, 3, 3), t(2))],
    "conv_tbc": [lambda t: call(t(5, 2, 3), t(3, 3, 4), t(4))],
    "max_pool_backward": [lambda t: call(t(1, 2, 3), winners(t, 3, 1, 2, 3), [6], [3], **POOL)],
    "max_pool_gather": [lambda t: call(t(1, 2, 6), winners(t, 2, 1, 2, 3), [3], **POOL)],
    "max_pool_indices": [lambda t: call(winners(t, 2, 1, 2, 3), [6], [3], **POOL)],
    "stft": [
        lambda t: call(t(64), 16, return_complex=True),
        lambda t: call(t(2, 64), 16, window=t.positive(16), return_complex=True),
    ],
    "istft": [lambda t: call(torch.complex(t(9, 17), t(9, 17)), 16, window=t.positive(16))],
    "one_hot": [lambda t: call(t.index(3, 4), 3)],
    "embedding_renorm_": [lambda t: call(t(4, 3), t.index(4, 2), 0.5, 2.0)],
    "view_as_real": [lambda t: call(torch.complex(t(3), t(3)))],
    "_standard_gamma": [lambda t: call(t.positive(3))],
    "_standard_gamma_grad": [lambda t: call(t.positive(3), t.positive(3))],
    "_sample_dirichlet": [lambda t: call(t.positive(2, 3))],
    "_dirichlet_grad": [lambda t: call(t.positive(2, 3), t.positive(2, 3), t.positive(2, 3))],
    "can_cast": [lambda t: call(torch.float32, torch.int64)],
    "promote_types": [lambda t: call(torch.float32, torch.int64)],
    "btrisolve": [lambda t: call(t(2, 3), t.regular(3, 2), torch.tensor([[1, 2, 3], [1, 2, 3]], dtype=torch.int32))],
}
