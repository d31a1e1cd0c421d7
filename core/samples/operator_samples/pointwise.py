"""Element-wise operators with parameters; those of only tensors are called as their rows say."""

import torch

from .source import call

CALLS = {
    # --- copies
    "clone": [lambda t: call(t(2, 3))],
    "copy_": [lambda t: call(t(2, 3), t(3)), lambda t: call(t(2, 3), t(2, 3))],
    "_to_copy": [lambda t: call(t(2, 3), dtype=torch.float64)],
    # --- element-wise with parameters
    "add": [lambda t: call(t(2, 3), t(3), alpha=2), lambda t: call(t(2, 1), t(1, 3)), lambda t: call(t(2), 3.0)],
    "sub": [lambda t: call(t(2, 3), t(3), alpha=2)],
    "rsub": [lambda t: call(t(2, 3), t(3), alpha=2)],
    "div": [lambda t: call(t(2, 3), t.positive(3)), lambda t: call(t(2, 3), t.positive(3), rounding_mode="floor")],
    "pow": [
        lambda t: call(t.positive(2, 3), t(3)),
        lambda t: call(t(2, 3), 2.0),
        lambda t: call(2.0, t(3)),
        lambda t: call(t(3), 0.0),
    ],
    "nan_to_num": [lambda t: call(t(3))],
    "logit": [lambda t: call(t(3, low=0.1, high=0.9)), lambda t: call(t(4, low=0.1, high=0.9), eps=0.2)],
    "clamp(Tensor self, Scalar": [
        lambda t: call(t(6), -0.5, 0.5),
        lambda t: call(t(6), max=0.3),
        lambda t: call(t(6), min=0.3),
    ],
    "clamp(Tensor self, Tensor": [
        lambda t: call(t(6), t(6), t(6)),
        lambda t: call(t(6), t(6)),
        lambda t: call(t(6), None, t(6)),
    ],
    "clamp_(Tensor(a!) self, Scalar": [lambda t: call(t(6), -0.5, 0.5)],
    "clamp_(Tensor(a!) self, Tensor": [lambda t: call(t(6), t(6), t(6))],
    "where": [lambda t: call(t.mask(2, 3), t(2, 3), t(3))],
    "masked_fill": [lambda t: call(t(2, 3), t.mask(2, 3), t()), lambda t: call(t(2, 3), t.mask(3), 2.0)],
    "lerp": [lambda t: call(t(2, 3), t(3), t(2, 3)), lambda t: call(t(2, 3), t(3), 0.3)],
    "addcmul": [lambda t: call(t(2, 3), t(3), t(2, 1), value=2)],
    "addcdiv": [lambda t: call(t(2, 3), t(3), t.positive(2, 1), value=2)],
    "conj_physical": [lambda t: call(t(3))],
    "xlogy": [lambda t: call(t(2, 3), t.positive(3))],
    "igamma": [lambda t: call(t.positive(3), t.positive(3)), lambda t: call(t.positive(3), 3 * t.positive(3))],
    "igammac": [lambda t: call(t.positive(3), t.positive(3)), lambda t: call(t.positive(3), 3 * t.positive(3))],
    "_igamma_slope": [lambda t: call(t.positive(3), t.positive(3), nograd=(0,))],
    "zeta": [lambda t: call((t.positive(3) + 1).detach(), t.positive(3), nograd=(0,))],
    "polygamma": [lambda t: call(2, t.positive(3))],
    "polygamma_": [lambda t: call(t.positive(3), 2)],
    "frexp": [lambda t: call(t.positive(3), outputs=1)],
    "heaviside": [lambda t: call(t(3), t(3))],
    "leaky_relu": [lambda t: call(t(5)), lambda t: call(t(5), 0.3)],
    "elu": [lambda t: call(t(5)), lambda t: call(t(5), 0.7, 1.5, 2.0)],
    "threshold": [lambda t: call(t(5), 0.1, 20.0)],
    "hardtanh": [lambda t: call(t(5), -0.5, 0.6)],
    "gelu": [lambda t: call(t(5)), lambda t: call(t(5), approximate="tanh")],
    "softplus": [lambda t: call(t(5)), lambda t: call(t(5), 2.0, 0.8)],
    "hardshrink": [lambda t: call(t(5))],
    "softshrink": [lambda t: call(t(5))],
    "huber": [lambda t: call(t(5)), lambda t: call(t(5), 0.3)],
    "hardtanh_backward": [lambda t: call(t(5), t(5), -0.5, 0.6)],
    "threshold_backward": [lambda t: call(t(5), t(5), 0.1)],
    "leaky_relu_backward": [lambda t: call(t(5), t(5), 0.3)],
    "elu_backward": [lambda t: call(t(5), 0.7, 1.5, 2.0, False, t(5)), lambda t: call(t(5), 0.7, 1.5, 2.0, True, t(5))],
    "gelu_backward": [lambda t: call(t(5), t(5)), lambda t: call(t(5), t(5), approximate="tanh")],
    "softplus_backward": [lambda t: call(t(5), t(5), 2.0, 0.8)],
    "hardshrink_backward": [lambda t: call(t(5), t(5), 0.3)],
}
