"""Fourier transforms against NumPy's in float64, and against their definition where NumPy has none."""

import numpy as np
import pytest
import torch

noise = np.random.default_rng(0)
# Every radix, products of several, primes that go through the chirp, lengths that are split in rows and columns.
LENGTHS = [
    *range(1, 33),
    37,
    49,
    60,
    64,
    67,
    96,
    121,
    127,
    169,
    210,
    256,
    289,
    360,
    480,
    521,
    961,
    1024,
    1009,
    4097,
    8192,
]
NORMS = [None, "backward", "ortho", "forward"]
CASES = [
    ((5,), (0,)),
    ((4, 6), (1, 0)),
    ((3, 4, 5), (0, 2)),
    ((2, 3, 4, 5), (1, -1)),
    ((20, 7), (0,)),
    ((3, 2, 33), (1, 2, 0)),
]


def signal(*shape, dtype=np.complex128):
    x = noise.standard_normal(shape)
    return (x + 1j * noise.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def close(got, want, tolerance=1e-14):
    got = np.asarray(got)
    assert got.shape == want.shape and got.dtype.kind == want.dtype.kind
    assert np.abs(got - want).max(initial=0) <= tolerance * max(1, np.abs(want).max(initial=0))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype, tolerance", [(np.complex128, 4e-15), (np.complex64, 2e-6)])
def test_every_length_is_transformed_as_the_definition_says(n, dtype, tolerance):
    for lines in (1, 3, 17):
        x = signal(lines, n, dtype=dtype)
        t, exact = torch.from_numpy(x), x.astype(np.complex128)
        close(torch.fft.fft(t), np.fft.fft(exact), tolerance)
        close(torch.fft.ifft(t), np.fft.ifft(exact), tolerance)
        close(torch.fft.rfft(t.real), np.fft.rfft(exact.real), tolerance)
        half = np.fft.rfft(exact.real).astype(dtype)
        close(torch.fft.irfft(torch.from_numpy(half), n=n), np.fft.irfft(half.astype(np.complex128), n), tolerance)
        close(torch.fft.hfft(torch.from_numpy(half), n=n), np.fft.hfft(half.astype(np.complex128), n), tolerance)
        close(torch.fft.ihfft(t.real), np.fft.ihfft(exact.real), tolerance)


def test_a_long_line_of_a_power_of_two_and_one_of_a_prime():
    for n in (1 << 17, 100003):
        x = signal(n)
        close(torch.fft.fft(torch.from_numpy(x)), np.fft.fft(x), 1e-13)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape, dims", CASES)
def test_several_dims_and_norms(shape, dims, norm):
    x = signal(*shape)
    t = torch.from_numpy(x)
    close(torch.fft.fftn(t, dim=dims, norm=norm), np.fft.fftn(x, axes=dims, norm=norm))
    close(torch.fft.ifftn(t, dim=dims, norm=norm), np.fft.ifftn(x, axes=dims, norm=norm))
    close(torch.fft.rfftn(t.real, dim=dims, norm=norm), np.fft.rfftn(x.real, axes=dims, norm=norm))
    close(torch.fft.irfftn(t, dim=dims, norm=norm), np.fft.irfftn(x, axes=dims, norm=norm))
    # Hermitian transforms are the others of the conjugate with the other norm (NumPy's definition in one dim).
    other = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]
    close(torch.fft.hfftn(t, dim=dims, norm=norm), np.fft.irfftn(x.conj(), axes=dims, norm=other))
    close(torch.fft.ihfftn(t.real, dim=dims, norm=norm), np.fft.rfftn(x.real, axes=dims, norm=other).conj())


@pytest.mark.parametrize("size", [3, 7, 12])
def test_signals_are_cut_and_padded_at_their_end(size):
    x = signal(4, 7)
    t = torch.from_numpy(x)
    close(torch.fft.fft(t, size), np.fft.fft(x, size))
    close(torch.fft.rfft(t.real, size, dim=0), np.fft.rfft(x.real, size, axis=0))
    close(torch.fft.irfft(t, size), np.fft.irfft(x, size))
    close(torch.fft.fft2(t, s=(size, -1)), np.fft.fft2(x, s=(size, 7)))
    close(torch.fft.fftn(t, s=(size,)), np.fft.fftn(x, s=(size,), axes=(1,)))
    close(torch.fft.irfft2(t, s=(5, size)), np.fft.irfft2(x, s=(5, size)))


