"""Complex tensors: ONNX has real ones, so that a last dim of two holds the real and the imaginary part of each element.

A rule named ``complex.mul`` writes ``mul`` where one of the tensors is complex.
"""

from __future__ import annotations

import torch

from .._program import Value
from . import rule
from .pointwise import atan2_of
from .shapes import end_of


def parts(w, value, dtype):
    """The real and the imaginary part of a value of any kind, in the dtype of the parts."""
    if isinstance(value, Value) and value.dtype.is_complex:
        return tuple(w.op("Gather", value, w.const(i, torch.int64), axis=-1) for i in (0, 1))
    if isinstance(value, complex):
        return w.const(value.real, dtype), w.const(value.imag, dtype)
    return w.cast(value, dtype), w.const(0, dtype)


def joined(w, re, im):
    """A complex tensor of two parts of one shape."""
    last = w.const([-1], torch.int64)
    return w.op("Concat", w.op("Unsqueeze", re, last), w.op("Unsqueeze", im, last), axis=-1)


def _real(out):
    return out[0].dtype.to_real() if out[0].dtype.is_complex else out[0].dtype


def _times(w, x, y):
    (a, b), (c, d) = x, y
    return (
        w.op("Sub", w.op("Mul", a, c), w.op("Mul", b, d)),
        w.op("Add", w.op("Mul", a, d), w.op("Mul", b, c)),
    )


@rule("complex.mul")
def mul(w, a, out):
    return joined(w, *_times(w, *(parts(w, v, _real(out)) for v in (a.self, a.other))))


@rule("complex.div", "complex.true_divide")
def div(w, a, out):
    x, (c, d) = (parts(w, v, _real(out)) for v in (a.self, a.other))
    size = w.op("Add", w.op("Mul", c, c), w.op("Mul", d, d))
    re, im = _times(w, x, (c, w.op("Neg", d)))
    return joined(w, w.op("Div", re, size), w.op("Div", im, size))


@rule("complex.add", "complex.sub")
def add(w, a, out):
    kind, dtype = w.step.name.capitalize(), _real(out)
    one, two = (parts(w, v, dtype) for v in (a.self, a.other))
    if a.alpha != 1:
        two = _times(w, two, parts(w, a.alpha, dtype))
    re, im = (w.op(kind, x, y) for x, y in zip(one, two, strict=True))
    if (
        isinstance(a.self, Value)
        and isinstance(a.other, Value)
        and a.self.dtype.is_complex
        and a.other.dtype.is_complex
    ):
        return joined(w, re, im)
    shape = w.op("Shape", re)  # a real operand may be the wider one
    return joined(w, re, w.op("Expand", im, shape))


@rule("complex.neg")
def neg(w, a, out):
    return w.op("Neg", a.self)


@rule("complex.clone", "complex.detach", "complex.alias", "complex.contiguous", "complex.resolve_conj", "complex.resolve_neg",
      "complex.view_as_real", "complex.view_as_complex")  # fmt: skip
def same(w, a, out):
    return w.name(a.self)


@rule("complex.conj", "complex.conj_physical")
def conj(w, a, out):
    return w.op("Mul", a.self, w.const([1, -1], _real(out)))


@rule("complex.real", "complex.imag")
def real(w, a, out):
    return parts(w, a.self, out[0].dtype)[w.step.name == "imag"]


@rule("real")
def real_of_real(w, a, out):
    return w.name(a.self)


@rule("complex.abs")
def abs_(w, a, out):
    return w.reduce("ReduceL2", a.self, [-1], False)


@rule("complex.angle")
def angle(w, a, out):
    re, im = parts(w, a.self, out[0].dtype)
    return atan2_of(w, im, re, out[0].dtype)


@rule("angle")
def angle_of_real(w, a, out):
    x, dtype = w.cast(a.self, out[0].dtype), out[0].dtype
    return w.op(
        "Where",
        w.op("Less", x, w.const(0, dtype)),
        w.const(torch.pi, dtype),
        w.op("Where", w.op("IsNaN", x), x, w.const(0, dtype)),
    )


@rule("complex.complex")
def complex_(w, a, out):
    total = w.op("Shape", w.op("Add", a.real, a.imag))
    return joined(w, *(w.op("Expand", x, total) for x in (a.real, a.imag)))


@rule("complex.polar")
def polar(w, a, out):
    return joined(w, *(w.op("Mul", a.abs, w.op(kind, a.angle)) for kind in ("Cos", "Sin")))


@rule("complex.sum", "complex.mean")
def sum_(w, a, out):
    from . import dims

    kind = "ReduceSum" if w.step.name == "sum" else "ReduceMean"
    return w.reduce(kind, a.self, dims(a.dim, a.self.rank), a.keepdim)


# --- parts and places: the dims of the elements come before that of their parts ---


@rule("complex.slice")
def slice_(w, a, out):
    return w.slice(a.self, a.dim % a.self.rank, 0 if a.start is None else a.start, end_of(a.end), a.step)


@rule("complex.select")
def select(w, a, out):
    return w.op("Gather", a.self, w.name(a.index, torch.int64), axis=a.dim % a.self.rank)


@rule("complex.zeros_like")
def zeros_like(w, a, out):
    return w.op("Expand", w.const(0, _real(out)), w.op("Shape", a.self))


@rule("complex.slice_scatter")
def slice_scatter(w, a, out):
    if not a.src.dtype.is_complex:
        raise NotImplementedError(
            "slice_scatter of real numbers into complex ones: give them in the dtype of the tensor"
        )
    dim = a.dim % a.self.rank
    every = w.op("Range", w.const(0), w.op("Squeeze", w.ints([w.size(a.self, dim)])), w.const(1))
    places = w.slice(every, 0, 0 if a.start is None else a.start, end_of(a.end), a.step)
    wide = w.reshape(places, [-1 if d == dim else 1 for d in range(a.self.rank + 1)])
    return w.op("ScatterElements", a.self, w.op("Expand", wide, w.op("Shape", a.src)), a.src, axis=dim)
