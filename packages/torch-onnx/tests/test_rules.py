"""Operators by their rules: onnxruntime gives what torch gives, in an old opset and a new one, and at other sizes."""

import onnx
import pytest
import torch
from agreement import agree
from torch import _pytree as pytree
from torch import nn
from torch.nn import functional as F
from torch.onnx.errors import OnnxExporterError

fft, linalg, special = torch.fft, torch.linalg, torch.special


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y=None):
        return self.function(x) if y is None else self.function(x, y)


def real(function):
    """Both parts of a complex result."""
    return lambda *args: torch.view_as_real(function(*args))


def rows(*size):
    return torch.randn(*size, generator=torch.Generator().manual_seed(3))


def whole(*size):
    return torch.arange(torch.Size(size).numel()).reshape(size) * 7 % 5


def regular(*size):
    """Matrices that have an inverse."""
    return rows(*size) + 3 * torch.eye(size[-1])


def positive(*size):
    x = rows(*size)
    return x @ x.mT + torch.eye(size[-1])


NAN, INF = float("nan"), float("inf")
MOVES = {"x": [0]}  # dynamic_axes

FOURIER = {
    "fft": (real(lambda x: fft.fft(x)), rows(3, 8), MOVES),
    "fft of a dim that may change": (real(lambda x: fft.fft(x, dim=0, norm="ortho")), rows(6, 4), MOVES),
    "fft with more places": (real(lambda x: fft.fft(x, 12, norm="forward")), rows(3, 8), MOVES),
    "fft with fewer places": (real(lambda x: fft.fft(x, 5, 0)), rows(8, 3), None),
    "ifft": (real(lambda x: fft.ifft(torch.view_as_complex(x))), rows(3, 8, 2), MOVES),
    "ifft, ortho": (real(lambda x: fft.ifft(torch.view_as_complex(x), norm="ortho")), rows(3, 8, 2), MOVES),
    "rfft": (real(lambda x: fft.rfft(x)), rows(3, 10), MOVES),
    "rfft, odd": (real(lambda x: fft.rfft(x, dim=1)), rows(2, 7, 3), MOVES),
    "irfft": (lambda x: fft.irfft(fft.rfft(x)), rows(3, 10), MOVES),
    "irfft, odd": (lambda x: fft.irfft(fft.rfft(x), n=9, norm="forward"), rows(3, 9), MOVES),
    "irfft of a dim that may change": (lambda x: fft.irfft(torch.view_as_complex(x), dim=0), rows(5, 3, 2), MOVES),
    "hfft": (lambda x: fft.hfft(torch.view_as_complex(x)), rows(3, 5, 2), MOVES),
    "ihfft": (real(lambda x: fft.ihfft(x)), rows(3, 8), MOVES),
    "fft2": (real(lambda x: fft.fft2(x)), rows(2, 4, 6), MOVES),
    "rfft2 and irfft2": (lambda x: fft.irfft2(fft.rfft2(x) * 2), rows(2, 4, 6), MOVES),
    "fftn": (real(lambda x: fft.fftn(x, dim=(0, 2))), rows(4, 3, 6), None),
    "ifftn": (real(lambda x: fft.ifftn(fft.fftn(x), s=(4, 4))), rows(4, 6), None),
    "rfftn": (real(lambda x: fft.rfftn(x, norm="ortho")), rows(4, 6), None),
    "irfftn": (lambda x: fft.irfftn(fft.rfftn(x), s=(4, 5)), rows(4, 6), None),
    "fftshift": (lambda x: fft.fftshift(x), rows(5, 4), MOVES),
    "ifftshift": (real(lambda x: fft.ifftshift(fft.fft(x), dim=1)), rows(4, 5), MOVES),
    "power": (lambda x: fft.rfft(x).abs() ** 2, rows(3, 8), MOVES),
    "angle": (lambda x: fft.rfft(x + 1).angle(), rows(3, 8), MOVES),
    "a filter": (lambda x: fft.ifft(fft.fft(x) * torch.polar(torch.ones(8), torch.arange(8.0))).real, rows(3, 8), MOVES),
    "complex arithmetic": (
        real(lambda x: (fft.fft(x) * (1 + 2j) - x.conj() + 1) / fft.fft(x + 3).conj() - torch.complex(x, x)), rows(3, 8), MOVES,
    ),
    "stft": (
        real(lambda x: torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True)), rows(2, 64), {"x": [0, 1]},
    ),
    "istft": (
        lambda x: torch.istft(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True) * 2, 16, 4,
                              window=torch.hann_window(16)), rows(2, 64), {"x": [0]},
    ),
    "istft, normalized, of one row": (
        lambda x: torch.istft(torch.stft(x, 16, 4, 12, window=torch.hamming_window(12), normalized=True, return_complex=True),
                              16, 4, 12, window=torch.hamming_window(12), normalized=True, length=50), rows(64), None,
    ),
    "istft, not centred": (
        lambda x: torch.istft(torch.stft(x, 16, 8, center=False, window=torch.ones(16), return_complex=True), 16, 8,
                              window=torch.ones(16), center=False), rows(2, 64), None,
    ),
    "stft, a short window": (
        real(lambda x: torch.stft(x, 16, win_length=10, window=torch.hann_window(10), center=False, normalized=True,
                                  onesided=False, return_complex=True)), rows(64), MOVES,
    ),
}  # fmt: skip


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("name", FOURIER)
def test_fourier_transforms(name, opset):
    function, x, axes = FOURIER[name]
    others = [(torch.cat([x, x]) if opset == 20 else x[: len(x) - 1] if x.dim() > 1 else x[:-8],)] if axes else []
    agree(Function(function), x, others=others, dynamic_axes=axes, opset_version=opset, tolerance=2e-5)


