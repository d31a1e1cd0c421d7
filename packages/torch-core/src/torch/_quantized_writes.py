"""Quantized tensors that are made of integers, or empty, and those that are written to: what is written is rounded to their scale."""

from __future__ import annotations

from . import _C, _quantized
from ._dtypes import qint8, qint32, quint8

PAD, EMPTY = _C._operator("constant_pad_nd"), _C._operator("empty")
_OF_INTEGERS = {_C.int8: qint8, _C.uint8: quint8, _C.int32: qint32}


def _is_quantized(value):
    return isinstance(value, _quantized.QuantizedTensor)


def _plain(q):
    return q.as_subclass(_C.Tensor)


def _same_range(a, b):
    return a._dtype is b._dtype and a._axis is b._axis is None and (a._scale, a._zero) == (b._scale, b._zero)


def _rounded(name, q, value):
    """The integers of some numbers at the scale of a tensor that is quantized as a whole; quantized numbers of that scale have them."""
    if _is_quantized(value):
        if _same_range(q, value):
            return _plain(value)
        value = value.dequantize()
    elif isinstance(value, (bool, int, float)):
        value = _C.tensor(float(value))
    elif not isinstance(value, _C.Tensor):
        raise TypeError(f"{name}: expected a number or a tensor, got {type(value).__name__}")
    value = value.detach().to(_C.float32)
    return _plain(_quantized.quantize_per_tensor(value, q._scale, q._zero, q._dtype)).to(q.device)


def _refuse_by_channel(name, q):
    if q._axis is not None:
        raise NotImplementedError(
            f"{name}: not there for tensors with a scale for each channel; quantize_per_channel makes another one"
        )


def copy_(self, src, non_blocking=False):
    """Numbers are rounded to the scale of ``self``; of a quantized tensor the integers are copied, and the scale is its own from then on."""
    if not _is_quantized(self):
        raise RuntimeError(
            "copy_: expected numbers to copy into a tensor of floats, got a quantized tensor; please use dequantize()"
        )
    if _is_quantized(src):
        if src._dtype is not self._dtype or src.qscheme() != self.qscheme():
            raise RuntimeError(
                f"copy_: expected a tensor of {self._dtype} and {self.qscheme()}, got {src._dtype} and {src.qscheme()}"
            )
        _plain(self).copy_(_plain(src))
        self._scale, self._zero, self._axis = src._scale, src._zero, src._axis
        return self
    if not isinstance(src, _C.Tensor):
        raise TypeError(f"copy_: expected a tensor, got {type(src).__name__}")
    if self._axis is None:
        _plain(self).copy_(_rounded("copy_", self, src))
    else:
        numbers = src.detach().to(_C.float32).expand(self.shape)
        made = _quantized.quantize_per_channel(numbers, self._scale, self._zero, self._axis, self._dtype)
        _plain(self).copy_(_plain(made))
    return self


def fill_(self, value):
    value = value.dequantize() if _is_quantized(value) else value
    value = value if isinstance(value, _C.Tensor) else _C.tensor(float(value))
    if value.dim():
        raise RuntimeError(f"fill_: expected a number, got a tensor of shape {tuple(value.shape)}")
    return copy_(self, value)


def zero_(self):
    return fill_(self, 0.0)


def set_item(self, index, value):
    if _is_quantized(index) or not _is_quantized(self):
        raise NotImplementedError("__setitem__: expected an index of whole numbers, slices and tensors of these")
    if self._axis is None:
        _plain(self)[index] = _rounded("__setitem__", self, value)
        return
    part = self[index]
    numbers = value.dequantize() if _is_quantized(value) else value
    numbers = numbers if isinstance(numbers, _C.Tensor) else _C.tensor(float(numbers))
    copy_(part, numbers.expand(part.shape))


def masked_fill_(self, mask, value):
    _refuse_by_channel("masked_fill_", self)
    number = value.item() if isinstance(value, _C.Tensor) else value
    _plain(self).masked_fill_(mask, _rounded("masked_fill_", self, number).item())
    return self


