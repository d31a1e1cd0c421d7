"""Tensors whose integers stand for numbers: what they hold, and how they are made of numbers."""

from __future__ import annotations

from .. import _C
from .._dtypes import qint8, qint32, quint2x4, quint4x2, quint8
from .._fake_quantized import checked_channels, chosen
from .._operators.out import check_tensor
from .._qschemes import per_channel_affine, per_channel_affine_float_qparams, per_tensor_affine

#: dtype -> the dtype of its integers, least and greatest
INTEGERS = {
    qint8: (_C.int8, -128, 127),
    quint8: (_C.uint8, 0, 255),
    qint32: (_C.int32, -(2**31), 2**31 - 1),
    quint4x2: (_C.uint8, 0, 15),  # held one to a byte
    quint2x4: (_C.uint8, 0, 3),
}
BITS = {quint4x2: 4, quint2x4: 2}
QUANTIZE = _C._operator("_int8_quantize")
DEQUANTIZE = _C._operator("_int8_dequantize")


class QuantizedTensor(_C.Tensor):
    """A tensor whose integers stand for numbers.

    >>> q = torch.quantize_per_tensor(torch.tensor([-1.0, 0.26, 2.0]), scale=0.1, zero_point=10, dtype=torch.quint8)
    >>> q.int_repr(), q.dequantize()
    (tensor([ 0, 13, 30], dtype=torch.uint8), tensor([-1.0000,  0.3000,  2.0000]))
    >>> q.reshape(3, 1).q_scale()
    0.1
    """

    is_quantized = True

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls._answer(func, args, kwargs or {})

    dtype = property(lambda self: self._dtype, doc="The dtype of the integers, such as ``torch.quint8``.")

    def int_repr(self):
        """The integers, as a tensor of their own; those of less than a byte packed into bytes, the first in the lowest bits."""
        integers = plain(self).clone()
        return _packed(integers.flatten(), BITS[self._dtype]) if self._dtype in BITS else integers

    def dequantize(self):
        """The numbers, in float32."""
        integers = plain(self)
        if self._axis is None and self._dtype is not qint32:
            return DEQUANTIZE(integers, self._scale, self._zero)
        if self._axis is None:
            return (integers.to(_C.float32) - self._zero) * self._scale
        shape = [1] * integers.dim()
        shape[self._axis] = -1
        return (integers.to(_C.float32) - self._zero.reshape(shape)) * self._scale.to(_C.float32).reshape(shape)

    def rescaled(self, other):
        """Another tensor at the scale of this one."""
        if other._axis is None and (other._scale, other._zero) == (self._scale, self._zero):
            return other
        return quantize_per_tensor(other.dequantize(), self._scale, self._zero, self._dtype)

    def _whole(self, name):
        if self._axis is not None:
            raise RuntimeError(f"{name}: expected a tensor quantized as a whole, got one with a scale for each channel")

    def q_scale(self):
        """The number that a step of one stands for."""
        self._whole("q_scale")
        return self._scale

    def q_zero_point(self):
        """The integer that stands for zero."""
        self._whole("q_zero_point")
        return self._zero

    def qscheme(self):
        """``torch.per_tensor_affine``, ``torch.per_channel_affine``, or ``per_channel_affine_float_qparams`` where zero points are floats."""
        if self._axis is None:
            return per_tensor_affine
        return per_channel_affine_float_qparams if self._zero.dtype.is_floating_point else per_channel_affine

    def _channels(self, name):
        if self._axis is None:
            raise RuntimeError(f"{name}: expected a scale for each channel, got a tensor quantized as a whole")

    def q_per_channel_scales(self):
        """The scale of each channel."""
        self._channels("q_per_channel_scales")
        return self._scale

    def q_per_channel_zero_points(self):
        """The zero point of each channel."""
        self._channels("q_per_channel_zero_points")
        return self._zero

    def q_per_channel_axis(self):
        """The dim of the channels."""
        self._channels("q_per_channel_axis")
        return self._axis

    def is_signed(self):
        return self._dtype.is_signed

    def is_floating_point(self):
        return False

    def item(self):
        return self.dequantize().item()

    def tolist(self):
        """The numbers."""
        return self.dequantize().tolist()

    def numpy(self):
        raise TypeError("numpy: NumPy has no quantized numbers; call dequantize() or int_repr() first")

    def float(self):
        """``dequantize``."""
        return self.dequantize()

    @property
    def data(self):
        """The same integers and scale."""
        return self.detach()

    @data.setter
    def data(self, other):
        if not is_quantized(other):
            raise TypeError(f"data: expected a quantized tensor, got {other.dtype}")
        _C.Tensor.data.__set__(self, other)
        self._scale, self._zero, self._axis, self._dtype = other._scale, other._zero, other._axis, other._dtype

    def __copy__(self):
        return self.detach()

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = self.clone()
        return copied

    def __reduce_ex__(self, protocol):
        return rebuilt, (plain(self), self._scale, self._zero, self._axis, self._dtype)

    def __repr__(self, *, tensor_contents=None):
        if self._axis is None:
            said = f"scale={self._scale}, zero_point={self._zero}"
        else:
            said = f"scale={self._scale}, zero_point={self._zero}, axis={self._axis}"
        text = repr(self.dequantize())[:-1].partition(", size=")[0]
        return f"{text}, size={tuple(self.shape)}, dtype={self._dtype},\n       quantization_scheme={self.qscheme()}, {said})"

    __iter__ = lambda self: iter(self.unbind(0))
    __hash__ = object.__hash__


