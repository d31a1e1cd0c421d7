"""Layers that hold small integers, and take and give floats."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, _seams, nn
from torch.nn import functional as F

from . import _integers, _layers
from ._integers import Refound
from ._layers import zeros_like_weight
from ._weights import adopt, fit, fit_recurrent, held, hold, quantize_weight, write

DYNAMIC, ENGINES = _seams.operator("_int8_dynamic"), torch.backends.quantized

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell",
]  # fmt: skip


class Linear(Refound, nn.Module):
    """``x @ weight^T + bias``: ``x`` is rounded to bytes by its least and greatest number, and integers are multiplied.

    As in PyTorch, steps are 1/127 of the range, or 1/255 where ``torch.backends.quantized.engine`` is ``"qnnpack"``.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    >>> _ = net[0].weight.data.copy_(torch.tensor([[1.0, -1.0]])), net[0].bias.data.zero_()
    >>> small = torch.ao.quantization.quantize_dynamic(net)
    >>> small(torch.tensor([[3.0, 1.0]])).item()
    2.0
    """

    _version = 4

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8):
        super().__init__()
        if dtype not in (torch.qint8, torch.float16):
            raise NotImplementedError(f"Linear: weights are torch.qint8 or torch.float16, got {dtype}")
        self.in_features, self.out_features, self.dtype = in_features, out_features, dtype
        self.scale, self.zero_point = 1.0, 0  # of no result: PyTorch's states have them
        shape = torch.empty(out_features, in_features)
        self._hold(
            shape.half() if dtype is torch.float16 else zeros_like_weight(shape),
            torch.zeros(out_features) if bias_ else None,
        )

    def _hold(self, weight: Tensor, bias: Tensor | None) -> None:
        self.__dict__["_scales"] = None
        if weight.dtype is torch.float16:
            self.register_buffer("weight_half", weight)
        else:
            hold(self, "weight", weight)
        self.register_buffer("_bias", None if bias is None else bias.detach().clone())

    set_weight_bias = _hold

    def weight(self) -> Tensor:
        """The weight, as a quantized tensor (or in half precision)."""
        return self.weight_half if self.dtype is torch.float16 else held(self, "weight")

    def bias(self) -> Tensor | None:
        """The bias, in floats."""
        return self._buffers["_bias"]

    def forward(self, x: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            if hasattr(self, "weight_half"):
                return F.linear(x, self.weight_half.to(x.dtype), self._bias)
            return _in_program(x, self.weight_int, self.weight_scale, self.weight_zero_point, self._bias)
        return self._run(x)

    @torch.jit.unused
    def _run(self, x: Tensor) -> Tensor:
        kept = self.__dict__.get("_scales")
        if kept is not None and kept[0] is not None and kept[2] is self._buffers["weight_int"]:
            try:
                return DYNAMIC(x, kept[1], kept[0], self._buffers["_bias"], ENGINES.engine != "qnnpack")
            except RuntimeError:
                self._check(x)
                raise
        if self.dtype is torch.float16:
            return F.linear(x, self.weight_half.to(x.dtype), self.bias())
        self._check(x)
        each, packed, _ = _integers.rows(self)  # of a new weight, or one that was moved
        if each is not None:
            return DYNAMIC(x, packed, each, self._buffers["_bias"], ENGINES.engine != "qnnpack")
        x = _integers.rounded_once(x, ENGINES.engine != "qnnpack")
        return F.linear(x, self.weight().dequantize(), self.bias())

    @property
    def _packed_params(self) -> Any:
        """Weight and bias as the operators of ``torch.ops.quantized`` take them."""
        from ._operators import packed_layer

        return packed_layer(self)

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        return self.weight(), self.bias()

    def _check(self, x: Tensor) -> None:
        if x.dtype is not torch.float32:
            raise RuntimeError(f"Linear: expected an input of float32, got {x.dtype}")
        if not x.dim() or x.size(-1) != self.in_features:
            raise RuntimeError(f"Linear: expected {self.in_features} features, got an input of shape {tuple(x.shape)}")

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        said = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.dtype}"
        return said if self.dtype is torch.float16 else f"{said}, qscheme={self.weight().qscheme()}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        observer = mod.qconfig.weight()
        if observer.dtype not in (torch.qint8, torch.float16):
            raise NotImplementedError(f"Linear: weights are torch.qint8 or torch.float16, got {observer.dtype}")
        made = cls(mod.in_features, mod.out_features, mod.bias is not None, observer.dtype)
        half = observer.dtype is torch.float16
        made._hold(mod.weight.detach().half() if half else quantize_weight(mod.weight, observer), mod.bias)
        return made

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        write(self, destination, prefix, "_packed_params")

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        self.__dict__["_scales"] = None
        fit(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _in_program(x: Tensor, weight: Tensor, scale: Tensor, zero: Tensor, bias: Tensor | None) -> Tensor:
    """The product in compiled programs, of which ``torch.jit.freeze`` packs the weight once."""
    if bool(zero.any()) or weight.size(1) > 65535:
        raise RuntimeError("Linear: programs multiply bytes whose zero is 0, in sums of at most 65535 of them")
    each = scale.to(torch.float32).expand(weight.size(0)).contiguous()
    return torch.ops.aten._int8_dynamic(x, torch.ops.aten._int8_pack(weight), each, bias, True)


class _Matrix:
    """A weight of small integers as a function of floats, which are rounded to bytes as they come."""

    def __init__(self, integers: Tensor, scale: Tensor, zero: Tensor, bias: Tensor | None):
        self._buffers = {"weight_int": integers, "weight_scale": scale, "weight_zero_point": zero, "_bias": bias}

    def __call__(self, x: Tensor) -> Tensor:
        each, packed, _ = self.__dict__.get("_scales") or _integers.rows(self)
        halved, bias = ENGINES.engine != "qnnpack", self._buffers["_bias"]
        if each is not None:
            return DYNAMIC(x, packed, each, bias, halved)
        return F.linear(_integers.rounded_once(x, halved), held(self, "weight").dequantize(), bias)


class _Recurrent:
    """Recurrent layers whose matrices are small integers; those in half precision are made floats where a step asks for them."""

    def _matrix(self, name: str) -> Any:
        parts = tuple(self._buffers.get(name + part) for part in ("_int", "_scale", "_zero_point"))
        if parts[0] is None:
            return getattr(self, name)
        parts = (*parts, getattr(self, name.replace("weight", "bias"), None))
        kept = self.__dict__.setdefault("_kept_matrices", {}).get(name)
        if kept is None or any(a is not b for a, b in zip(kept._buffers.values(), parts)):
            kept = self.__dict__["_kept_matrices"][name] = _Matrix(*parts)
        return kept

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_kept_matrices", "_kept_cells")}

    def _matrices(self, suffix: str = "") -> Any:
        matrices = self._matrix(f"weight_ih{suffix}"), self._matrix(f"weight_hh{suffix}")
        return (*matrices, *super()._weights(suffix)[2:]) if suffix else matrices  # of a layer, or of a cell

    def packed_matrix(self, name: str) -> Any:
        """A matrix with its bias as the operators of ``torch.ops.quantized`` take it."""
        half, bias = self._buffers.get(f"{name}_half"), self._buffers.get(name.replace("weight", "bias"))
        if half is not None:
            return torch.ops.quantized.linear_prepack_fp16(half, bias)
        return torch.ops.quantized.linear_prepack(held(self, name), bias)

    def packed_cells(self) -> list[Any]:
        """The weights of all layers and directions as ``torch.quantized_lstm`` takes them."""
        held = list(self._buffers.values())
        kept = self.__dict__.get("_kept_cells")
        if kept is None or len(kept[0]) != len(held) or any(a is not b for a, b in zip(kept[0], held)):
            kept = self.__dict__["_kept_cells"] = held, self._packed_cells()
        return kept[1]

    def _packed_cells(self) -> list[Any]:
        make, found = torch.ops.quantized, []
        for suffix, _ in self._places():
            ih, hh = self.packed_matrix(f"weight_ih{suffix}"), self.packed_matrix(f"weight_hh{suffix}")
            if f"weight_ih{suffix}_half" in self._buffers:
                found.append(make.make_quantized_cell_params_fp16(ih, hh))
                continue
            rows = ih.weight_int.shape[0]
            biases = (torch.zeros(rows) if each.bias() is None else each.bias() for each in (ih, hh))
            found.append(make.make_quantized_cell_params_dynamic(ih, hh, *biases, True))
        return found

    def _take(self, quantized: dict[str, Tensor]) -> None:
        for name, weight in quantized.items():
            del self._parameters[name]
            if weight.dtype is torch.float16:
                self.register_buffer(f"{name}_half", weight)
            else:
                hold(self, name, weight)
        for name, bias in list(self._parameters.items()):
            del self._parameters[name]
            self.register_buffer(name, None if bias is None else bias.detach().clone())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("weight_") and name not in self.__dict__.get("_buffers", {}):
            buffers = self.__dict__.get("_buffers", {})
            if f"{name}_int" in buffers:
                return held(self, name).dequantize()
            if f"{name}_half" in buffers:
                return buffers[f"{name}_half"].to(torch.float32)
        return super().__getattr__(name)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        made = cls.__new__(cls)
        adopt(made, mod)
        matrices = {n: p for n, p in mod._parameters.items() if p is not None and p.dim() == 2}
        observers = {n: mod.qconfig.weight() for n in matrices}
        quantized = {
            n: p.detach().half() if observers[n].dtype is torch.float16 else quantize_weight(p, observers[n])
            for n, p in matrices.items()
        }
        made._take(quantized)
        return made

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        fit_recurrent(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _get_name(self) -> str:
        return "DynamicQuantized" + type(self).__name__


class LSTM(_Recurrent, nn.LSTM):
    """An LSTM whose matrices are small integers."""


class GRU(_Recurrent, nn.GRU):
    """A GRU whose matrices are small integers."""


class LSTMCell(_Recurrent, nn.LSTMCell):
    """A step of an LSTM whose matrices are small integers."""


class GRUCell(_Recurrent, nn.GRUCell):
    """A step of a GRU whose matrices are small integers."""


class RNNCell(_Recurrent, nn.RNNCell):
    """A step of a recurrent layer whose matrices are small integers."""


class _Convolution:
    """Convolutions whose weight is small integers, of floats that are rounded to bytes as they come."""

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        if input.dtype is not torch.float32:
            raise RuntimeError(f"{type(self).__name__}: expected an input of float32, got {input.dtype}")
        input = _integers.rounded_once(input, reduce_range and ENGINES.engine != "qnnpack")
        weight = self.weight().dequantize()
        if not self.transposed:
            return self._conv_forward(input, weight, self.bias())
        moves = self.stride, self.padding, self.output_padding, self.groups, self.dilation
        return getattr(F, f"conv_transpose{weight.dim() - 2}d")(input, weight, self.bias(), *moves)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        made = cls._like(mod)
        observer = mod.qconfig.weight()
        if observer.dtype is not torch.qint8:
            raise ValueError(f"{cls.__name__}: weights are quantized to torch.qint8, got {observer.dtype}")
        made._hold(quantize_weight(mod.weight, observer), mod.bias)
        made._rounds_to(1.0, 0)  # of no result: PyTorch's states have them
        return made

    def _get_name(self) -> str:
        return "DynamicQuantized" + type(self).__name__


def _dynamic(name: str) -> Any:
    doc = f"``torch.nn.{name}`` whose weight is small integers, of floats that are rounded to bytes as they come."
    return type(name, (_Convolution, getattr(_layers, name)), {"__doc__": doc, "__module__": __name__})


Conv1d, Conv2d, Conv3d = map(_dynamic, ("Conv1d", "Conv2d", "Conv3d"))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = map(
    _dynamic, ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
)

__path__: list[str] = []  # a package, all files of which are this module (torch._parts)