def masked_fill(self, mask, value):
    _refuse_by_channel("masked_fill", self)
    number = value.item() if isinstance(value, _C.Tensor) else value
    return _quantized._wrapped(_plain(self).masked_fill(mask, _rounded("masked_fill", self, number).item()), self)


def index_put_(self, indices, values, accumulate=False):
    if accumulate:
        raise NotImplementedError("index_put_: integers with a scale are not added up (accumulate=True)")
    set_item(self, tuple(indices), values)
    return self


def index_put(self, indices, values, accumulate=False):
    return index_put_(self.clone(), indices, values, accumulate)


def constant_pad_nd(self, pad, value=0):
    _refuse_by_channel("constant_pad_nd", self)
    number = _rounded("constant_pad_nd", self, value).item()
    return _quantized._wrapped(PAD(_plain(self), pad, number), self)


def _clamped(name, q, low, high, inplace=False):
    """The integers between those of two numbers."""
    if q._axis is not None:
        raise NotImplementedError(
            f"{name}: not there for tensors with a scale for each channel; call dequantize() first"
        )
    low, high = (None if bound is None else _rounded(name, q, bound) for bound in (low, high))
    found = _plain(q).clamp(low, high)
    if not inplace:
        return _quantized._wrapped(found, q)
    _plain(q).copy_(found)
    return q


def clamp(self, min=None, max=None):
    return _clamped("clamp", self, min, max)


def clamp_(self, min=None, max=None):
    return _clamped("clamp_", self, min, max, True)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return _clamped("hardtanh", input, min_val, max_val, inplace)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    return _clamped("hardtanh_", input, min_val, max_val, True)


def relu6(input, inplace=False):
    return _clamped("relu6", input, 0.0, 6.0, inplace)


def relu6_(input):
    return _clamped("relu6_", input, 0.0, 6.0, True)


WRITES = {
    f.__name__: f
    for f in (
        copy_, fill_, zero_, masked_fill_, masked_fill, index_put_, index_put, constant_pad_nd, clamp, clamp_, hardtanh, hardtanh_, relu6, relu6_,
    )
} | {"__setitem__": set_item, "clip": clamp, "clip_": clamp_}  # fmt: skip


def _indexed_channels(q, index):
    """Whole numbers and slices of a tensor with a scale for each channel; one channel has one scale."""
    index = index if isinstance(index, tuple) else (index,)
    if not all(i is ... or isinstance(i, (int, slice)) for i in index) or index.count(...) > 1:
        raise NotImplementedError("__getitem__: tensors with a scale for each channel take whole numbers and slices")
    found = _plain(q)[index]
    used = len(index) - index.count(...)
    if ... in index:
        place = index.index(...)
        index = (*index[:place], *[slice(None)] * (q.dim() - used), *index[place + 1 :])
    index = (*index, *[slice(None)] * (q.dim() - len(index)))
    own = index[q._axis]
    scale, zero = q._scale[own], q._zero[own]
    if isinstance(own, int):
        return _quantized.rebuilt(found, scale.item(), zero.item(), None, q._dtype)
    axis = sum(isinstance(i, slice) for i in index[: q._axis])
    return _quantized.rebuilt(found, scale, zero, axis, q._dtype)


def moved_channels(name, func, args, kwargs):
    """What a tensor with a scale for each channel has of functions that move elements."""
    q = args[0] if args else None
    if name == "__getitem__":
        return _indexed_channels(q, args[1])
    if name in ("select", "narrow") and _is_quantized(q):
        taken = dict(zip(("dim", "index") if name == "select" else ("dim", "start", "length"), args[1:])) | kwargs
        dim = range(q.dim())[taken["dim"]]
        own = taken["index"] if name == "select" else slice(taken["start"], taken["start"] + taken["length"])
        func(_plain(q), *args[1:], **kwargs)  # says what is wrong with these
        return _indexed_channels(q, (*[slice(None)] * dim, own))
    if (
        name in ("squeeze", "unsqueeze")
        and _is_quantized(q)
        and isinstance(dim := (*args[1:], kwargs.get("dim"))[0], int)
    ):
        found = func(_plain(q), dim)
        step = found.dim() - q.dim()
        dim = range(max(found.dim(), q.dim()))[dim]
        if step >= 0 or dim != q._axis:
            axis = q._axis + step * (dim <= q._axis)
            return _quantized.rebuilt(found, q._scale, q._zero, axis, q._dtype)
    raise NotImplementedError(f"{name}: not there for tensors with a scale for each channel; call dequantize() first")


