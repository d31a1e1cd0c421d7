"""Products and Fourier transforms."""

import torch

from .source import call

C128 = torch.complex128
ADDMM = [lambda t: call(t(3, 4), t(3, 2), t(2, 4), beta=2, alpha=0.5), lambda t: call(t(4), t(3, 2), t(2, 4))]

CALLS = {
    # --- products
    "mm": [lambda t: call(t(2, 3), t(3, 4))],
    "bmm": [lambda t: call(t(2, 2, 3), t(2, 3, 1))],
    "mv": [lambda t: call(t(2, 3), t(3))],
    "dot": [lambda t: call(t(3), t(3))],
    "vdot": [lambda t: call(t(3), t(3))],
    "matmul": [
        lambda t, a=a, b=b: call(t(*a), t(*b))
        for a, b in [
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3, 2)),
            ((2, 2, 3), (3, 2)),
            ((2, 3), (4, 3, 2)),
            ((3,), (2, 3, 2)),
            ((2, 2, 3), (3,)),
            ((2, 1, 2, 3), (3, 3, 2)),
        ]
    ],
    "linear": [
        lambda t: call(t(2, 3), t(4, 3), t(4)),
        lambda t: call(t(2, 2, 3), t(4, 3)),
        lambda t: call(t(3), t(4, 3), t(4)),
    ],
    "addmm": ADDMM,
    "addmv": [lambda t: call(t(3), t(3, 2), t(2), beta=2, alpha=0.5)],
    "addr": [lambda t: call(t(3, 2), t(3), t(2), beta=2, alpha=0.5)],
    "baddbmm": [lambda t: call(t(2, 3, 4), t(2, 3, 2), t(2, 2, 4), beta=2, alpha=0.5)],
    "addbmm": [lambda t: call(t(3, 4), t(2, 3, 2), t(2, 2, 4), beta=2, alpha=0.5)],
    # --- Fourier transforms
    "_fft_c2c": [
        lambda t: call(t(3, 4, dtype=C128), [1], 0, True),
        lambda t: call(t(3, 4, dtype=C128), [1, 0], 1, False),
    ],
    "_fft_r2c": [
        lambda t: call(t(2, 5), [1], 2, True),
        lambda t: call(t(4, 6), [1, 0], 1, True, False),
        lambda t: call(t(2, 5), [0], 0, False),
    ],
    "_fft_c2r": [
        lambda t: call(t(2, 3, dtype=C128), [1], 2, 4),
        lambda t: call(t(3, 2, dtype=C128), [1, 0], 1, 5, True),
        lambda t: call(t(2, 1, dtype=C128), [1], 0, 1),
    ],
}
