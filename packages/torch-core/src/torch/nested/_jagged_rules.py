"""What operators do with jagged tensors: element-wise ones compute on the packed values. Products,
reductions and shapes have modules of their own."""

from __future__ import annotations

import functools

from .. import _C
from ._jagged import Jagged

#: one number from one number, though rows do not say so: creation from an example, conversions, masks
LIKE = {
    "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like", "clone", "detach", "to", "type_as",
    "dropout", "alpha_dropout", "feature_dropout", "masked_fill", "where", "copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_",
    "gelu", "softplus", "elu", "celu", "selu", "leaky_relu", "prelu", "rrelu", "hardtanh", "glu_", "nan_to_num", "clamp", "lerp",
    "bernoulli", "isclose", "silu", "mish", "hardswish", "hardsigmoid", "logsigmoid", "threshold", "masked_fill_", "dropout_", "rsub",
}  # fmt: skip


@functools.cache
def _pointwise_names():
    return {row["schema"].partition("(")[0].partition(".")[0] for row in _C._rows() if row["pointwise"]}


def is_pointwise(name):
    """Whether an operator, or the operator whose in-place form it is, goes element by element."""
    known = _pointwise_names()
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    plain = plain.strip("_").removeprefix("i") if plain.startswith("__i") else plain.strip("_")
    return name in LIKE or plain in known or plain in LIKE


def handles(*names):
    """Puts a function into the table of layout torch.jagged."""

    def put(function):
        Jagged.handlers.update(dict.fromkeys(names, function))
        return function

    return put


def like(template, values, ragged=None):
    """Results as jagged tensors of the template's rows."""
    if isinstance(values, (tuple, list)):
        parts = [like(template, v, ragged) for v in values]
        return type(values)(parts) if type(values) in (tuple, list) else tuple(parts)
    return template._with([values], ragged) if isinstance(values, _C.Tensor) else values


def aligned(x, template, name):
    """A tensor as it stands beside the packed values of the template."""
    if isinstance(x, Jagged):
        behind = template.dim() - template._ragged
        if x._length is not template._length or x.dim() - x._ragged != behind or x.dim() != template.dim():
            raise RuntimeError(
                f"{name}: nested tensors of shapes {tuple(template.shape)} and {tuple(x.shape)} have other rows: "
                "both must come from one nested tensor, or share their offsets"
            )
        return x._values
    if x.dim() < template.dim() - template._ragged or x.numel() == 1:
        return x.reshape(()) if x.numel() == 1 else x
    at = x.dim() - (template.dim() - template._ragged)
    batch = x.shape[0] if x.dim() == template.dim() else 1
    if x.dim() > template.dim() or x.shape[at] != 1 or batch not in (1, template.size(0)):
        raise RuntimeError(
            f"{name}: a plain tensor of shape {tuple(x.shape)} does not go beside a nested one of {tuple(template.shape)}: "
            "its ragged dim must be 1"
        )
    if batch == 1:
        return x.squeeze(0) if x.dim() == template.dim() else x
    if template._lengths is not None:
        raise RuntimeError(
            f"{name}: rows with holes between them do not go beside a plain tensor: call contiguous() before"
        )
    counts = template._offsets.diff()
    return x.squeeze(at).repeat_interleave(counts, 0).movedim(0, at - 1)


def _first(arguments):
    return next(
        a
        for a in (*arguments, *(i for b in arguments if isinstance(b, (list, tuple)) for i in b))
        if isinstance(a, Jagged)
    )


def pointwise(func, *args, **kwargs):
    """An element-wise function on the packed values."""
    if kwargs.get("out") is not None:
        raise RuntimeError(f"{func.__name__}: out= is not there for nested tensors")
    template = _first((*args, *kwargs.values()))
    name = func.__name__
    held = [aligned(a, template, name) if isinstance(a, _C.Tensor) else a for a in args]
    named = {k: aligned(v, template, name) if isinstance(v, _C.Tensor) else v for k, v in kwargs.items()}
    made = func(*held, **named)
    if made is held[0] and isinstance(args[0], Jagged):  # in place
        return args[0]
    return like(template, made)


@handles("to")
def convert(func, self, *args, **kwargs):
    """``to`` a dtype, a device or as another tensor."""
    args = [a._values if isinstance(a, Jagged) else a for a in args]
    kwargs = {k: v for k, v in kwargs.items() if k != "layout" or v not in (None, _C.jagged)}
    moved = func(self._values, *args, **kwargs)
    if moved is self._values:
        return self
    if moved.device == self._values.device:
        return self._with([moved])
    lengths = None if self._lengths is None else self._lengths.to(moved.device)
    return Jagged(moved, self._offsets.to(moved.device), lengths, self._ragged, self._seqlens)


@handles("equal")
def equal(func, self, other):
    """Whether the rows are equal."""
    if not (isinstance(self, Jagged) and isinstance(other, Jagged)):
        raise RuntimeError("equal: expected two nested tensors")
    return self.is_same_size(other) and all(func(a, b) for a, b in zip(self.unbind(), other.unbind(), strict=True))


@handles("allclose")
def allclose(func, self, other, *args, **kwargs):
    """Whether the rows are close."""
    if not (isinstance(self, Jagged) and isinstance(other, Jagged)):
        raise RuntimeError("allclose: expected two nested tensors")
    return self.is_same_size(other) and all(
        func(a, b, *args, **kwargs) for a, b in zip(self.unbind(), other.unbind(), strict=True)
    )