def _made(name, size, dtype, options):
    if dtype not in _quantized.INTEGERS:
        raise RuntimeError(f"{name}: expected a quantized dtype such as torch.quint8, got {dtype}")
    options = {k: v for k, v in options.items() if v is not None}
    return EMPTY(tuple(size), dtype=_quantized.INTEGERS[dtype][0], **options)


def _empty_affine_quantized(
    size, *, scale=1.0, zero_point=0, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    """A quantized tensor whose integers are not set.

    >>> torch._empty_affine_quantized([2], scale=0.5, zero_point=3, dtype=torch.quint8).fill_(2).int_repr()
    tensor([7, 7], dtype=torch.uint8)
    """
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    integers = _made("_empty_affine_quantized", size, dtype, options)
    return _quantized.rebuilt(integers, float(scale), int(zero_point), None, dtype)


def _empty_per_channel_affine_quantized(
    size, *, scales, zero_points, axis, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    """A quantized tensor with a scale and zero point for each index of ``axis``, whose integers are not set."""
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    integers = _made("_empty_per_channel_affine_quantized", size, dtype, options)
    axis = _quantized.checked_channels("_empty_per_channel_affine_quantized", integers, scales, zero_points, axis)
    return _quantized.rebuilt(integers, *_quantized.channel_parameters(scales, zero_points), axis, dtype)


def empty_quantized(
    size, qtensor, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False, memory_format=None
):
    """A quantized tensor of another size with the scale and zero point of ``qtensor``, whose integers are not set."""
    if not _is_quantized(qtensor):
        raise NotImplementedError(f"empty_quantized: expected a quantized tensor, got {qtensor.dtype}")
    device = qtensor.device if device is None else device
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    integers = _made("empty_quantized", size, qtensor._dtype if dtype is None else dtype, options)
    scales = (qtensor._scale, qtensor._zero, qtensor._axis)
    if qtensor._axis is not None:
        _quantized.checked_channels("empty_quantized", integers, *scales)
    return _quantized.rebuilt(integers, *scales, qtensor._dtype if dtype is None else dtype)


def _dtype_of(name, input):
    if input.dtype not in _OF_INTEGERS or _is_quantized(input):
        raise RuntimeError(f"{name}: expected integers of int8, uint8 or int32, got {input.dtype}")
    return _OF_INTEGERS[input.dtype]


def _make_per_tensor_quantized_tensor(input, scale, zero_point):
    """A quantized tensor of a copy of these integers.

    >>> torch._make_per_tensor_quantized_tensor(torch.tensor([3, 5], dtype=torch.int8), 0.5, 1).dequantize()
    tensor([1., 2.])
    """
    dtype = _dtype_of("_make_per_tensor_quantized_tensor", input)
    return _quantized.rebuilt(input.detach().clone(), float(scale), int(zero_point), None, dtype)


def _make_per_channel_quantized_tensor(input, scale, zero_point, axis):
    """``_make_per_tensor_quantized_tensor`` with a scale and zero point for each index of ``axis``."""
    dtype = _dtype_of("_make_per_channel_quantized_tensor", input)
    axis = _quantized.checked_channels("_make_per_channel_quantized_tensor", input, scale, zero_point, axis)
    parameters = _quantized.channel_parameters(scale, zero_point)
    return _quantized.rebuilt(input.detach().clone(), *parameters, axis, dtype)
