"""``torch.ops.quantized``: sums, products and layers of quantized tensors as functions, and weights packed for them.

>>> q = torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.1, 0, torch.quint8)
>>> torch.ops.quantized.add(q, q, 0.1, 0).int_repr()
tensor([20, 40], dtype=torch.uint8)
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, _seams
from torch.nn import functional as F
from torch.ops import Library, Packet

from . import _integers
from ._recurrent import FUNCTIONS as RECURRENT
from ._rows import packed_rows, rows_of, sums_of_rows
from ._weights import held, hold

DYNAMIC = _seams.operator("_int8_dynamic")


class Packed:
    """A weight of small integers and a bias of floats, and how a convolution moves over its input."""

    def __init__(self, weight: Tensor, bias: Tensor | None, **moves: Any):
        if not getattr(weight, "is_quantized", False):
            raise RuntimeError(
                f"prepack: expected a quantized weight, got {weight.dtype}: torch.quantize_per_channel makes one"
            )
        self._buffers: dict[str, Any] = {}
        hold(self, "weight", weight)
        self._buffers["_bias"] = None if bias is None else bias.detach()
        self.padding_mode, self.moves = "zeros", moves
        self.__dict__ |= moves

    def register_buffer(self, name: str, value: Any) -> None:
        self._buffers[name] = value

    weight_int = property(lambda self: self._buffers["weight_int"])

    @property
    def script_class(self) -> str:
        """The class that programs in archives know this under; convolutions of one dim are such of two there."""
        return f"quantized.Conv{max(2, self.weight_int.dim() - 2)}dPackedParamsBase" if self.moves else _LINEAR

    def factors(self, scale: float, out_scale: float) -> Any:
        """The weight, the factors of its sums, the bias as a sum, and the weight as products take it; None where integers
        are not multiplied."""
        return _integers.factors(self, scale, out_scale)

    def rows(self) -> Any:
        """The same for inputs that are rounded as they come: factors, the weight as products take it, and the weight."""
        return _integers.rows(self)

    def of_dims(self, dims: int) -> Packed:
        """The same for a convolution over so many dims: archives have those of one dim with a first dim of one."""
        given = self.weight_int.dim() - 2
        if given == dims:
            return self
        if (given, dims) != (2, 1) or self.weight_int.shape[2] != 1:
            raise RuntimeError(f"conv{dims}d: expected weights of {dims + 2} dims, got {tuple(self.weight_int.shape)}")
        kept = self.__dict__.get("_of_one_dim")
        if kept is None:
            moves = {name: move[1:] if isinstance(move, list) else move for name, move in self.moves.items()}
            kept = self.__dict__["_of_one_dim"] = _moved(self.weight().squeeze(2), self.bias(), **moves)
        return kept

    def weight(self) -> Tensor:
        """The weight, as a quantized tensor."""
        return held(self, "weight")

    def bias(self) -> Tensor | None:
        """The bias, in floats."""
        return self._buffers["_bias"]

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias."""
        return self.weight(), self.bias()

    def __reduce__(self) -> Any:
        return _packed, (self.weight(), self.bias(), self.moves)

    def __getattr__(self, name: str) -> Any:
        moves = self.__dict__.get("moves", {})
        if name in ("stride", "padding", "dilation", "groups", "output_padding", "transpose") and moves:
            return lambda: moves.get(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_LINEAR = "quantized.LinearPackedParamsBase"


class PackedHalf:
    """A weight in half precision and a bias of floats."""

    script_class = _LINEAR

    def __init__(self, weight: Tensor, bias: Tensor | None):
        self._weight, self._bias = weight.detach().half(), None if bias is None else bias.detach()

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias, in floats."""
        return self._weight.float(), self._bias

    def __iter__(self) -> Any:
        return iter((self._weight, self._bias))

    def __reduce__(self) -> Any:
        return PackedHalf, (self._weight, self._bias)


def _packed(weight: Tensor, bias: Tensor | None, moves: dict[str, Any]) -> Packed:
    return Packed(weight, bias, **moves)


def packed_layer(layer: Any) -> Any:
    """Weight and bias of a quantized layer, packed; linear layers have them in an object of their own, as in PyTorch."""
    weight, bias = layer._weight_bias()
    if hasattr(layer, "kernel_size"):
        names = ("stride", "padding", *["output_padding"] * layer.transposed, "dilation")
        return _moved(weight, bias, **{name: list(getattr(layer, name)) for name in names}, groups=layer.groups)
    if not hasattr(layer, "in_features"):
        return SimpleNamespace(dtype=weight.dtype, _packed_weight=Table(weight), _weight=layer.weight)
    packed = PackedHalf(weight, bias) if weight.dtype is torch.float16 else Packed(weight, bias)
    return SimpleNamespace(dtype=weight.dtype, _packed_params=packed, _weight_bias=layer._weight_bias)


class Table:
    """Rows of small integers for ``embedding_byte`` and ``embedding_4bit``."""

    script_class = "quantized.EmbeddingPackedParamsBase"

    def __init__(self, weight: Tensor):
        self._weight = weight

    def unpack(self) -> Tensor:
        """The rows, as a quantized tensor."""
        return self._weight

    def __reduce__(self) -> Any:
        return Table, (self._weight,)


def _numbers(op: str, x: Any) -> Tensor:
    if not getattr(x, "is_quantized", False):
        raise NotImplementedError(
            f"quantized::{op}: expected a quantized tensor, got {getattr(x, 'dtype', type(x).__name__)}"
        )
    return x.dequantize()


def _rounded(y: Tensor, scale: float, zero_point: int, dtype: Any = torch.quint8) -> Tensor:
    return torch.quantize_per_tensor(y, scale, zero_point, dtype)


def _of_two(op: str, function: Any, relu: bool) -> Any:
    def run(qa: Any, qb: Any, scale: Any = None, zero_point: Any = None, out: Any = None) -> Tensor:
        if out is not None:  # which says the scale of the result
            return out.copy_(run(qa, qb, out.q_scale(), out.q_zero_point()))
        if not isinstance(qb, Tensor) or not isinstance(qa, Tensor):
            q, number = (qa, qb) if isinstance(qa, Tensor) else (qb, qa)
            return _with_number(op, q, float(number), relu)
        if scale is None or zero_point is None:
            raise TypeError(f"quantized::{op}: expected the scale and zero point of the result")
        if op.startswith("add"):
            found = _integers.add(qa, qb, float(scale), int(zero_point), relu)
            if found is not None:
                return found
        y = function(_numbers(op, qa), _numbers(op, qb))
        return _rounded(y.relu() if relu else y, scale, zero_point, qa.dtype)

    run.__name__ = op
    return run


def _with_number(op: str, q: Tensor, number: float, relu: bool) -> Tensor:
    """The sum keeps the integers and the scale where its zero is one of them; the product has another scale and the same integers."""
    x, scale, zero, dtype = _numbers(op, q), q.q_scale(), q.q_zero_point(), q.dtype
    least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    if op.startswith("add"):
        moved = round(number / scale)
        wanted = zero - moved
        y = (
            _seams.rebuilt_quantized(q.int_repr(), scale, wanted, None, dtype)
            if least <= wanted <= most
            else _moved_beyond(q, moved, wanted, least, most)
        )
    elif number > 0:
        y = _seams.rebuilt_quantized(q.int_repr(), scale * number, zero, None, dtype)
    elif number == 0:
        y = _rounded(x * 0, 1.0, 0, dtype)
    else:
        y = _rounded(x * number, scale * -number, least + most - zero, dtype)
    return y.relu() if relu else y


def _moved_beyond(q: Tensor, moved: int, wanted: int, least: int, most: int) -> Tensor:
    """A sum whose zero would lie outside of the integers: a wider range, with the zero at its end."""
    end, reach = (least, most - wanted) if wanted < least else (most, wanted - least)
    scale = torch.tensor(reach / (most - least), dtype=torch.float32).item() * q.q_scale()
    steps = torch.tensor(q.q_scale(), dtype=torch.float32) / torch.tensor(scale, dtype=torch.float32)
    whole = q.as_subclass(Tensor).to(torch.float32) - q.q_zero_point() + moved
    y = ((whole * steps).round() + end).clamp(least, most).to(q.as_subclass(Tensor).dtype)
    return _seams.rebuilt_quantized(y, scale, end, None, q.dtype)


def _cat(relu: bool) -> Any:
    def cat(qx: Any, dim: int = 0, scale: Any = None, zero_point: Any = None) -> Tensor:
        scale = qx[0].q_scale() if scale is None else scale
        zero_point = qx[0].q_zero_point() if zero_point is None else zero_point
        dtype = qx[0].dtype
        parts = [
            q
            if q.q_scale() == scale and q.q_zero_point() == zero_point
            else _rounded(_numbers("cat", q), scale, zero_point, dtype)
            for q in qx
        ]
        y = torch.cat(parts, dim)
        return y.relu() if relu else y

    return cat


def _cat_out(relu: bool) -> Any:
    def cat_out(qx: Any, dim: int, out: Tensor) -> Tensor:
        return out.copy_(_cat(relu)(qx, dim, out.q_scale(), out.q_zero_point()))

    return cat_out


def _matmul(op: str) -> Any:
    multiply = _of_two(op, torch.matmul, False)

    def matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
        if not all(q.is_quantized and q.qscheme() is torch.per_tensor_affine for q in (qa, qb)):
            raise RuntimeError(f"quantized::{op}: expected two per-tensor quantized tensors")
        return multiply(qa, qb, scale, zero_point)

    return matmul


def _check_features(op: str, x: Tensor, packed: Packed) -> None:
    features = packed.weight_int.shape[1]
    if not x.dim() or x.size(-1) != features:
        raise RuntimeError(f"quantized::{op}: expected {features} features, got an input of shape {tuple(x.shape)}")


def _linear(op: str, after: Any = None) -> Any:
    def linear(X: Tensor, W_prepack: Packed, Y_scale_i: float, Y_zero_point_i: int, *more: Any) -> Tensor:
        _check_features(op, X, W_prepack)
        if after is None or after is torch.relu:
            y = _integers.dense(W_prepack, X, float(Y_scale_i), int(Y_zero_point_i), after is not None)
            if y is not None:
                return y
        y = F.linear(_numbers(op, X), W_prepack.weight().dequantize(), W_prepack.bias())
        return _rounded(y if after is None else after(y, *more), Y_scale_i, Y_zero_point_i, X.dtype)

    linear.__name__ = op
    return linear


def _linear_dynamic(relu: bool) -> Any:
    op = "linear_relu_dynamic" if relu else "linear_dynamic"

    def linear_dynamic(X: Tensor, W_prepack: Packed, reduce_range: bool = False) -> Tensor:
        if X.dtype is not torch.float32:
            raise RuntimeError(f"quantized::{op}: expected an input of float32, got {X.dtype}")
        _check_features(op, X, W_prepack)
        each, packed, _ = W_prepack.__dict__.get("_scales") or _integers.rows(W_prepack)
        reduce_range = reduce_range and torch.backends.quantized.engine != "qnnpack"
        if each is None:
            y = F.linear(_integers.rounded_once(X, reduce_range), W_prepack.weight().dequantize(), W_prepack.bias())
        else:
            y = DYNAMIC(X, packed, each, W_prepack.bias(), reduce_range)
        return y.relu() if relu else y

    return linear_dynamic


def _linear_half(relu: bool) -> Any:
    def linear_dynamic_fp16(X: Tensor, W_prepack: Any) -> Tensor:
        weight, bias = W_prepack
        y = F.linear(X, weight.to(X.dtype), bias)
        return y.relu() if relu else y

    return linear_dynamic_fp16


def _conv_prepack(weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int) -> Packed:
    return _moved(weight, bias, stride=list(stride), padding=list(padding), dilation=list(dilation), groups=groups)


def _conv_transpose_prepack(
    weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
) -> Packed:
    return _moved(
        weight, bias, stride=list(stride), padding=list(padding), output_padding=list(output_padding), dilation=list(dilation), groups=groups,
    )  # fmt: skip


def _moved(weight: Tensor, bias: Tensor | None, **moves: Any) -> Packed:
    made = Packed(weight, bias, **moves)
    made.__dict__ |= made.moves
    return made


def _conv(op: str, function: Any, in_integers: Any, relu: bool = False) -> Any:
    dims = int(op.removesuffix("_relu")[-2])

    def conv(
        qx: Tensor, packed_weight: Packed, *more: Any, output_scale: Any = None, output_zero_point: Any = None
    ) -> Tensor:
        # Before the scale and the zero point stands, in calls of 2019, how it moves.
        scale, zero_point = (*more, *(each for each in (output_scale, output_zero_point) if each is not None))[-2:]
        packed_weight = packed_weight.of_dims(dims)
        y = in_integers(packed_weight, qx, float(scale), int(zero_point), relu)
        if y is None:
            weight, bias = packed_weight.weight().dequantize(), packed_weight.bias()
            y = function(_numbers(op, qx), weight, bias, **packed_weight.moves)
            y = _rounded(y.relu() if relu else y, scale, zero_point, qx.dtype)
        return y

    conv.__name__ = op
    return conv


def _conv_dynamic(op: str, function: Any) -> Any:
    dims = int(op.removesuffix("_dynamic")[-2])

    def conv(x: Tensor, packed_weight: Packed, reduce_range: bool = False) -> Tensor:
        if x.dtype is not torch.float32:
            raise RuntimeError(f"quantized::{op}: expected an input of float32, got {x.dtype}")
        x = _integers.rounded_once(x, reduce_range and torch.backends.quantized.engine != "qnnpack")
        packed_weight = packed_weight.of_dims(dims)
        return function(x, packed_weight.weight().dequantize(), packed_weight.bias(), **packed_weight.moves)

    conv.__name__ = op
    return conv


def _rounding(function: Any) -> Any:
    """A function of floats, with the scale and zero point of its result behind its own arguments."""

    def run(qx: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        scale = kwargs.pop("output_scale", None)
        zero_point = kwargs.pop("output_zero_point", None)
        if scale is None:
            *args, scale, zero_point = args
        return _rounded(function(_numbers(function.__name__, qx), *args, **kwargs), scale, zero_point, qx.dtype)

    return run


def _batch_norm(x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    return F.batch_norm(x, mean, var, weight, bias, False, 0.0, eps)


def _norm_relu(*args: Any) -> Tensor:
    return _batch_norm(*args).relu()


def _leaky_relu(
    qx: Tensor, negative_slope: float, inplace: bool, output_scale: float, output_zero_point: int
) -> Tensor:
    return _rounded(F.leaky_relu(_numbers("leaky_relu", qx), negative_slope), output_scale, output_zero_point, qx.dtype)


def _elu(
    self: Tensor,
    output_scale: float,
    output_zero_point: int,
    alpha: float = 1,
    scale: float = 1,
    input_scale: float = 1,
) -> Tensor:
    x = _numbers("elu", self)
    y = torch.where(x > 0, x * scale, alpha * scale * torch.expm1(x * input_scale))
    return _rounded(y, output_scale, output_zero_point, self.dtype)


def _celu(self: Tensor, output_scale: float, output_zero_point: int, alpha: float = 1) -> Tensor:
    return _rounded(F.celu(_numbers("celu", self), alpha), output_scale, output_zero_point, self.dtype)


def _within(function: Any) -> Any:
    """A function whose results keep the scale of its input."""

    def run(qx: Tensor, *args: Any) -> Tensor:
        return _rounded(function(_numbers(function.__name__, qx), *args), qx.q_scale(), qx.q_zero_point(), qx.dtype)

    return run


def _relu6(qx: Tensor, inplace: bool = False) -> Tensor:
    return qx.clamp(0, 6)


def _dropout(
    self: Tensor, output_scale: float, output_zero_point: int, p: float = 0.5, training: bool = False
) -> Tensor:
    return _rounded(F.dropout(_numbers("dropout", self), p, training), output_scale, output_zero_point, self.dtype)


def _instance_norm(x: Tensor, weight: Any, bias: Any, eps: float) -> Tensor:
    return F.instance_norm(x, None, None, weight, bias, True, 0.1, eps)


def _prelu(x: Tensor, weight: Tensor) -> Tensor:
    return F.prelu(x, weight.dequantize())


def _group_norm(x: Tensor, groups: int, weight: Any, bias: Any, eps: float) -> Tensor:
    return F.group_norm(x, groups, weight, bias, eps)


def _layer_norm(x: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> Tensor:
    return F.layer_norm(x, shape, weight, bias, eps)


def _embedding(bits: int) -> Any:
    def embedding(weight: Table, indices: Tensor, pruned_weights: bool = False) -> Tensor:
        return rows_of(weight.unpack(), indices)

    return embedding


_functions: dict[str, Any] = {
    "add": _of_two("add", torch.add, False),
    "add_relu": _of_two("add_relu", torch.add, True),
    "mul": _of_two("mul", torch.mul, False),
    "mul_relu": _of_two("mul_relu", torch.mul, True),
    "matmul": _matmul("matmul"),
    "add_scalar": lambda qa, b: _with_number("add_scalar", qa, float(b), False),
    "add_scalar_relu": lambda qa, b: _with_number("add_scalar", qa, float(b), True),
    "mul_scalar": lambda qa, b: _with_number("mul_scalar", qa, float(b), False),
    "mul_scalar_relu": lambda qa, b: _with_number("mul_scalar", qa, float(b), True),
    "cat": _cat(False),
    "cat_relu": _cat(True),
    "cat_out": _cat_out(False),
    "cat_relu_out": _cat_out(True),
    "linear": _linear("linear"),
    "linear_relu": _linear("linear_relu", torch.relu),
    "linear_leaky_relu": _linear("linear_leaky_relu", F.leaky_relu),
    "linear_tanh": _linear("linear_tanh", torch.tanh),
    "linear_prepack": lambda W, B=None: Packed(W, B),
    "linear_unpack": lambda W_prepack: W_prepack.unpack(),
    "linear_dynamic": _linear_dynamic(False),
    "linear_relu_dynamic": _linear_dynamic(True),
    "linear_prepack_fp16": lambda W, B=None: PackedHalf(W, B),
    "linear_unpack_fp16": lambda W_prepack: W_prepack.unpack(),
    "linear_dynamic_fp16": _linear_half(False),
    "linear_relu_dynamic_fp16": _linear_half(True),
    "batch_norm": _rounding(_batch_norm),
    "batch_norm_relu": _rounding(_norm_relu),
    "layer_norm": _rounding(_layer_norm),
    "group_norm": _rounding(_group_norm),
    "instance_norm": _rounding(_instance_norm),
    "hardswish": _rounding(F.hardswish),
    "sigmoid": _rounding(torch.sigmoid),
    "softmax": _rounding(torch.softmax),
    "prelu": _rounding(_prelu),
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "celu": _celu,
    "clamp": lambda qx, min=None, max=None: qx.clamp(min, max),
    "relu6": _relu6,
    "threshold": _within(F.threshold),
    "max_pool1d": F.max_pool1d,
    "max_pool2d": F.max_pool2d,
    "dropout": _dropout,
    "embedding_byte": _embedding(8),
    "embedding_4bit": _embedding(4),
    "embedding_bag_prepack": Table,
    "embedding_bag_unpack": lambda prepack: prepack.unpack(),
}
for _dims in (1, 2, 3):
    _functions |= {
        f"batch_norm{_dims}d": _functions["batch_norm"],
        f"batch_norm{_dims}d_relu": _functions["batch_norm_relu"],
    }
    for _kind, _in_integers, _prepack in (
        (f"conv{_dims}d", _integers.convolution, _conv_prepack),
        (f"conv_transpose{_dims}d", _integers.transposed, _conv_transpose_prepack),
    ):
        _function = getattr(F, _kind)
        _functions |= {
            _kind: _conv(_kind, _function, _in_integers),
            f"{_kind}_dynamic": _conv_dynamic(f"{_kind}_dynamic", _function),
            f"{_kind}_prepack": _prepack,
            f"{_kind}_unpack": lambda packed_weights, _dims=_dims: packed_weights.of_dims(_dims).unpack(),
            f"{_kind}_transpose": lambda packed_weights: int("output_padding" in packed_weights.moves),
        }
        for _what in ("stride", "padding", "dilation", "groups", "output_padding"):
            _functions[f"{_kind}_{_what}"] = lambda packed_weights, _what=_what: packed_weights.moves.get(_what, [])
    _functions[f"conv{_dims}d_relu"] = _conv(
        f"conv{_dims}d_relu", getattr(F, f"conv{_dims}d"), _integers.convolution, True
    )
for _bits, _name in ((8, "byte"), (4, "4bit"), (2, "2bit")):
    _functions |= {
        f"embedding_bag_{_name}_prepack": lambda weight, *o, _bits=_bits: packed_rows(weight, _bits),
        f"embedding_bag_{_name}_unpack": lambda weight, _bits=_bits: rows_of(weight, None, _bits),
        f"embedding_bag_{_name}_rowwise_offsets": lambda weight, indices, offsets=None, scale_grad_by_freq=False, mode=0, pruned_weights=False,
        per_sample_weights=None, compressed_indices_mapping=None, include_last_offset=False, _bits=_bits: sums_of_rows(
            weight, indices, offsets, mode, per_sample_weights, include_last_offset, _bits, compressed_indices_mapping if pruned_weights else None
        ),
        f"embedding_bag_{_name}": lambda weight, indices, offsets=None, scale_grad_by_freq=False, mode=0, pruned_weights=False,
        per_sample_weights=None, compressed_indices_mapping=None, include_last_offset=False: sums_of_rows(
            weight.unpack(), indices, offsets, mode, per_sample_weights, include_last_offset, 8, compressed_indices_mapping if pruned_weights else None
        ),
    }  # fmt: skip


_functions |= RECURRENT


class _Quantized(Library):
    """The functions above; others are not there."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"torch.ops.quantized has no operator {name!r}: convert a model, or call dequantize() and the function of floats"
        )

    def __dir__(self) -> list[str]:
        return sorted(_functions)


library = _Quantized("quantized")
library.__dict__.update({name: Packet("quantized", name, function) for name, function in _functions.items()})
packed = SimpleNamespace(
    LinearPackedParamsBase=Packed,
    Conv2dPackedParamsBase=Packed,
    Conv3dPackedParamsBase=Packed,
    EmbeddingPackedParamsBase=Table,
)