MATRICES = {
    "inv": (linalg.inv, regular(3, 4, 4)),
    "inverse of a matrix": (torch.inverse, regular(6, 6)),
    "inv needs another row first": (linalg.inv, torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 0.0, 1.0]])),
    "solve": (lambda x, y: linalg.solve(x, y), regular(3, 4, 4), rows(3, 4, 2)),
    "solve for a vector": (lambda x, y: linalg.solve(x, y), regular(4, 4), rows(4)),
    "solve from the right": (lambda x, y: linalg.solve(x, y, left=False), regular(4, 4), rows(2, 3, 4)),
    "solve_triangular": (lambda x, y: linalg.solve_triangular(x.tril(), y, upper=False), regular(3, 4, 4), rows(3, 4, 2)),
    "solve_triangular, upper": (
        lambda x, y: linalg.solve_triangular(x, y, upper=True, left=False, unitriangular=True), regular(4, 4), rows(3, 4),
    ),
    "cholesky": (linalg.cholesky, positive(3, 4, 4)),
    "cholesky, upper": (lambda x: linalg.cholesky(x, upper=True), positive(4, 4)),
    "cholesky_solve": (lambda x, y: torch.cholesky_solve(y, linalg.cholesky(x)), positive(4, 4), rows(4, 2)),
    "det": (linalg.det, regular(3, 4, 4)),
    "slogdet": (lambda x: tuple(linalg.slogdet(-x)), regular(3, 3, 3)),
    "logdet": (torch.logdet, positive(3, 3, 3)),
    "matrix_power": (lambda x: linalg.matrix_power(x, 5), rows(2, 3, 3)),
    "matrix_power, negative": (lambda x: linalg.matrix_power(x, -2), regular(2, 3, 3)),
    "matrix_power of 0": (lambda x: linalg.matrix_power(x, 0), regular(2, 3, 3)),
    "multi_dot": (lambda x: linalg.multi_dot([x, x.T, x]), rows(3, 4)),
    "qr": (lambda x: tuple(linalg.qr(x)), rows(3, 5, 4)), "qr of a wide matrix": (lambda x: tuple(linalg.qr(x)), rows(2, 4)),
    "qr, complete": (lambda x: tuple(linalg.qr(x, mode="complete")), rows(5, 3)), "qr, r": (lambda x: linalg.qr(x, mode="r")[1], rows(4, 4)),
    "qr of less rank": (lambda x: tuple(linalg.qr(x)), torch.tensor([[0.0, 2.0], [0.0, 1.0], [0.0, -3.0]])),
    "lu": (lambda x: tuple(linalg.lu(x)), rows(3, 4, 4)), "lu of a high matrix": (lambda x: tuple(linalg.lu(x)), rows(5, 3)),
    "lu of a wide matrix": (lambda x: tuple(linalg.lu(x)), rows(2, 3, 5)), "lu without a pivot": (lambda x: tuple(linalg.lu(x)), torch.zeros(3, 3)),
    "matrix_exp": (linalg.matrix_exp, rows(3, 4, 4)), "matrix_exp of much and little": (torch.matrix_exp, torch.stack([rows(3, 3) * 4, rows(3, 3) * 1e-3, torch.zeros(3, 3)])),
    "matrix_exp of doubles": (linalg.matrix_exp, rows(2, 2).double() * 3),
    "cross": (lambda x, y: linalg.cross(x, y), rows(4, 3), rows(1, 3)),
    "cross of another dim": (lambda x, y: torch.cross(x, y, dim=1), rows(2, 3, 4), rows(2, 3, 4) + 1),
    "vdot": (torch.vdot, rows(4), rows(4) + 1),
    "kron": (torch.kron, rows(2, 3), rows(4, 1)),
    "kron of unequal ranks": (torch.kron, rows(3), rows(2, 2)),
    "vector_norm": (lambda x: linalg.vector_norm(x, 3, dim=1), rows(3, 4)),
    "vector_norm of all": (lambda x: linalg.vector_norm(x, float("inf")), rows(3, 4)),
    "matrix_norm": (lambda x: linalg.matrix_norm(x), rows(2, 3, 4)),
    "matrix_norm, 1": (lambda x: linalg.matrix_norm(x, 1, dim=(0, 1), keepdim=True), rows(2, 3, 4)),
    "matrix_norm, -inf": (lambda x: linalg.matrix_norm(x, -float("inf")), rows(2, 3, 4)),
    "norm": (lambda x: linalg.norm(x), rows(2, 3, 4)),
    "norm of a matrix, 1": (lambda x: linalg.norm(x, 1), rows(3, 4)),
    "norm of vectors": (lambda x: linalg.norm(x, 1, dim=1), rows(3, 4)),
    "cdist": (lambda x, y: torch.cdist(x, y), rows(2, 3, 4), rows(2, 5, 4)),
    "cdist, 0": (lambda x, y: torch.cdist(x.where(x > 0, float("nan")), y, p=0), rows(3, 4), rows(5, 4)),
    "cdist, 1": (lambda x, y: torch.cdist(x, y, p=1), rows(3, 4), rows(5, 4)),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), rows(2, 3, 4), rows(2, 5, 4)),
    "einsum of a diagonal": (lambda x: torch.einsum("bii->bi", x), rows(2, 3, 3)),
    "einsum with dots": (lambda x, y: torch.einsum("...ij,jk->...ik", x, y), rows(2, 3, 4), rows(4, 2)),
}  # fmt: skip