def test_strides_and_shapes_do_not_matter():
    x = signal(6, 8, 10)
    t = torch.from_numpy(x)
    close(torch.fft.fft(t.permute(2, 0, 1), dim=1), np.fft.fft(x.transpose(2, 0, 1), axis=1))
    close(torch.fft.fft(t[::2, 1::3], dim=0), np.fft.fft(x[::2, 1::3], axis=0))
    close(torch.fft.rfft(t.real.transpose(0, 2), dim=0), np.fft.rfft(x.real.transpose(2, 1, 0), axis=0))
    assert torch.fft.fft(torch.zeros(0, 3)).shape == (0, 3)
    assert torch.fft.fft(torch.ones(2, 3, device="meta")).shape == (2, 3)
    assert torch.fft.rfft(torch.ones(3, 8, device="meta")).shape == (3, 5)
    assert torch.fft.fftn(torch.tensor(2.0)).item() == 2


def test_dtypes():
    assert torch.fft.fft(torch.arange(4)).dtype == torch.complex64
    assert torch.fft.rfft(torch.ones(4, dtype=torch.bool)).dtype == torch.complex64
    assert torch.fft.irfft(torch.ones(4, dtype=torch.float64)).dtype == torch.float64
    with pytest.raises(RuntimeError, match=r"fft: Unsupported dtype torch.float16; convert to torch.float32"):
        torch.fft.fft(torch.ones(4, dtype=torch.float16))


def test_the_input_is_left_alone_and_out_is_written():
    x = signal(40, 30)
    t, out = torch.from_numpy(x.copy()), torch.empty(40, 30, dtype=torch.complex128)
    assert torch.fft.fft(t, out=out) is out
    close(out, np.fft.fft(x))
    close(t, x, 0)


def test_results_have_the_same_bits_for_any_number_of_threads():
    before = torch.get_num_threads()
    inputs = [
        torch.from_numpy(signal(1 << 16, dtype=np.complex64)),
        torch.from_numpy(signal(100, 1000, dtype=np.complex64)),
    ]
    try:
        bits = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            bits.append([torch.view_as_real(torch.fft.fft(x)).tolist() for x in inputs])
        assert bits[0] == bits[1] == bits[2]
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
@pytest.mark.parametrize("d", [1.0, 0.25])
def test_frequencies_and_shifts(n, d):
    close(torch.fft.fftfreq(n, d, dtype=torch.float64), np.fft.fftfreq(n, d))
    close(torch.fft.rfftfreq(n, d, dtype=torch.float64), np.fft.rfftfreq(n, d))
    x = signal(n, 3)
    close(torch.fft.fftshift(torch.from_numpy(x)), np.fft.fftshift(x), 0)
    close(torch.fft.ifftshift(torch.from_numpy(x), dim=0), np.fft.ifftshift(x, axes=0), 0)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: torch.fft.fft(x, n=0), RuntimeError, r"fft: Invalid number of data points \(0\) specified"),
        (lambda x: torch.fft.fft(x, dim=2), IndexError, "Dimension out of range"),
        (lambda x: torch.fft.fft(x[0, 0]), IndexError, "fft: Dimension specified as -1 but tensor has no dimensions"),
        (lambda x: torch.fft.fft2(x[0, 0], dim=(0,)), IndexError, "Dimension specified as 0 but tensor has no"),
        (
            lambda x: torch.fft.fft(x, norm="x"),
            RuntimeError,
            'Invalid normalization mode: "x"; it is "backward", "ortho"',
        ),
        (lambda x: torch.fft.rfft(x * 1j), RuntimeError, "rfft expects a real input tensor, but got torch.complex64"),
        (
            lambda x: torch.fft.irfft(x[:, :1]),
            RuntimeError,
            "Invalid number of data points .0. specified; give the size",
        ),
        (lambda x: torch.fft.fftn(x, s=(1, 2, 3)), RuntimeError, "Got shape with 3 values but input tensor only has 2"),
        (
            lambda x: torch.fft.fftn(x, s=(1, 2), dim=(0,)),
            RuntimeError,
            "must have the same length, got dim=.0,. and s=",
        ),
        (lambda x: torch.fft.fftn(x, dim=(0, -2)), RuntimeError, "dim 0 appears multiple times"),
        (lambda x: torch.fft.rfftn(x, dim=()), RuntimeError, "rfftn must transform at least one axis"),
        (
            lambda x: torch.fft.fftfreq(4, dtype=torch.int64),
            RuntimeError,
            "fftfreq requires a floating point or complex",
        ),
        (
            lambda x: torch._C._operator("_fft_c2r")(x + 0j, [1], 0, 9),
            RuntimeError,
            "expected 5 frequencies in dim 1 for 9",
        ),
    ],
)
def test_errors_say_what_was_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2, 3))


# --- frames ---


def frames(x, n_fft, hop, window):
    """The definition: a transform of each window, in a loop."""
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    return np.stack([np.fft.rfft(x[..., s : s + n_fft] * window) for s in starts], -1)


