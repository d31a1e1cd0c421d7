"""Fourier transforms, by DFT of opset 17. Complex tensors have their parts in a last dim of two (:mod:`.complexes`)."""

from __future__ import annotations

import torch

from .._program import Value
from . import dims, rule


def _factor(w, norm, inverse, size, dtype):
    """What a transform is multiplied by: DFT divides an inverse by the size, and a forward one by nothing."""
    power = {None: 0, "backward": 0, "ortho": -0.5, "forward": -1}[norm]
    power = -power if inverse else power
    if not power:
        return None
    if isinstance(size, int):
        return w.const(size**power, dtype)
    return w.op("Pow", w.op("Cast", size, to={torch.float32: 1, torch.float64: 11}[dtype]), w.const(power, dtype))


def _scaled(w, x, norm, inverse, size, dtype):
    factor = _factor(w, norm, inverse, size, dtype)
    return x if factor is None else w.op("Mul", x, factor)


def _sized(w, x, dim, size, wanted):
    """``x`` cut or filled with zeros to a size along a dim."""
    if wanted is None or wanted == size:
        return x
    if not isinstance(size, int):
        raise NotImplementedError(f"{w.step.name} with n={wanted} along a size that may change cannot be written")
    if wanted < size:
        return w.slice(x, dim, 0, wanted)
    return w.op("Pad", x, _pads(w, x, dim, wanted - size))


def _pads(w, x, dim, after):
    rank = w.op("Size", w.op("Shape", x))
    zeros = w.op("Expand", w.const([0], torch.int64), w.ints(w.op("Mul", rank, w.const(2, torch.int64))))
    place = w.ints(w.op("Add", rank, w.const(dim, torch.int64)))
    return w.op("ScatterElements", zeros, place, w.const([after], torch.int64), axis=0)


def transform(w, x, axis, inverse=False, onesided=False):
    """DFT along one dim of a name, whose parts are its last dim."""
    options = {"inverse": int(inverse), "onesided": int(onesided)}
    if w.opset < 20:
        return w.op("DFT", x, axis=axis, **options)
    return w.op("DFT", x, None, w.const(axis, torch.int64), **options)