@pytest.mark.parametrize("opset", [14, 20])
@pytest.mark.parametrize("name", MATRICES)
def test_linear_algebra(name, opset):
    function, *args = MATRICES[name]
    agree(Function(function), *args, opset_version=opset, tolerance=2e-5)


def test_an_inverse_of_matrices_whose_number_may_change():
    agree(Function(linalg.inv), regular(3, 4, 4), others=[(regular(7, 4, 4),)], dynamic_axes=MOVES)


@pytest.mark.parametrize(
    "function", [lambda x: tuple(linalg.qr(x)), lambda x: tuple(linalg.lu(x)), lambda x: linalg.matrix_exp(x @ x.mT)]
)
def test_factors_of_matrices_whose_sizes_may_change(function):
    agree(Function(function), rows(3, 5, 4), others=[(rows(2, 3, 6),)], dynamic_axes={"x": [0, 1, 2]}, tolerance=5e-5)


def test_norms_by_singular_values_are_refused():
    for function in (
        lambda x: linalg.matrix_norm(x, 2),
        lambda x: linalg.norm(x, 2),
        lambda x: linalg.matrix_norm(x, "nuc"),
    ):
        with pytest.raises(NotImplementedError, match="test_rules.py.*norm of order .* needs singular values"):
            torch.onnx.export(Function(function), (rows(3, 4),))


