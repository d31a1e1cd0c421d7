"""Every operator runs on CUDA with the CPU's results, or says what it lacks."""

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent

#: what must run: whole families by a few of their operators
RUN = [
    "rand", "randn", "randint", "rand_like", "uniform_", "normal_", "normal", "exponential_", "cauchy_", "geometric_",
    "tril", "triu", "tril_", "eye", "tril_indices", "hann_window", "constant_pad_nd", "pad", "complex", "randperm",
    "repeat_interleave", "masked_select", "masked_scatter", "nonzero", "argwhere", "bincount", "histc", "one_hot", "isin", "searchsorted",
    "bucketize", "cumsum", "cumprod", "cummax", "cummin", "sort", "argsort", "topk", "kthvalue", "median", "nanmedian",
    "mode", "msort", "quantile", "_unique", "_unique_dim", "_unique_consecutive", "_linear_recurrence",
    "log_normal_", "random_", "bernoulli", "bernoulli_", "native_dropout", "native_dropout_backward", "dropout",
    "add", "add_", "sub", "mul", "div", "erf", "lgamma", "digamma", "neg", "floor", "eq", "lt", "bitwise_xor",
    "minimum", "hypot", "atan2", "fmod", "where", "masked_fill", "clamp", "lerp", "addcmul", "gelu", "silu",
    "softplus", "relu", "leaky_relu", "threshold", "empty", "zeros", "ones", "full", "arange", "linspace",
    "zeros_like", "clone", "contiguous", "copy_", "fill_", "zero_", "view", "reshape", "transpose", "permute",
    "expand", "narrow", "select", "squeeze", "unsqueeze", "as_strided", "diagonal", "unfold", "sum", "mean",
    "max", "min", "argmax", "amin", "any", "all", "count_nonzero", "nansum", "softmax", "log_softmax", "softmax_backward", "native_layer_norm", "layer_norm", "cat", "gather", "index_select", "index_add", "scatter_add", "take", "embedding", "stack",
    "mm", "bmm", "mv", "dot", "vdot", "matmul", "linear", "addmm", "addmm_", "addmv", "addbmm", "addr", "baddbmm",
    "native_batch_norm", "native_batch_norm_backward", "group_norm", "instance_norm", "nll_loss_forward", "nll_loss_backward", "cross_entropy", "convolution", "convolution_backward", "conv1d", "conv2d",
    "conv_transpose2d", "conv3d", "max_pool", "max_pool_backward", "max_pool_gather", "max_pool_indices", "avg_pool",
    "avg_pool_backward", "adaptive_avg_pool", "adaptive_avg_pool_backward", "adaptive_max_pool", "resample", "resample_backward", "constant_pad_nd", "unfold_backward",
    "frexp", "angle", "conj", "ldexp", "l1_loss", "vecdot", "norm", "dist", "vander", "airy_ai", "log_ndtr", "zeta",
    "legendre_polynomial_p", "poisson", "multinomial", "binomial", "_standard_gamma", "_sample_dirichlet",
    "index_reduce", "scatter_reduce", "scatter_reduce_", "_fft_c2c", "_fft_r2c", "_fft_c2r", "fftn", "irfft2", "stft",
    "istft", "_segment_sum", "_sparse_matmul", "_sparse_sampled", "_sparse_sparse_matmul", "sparse_coo_tensor",
    "to_sparse", "coalesce", "sparse_mask", "hspmm", "sspaddmm", "_sparse_softmax", "_compressed_matmul",
    "sparse_sampled_addmm", "_to_sparse_compressed", "inverse", "det", "slogdet", "solve", "solve_triangular", "cholesky",
    "svd", "qr", "ormqr", "eigh", "eigvals", "symeig", "lstsq", "gels", "pinv", "matrix_rank", "matrix_exp",
    "ldl_solve", "gesv", "potrf", "btrisolve", "trtrs",
]  # fmt: skip


@pytest.fixture(scope="module", params=["guard", "guard,order=7,lazy"])
def outcomes(request):
    """By row, what became of its calls in a process of their own, where host code that touches device memory ends it."""
    settings = os.environ | {"TORCH_CUDA_HOST": request.param}
    command = [sys.executable, "-W", "ignore", str(HERE / "every_row.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=settings)
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    assert done.returncode == 0, f"{last!r} ended the process ({done.returncode}): {done.stderr[-2000:]}"
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        name, _, what = line.partition(" ")
        found[name].append(what)
    return found


def test_results_are_those_of_the_cpu(outcomes):
    wrong = {name: [w for w in what if w not in ("runs", "lacks")] for name, what in outcomes.items()}
    wrong = {name: what for name, what in wrong.items() if what}
    assert not wrong


def test_families_that_have_kernels_run(outcomes):
    assert not [name for name in RUN if set(outcomes[name]) != {"runs"}]
    assert sum(set(what) == {"runs"} for what in outcomes.values()) > 760
