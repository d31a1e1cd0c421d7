"""What functions give that are called with quantized tensors."""

from __future__ import annotations

from .. import _C
from .._dtypes import qint8, qint32
from .._pytree import tree_iter, tree_map_only
from .channels import moved_channels
from .tensor import DEQUANTIZE, INTEGERS, QUANTIZE, QuantizedTensor, is_quantized, plain, quantize_per_tensor, wrapped
from .writes import WRITES

#: functions that move elements: they keep scale and zero point
MOVES = frozenset(
    (
        "reshape", "view", "flatten", "unflatten", "permute", "transpose", "swapaxes", "t", "T", "mT", "squeeze", "unsqueeze", "contiguous", "clone",
        "detach", "__getitem__", "select", "narrow", "chunk", "split", "split_with_sizes", "unbind", "expand", "expand_as", "view_as", "index_select",
        "cat", "concat", "concatenate", "stack", "movedim", "repeat", "flip", "as_strided", "unfold", "take", "gather",
        "max_pool1d", "max_pool2d", "max_pool3d", "amax", "amin", "pixel_shuffle", "alias", "dropout", "identity", "empty_like", "resize", "channel_shuffle", "pixel_unshuffle",
        "repeat_interleave",
    )
)  # fmt: skip
#: those of several tensors, whose result has the scale of the first
JOINS = frozenset(("cat", "concat", "concatenate", "stack"))
POOLS = frozenset(("max_pool1d", "max_pool2d", "max_pool3d"))
#: functions that order elements, along a dim with their places; the order of integers is that of numbers
ORDERS = frozenset(("max", "min", "sort", "topk"))
#: functions of numbers whose results are rounded to the same scale
ROUNDED = frozenset(
    (
        "mean", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "leaky_relu", "elu", "max", "min", "upsample_nearest2d", "upsample_bilinear2d", "interpolate", "hardswish", "std", "gelu", "threshold",
    )
)  # fmt: skip
#: functions with results in a range of their own: its ends
UNIT = {"sigmoid": (0, 1), "hardsigmoid": (0, 1), "softmax": (0, 1), "tanh": (-1, 1)}
COMPARED = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "equal", "allclose", "isclose"))


def answer(func, args, kwargs):
    """What a function gives, or NotImplementedError."""
    name = func.__name__
    own = next(filter(is_quantized, tree_iter((args, kwargs))))
    if name in WRITES:
        return WRITES[name](*args, **kwargs)
    if kwargs.get("out") is not None and name not in COMPARED:
        return _into(name, func, args, **kwargs)
    if name in POOLS and own._axis is None and own._dtype is not qint32:
        return _pooled(func, own, *args, **kwargs)
    if name in MOVES:
        return _moved(name, func, own, args, kwargs)
    if name in ORDERS and own._axis is None and len(_tensors(args, kwargs)) == 1:
        return _ordered(func, own, args, kwargs)
    if name in COMPARED:
        return func(*_numbers(args), **_numbers(kwargs))
    if name in UNIT or (name in ROUNDED and own._axis is None):
        return _computed(name, func, own, args, kwargs)
    if name == "to" and _is_move(*args, **kwargs):
        return wrapped(func(*_integers(args), **_integers(kwargs)), own)
    raise NotImplementedError(
        f"{name}: not there for quantized tensors; call dequantize() first, or quantize the layer that does it"
    )


QuantizedTensor._answer = staticmethod(answer)


def _integers(value):
    return tree_map_only(QuantizedTensor, plain, value)


def _numbers(value):
    return tree_map_only(QuantizedTensor, QuantizedTensor.dequantize, value)


def _tensors(*values):
    return [value for value in tree_iter(values) if isinstance(value, _C.Tensor)]


def _into(name, func, args, out, **kwargs):
    """Joined tensors at the scale of ``out``, which is written to."""
    if not is_quantized(out):
        raise TypeError(
            f"{name}: expected out to be a quantized tensor, got {getattr(out, 'dtype', type(out).__name__)}"
        )
    if name not in JOINS or out._axis is not None:
        raise NotImplementedError(f"{name}: out= is not there for quantized tensors; copy_ writes into them")
    found = func(
        *tree_map_only(QuantizedTensor, out.rescaled, args), **tree_map_only(QuantizedTensor, out.rescaled, kwargs)
    )
    if found.shape != out.shape or found.dtype is not out.dtype:
        raise RuntimeError(
            f"{name}: expected out of shape {tuple(found.shape)} and {found.dtype}, got {tuple(out.shape)} and {out.dtype}"
        )
    return out.copy_(found)


def _pooled(func, own, input, *args, **kwargs):
    # The greatest of floats have kernels of their own, those of bytes do not: 64 planes of 112 x 112, channels
    # last, take 0.94 ms in place of 2.35 (AMD EPYC, Zen 5, one thread).
    whole = func(DEQUANTIZE(plain(input), 1.0, 0), *args, **kwargs)
    return wrapped(QUANTIZE(whole, 1.0, 0, own._dtype is qint8), own)


def _moved(name, func, own, args, kwargs):
    first = args[0] if args else next(kwargs[k] for k in ("input", "tensors", "self") if k in kwargs)
    others = [*args[1:], *(value for value in kwargs.values() if value is not first)]
    if name in ("view_as", "expand_as") and not is_quantized(first):
        return func(first, plain(own))
    _check_moved(name, own, first if name in JOINS else [first], others)
    if own._axis is not None and name not in ("clone", "detach", "contiguous", "empty_like"):
        return moved_channels(name, func, args, kwargs)
    if name in JOINS:
        args, kwargs = tree_map_only(QuantizedTensor, own.rescaled, (args, kwargs))
    return wrapped(func(*_integers(args), **_integers(kwargs)), own)


def _check_moved(name, own, parts, others):
    if not all(is_quantized(part) and part._dtype is own._dtype for part in parts):
        kinds = ", ".join(str(getattr(part, "dtype", type(part).__name__)) for part in parts)
        raise RuntimeError(f"{name}: expected tensors of {own._dtype}, got {kinds}")
    if any(isinstance(other, _C.dtype) for other in others):
        raise NotImplementedError(
            f"{name}: the integers of a quantized tensor are not seen as another dtype; int_repr() copies them"
        )
    if name not in ("view_as", "expand_as") and any(map(is_quantized, tree_iter(others))):
        raise NotImplementedError(f"{name}: a quantized tensor is no index")


def _ordered(func, own, args, kwargs):
    found = func(*_integers(args), **_integers(kwargs))
    if isinstance(found, _C.Tensor):
        return wrapped(found, own)
    return type(found)((wrapped(found[0], own), found[1]))


def _computed(name, func, own, args, kwargs):
    found = func(*_numbers(args), **_numbers(kwargs))
    scale, zero = _unit_range(name, own._dtype) if name in UNIT else (own._scale, own._zero)
    if not isinstance(found, _C.Tensor):
        raise NotImplementedError(f"{name}: not there for quantized tensors in this form; call dequantize() first")
    return quantize_per_tensor(found, scale, zero, own.dtype)


def _unit_range(name, dtype):
    """Scale and zero point of results from 0 to 1, or from -1 to 1, over all integers of a dtype."""
    low, high = UNIT[name]
    _, least, most = INTEGERS[dtype]
    return (high - low) / (most - least + 1), least if low == 0 else (least + most + 1) // 2


def _is_move(input, *others, **named):
    """Whether ``to`` is asked for a device and the like, not for a dtype."""
    others = (*others, *named.values())
    return is_quantized(input) and not any(isinstance(other, (_C.dtype, _C.Tensor)) for other in others)
