"""One or more calls of every operator that has a derivative, for gradcheck and gradgradcheck.

Element-wise operators of only tensors are called as their rows say (dtype, domain). The others stand in CALLS: by row
(the start of its schema, or its name where that is enough), functions of a source of random tensors that give the
positional and keyword arguments. Tensors of floating dtype are differentiated by.
"""

import re
import zlib

import torch
from torch import _C as core
from torch.autograd import _C

TREATMENTS = _C._treatments()


class Source:
    """Random tensors that are the same in every run."""

    def __init__(self, name, dtype=torch.float64):
        self.generator = torch.Generator()
        self.generator.manual_seed(zlib.crc32(name.encode()))
        self.dtype = dtype

    def __call__(self, *shape, low=-1.0, high=1.0, dtype=None):
        """Numbers uniform on [low, high); complex ones have an imaginary part from [-1, 1)."""
        dtype = dtype or self.dtype
        real = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        if not dtype.is_complex:
            return real.to(dtype)
        return torch.complex(real, torch.rand(shape, generator=self.generator, dtype=torch.float64) * 2 - 1).to(dtype)

    def spread(self, *shape):
        """Numbers of which no two are nearer than 0.1: for maxima."""
        n = 1
        for s in shape:
            n *= s
        return (
            (torch.randperm(n, generator=self.generator).to(torch.float64) * 0.1 - n * 0.05)
            .reshape(shape)
            .to(self.dtype)
        )

    def mask(self, *shape):
        return torch.rand(shape, generator=self.generator) < 0.5

    def index(self, high, *shape):
        return torch.randint(high, shape, generator=self.generator)

    def positive(self, *shape):
        return self(*shape, low=0.5, high=2.0)


def call(*args, **kwargs):
    return args, kwargs


ADDMM = [lambda t: call(t(3, 4), t(3, 2), t(2, 4), beta=2, alpha=0.5), lambda t: call(t(4), t(3, 2), t(2, 4))]
POOL = {"stride": [2], "padding": [1], "dilation": [1]}
CONV = [
    lambda t: call(t(2, 3, 7), t(4, 3, 3), t(4), [2], [1], [1], False, [0], 1),
    lambda t: call(t(1, 4, 5, 4), t(4, 2, 3, 2), None, [1, 2], [1, 0], [1, 1], False, [0, 0], 2),
    lambda t: call(t(2, 3, 4), t(3, 2, 3), t(2), [2], [1], [1], True, [1], 1),
    lambda t: call(t(1, 2, 3, 3, 3), t(2, 2, 2, 2, 2), t(2), [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1),
]

C128 = torch.complex128
# Places in a (3, 4) and in a (4, 2) matrix, sorted, and the rows and columns of some that are neither.
PLACES = torch.tensor([[0, 1, 1, 2], [3, 0, 2, 2]])
PLACES2 = torch.tensor([[0, 2, 2, 3], [1, 0, 1, 0]])
ROWS, COLUMNS = torch.tensor([2, 0, 2, 1, 0]), torch.tensor([1, 3, 1, 0, 2])


def sparse(t):
    return torch.sparse_coo_tensor(PLACES, t(4), (3, 4))


# Of matrices that must be regular, symmetric, ...: test_linalg.py has their gradients.
MATRICES = (
    "lu_factor_ex", "inv_ex", "linalg_det", "linalg_slogdet", "_linalg_solve", "solve_triangular", "cholesky_ex", "cholesky_solve",
    "cholesky_inverse", "_linalg_svd", "_linalg_eigh", "linalg_eig", "linalg_qr", "householder_product", "ormqr", "pinv", "_linalg_lstsq",
    "linalg_matrix_exp",
)  # fmt: skip

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
    "hardtanh_backward": [lambda t: call(t(5), t(5), -0.5, 0.6)],
    "threshold_backward": [lambda t: call(t(5), t(5), 0.1)],
    "leaky_relu_backward": [lambda t: call(t(5), t(5), 0.3)],
    "elu_backward": [lambda t: call(t(5), 0.7, 1.5, 2.0, False, t(5)), lambda t: call(t(5), 0.7, 1.5, 2.0, True, t(5))],
    "gelu_backward": [lambda t: call(t(5), t(5)), lambda t: call(t(5), t(5), approximate="tanh")],
    "softplus_backward": [lambda t: call(t(5), t(5), 2.0, 0.8)],
    "hardshrink_backward": [lambda t: call(t(5), t(5), 0.3)],
    **{name: [] for name in MATRICES},
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
    # --- views
    "view(Tensor(a) self, int": [lambda t: call(t(2, 3), [3, 2])],
    "squeeze": [lambda t: call(t(2, 1, 3)), lambda t: call(t(1, 2, 1), [0])],
    "unsqueeze": [lambda t: call(t(2, 3), 1)],
    "expand": [lambda t: call(t(2, 1), [3, 2, 4])],
    "alias": [lambda t: call(t(2))],
    "transpose": [lambda t: call(t(2, 3, 4), 0, -1)],
    "permute": [lambda t: call(t(2, 3, 4), [2, 0, -2])],
    "select": [lambda t: call(t(2, 3), 1, -1)],
    "slice": [lambda t: call(t(5, 2), 0, 1, 5, 2)],
    "diagonal": [lambda t: call(t(3, 4), 1), lambda t: call(t(2, 3, 3), -1, 1, 2)],
    "unfold": [lambda t: call(t(6), 0, 3, 1)],
    "as_strided": [lambda t: call(t(6), [2, 2], [3, 1], 1), lambda t: call(t(4), [3, 2], [1, 1])],
    "unbind": [lambda t: call(t(2, 3), 1)],
    "split(Tensor(a) self, int split": [lambda t: call(t(5, 2), 2)],
    "split_with_sizes": [lambda t: call(t(5, 2), [1, 4])],
    "view_as_real": [],
    "view_as_complex": [lambda t: call(t(3, 2))],
    "select_backward": [lambda t: call(t(2), [2, 3], 1, 2)],
    "slice_backward": [lambda t: call(t(2, 2), [5, 2], 0, 1, 5, 2)],
    "diagonal_backward": [lambda t: call(t(3), [3, 4], 1, 0, 1)],
    "unfold_backward": [lambda t: call(t(4, 3), [6], 0, 3, 1)],
    "select_scatter": [lambda t: call(t(2, 3), t(2), 1, 2)],
    "slice_scatter": [lambda t: call(t(5, 2), t(2, 2), 0, 1, 5, 2)],
    "diagonal_scatter": [lambda t: call(t(3, 4), t(3), 1)],
    "as_strided_scatter": [lambda t: call(t(6), t(2, 2), [2, 2], [3, 1], 1)],
    # --- joins
    "cat": [lambda t: call([t(2, 3), t(1, 3), t(0)], 0), lambda t: call([t(2, 3), t(2, 1)], -1)],
    "stack": [lambda t: call([t(2, 3), t(2, 3)], 1)],
    "constant_pad_nd": [lambda t: call(t(2, 3), [1, -1, 0, 2], 3.0)],
    "complex": [lambda t: call(t(3), t(3))],
    "tril": [lambda t: call(t(3, 4), 1)],
    "triu": [lambda t: call(t(2, 3, 4), -1)],
    "diag_embed": [lambda t: call(t(2, 3), 1)],
    # --- indices
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
        lambda t: call(_with_zeros(t, 3), 0, torch.tensor([0, 1, 1, 1, 2, 2]), _with_zeros(t, 6), "prod"),
        lambda t: call(_with_zeros(t, 3), 0, torch.tensor([2, 0, 2]), _with_zeros(t, 3), "prod", include_self=False),
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
    # --- orders
    "sort": [lambda t: call(t.spread(2, 3), 0, True), lambda t: call(t.spread(4)), lambda t: call(t())],
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
        lambda t: call(_with_zeros(t, 5, 2), 0),
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
    "softmax(": [lambda t: call(t(2, 3), 1)],
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
    # --- random: what was drawn is drawn again for each evaluation
    "native_dropout(": [lambda t: call(t(5), 0.4, True, seed=3, outputs=1)],
    # with the same random numbers a draw moves otherwise than at constant rank: test_draws.py
    **{name: [] for name in ("_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad")},
    "native_dropout_backward": [lambda t: call(t(5), t.mask(5), 2.5)],
    # --- sparse tensors
    "_sparse_coo_tensor_unsafe": [lambda t: call(PLACES, t(4), [3, 4]), lambda t: call(PLACES[:1], t(4, 2), [3, 2])],
    "_sparse_values": [lambda t: call(sparse(t))],
    "_sparse_assign_": [lambda t: call(sparse(t), sparse(t))],
    "_segment_sum": [lambda t: call(t(5, 2), torch.tensor([2, 0, 1, 4, 3]), torch.tensor([0, 2, 2, 5]))],
    "_sparse_matmul": [lambda t: call(ROWS, COLUMNS, t(5), t(4, 2), 3)],
    "_compressed_with_values": [],  # its result is sparse: test_sparse.py
    "_compressed_matmul": [lambda t: call(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1]), t(3), t(2, 4))],
    "_sparse_sampled": [lambda t: call(ROWS, COLUMNS, t(3, 2), t(4, 2))],
    "_sparse_sparse_matmul": [lambda t: call(PLACES, t(4), PLACES2, t(4), [3, 4, 2])],
}


