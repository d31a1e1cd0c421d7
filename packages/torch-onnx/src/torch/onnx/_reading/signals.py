"""Fourier transforms, windows, determinants, random numbers, boxes."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from .._types import dtype_of
from . import reader


def _complex(x):
    return torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x[..., 0]


@reader("DFT")
def dft(x, length=None, axis_input=None, axis=None, inverse=0, onesided=0):
    axis = int(axis_input) if axis_input is not None else 1 if axis is None else axis
    axis = axis % x.dim() if axis >= 0 else (axis + x.dim()) % x.dim()
    n = None if length is None else int(length)
    if inverse and onesided:
        return torch.fft.irfft(_complex(x), n, axis).unsqueeze(-1)
    if inverse:
        found = torch.fft.ifft(_complex(x), n, axis)
    elif onesided:
        found = torch.fft.rfft(x[..., 0], n, axis)
    else:
        found = torch.fft.fft(_complex(x), n, axis)
    return torch.view_as_real(found)


@reader("STFT")
def stft(x, step, window=None, length=None, onesided=1):
    n = int(length) if length is not None else len(window)
    signal = x if x.dim() == 2 else _complex(x)
    frames = signal.unfold(-1, n, int(step))
    frames = frames if window is None else frames * window
    found = torch.fft.rfft(frames) if onesided and not frames.is_complex() else torch.fft.fft(frames)
    return torch.view_as_real(found)


@reader("HannWindow", "HammingWindow", "BlackmanWindow")
def window(size, output_datatype=1, periodic=1, *, kind):
    n, dtype = int(size), dtype_of(output_datatype)
    angle = torch.arange(n, dtype=torch.float64) * (2 * math.pi / max(1, n if periodic else n - 1))
    a, b = {"HannWindow": (0.5, 0.5), "HammingWindow": (25 / 46, 21 / 46), "BlackmanWindow": (0.42, 0.5)}[kind]
    found = a - b * torch.cos(angle)
    return (found + 0.08 * torch.cos(2 * angle) if kind == "BlackmanWindow" else found).to(dtype)


@reader("Det")
def det(x):
    return torch.linalg.det(x)


@reader("Bernoulli")
def bernoulli(x, dtype=None, seed=None):
    return torch.bernoulli(x).to(x.dtype if dtype is None else dtype_of(dtype))


@reader("RandomNormal")
def random_normal(shape, dtype=1, mean=0.0, scale=1.0, seed=None):
    return (torch.randn(shape) * scale + mean).to(dtype_of(dtype))


@reader("RandomUniform")
def random_uniform(shape, dtype=1, high=1.0, low=0.0, seed=None):
    return (torch.rand(shape) * (high - low) + low).to(dtype_of(dtype))


@reader("RandomNormalLike")
def random_normal_like(x, dtype=None, mean=0.0, scale=1.0, seed=None):
    return (torch.randn(x.shape) * scale + mean).to(x.dtype if dtype is None else dtype_of(dtype))


@reader("RandomUniformLike")
def random_uniform_like(x, dtype=None, high=1.0, low=0.0, seed=None):
    return (torch.rand(x.shape) * (high - low) + low).to(x.dtype if dtype is None else dtype_of(dtype))


@reader("Multinomial")
def multinomial(x, dtype=6, sample_size=1, seed=None):
    return torch.multinomial(torch.softmax(x, -1), sample_size, True).to(dtype_of(dtype))


@reader("AffineGrid")
def affine_grid(theta, size, align_corners=0):
    return F.affine_grid(theta, size.tolist(), bool(align_corners))


@reader("Col2Im")
def col2im(x, image, block, dilations=None, pads=None, strides=None):
    n = image.numel()
    pads = pads or [0] * (2 * n)
    if n != 2 or pads[:2] != pads[2:]:
        raise NotImplementedError("onnx.load: Col2Im of other than two dims, or with uneven padding")
    return F.fold(x, image.tolist(), block.tolist(), dilations or [1, 1], pads[:2], strides or [1, 1])


@reader("NonMaxSuppression")
def non_max_suppression(boxes, scores, most=None, overlap=None, least=None, center_point_box=0):
    most, overlap = 0 if most is None else int(most), 0.0 if overlap is None else float(overlap)
    if center_point_box:
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        low, high = middle - half, middle + half
    else:
        low, high = torch.minimum(boxes[..., :2], boxes[..., 2:]), torch.maximum(boxes[..., :2], boxes[..., 2:])
    area = (high - low).prod(-1)
    kept = []
    for image in range(scores.shape[0]):
        for kind in range(scores.shape[1]):
            order = torch.argsort(scores[image, kind], descending=True, stable=True).tolist()
            chosen: list[int] = []
            for box in order:
                if len(chosen) >= most or (least is not None and scores[image, kind, box] <= float(least)):
                    break
                if chosen:
                    inner = torch.minimum(high[image, box], high[image, chosen]) - torch.maximum(
                        low[image, box], low[image, chosen]
                    )
                    shared = inner.clamp(min=0).prod(-1)
                    if (shared / (area[image, box] + area[image, chosen] - shared) > overlap).any():
                        continue
                chosen.append(box)
            kept += [[image, kind, box] for box in chosen]
    return torch.tensor(kept, dtype=torch.int64).reshape(-1, 3)


@reader("RotaryEmbedding")
def rotary(x, cos, sin, places=None, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    flat = x.dim() == 3
    if flat:
        x = x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    size = rotary_embedding_dim or x.shape[-1]
    turned, rest = x[..., :size], x[..., size:]
    cos, sin = (t if places is None else t[places] for t in (cos, sin))
    cos, sin = (t[..., : size // 2].unsqueeze(1) for t in (cos, sin))
    a, b = (turned[..., 0::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    real, imaginary = a * cos - b * sin, b * cos + a * sin
    turned = torch.stack([real, imaginary], -1).flatten(-2) if interleaved else torch.cat([real, imaginary], -1)
    found = torch.cat([turned, rest], -1)
    return found.transpose(1, 2).flatten(-2) if flat else found