@pytest.mark.parametrize("shape", [(100,), (3, 90)])
@pytest.mark.parametrize("n_fft, hop, length", [(16, 4, 16), (16, 5, 11), (15, 3, 15)])
def test_stft_is_a_transform_of_each_window(shape, n_fft, hop, length):
    x = signal(*shape, dtype=np.float64)
    window = np.hanning(length + 1)[1:]
    left = (n_fft - length) // 2
    padded = np.pad(window, (left, n_fft - length - left))
    arguments = {"hop_length": hop, "win_length": length, "window": torch.from_numpy(window), "return_complex": True}
    got = torch.stft(torch.from_numpy(x), n_fft, center=False, **arguments)
    close(got, frames(x, n_fft, hop, padded))
    edges = [(0, 0)] * (len(shape) - 1) + [(n_fft // 2, n_fft // 2)]
    got = torch.stft(torch.from_numpy(x), n_fft, normalized=True, **arguments)
    close(got, frames(np.pad(x, edges, mode="reflect"), n_fft, hop, padded) / np.sqrt(n_fft))
    real = torch.stft(torch.from_numpy(x), n_fft, center=False, **{**arguments, "return_complex": False})
    close(real[..., 0], frames(x, n_fft, hop, padded).real)
    both = torch.stft(torch.from_numpy(x), n_fft, center=False, onesided=False, **arguments)
    assert both.shape[-2] == n_fft
    close(both[..., : n_fft // 2 + 1, :], frames(x, n_fft, hop, padded))


@pytest.mark.parametrize("options", [{}, {"normalized": True}, {"onesided": False}, {"center": False}, {"length": 96}])
def test_istft_gives_the_signal_back(options):
    x = torch.from_numpy(signal(2, 96, dtype=np.float64))
    common = {k: v for k, v in options.items() if k != "length"} | {"window": torch.hamming_window(16, dtype=x.dtype)}
    spectrum = torch.stft(x, 16, hop_length=4, return_complex=True, **common)
    back = torch.istft(spectrum, 16, hop_length=4, **common, **{k: v for k, v in options.items() if k == "length"})
    close(back, x.numpy()[:, : back.shape[-1]], 1e-12)
    assert back.shape[-1] == 96


def test_stft_of_a_complex_signal_has_both_sides():
    x = signal(40)
    spectrum = torch.stft(torch.from_numpy(x), 8, window=torch.ones(8, dtype=torch.float64))
    assert spectrum.shape == (8, 21) and spectrum.is_complex()
    back = torch.istft(spectrum, 8, window=torch.ones(8, dtype=torch.float64), return_complex=True)
    close(back, x)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: torch.stft(x, 8), "stft requires the return_complex parameter be given for real inputs"),
        (
            lambda x: torch.stft(x, 8, hop_length=0, return_complex=True),
            "expected hop_length > 0, but got hop_length=0",
        ),
        (
            lambda x: torch.stft(x, 8, win_length=9, return_complex=True),
            "expected 0 < win_length <= n_fft, but got win_length=9",
        ),
        (lambda x: torch.stft(x, 8, window=x, return_complex=True), "1D window tensor of size equal to win_length=8"),
        (
            lambda x: torch.stft(x, 41, center=False, return_complex=True),
            "expected 0 < n_fft <= 40 points of the signal",
        ),
        (
            lambda x: torch.istft(x[None], 8),
            "istft requires a complex-valued input tensor matching the output from stft",
        ),
        (lambda x: torch.istft(torch.ones(4, 3) + 0j, 8), "expected 5 frequencies"),
        (lambda x: torch.istft(torch.ones(5, 3) + 0j, 8, window=torch.zeros(8)), "window overlap add min"),
    ],
)
def test_frames_that_cannot_be_are_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.ones(40))


# --- the functions of 2018 ---


def test_the_functions_of_2018_take_pairs():
    x = signal(3, 4, 6)
    pairs = torch.view_as_real(torch.from_numpy(x))
    close(torch.view_as_complex(torch.fft(pairs, 2)), np.fft.fft2(x))
    close(torch.view_as_complex(torch.ifft(pairs, 1, True)), np.fft.ifft(x, norm="ortho"))
    close(torch.view_as_complex(pairs.fft(2)), np.fft.fft2(x))
    half = torch.rfft(pairs[..., 0], 2)
    close(torch.view_as_complex(half), np.fft.rfft2(x.real))
    close(torch.irfft(half, 2, signal_sizes=(4, 6)), x.real)
    whole = torch.rfft(pairs[..., 0], 2, onesided=False)
    close(torch.irfft(whole, 2, onesided=False), x.real)
    with pytest.raises(
        RuntimeError, match=r"fft: expected a last dim of 2, real and imaginary part, got shape \(3, 4\)"
    ):
        torch.fft(torch.ones(3, 4), 1)
    with pytest.raises(RuntimeError, match="rfft: expected signal_ndim 1, 2 or 3, got 4"):
        torch.rfft(torch.ones(3, 4), 4)
