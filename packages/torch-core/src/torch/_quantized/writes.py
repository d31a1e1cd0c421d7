"""Functions that write into quantized tensors, or set bounds to them: what is written is rounded to their scale."""

from __future__ import annotations

from .. import _C
from .tensor import is_quantized, plain, quantize_per_channel, quantize_per_tensor, wrapped

PAD, PAD_BY_MODE = _C._operator("constant_pad_nd"), _C._operator("pad")


def _same_range(a, b):
    return a._dtype is b._dtype and a._axis is b._axis is None and (a._scale, a._zero) == (b._scale, b._zero)


def _rounded(name, q, value):
    """The integers of some numbers at the scale of a tensor that is quantized as a whole; quantized numbers of that scale have them."""
    if is_quantized(value):
        if _same_range(q, value):
            return plain(value)
        value = value.dequantize()
    elif isinstance(value, (bool, int, float)):
        value = _C.tensor(float(value))
    value = _floats(name, value)
    return plain(quantize_per_tensor(value, q._scale, q._zero, q._dtype)).to(q.device)


def _floats(name, value):
    if not isinstance(value, _C.Tensor):
        raise TypeError(f"{name}: expected a number or a tensor, got {type(value).__name__}")
    if value.dtype.is_complex:
        raise RuntimeError(f"{name}: expected real numbers, got {value.dtype}")
    return value.detach().to(_C.float32)


def _refuse_by_channel(name, q):
    if q._axis is not None:
        raise NotImplementedError(
            f"{name}: not there for tensors with a scale for each channel; quantize_per_channel makes another one"
        )


def copy_(self, src, non_blocking=False):
    """Numbers are rounded to the scale of ``self``; of a quantized tensor the integers are copied, and the scale is its own from then on."""
    if not is_quantized(self):
        raise RuntimeError(
            "copy_: expected numbers to copy into a tensor of floats, got a quantized tensor; please use dequantize()"
        )
    if is_quantized(src):
        if src._dtype is not self._dtype or src.qscheme() != self.qscheme():
            raise RuntimeError(
                f"copy_: expected a tensor of {self._dtype} and {self.qscheme()}, got {src._dtype} and {src.qscheme()}"
            )
        if self._axis is not None and src.shape != self.shape:
            raise RuntimeError(f"copy_: expected channels of shape {tuple(self.shape)}, got {tuple(src.shape)}")
        plain(self).copy_(plain(src))
        self._scale, self._zero, self._axis = src._scale, src._zero, src._axis
        return self
    if self._axis is None:
        plain(self).copy_(_rounded("copy_", self, src))
    else:
        numbers = _floats("copy_", src).expand(self.shape)
        made = quantize_per_channel(numbers, self._scale, self._zero, self._axis, self._dtype)
        plain(self).copy_(plain(made))
    return self


def fill_(self, value):
    value = value.dequantize() if is_quantized(value) else value
    value = value if isinstance(value, _C.Tensor) else _C.tensor(float(value))
    if value.dim():
        raise RuntimeError(f"fill_: expected a number, got a tensor of shape {tuple(value.shape)}")
    return copy_(self, value)


def zero_(self):
    return fill_(self, 0.0)


def set_item(self, index, value):
    if is_quantized(index) or not is_quantized(self):
        raise NotImplementedError("__setitem__: expected an index of whole numbers, slices and tensors of these")
    if self._axis is None:
        plain(self)[index] = _rounded("__setitem__", self, value)
        return
    part = self[index]
    numbers = value.dequantize() if is_quantized(value) else value
    numbers = numbers if isinstance(numbers, _C.Tensor) else _C.tensor(float(numbers))
    copy_(part, numbers.expand(part.shape))


def masked_fill_(self, mask, value):
    _refuse_by_channel("masked_fill_", self)
    number = value.item() if isinstance(value, _C.Tensor) else value
    plain(self).masked_fill_(mask, _rounded("masked_fill_", self, number).item())
    return self


def masked_fill(self, mask, value):
    _refuse_by_channel("masked_fill", self)
    number = value.item() if isinstance(value, _C.Tensor) else value
    return wrapped(plain(self).masked_fill(mask, _rounded("masked_fill", self, number).item()), self)


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
    return wrapped(PAD(plain(self), pad, number), self)


def pad(self, pad, mode="constant", value=None):
    if mode == "constant":
        return constant_pad_nd(self, pad, 0 if value is None else value)
    _refuse_by_channel("pad", self)
    return wrapped(PAD_BY_MODE(plain(self), pad, mode), self)


def _clamped(name, q, low, high, inplace=False):
    """The integers between those of two numbers."""
    if q._axis is not None:
        raise NotImplementedError(
            f"{name}: not there for tensors with a scale for each channel; call dequantize() first"
        )
    low, high = (None if bound is None else _rounded(name, q, bound) for bound in (low, high))
    found = plain(q).clamp(low, high)
    if not inplace:
        return wrapped(found, q)
    plain(q).copy_(found)
    return q


def clamp(self, min=None, max=None):
    return _clamped("clamp", self, min, max)


def clamp_(self, min=None, max=None):
    return _clamped("clamp_", self, min, max, True)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return _clamped("hardtanh", input, min_val, max_val, inplace)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    return _clamped("hardtanh_", input, min_val, max_val, True)


def relu(input, inplace=False):
    return _clamped("relu", input, 0.0, None, inplace)


def relu_(input):
    return _clamped("relu_", input, 0.0, None, True)


def relu6(input, inplace=False):
    return _clamped("relu6", input, 0.0, 6.0, inplace)


def relu6_(input):
    return _clamped("relu6_", input, 0.0, 6.0, True)


WRITES = {
    f.__name__: f
    for f in (
        copy_, fill_, zero_, masked_fill_, masked_fill, index_put_, index_put, constant_pad_nd, pad, clamp, clamp_, hardtanh, hardtanh_, relu, relu_, relu6, relu6_,
    )
} | {"__setitem__": set_item, "clip": clamp, "clip_": clamp_}  # fmt: skip
