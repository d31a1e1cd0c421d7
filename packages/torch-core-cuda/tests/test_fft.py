"""Fourier transforms by kernels of our own, against NumPy's in double."""

import numpy
import pytest
import torch

# One point, radices alone and mixed, a block's limits and beyond, large primes, which go by a chirp.
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 30, 49, 60, 400, 1024, 2048, 2310, 17, 97, 257, 997, 4096, 6000, 2 * 1031]


def signal(*shape, seed=0):
    r = numpy.random.default_rng(seed)
    return r.standard_normal(shape) + 1j * r.standard_normal(shape)


def close(got, expected, eps):
    assert got.is_cuda
    scale = numpy.abs(expected).max() + 1e-30
    assert numpy.abs(got.cpu().numpy() - expected).max() / scale < eps


@pytest.mark.parametrize("n", LENGTHS)
def test_a_line_of_any_length_and_back(n):
    x = signal(2, n)
    for dtype, eps in ((torch.complex128, 1e-13), (torch.complex64, 2e-5)):
        there = torch.from_numpy(x).to(dtype).cuda()
        close(torch.fft.fft(there), numpy.fft.fft(x), eps)
        close(torch.fft.ifft(there), numpy.fft.ifft(x), eps)


def test_lines_too_long_for_two_steps():
    n = 1 << 21  # of 1024, 1024 and 2
    x = torch.zeros(n, dtype=torch.complex128, device="cuda")
    x[3] = 1
    k = torch.tensor([0, 1, 5, n // 2 + 1, n - 1])
    expected = numpy.exp(-2j * numpy.pi * 3 * k.numpy() / n)
    assert numpy.abs(torch.fft.fft(x)[k.cuda()].cpu().numpy() - expected).max() < 1e-13


@pytest.mark.parametrize("n", [1, 2, 5, 16, 33, 400])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_real_transforms(n, norm):
    x = signal(3, n).real
    there = torch.from_numpy(x).cuda()
    close(torch.fft.rfft(there, norm=norm), numpy.fft.rfft(x, norm=norm), 1e-13)
    half = numpy.fft.rfft(x)
    close(torch.fft.irfft(torch.from_numpy(half).cuda(), n=n, norm=norm), numpy.fft.irfft(half, n=n, norm=norm), 1e-13)
    close(torch.fft.hfft(torch.from_numpy(half).cuda(), n=n, norm=norm), numpy.fft.hfft(half, n=n, norm=norm), 1e-13)


def test_imaginary_parts_that_a_real_result_does_not_have_are_left_out():
    x = signal(9)
    close(torch.fft.irfft(torch.from_numpy(x).cuda()), numpy.fft.irfft(x), 1e-13)


@pytest.mark.parametrize("dims", [(0,), (1,), (2, 0), (0, 1, 2)])
def test_any_dims_of_any_layout(dims):
    x = signal(6, 5, 8)
    there = torch.from_numpy(x).cuda()
    close(torch.fft.fftn(there, dim=dims), numpy.fft.fftn(x, axes=dims), 1e-13)
    close(torch.fft.ifftn(there.permute(2, 0, 1), dim=dims), numpy.fft.ifftn(x.transpose(2, 0, 1), axes=dims), 1e-13)
    close(torch.fft.rfftn(there.real, dim=dims), numpy.fft.rfftn(x.real, axes=dims), 1e-13)


def test_spectrograms():
    x = torch.sin(torch.arange(800.0) / 7)
    window = torch.hann_window(100)
    here = torch.stft(x, 100, window=window, return_complex=True)
    there = torch.stft(x.cuda(), 100, window=window.cuda(), return_complex=True)
    assert torch.allclose(there.cpu(), here, atol=1e-4)
    back = torch.istft(there, 100, window=window.cuda(), length=800)
    assert torch.allclose(back.cpu(), x, atol=1e-4)


def test_nothing_waits():
    from torch._cuda import _native

    x = torch.ones(3, 17, dtype=torch.complex64, device="cuda")
    _native.configure(lazy=True)
    before = _native.counts()["waits"]
    torch.fft.irfft(torch.fft.rfft(torch.fft.fft(x).real))
    assert _native.counts()["waits"] == before