def _asks(name):
    """A function of a quantized tensor that is its method; other tensors have no integers and no scale."""
    method = getattr(QuantizedTensor, name)

    def ask(input):
        if not isinstance(input, QuantizedTensor):
            check_tensor(name, input=input)
            raise NotImplementedError(
                f"{name}: expected a quantized tensor, got {input.dtype}; torch.quantize_per_tensor makes one"
            )
        return method(input)

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = method.__doc__
    ask.__module__ = __name__
    return ask


int_repr, q_scale, q_zero_point, qscheme = map(_asks, ("int_repr", "q_scale", "q_zero_point", "qscheme"))
q_per_channel_axis = _asks("q_per_channel_axis")
q_per_channel_scales = _asks("q_per_channel_scales")
q_per_channel_zero_points = _asks("q_per_channel_zero_points")


def plain(q):
    return q.as_subclass(_C.Tensor)


def is_quantized(value):
    return isinstance(value, QuantizedTensor)


def _packed(integers, bits):
    per = 8 // bits
    rows = integers.new_zeros(-(-integers.numel() // per), per)
    rows.view(-1)[: integers.numel()] = integers
    return sum(rows[:, i] << (bits * i) for i in range(per))


def wrapped(found, like):
    if isinstance(found, _C.Tensor):
        return rebuilt(found, like._scale, like._zero, like._axis, like._dtype)
    if isinstance(found, (list, tuple)):
        return tuple(wrapped(one, like) for one in found)
    return found


def rebuilt(integers, scale, zero_point, axis, dtype):
    """A quantized tensor of these integers."""
    q = integers.as_subclass(QuantizedTensor)
    q._scale, q._zero, q._axis, q._dtype = scale, zero_point, axis, dtype
    return q


def _checked(name, input, dtype):
    if dtype not in INTEGERS:
        raise RuntimeError(f"{name}: expected one of {', '.join(map(str, INTEGERS))}, got {dtype}")
    if input.dtype is not _C.float32:
        raise RuntimeError(f"{name}: expected a tensor of float32, got {input.dtype}")
    return INTEGERS[dtype]


def quantize_per_tensor(input, scale, zero_point, dtype):
    """The nearest integers, ``round(input * (1 / scale) + zero_point)`` within the range of the dtype.

    >>> torch.quantize_per_tensor(torch.tensor([0.0, 0.5, 9.0]), 0.1, 5, torch.qint8).int_repr()
    tensor([ 5, 10, 95], dtype=torch.int8)
    """
    if isinstance(input, (list, tuple)):
        return tuple(quantize_per_tensor(*one, dtype) for one in zip(input, scale, zero_point, strict=True))
    integer, least, most = _checked("quantize_per_tensor", input, dtype)
    scale, zero_point = checked_scale("quantize_per_tensor", scale, zero_point, dtype)
    return rebuilt(_rounded(input, scale, zero_point, integer, least, most), scale, zero_point, None, dtype)


def checked_scale(name, scale, zero_point, dtype):
    """A scale and a zero point that a dtype can have, as numbers."""
    scale, zero_point, (_, least, most) = float(scale), int(zero_point), INTEGERS[dtype]
    if not 0 < scale < float("inf"):
        raise RuntimeError(f"{name}: expected a positive scale, got {scale}")
    if not least <= zero_point <= most:
        raise RuntimeError(f"{name}: expected zero_point from {least} to {most}, got {zero_point}")
    return scale, zero_point


def _rounded(input, scale, zero_point, integer, least, most):
    if integer is not _C.int32 and isinstance(scale, float):
        found = QUANTIZE(input.detach(), scale, zero_point, integer is _C.int8)
        return found if most - least == 255 else found.clamp(max=most)
    if integer is _C.int32:  # float32 does not hold its bounds
        found = (input.detach().to(_C.float64) / scale + zero_point).round()
    else:
        found = (input.detach() * scale.reciprocal() + zero_point).round()
    return found.nan_to_num(least, most, least).clamp(least, most).to(integer)


def quantize_per_channel(input, scales, zero_points, axis, dtype):
    """``quantize_per_tensor`` with a scale and zero point for each index of a dim.

    >>> x = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
    >>> torch.quantize_per_channel(x, torch.tensor([0.1, 0.5]), torch.tensor([0, 1]), 0, torch.qint8).int_repr()
    tensor([[10, 20],
            [ 3,  5]], dtype=torch.int8)
    """
    integer, least, most = _checked("quantize_per_channel", input, dtype)
    axis = checked_channels("quantize_per_channel", input, scales, zero_points, axis)
    shape = [1] * input.dim()
    shape[axis] = -1
    scales, zeros = channel_parameters(scales, zero_points)
    wrong = (zeros < least) | (zeros > most) if not zeros.dtype.is_floating_point else None
    if wrong is not None and wrong.any():
        raise RuntimeError(
            f"quantize_per_channel: expected zero_points from {least} to {most}, got {int(zeros[wrong][0])}"
        )
    integers = _rounded(input, scales.to(_C.float32).reshape(shape), zeros.reshape(shape), integer, least, most)
    return rebuilt(integers, scales, zeros, axis, dtype)


def channel_parameters(scales, zero_points):
    """Scales and zero points as quantized tensors hold them: float32 both where the zero points are floats."""
    if zero_points.dtype.is_floating_point:
        return scales.detach().to(_C.float32), zero_points.detach().to(_C.float32)
    return scales.detach().to(_C.float64), zero_points.detach().to(_C.int64)


def quantize_per_tensor_dynamic(input, dtype, reduce_range):
    """``quantize_per_tensor`` by the least and greatest number of the tensor; ``reduce_range`` leaves a bit free.

    >>> torch.quantize_per_tensor_dynamic(torch.tensor([-1.0, 2.0]), torch.quint8, False).q_zero_point()
    85
    """
    _, least, most = _checked("quantize_per_tensor_dynamic", input, dtype)
    if reduce_range:
        least, most = (least // 2, most // 2)
    scale, zero = chosen(*input.detach().aminmax(), least, most, digits=_C.float64)
    return quantize_per_tensor(input, scale.item(), zero.item(), dtype)


def _choose_qparams_per_tensor(self, reduce_range=False):
    """Scale and zero point of ``quantize_per_tensor_dynamic`` to ``torch.quint8``.

    >>> torch._choose_qparams_per_tensor(torch.tensor([-1.0, 2.0]))[1]
    85
    """
    scale, zero = chosen(*self.detach().aminmax(), 0, 127 if reduce_range else 255, digits=_C.float64)
    return scale.item(), zero.item()


def dequantize(tensor):
    """The numbers of quantized tensors, in float32; other tensors as they are.

    >>> torch.dequantize(torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8))
    tensor([1., 1.])
    """
    if isinstance(tensor, (list, tuple)):
        return type(tensor)(dequantize(one) for one in tensor)
    check_tensor("dequantize", input=tensor)
    return tensor.dequantize() if isinstance(tensor, QuantizedTensor) else tensor.to(_C.float32)
