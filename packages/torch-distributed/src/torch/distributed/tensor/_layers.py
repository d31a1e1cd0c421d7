"""Batch norm of pieces, and operators of layers along one dim."""

import torch

from ._dims import _reduction, _without
from ._dtensor import DTensor
from ._plans import Plan, carry_out

__all__ = ["LAYERS"]


def batch_norm(
    x, weight=None, bias=None, running_mean=None, running_var=None, training=False, momentum=0.1, eps=1e-5, *_
):
    """With statistics of the whole batch, on however many ranks it lies; those that run on are written to."""
    if not training:
        shape, others = x._spec.shape, [t for t in (running_mean, running_var, weight, bias) if t is not None]

        def run(piece, *others):
            others = iter(others)
            mean, var, scale, shift = (
                None if t is None else next(others) for t in (running_mean, running_var, weight, bias)
            )
            return torch.nn.functional.batch_norm(piece, mean, var, scale, shift, False, momentum, eps)

        labels = tuple(range(len(shape)))
        return carry_out(Plan([x, *others], [labels] + [(1,)] * len(others), [(shape, labels)], run))
    dims = [i for i in range(len(x._spec.shape)) if i != 1]
    kept = [1] * len(x._spec.shape)
    kept[1] = x._spec.shape[1]
    centred = x - x.mean(dims, keepdim=True)
    var = (centred * centred).mean(dims, keepdim=True)
    if running_mean is not None:
        count = x._spec.shape.numel() // kept[1]
        with torch.no_grad():
            _towards(running_mean, x.detach().mean(dims), momentum)
            _towards(running_var, var.detach().reshape(kept[1]) * (count / (count - 1)), momentum)
    result = centred * (var + eps).rsqrt()
    if weight is not None:
        result = result * weight.reshape(kept)
    return result if bias is None else result + bias.reshape(kept)


def _towards(running, value, momentum):
    running.copy_(running * (1 - momentum) + value.redistribute(placements=running.placements) * momentum)


def glu(x, dim=-1):
    labels, shape = _without(x, dim), list(x._spec.shape)
    shape[dim] //= 2
    return carry_out(Plan([x], [labels], [(shape, labels)], lambda piece: torch.nn.functional.glu(piece, dim)))


def norm(x, p=2, dim=None, keepdim=False, dtype=None, **others):
    """Along dims that are whole; over all there is another rule."""
    p = others.pop("ord", p)
    if dim is None or others or not isinstance(p, (int, float)):
        return None

    def run(piece, dims, keepdim, count, kwargs):
        return torch.linalg.vector_norm(piece, p, dims, keepdim, dtype=dtype)

    return _reduction(run)(x, dim, keepdim)


def pad(x, pad, value=0):
    """A dim that is not padded may lie in pieces."""
    count = len(x._spec.shape)
    around = list(pad) + [0] * (2 * count - len(pad))
    ends = [(around[2 * (count - 1 - i)], around[2 * (count - 1 - i) + 1]) for i in range(count)]
    labels = tuple(i if end == (0, 0) else None for i, end in enumerate(ends))
    shape = [n + before + after for n, (before, after) in zip(x._spec.shape, ends, strict=True)]
    return carry_out(
        Plan([x], [labels], [(shape, labels)], lambda piece: torch.nn.functional.pad(piece, pad, value=value))
    )


def repeat(x, *sizes, repeats=None):
    sizes = repeats if repeats is not None else sizes
    sizes = list(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)
    before = len(sizes) - len(x._spec.shape)
    if before < 0 or any(isinstance(n, DTensor) for n in sizes):
        return None
    own = tuple(i if sizes[before + i] == 1 else None for i in range(len(x._spec.shape)))
    shape = [*sizes[:before], *(n * times for n, times in zip(x._spec.shape, sizes[before:], strict=True))]
    return carry_out(Plan([x], [own], [(shape, (None,) * before + own)], lambda piece: piece.repeat(sizes)))


LAYERS = {
    "batch_norm": batch_norm,
    "constant_pad_nd": pad,
    "glu": glu,
    "norm": norm,
    "repeat": repeat,
    "tile": lambda x, *dims: repeat(x, *dims) if len(dims) >= len(x._spec.shape) else None,
    "vector_norm": norm,
    "linalg_vector_norm": norm,
}