class _Along:
    """A transform of one dim after another: the name so far, its parts as the last dim, and the sizes."""

    def __init__(self, w, value, dtype, out):
        self.w, self.dtype, self.rank = w, dtype, value.rank
        self.sizes = [w.size(value, d) for d in range(value.rank)]
        self.is_complex = value.dtype.is_complex
        self.name = w.name(value) if self.is_complex else w.unsqueeze(w.cast(value, dtype), value.rank)

    def fft(self, dim, n, norm, inverse):
        dim %= self.rank
        x = _sized(self.w, self.name, dim, self.sizes[dim], n)
        size = self.sizes[dim] if n is None else n
        self.name = _scaled(self.w, transform(self.w, x, dim, inverse), norm, inverse, size, self.dtype)
        self.is_complex = True

    def rfft(self, dim, n, norm):
        dim %= self.rank
        x = _sized(self.w, self.name, dim, self.sizes[dim], n)
        size = self.sizes[dim] if n is None else n
        self.name = _scaled(self.w, transform(self.w, x, dim, onesided=True), norm, False, size, self.dtype)

    def irfft(self, dim, n, norm):
        """The real inverse of half a spectrum: the other half is its mirror."""
        w, dim = self.w, dim % self.rank
        x = (
            self.name
            if self.is_complex
            else w.op("Concat", self.name, w.op("Mul", self.name, w.const(0, self.dtype)), axis=-1)
        )
        if n is not None:
            x = _sized(w, x, dim, self.sizes[dim], n // 2 + 1)
        start = -1 if n is not None and n % 2 else -2
        tail = w.slice(x, dim, start, 0, -1)
        whole = w.op("Concat", x, w.op("Mul", tail, w.const([1, -1], self.dtype)), axis=dim)
        size = n
        if n is None:
            half = self.sizes[dim]
            size = 2 * (half - 1) if isinstance(half, int) else w.op(
                "Mul", w.op("Sub", half, w.const(1, torch.int64)), w.const(2, torch.int64)
            )  # fmt: skip
        found = _scaled(w, transform(w, whole, dim, inverse=True), norm, True, size, self.dtype)
        return w.op("Gather", found, w.const(0, torch.int64), axis=-1)


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


@rule(
    "complex.fft",
    "complex.ifft",
    "complex.rfft",
    "complex.irfft",
    "complex.hfft",
    "complex.ihfft",
    "irfft",
    "hfft",
    since=17,
)
def fft(w, a, out):
    return _transformed(w, a, out, [a.n], [a.dim])


@rule("complex.fft2", "complex.ifft2", "complex.rfft2", "complex.irfft2", "complex.fftn", "complex.ifftn", "complex.rfftn",
      "complex.irfftn", "irfft2", "irfftn", since=17)  # fmt: skip
def fftn(w, a, out):
    rank = a.self.rank
    sizes = [a.s] if isinstance(a.s, int) else a.s
    axes = [a.dim] if isinstance(a.dim, int) else a.dim
    if axes is None:
        axes = list(range(rank)) if sizes is None else list(range(rank - len(sizes), rank))
    sizes = [None] * len(axes) if sizes is None else [None if s == -1 else s for s in sizes]
    return _transformed(w, a, out, sizes, list(axes))


def _transformed(w, a, out, sizes, axes):
    if any(isinstance(s, Value) for s in sizes):
        raise NotImplementedError(f"{w.step.name} to a size that may change cannot be written")
    kind = w.step.name.rstrip("2n") if not w.step.name.endswith("fft") else w.step.name
    dtype = out[0].dtype.to_real() if out[0].dtype.is_complex else out[0].dtype
    norm = _SWAPPED[a.norm] if kind in ("hfft", "ihfft") else a.norm
    along = _Along(w, a.self, dtype, out)
    last = len(axes) - 1
    if kind in ("irfft", "hfft"):
        if kind == "hfft" and along.is_complex:
            along.name = w.op("Mul", along.name, w.const([1, -1], dtype))
        for i in range(last):
            along.fft(axes[i], sizes[i], norm, True)
        return along.irfft(axes[last], sizes[last], norm)
    rest = range(len(axes))
    if kind in ("rfft", "ihfft"):
        along.rfft(axes[last], sizes[last], norm)
        rest = range(last)
    for i in rest:
        along.fft(axes[i], sizes[i], norm, kind == "ifft")
    return w.op("Mul", along.name, w.const([1, -1], dtype)) if kind == "ihfft" else along.name


@rule("fftshift", "ifftshift", "complex.fftshift", "complex.ifftshift")
def fftshift(w, a, out):
    x = w.name(a.self)
    for dim in dims(a.dim, a.self.rank):
        size = w.size(a.self, dim)
        if isinstance(size, int):
            head = size - size // 2 if w.step.name == "fftshift" else size // 2
        else:
            up = w.op("Add", size, w.const(1 if w.step.name == "fftshift" else 0, torch.int64))
            head = w.op("Div", up, w.const(2, torch.int64))
        x = w.op("Concat", w.slice(x, dim, head, 2**63 - 1), w.slice(x, dim, 0, head), axis=dim)
    return x


@rule("complex.stft", "stft", since=17)
def stft(w, a, out):
    x, dtype, n = a.self, a.self.dtype, a.n_fft
    if dtype.is_complex:
        raise NotImplementedError("stft of a complex signal cannot be written")
    hop, length = a.hop_length or n // 4, a.win_length or n
    rows = w.unsqueeze(x, 0) if x.rank == 1 else w.name(x)
    if a.center:
        mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}[a.pad_mode]
        rows = w.op("Pad", rows, w.const([0, n // 2, 0, n // 2], torch.int64), mode=mode)
    count = w.op("Gather", w.op("Shape", rows), w.const(1, torch.int64), axis=0)
    starts = w.op("Range", w.const(0), w.op("Sub", count, w.const(n - 1, torch.int64)), w.const(hop))
    frames = w.op("Gather", rows, w.op("Add", w.unsqueeze(starts, 1), w.const(torch.arange(n).unsqueeze(0))), axis=1)
    window = w.name(a.window) if a.window is not None else w.const(torch.ones(length, dtype=dtype))
    if length < n:
        left = (n - length) // 2
        window = w.op("Pad", window, w.const([left, n - length - left], torch.int64))
    frames = w.unsqueeze(w.op("Mul", frames, window), 3)
    found = transform(w, frames, 2, onesided=a.onesided is not False)
    if a.normalized:
        found = w.op("Mul", found, w.const(n**-0.5, dtype))
    found = w.op("Transpose", found, perm=[0, 2, 1, 3])
    return w.squeeze(found, 0) if x.rank == 1 else found


@rule("complex.istft", since=17)
def istft(w, a, out):
    x, n, dtype = a.self, a.n_fft, out[0].dtype
    if dtype.is_complex or a.onesided is False:
        raise NotImplementedError("istft of both sides of a spectrum, or to a complex signal, cannot be written")
    hop, length = a.hop_length or n // 4, a.win_length or n
    window = w.name(a.window) if a.window is not None else w.const(torch.ones(length, dtype=dtype))
    if length < n:
        left = (n - length) // 2
        window = w.op("Pad", window, w.const([left, n - length - left], torch.int64))
    along = _Along(w, x, dtype, out)
    if x.rank == 2:
        along.name, along.rank, along.sizes = w.unsqueeze(along.name, 0), 3, [1, *along.sizes]
    if a.normalized:
        along.name = w.op("Mul", along.name, w.const(n**0.5, dtype))
    frames = w.op("Transpose", along.irfft(1, n, None), perm=[0, 2, 1])
    frames = w.op("Mul", frames, window)
    # each frame is added where it began, and so are the squares of the window, by which the sum is divided
    count = w.op("Gather", w.op("Shape", frames), w.const(1, torch.int64), axis=0)
    starts = w.op("Mul", w.op("Range", w.const(0), count, w.const(1)), w.const(hop))
    places = w.op("Add", w.unsqueeze(starts, 1), w.const(torch.arange(n).unsqueeze(0)))
    total = w.op("Add", w.op("Mul", w.op("Sub", count, w.const(1)), w.const(hop)), w.const(n))
    batch = w.op("Gather", w.op("Shape", frames), w.const(0, torch.int64), axis=0)

    def added(values, rows):
        flat = w.reshape(values, [rows, -1])
        where = w.op("Expand", w.reshape(places, [1, -1]), w.op("Shape", flat))
        zeros = w.op("Expand", w.const(0, dtype), w.ints([rows, total]))
        return w.op("ScatterElements", zeros, where, flat, axis=1, reduction="add")

    squares = w.op("Expand", w.op("Mul", window, window), w.op("Shape", places))
    signal = w.op("Div", added(frames, batch), added(squares, 1))
    start = n // 2 if a.center else 0
    if a.length is not None:
        end = start + a.length
        if isinstance(out[0].shape[-1], int) and isinstance(x.shape[-1], int) and end > (x.shape[-1] - 1) * hop + n:
            raise NotImplementedError("istft to a length beyond the last frame cannot be written")
    else:
        end = w.op("Sub", total, w.const(start)) if a.center else 2**63 - 1
    signal = w.slice(signal, 1, start, end)
    return w.squeeze(signal, 0) if x.rank == 2 else signal