def _with_zeros(t, *shape):
    """Every second number is zero."""
    x = t(*shape)
    x.view(-1)[::2] = 0
    return x


def _winners(t):
    return core._operator("max_pool")(t.spread(1, 2, 6), [3], **POOL, ceil_mode=False, keep_winners=True)[1]


def name_of(schema):
    return schema.partition("(")[0]


def in_place(schema):
    return "(a!) self" in schema


def pointwise(info, schema):
    """Calls of an element-wise operator of only tensors, with shapes that broadcast against each other."""
    head = schema.partition("(")[2].rpartition(") -> ")[0]
    parameters = [p.strip() for p in head.split(",") if p.strip() != "*"]
    required = [p for p in parameters if "=" not in p]
    if not info["pointwise"] or not all(re.match(r"(Tensor|Number)(\(a!\))? ", p) for p in required):
        return []
    low, high = max(info["low"], -3), min(info["high"], 3)
    margin = (high - low) * 0.02

    def sample(t):
        shapes = [(2, 3), (3,), (2, 1)]
        return call(*[t(*shapes[i], low=low + margin, high=high - margin) for i in range(len(required))])

    return [sample]


INFO = {info["schema"]: info for info in core._rows()}


def calls_of(schema):
    """The calls of a row, or an empty list where nobody has written one."""
    plain = name_of(schema)
    for key in sorted((k for k in CALLS if schema.startswith(k)), key=len, reverse=True):
        if "(" in key or key == plain:
            return CALLS[key]
    if plain in CALLS:
        return CALLS[plain]
    if in_place(schema) and plain.endswith("_"):
        out_of_place = [k for k in CALLS if "(" not in k and k == plain[:-1]]
        if out_of_place:
            return CALLS[out_of_place[0]]
    return pointwise(INFO[schema], schema)