LINE = torch.cat([torch.linspace(-9.3, 9.3, 61), torch.linspace(-0.1, 0.1, 5)])
SPECIAL = {
    "erf": (torch.erf, LINE), "erfc": (torch.erfc, LINE), "ndtr": (special.ndtr, LINE), "log_ndtr": (special.log_ndtr, LINE * 2),
    "entr": (special.entr, LINE.abs()), "xlogy": (torch.xlogy, LINE.abs(), LINE.abs().flip(0) + 0.1),
    "xlog1py": (special.xlog1py, LINE, LINE.abs()), "xlog1py of 0": (lambda x: special.xlog1py(x * 0, x), LINE),
    "logit": (torch.logit, torch.linspace(0.05, 0.95, 19)), "logit within": (lambda x: torch.logit(x, 0.1), torch.linspace(0, 1, 19)),
    "sinc": (torch.sinc, LINE), "i0": (torch.i0, LINE * 4), "i0e": (special.i0e, LINE * 9), "i1": (special.i1, LINE * 4),
    "i1e": (special.i1e, LINE * 9), "lgamma": (torch.lgamma, LINE[LINE > 0]), "lgamma below 0": (torch.lgamma, torch.tensor([-0.5, -1.25, -3.6])),
    "lgamma of much": (torch.lgamma, torch.tensor([20.0, 1e3, 1e6])),
    "digamma": (torch.digamma, LINE[LINE > 0]), "digamma below 0": (torch.digamma, torch.tensor([-0.5, -1.25, -3.6, -2.0])),
    "logaddexp": (torch.logaddexp, LINE, LINE.flip(0)), "logaddexp2": (torch.logaddexp2, LINE, LINE.flip(0)),
    "heaviside": (torch.heaviside, LINE.round(), torch.tensor(0.5)), "ldexp": (torch.ldexp, LINE, whole(66)),
    "left_shift": (lambda x: x << 3, whole(3, 4)), "right_shift": (lambda x: (x - 3) >> 1, whole(3, 4)),
    "zeta": (special.zeta, LINE.abs() + 1.2, LINE.flip(0).abs() + 0.3), "zeta at its poles": (special.zeta, torch.tensor([1.0, 0.5, 2.0, 2.5, 3.0, 4.0]), torch.tensor([2.0, 2.0, 0.0, -0.5, -1.5, INF])),
    "polygamma 0": (lambda x: torch.polygamma(0, x), LINE[LINE > 0]), "polygamma 1": (lambda x: torch.polygamma(1, x), LINE[LINE != 0]),
    "polygamma 2 and 5": (lambda x: (torch.polygamma(2, x), torch.polygamma(5, x * 3)), LINE[LINE > 0.2]),
    "polygamma far below 0": (lambda x: torch.polygamma(3, x), torch.tensor([-20.5, -97.25, -2.0, 0.0, 500.0, NAN])),
    "igamma": (special.gammainc, torch.logspace(-2, 4, 41), torch.logspace(-2, 4, 41)), "igammac": (special.gammaincc, torch.logspace(-2, 3, 41), torch.logspace(-1, 3, 41)),
    "igamma of chance": (special.gammainc, LINE.abs() * 3, LINE.flip(0).abs() * 4), "igammac of chance": (special.gammaincc, LINE.abs() * 3, LINE.flip(0).abs() * 4),
    "igamma at its ends": (lambda a, x: (special.gammainc(a, x), special.gammaincc(a, x)), torch.tensor([0.0, 0.0, 2.0, INF, INF, 2.0, -1.0, 1.0, NAN]), torch.tensor([0.0, 1.0, 0.0, 1.0, INF, INF, 1.0, -1.0, 1.0])),
    "expm1": (torch.expm1, LINE), "log1p": (torch.log1p, LINE.abs()), "hypot": (torch.hypot, LINE, LINE.flip(0)),
}  # fmt: skip


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name, opset):
    function, *args = SPECIAL[name]
    agree(Function(function), *args, opset_version=opset)


@pytest.mark.parametrize("function", [torch.expm1, torch.log1p])
def test_small_numbers_keep_their_digits(function):
    x = torch.tensor([1e-30, -1e-12, 3e-9, 1e-7, -2e-5, 1e-3, 0.3, -0.7, 0.0, 20.0, INF, NAN])
    program = torch.onnx.export(Function(function), (x,))
    torch.testing.assert_close(program(x)[0], function(x.double()).float(), rtol=2e-6, atol=0, equal_nan=True)


def mixed(x):
    """Rows with equal numbers among them."""
    return (x * 2).round()


WIDE = torch.tensor([[-300.0, 1.0, 200.0], [5.0, -400.0, -float("inf")]])
SHAPES = {
    "cummax": (lambda x: tuple(mixed(x).cummax(1)), rows(3, 6), MOVES),
    "cummin of a dim that may change": (lambda x: tuple(mixed(x).cummin(0)), rows(5, 4), MOVES),
    "cummax of ints": (lambda x: tuple(x.cummax(0)), whole(4, 3), MOVES),
    "cumprod": (lambda x: x.cumprod(1), rows(3, 5), MOVES),
    "cumprod of a dim that may change": (lambda x: x.cumprod(0), rows(5, 2), MOVES),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), rows(5, 4), MOVES),
    "logcumsumexp of a wide range": (lambda x: x.logcumsumexp(1), WIDE, None),
    "trapezoid": (lambda x: torch.trapezoid(x, dx=0.5), rows(3, 5), MOVES),
    "trapezoid at places": (lambda x: torch.trapezoid(x, torch.arange(3.0) ** 2, dim=1), rows(2, 3, 4), MOVES),
    "cumulative_trapezoid": (lambda x: torch.cumulative_trapezoid(x, dim=0), rows(5, 3), MOVES),
    "quantile": (lambda x: x.quantile(0.3, dim=1), rows(3, 7), MOVES),
    "quantile of a dim that may change": (lambda x: x.quantile(0.3, dim=0, keepdim=True), rows(6, 3), MOVES),
    "quantiles": (lambda x: x.quantile(torch.tensor([0.1, 0.5]), dim=1), rows(3, 7), MOVES),
    "quantile of all": (lambda x: x.quantile(0.5), rows(3, 7), MOVES),
    "rot90": (lambda x: (x.rot90(), x.rot90(2), x.rot90(-1, (1, 2))), rows(3, 4, 5), MOVES),
    "flip": (lambda x: x.flip(0, 2), rows(3, 4, 5), MOVES),
    "roll": (lambda x: (x.roll(2, 0), x.roll((1, -1), (1, 2)), x.roll(3)), rows(3, 4, 5), MOVES),
    "diag": (lambda x: (x[0].diag(1), x.diag(-1)), rows(4, 5), MOVES),
    "diag_embed": (lambda x: (x.diag_embed(-2), torch.diag_embed(x, 1, 0, 2)), rows(3, 4), MOVES),
    "diagflat": (lambda x: x.diagflat(), rows(2, 3), None),
    "diagonal_scatter": (lambda x: x.diagonal_scatter(torch.ones(3, 2) * 7, 1, 1, 2), rows(3, 4, 3), None),
    "block_diag": (lambda x: torch.block_diag(x, x[0], x.T), rows(2, 3), None),
    "cartesian_prod": (lambda x: torch.cartesian_prod(x[0], x[1]), rows(2, 3), None),
    "tril and triu": (lambda x: (x.tril(1), x.triu(-1)), rows(4, 5), MOVES),
    "splits": (lambda x: (*x.hsplit(2), *x.dsplit([1, 3])), rows(3, 4, 5), MOVES),
    "sum_to_size": (lambda x: x.sum_to_size(4, 1), rows(3, 4, 5), MOVES),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), rows(2, 8, 3, 4), MOVES),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), rows(2, 3, 4, 6), MOVES),
    "unfold": (lambda x: F.unfold(x, (2, 3), padding=1, stride=2), rows(2, 3, 6, 7), MOVES),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, 1), rows(2, 3), MOVES),
    "repeat_interleave by a tensor": (lambda x: x.repeat_interleave(torch.tensor([2, 0, 3]), 1), rows(2, 3), MOVES),
    "pad": (lambda x: (F.pad(x, (1, -1), value=2.0), F.pad(x, (2, 1), "reflect"), F.pad(x, (2, 1), "replicate")), rows(2, 3, 5), MOVES),
    "unique": (lambda x: x.unique(return_inverse=True, return_counts=True), whole(3, 4), None),
    "max_unpool": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), rows(2, 3, 4, 6), MOVES),
    "isin": (lambda x: (torch.isin(x, torch.tensor([1, 4])), torch.isin(x, 3, invert=True)), whole(3, 4), MOVES),
    "isreal": (lambda x: x.isreal(), rows(3, 4), MOVES),
    "instance_norm": (lambda x: F.instance_norm(x, weight=torch.arange(3.0)), rows(2, 3, 4, 5), MOVES),
    "group_norm": (lambda x: F.group_norm(x, 2, torch.arange(4.0), torch.ones(4)), rows(2, 4, 5), MOVES),
}  # fmt: skip


@pytest.mark.parametrize("opset", [14, 20])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_what_runs_along_a_dim(name, opset):
    function, x, axes = SHAPES[name]
    agree(Function(function), x, others=[(torch.cat([x, x]),)] if axes else [], dynamic_axes=axes, opset_version=opset)


PLACES = {
    **{
        f"scatter_reduce, {how}, {self}": (
            lambda x, i, how=how, self=self: x.scatter_reduce(1, i, x * 2 - 1, how, include_self=self), rows(3, 5), whole(3, 4),
        )
        for how in ("sum", "prod", "mean", "amax", "amin") for self in (True, False)
    },
    "scatter_reduce of ints": (lambda x, i: x.scatter_reduce(1, i, x - 9, "mean"), whole(3, 5), whole(3, 4)),
    "index_reduce": (
        lambda x, y: x.index_reduce(1, torch.tensor([0, 3, 0]), y, "mean", include_self=False), rows(3, 5), rows(3, 3),
    ),
    "index_put, accumulate": (
        lambda x, i: x.index_put((i, i % 3), torch.ones(4), accumulate=True), rows(5, 3), torch.tensor([1, 1, 0, 4]),
    ),
    "put": (lambda x, i: x.put(i, torch.ones(4), accumulate=True), rows(5, 3), torch.tensor([1, 1, 0, 14])),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-0.5, 0.0, 0.7]), right=True), rows(3, 4)),
    "searchsorted of rows": (lambda x, y: torch.searchsorted(x.sort(1)[0], y), rows(3, 6), rows(3, 2)),
    "searchsorted with a sorter": (lambda x, y: torch.searchsorted(x, y, sorter=x.argsort()), rows(6), rows(3, 2)),
    "searchsorted of a number": (lambda x: torch.searchsorted(x.sort()[0], 0.5, side="right", out_int32=True), rows(6)),
    **{
        f"grid_sample, {mode}, {pad}, {corners}": (
            lambda x, y, mode=mode, pad=pad, corners=corners: F.grid_sample(x, y, mode, pad, corners), rows(2, 3, 5, 6),
            rows(2, 4, 3, 2),
        )
        for mode in ("bilinear", "nearest", "bicubic") for pad in ("zeros", "border", "reflection") for corners in (True, False)
    },
    **{
        f"interpolate, {mode}": (
            lambda x, mode=mode, n=n: F.interpolate(x, scale_factor=1.6, mode=mode), rows(*(2, 3, 5, 6, 4)[: n + 2]),
        )
        for mode, n in {"nearest": 2, "nearest-exact": 1, "linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "area": 2}.items()
    },
    **{
        f"interpolate, {mode}, antialias, {size}": (
            lambda x, mode=mode, size=size: F.interpolate(x, size, mode=mode, antialias=True), rows(2, 3, 6, 7),
        )
        for mode in ("bilinear", "bicubic") for size in ((3, 4), (9, 5))
    },
    "interpolate, corners": (lambda x: F.interpolate(x, (7, 9), mode="bilinear", align_corners=True), rows(2, 3, 5, 6)),
    **{
        f"attention, {name}": (lambda x, y, o=options: F.scaled_dot_product_attention(x, y, y * 2, **o), rows(2, 4, 5, 6), rows(2, heads, 7, 6))
        for name, heads, options in (
            ("plain", 4, {}), ("causal", 4, {"is_causal": True}), ("groups", 2, {"enable_gqa": True, "scale": 0.3}),
            ("mask", 4, {"attn_mask": rows(5, 7) > -3}), ("bias", 4, {"attn_mask": rows(5, 7)}),
        )
    },
    "attention, more heads of values": (
        lambda x, y: F.scaled_dot_product_attention(x, y[:, :1], y * 2, enable_gqa=True), rows(2, 4, 5, 6), rows(2, 2, 7, 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("name", PLACES)
def test_reading_and_writing_at_places(name, opset):
    function, *args = PLACES[name]
    agree(Function(function), *args, opset_version=opset)


HARD = torch.tensor([[NAN, INF, -INF, 0.5], [-0.0, 1.0, -2.0, 0.25]])
BITS = torch.tensor([[True, False, True], [False, False, True]])
BYTES = torch.tensor([[3, 250, 0], [5, 7, 0]], dtype=torch.uint8)
EDGES = {
    "hardshrink": (F.hardshrink, HARD), "softshrink": (F.softshrink, HARD), "heaviside": (torch.heaviside, HARD, HARD.flip(1)),
    "isclose": (torch.isclose, HARD, HARD.flip(1)), "signbit": (torch.signbit, HARD), "angle": (torch.angle, HARD),
    "lerp": (lambda x: torch.lerp(x, x.flip(1), 0.75), HARD), "lerp by a tensor": (lambda x: torch.lerp(x, x.flip(1), x), HARD),
    "median": (torch.median, HARD), "median of a dim": (lambda x: tuple(x.median(1)), HARD),
    "i0": (torch.i0, HARD), "i1e": (special.i1e, HARD), "lgamma": (torch.lgamma, HARD), "log_ndtr": (special.log_ndtr, HARD),
    "cummax with NaN": (lambda x: tuple(x.cummax(0)), HARD), "cummin with NaN": (lambda x: tuple(x.cummin(1)), HARD),
    "cummax with the least": (lambda x: tuple(x.cummax(0)), BYTES), "cummin of bools": (lambda x: tuple(x.cummin(1)), BITS),
    "isinf of half": (lambda x: (x.isinf(), x.isfinite(), x.isneginf(), x.nan_to_num()), HARD.half()),
    "extremes of bools": (lambda x: (x.max(), *x.min(1), x.amax(0), x.argmin(1)), BITS), "aminmax of bools": (lambda x: tuple(x.aminmax()), BITS),
    "abs and sign of bools": (lambda x: (x.abs(), x.sign()), BITS), "diag of bools": (lambda x: x.diag_embed(), BITS),
    "celu of doubles": (lambda x: F.celu(x, 0.7), rows(3, 4).double()), "any of bytes": (lambda x: (x.any(1), x.all()), BYTES), "bitwise_not of bytes": (lambda x: ~x, BYTES), "tril of bytes": (torch.tril, BYTES),
    "vecdot of bytes": (lambda x: linalg.vecdot(x, x), BYTES), "nonzero of doubles": (torch.nonzero, BYTES.double()),
}  # fmt: skip


@pytest.mark.parametrize("opset", [14, 20])
@pytest.mark.parametrize("name", EDGES)
def test_infinities_nan_and_types_that_onnx_has_for_few_operators(name, opset):
    function, *args = EDGES[name]
    agree(Function(function), *args, opset_version=opset)


Q, K = rows(2, 4, 5, 6), rows(2, 4, 7, 6)
EMPTY = rows(5, 7) > 0
EMPTY[2] = False


@pytest.mark.parametrize(
    "args, options, is_one", [
        ((Q, K), {}, True), ((Q, K), {"is_causal": True}, True), ((rows(2, 4, 9, 6), K), {"is_causal": True, "scale": 0.2}, True),
        ((Q, rows(2, 2, 7, 6)), {"enable_gqa": True}, True), ((Q, K), {"attn_mask": rows(2, 1, 5, 7)}, True),
        ((Q.double(), K.double()), {}, True), ((Q, K), {"attn_mask": EMPTY}, False), ((Q, K), {"attn_mask": rows(1, 7)}, False),
        ((Q[:1], K), {}, False), ((Q[:, :1], K), {}, False), ((Q[0], K[0]), {}, False),
    ],
)  # fmt: skip
def test_attention_is_one_node_where_onnx_means_the_same(args, options, is_one):
    module = Function(lambda x, y: F.scaled_dot_product_attention(x, y, y * 2, **options))
    graph = agree(module, *args, opset_version=23).graph
    assert ("Attention" in [node.op_type for node in graph.node]) is is_one


def test_attention_over_lengths_that_may_change():
    module = Function(lambda x, y: F.scaled_dot_product_attention(x, y, y * 2, is_causal=True))
    axes = {"x": {0: "n", 2: "queries"}, "y": {0: "n", 2: "keys"}}
    proto = agree(module, Q, K, others=[(rows(3, 4, 8, 6), rows(3, 4, 2, 6))], dynamic_axes=axes, opset_version=23)
    assert [node.op_type for node in proto.graph.node] == ["Mul", "Attention"]


def test_random_numbers_are_of_their_kind():
    def draw(x):
        return torch.randint(3, 9, (500,)), torch.normal(5.0, 0.1, (500,)), x

    program = torch.onnx.export(Function(draw), (torch.ones(2),))
    whole, near, _ = program(torch.ones(2))
    assert whole.dtype == torch.int64 and set(whole.tolist()) == {3, 4, 5, 6, 7, 8}
    assert abs(float(near.mean()) - 5) < 0.05 and 0.05 < float(near.std()) < 0.2


def test_complex_tensors_go_in_and_out_by_their_parts():
    with pytest.raises(NotImplementedError, match="is complex.*view_as_real"):
        torch.onnx.export(Function(fft.fft), (torch.ones(4),))
    with pytest.raises(OnnxExporterError, match=r"cumsum of complex tensors: .*test_rules.py:\d+"):
        torch.onnx.export(Function(real(lambda x: fft.fft(x).cumsum(0))), (torch.ones(4),))


TABLES = {
    "fourier": FOURIER,
    "matrices": MATRICES,
    "special": SPECIAL,
    "shapes": SHAPES,
    "places": PLACES,
    "edges": EDGES,
}


@pytest.mark.parametrize("table", TABLES)
def test_load_reads_what_export_writes(table):
    for name, (function, *args) in TABLES[table].items():
        module, given = Function(function), [x for x in args if isinstance(x, torch.Tensor)]
        again = torch.onnx.load(torch.onnx.export(module, tuple(given), opset_version=20).model_proto)
        for found, wanted in zip(pytree.tree_leaves(again(*given)), pytree.tree_leaves(module(*given)), strict=True):
            torch.testing.assert_close(
                found.detach(),
                wanted,
                rtol=2e-5,
                atol=2e-5,
                equal_nan=True,
                msg=lambda text, name=name: f"{name}: {text}",
            )


HALF = rows(2, 3, 4).bfloat16()
BFLOAT16 = {
    "elu": F.elu, "selu": F.selu, "celu": F.celu, "softplus": F.softplus, "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish,
    "mish": F.mish, "gelu": F.gelu, "sin": torch.sin, "round": torch.round, "atan2": lambda x: torch.atan2(x, x + 1),
    "isinf": torch.isinf, "max_pool1d": lambda x: F.max_pool1d(x, 2), "conv1d": lambda x: F.conv1d(x, x[:, :, :2]),
    "mixed": lambda x: (x.float().sin(), x.sin().double(), x.cumsum(1).elu() if hasattr(x, "elu") else F.elu(x.cumsum(1))),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "norm": lambda x: F.instance_norm(x), "linear": lambda x: F.linear(x, x[0]),
}  # fmt: skip


@pytest.mark.parametrize("opset", [13, 18, 22])
@pytest.mark.parametrize("name", BFLOAT16)
def test_models_of_bfloat16_are_valid(name, opset):
    proto = torch.onnx.export(Function(BFLOAT16[name]), (HALF,), opset_version=opset).model_proto
    onnx.checker.check_model(onnx.shape_inference.infer_shapes(proto, strict_mode=True), full_check=True)


@pytest.mark.parametrize("opset", [13, 20])
def test_bools_are_compared(opset):
    x, y = torch.tensor([True, False, True, False]), torch.tensor([True, True, False, False])
    module = Function(
        lambda x, y: (torch.minimum(x, y), torch.maximum(x, y), torch.fmin(x, y), x.max(y), x.clamp(y), x.clamp_max(y))
    )
    agree(module, x, y, opset_version=opset)
