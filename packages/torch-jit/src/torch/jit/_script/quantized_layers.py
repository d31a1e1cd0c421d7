"""Quantized layers as scripts see them: numbers, packed weights and one operator, under the names that PyTorch's have.

The layers themselves hold integers and scales one by one, which is what their states and traces are made of.  A script is compiled of a form that is
made of a layer when it is asked for.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import _ir as ir
from . import quantized

__all__ = ["form_of"]

_FORMS = {}  # name of a class, dynamic or not -> its form


def form_of(module):
    """What a script is compiled of in the place of a module: the module, or the form of a quantized layer."""
    cls = type(module)
    if not cls.__module__.startswith("torch.ao.nn.") or isinstance(module, _Form):
        return module
    dynamic = cls.__module__.endswith(".dynamic")
    form = _FORMS.get((cls.__name__, dynamic)) if "quantized" in cls.__module__.split(".") else None
    return module if form is None else form(module)


def _form_for(*names, place, dynamic=False):
    """Register the form of some layers; programs know them by their names in a module of PyTorch's."""

    def register(form):
        for name in names:
            body = {
                "__module__": place.replace("*", "intrinsic.quantized" if "ReLU" in name else "quantized"),
                "__doc__": form.__doc__,
            }
            made = type(name, (form,), body)
            made.__annotations__ = form.slots
            _FORMS[name, dynamic] = made
        return form

    return register


_NUMBERS = {"scale": float, "zero_point": int}


class _Form(nn.Module):
    """A layer's numbers, and what it packs."""

    slots = _NUMBERS

    def __init__(self, layer):
        super().__init__()
        self.training = layer.training
        self._forward_pre_hooks, self._forward_hooks = layer._forward_pre_hooks, layer._forward_hooks
        for name in ("scale", "zero_point"):
            if name in self.slots:
                value = getattr(layer, name)
                setattr(self, name, self.slots[name](value))
        self.take(layer)

    def take(self, layer):
        """Take what else the form needs of a layer."""


_LINEAR = quantized.packed_type("quantized.LinearPackedParamsBase")
_TABLE = quantized.packed_type("quantized.EmbeddingPackedParamsBase")


@_form_for("Linear", "LinearReLU", place="torch.ao.nn.*.modules.linear")
class _Linear(_Form):
    slots = {**_NUMBERS, "_packed_params": _LINEAR}

    def take(self, layer):
        self.in_features, self.out_features, self.relu = layer.in_features, layer.out_features, layer.relu
        self._packed_params = layer._packed_params._packed_params

    def forward(self, x: Tensor) -> Tensor:
        if self.relu:
            return torch.ops.quantized.linear_relu(x, self._packed_params, self.scale, self.zero_point)
        return torch.ops.quantized.linear(x, self._packed_params, self.scale, self.zero_point)


def _padded(self, input: Tensor) -> Tensor:
    """The input as a convolution without padding of its own takes it."""
    if self.padding_mode != "zeros":
        return F.pad(input, self._sides, mode=self.padding_mode)
    return input


class _Convolution(_Form):
    def take(self, layer):
        self.relu, self.padding_mode = getattr(layer, "relu", False), layer.padding_mode
        for name in ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"):
            value = getattr(layer, name)
            setattr(self, name, tuple(value) if isinstance(value, list) else value)
        packed = layer._packed_params
        if isinstance(layer.padding, str) or layer.padding_mode != "zeros":
            self._sides = tuple(layer._reversed_padding_repeated_twice)
            if layer.padding_mode == "zeros":
                if self._sides[::2] != self._sides[1::2]:
                    raise NotImplementedError(
                        f"torch.jit.script: {layer} has more padding on one side than on the other, which archives of "
                        "quantized convolutions cannot say; pad its input"
                    )
                moves = {**packed.moves, "padding": list(self._sides[::-2])}
            else:
                moves = {**packed.moves, "padding": [0] * (packed.weight_int.dim() - 2)}
            dims = packed.weight_int.dim() - 2
            packed = getattr(torch.ops.quantized, f"conv{dims}d_prepack")(
                *packed.unpack(), *(moves[each] for each in ("stride", "padding", "dilation", "groups"))
            )
        self._packed_params = packed


def _convolutions(dims):
    packed = quantized.packed_type(f"quantized.Conv{max(dims, 2)}dPackedParamsBase")
    own = {**_NUMBERS, "_packed_params": packed}
    plain, relu, transposed = (
        getattr(torch.ops.quantized, name) for name in (f"conv{dims}d", f"conv{dims}d_relu", f"conv_transpose{dims}d")
    )
    dynamic, transposed_dynamic = (
        getattr(torch.ops.quantized, f"{name}{dims}d_dynamic") for name in ("conv", "conv_transpose")
    )

    @_form_for(f"Conv{dims}d", place="torch.ao.nn.quantized.modules.conv")
    @_form_for(f"ConvReLU{dims}d", place="torch.ao.nn.intrinsic.quantized.modules.conv_relu")
    class Static(_Convolution):
        slots = own

        def forward(self, input: Tensor) -> Tensor:
            x = _padded(self, input)
            if self.relu:
                return relu(x, self._packed_params, self.scale, self.zero_point)
            return plain(x, self._packed_params, self.scale, self.zero_point)

    @_form_for(f"ConvTranspose{dims}d", place="torch.ao.nn.quantized.modules.conv")
    class Transposed(_Convolution):
        slots = own

        def forward(self, input: Tensor) -> Tensor:
            return transposed(input, self._packed_params, self.scale, self.zero_point)

    @_form_for(f"Conv{dims}d", place="torch.ao.nn.quantized.dynamic.modules.conv", dynamic=True)
    class Dynamic(_Convolution):
        slots = own

        def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
            return dynamic(_padded(self, input), self._packed_params, reduce_range)

    @_form_for(f"ConvTranspose{dims}d", place="torch.ao.nn.quantized.dynamic.modules.conv", dynamic=True)
    class TransposedDynamic(_Convolution):
        slots = own

        def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
            return transposed_dynamic(input, self._packed_params, reduce_range)


for _dims in (1, 2, 3):
    _convolutions(_dims)


class _Norm(_Form):
    tensors = ("weight", "bias")

    def take(self, layer):
        self.eps, self.relu = layer.eps, getattr(layer, "relu", False)
        for name in self.tensors:
            value = getattr(layer, name)
            self.register_buffer(name, None if value is None else value.detach())


@_form_for("BatchNorm2d", "BatchNorm3d", place="torch.ao.nn.quantized.modules.batchnorm")
@_form_for("BNReLU2d", "BNReLU3d", place="torch.ao.nn.intrinsic.quantized.modules.bn_relu")
class _BatchNorm(_Norm):
    tensors = ("weight", "bias", "running_mean", "running_var")

    def forward(self, input: Tensor) -> Tensor:
        if self.relu:
            return torch.ops.quantized.batch_norm_relu(
                input,
                self.weight,
                self.bias,
                self.running_mean,
                self.running_var,
                self.eps,
                self.scale,
                self.zero_point,
            )
        return torch.ops.quantized.batch_norm(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, self.scale, self.zero_point
        )


@_form_for("LayerNorm", place="torch.ao.nn.quantized.modules.normalization")
class _LayerNorm(_Norm):
    def take(self, layer):
        super().take(layer)
        self.normalized_shape = tuple(layer.normalized_shape)

    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )


@_form_for("GroupNorm", place="torch.ao.nn.quantized.modules.normalization")
class _GroupNorm(_Norm):
    def take(self, layer):
        super().take(layer)
        self.num_groups = layer.num_groups

    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )


@_form_for("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", place="torch.ao.nn.quantized.modules.normalization")
class _InstanceNorm(_Norm):
    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.instance_norm(input, self.weight, self.bias, self.eps, self.scale, self.zero_point)


@_form_for("Hardswish", place="torch.ao.nn.quantized.modules.activation")
class _Hardswish(_Form):
    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.hardswish(input, self.scale, self.zero_point)


@_form_for("Sigmoid", place="torch.ao.nn.quantized.modules.activation")
class _Sigmoid(_Form):
    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.sigmoid(input, self.scale, self.zero_point)


@_form_for("ELU", place="torch.ao.nn.quantized.modules.activation")
class _ELU(_Form):
    def take(self, layer):
        self.alpha = float(layer.alpha)

    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.elu(input, self.scale, self.zero_point, self.alpha)


@_form_for("LeakyReLU", place="torch.ao.nn.quantized.modules.activation")
class _LeakyReLU(_Form):
    def take(self, layer):
        self.negative_slope, self.inplace = float(layer.negative_slope), layer.inplace

    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.leaky_relu(input, self.negative_slope, self.inplace, self.scale, self.zero_point)


@_form_for("Softmax", place="torch.ao.nn.quantized.modules.activation")
class _Softmax(_Form):
    def take(self, layer):
        self.dim = layer.dim

    def forward(self, input: Tensor) -> Tensor:
        dim = self.dim
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return torch.ops.quantized.softmax(input, dim, self.scale, self.zero_point)


@_form_for("PReLU", place="torch.ao.nn.quantized.modules.activation")
class _PReLU(_Form):
    def take(self, layer):
        self.register_buffer("weight", layer.weight.detach())

    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.quantized.prelu(input, self.weight, self.scale, self.zero_point)


@_form_for("Embedding", place="torch.ao.nn.quantized.modules.embedding_ops")
class _Embedding(_Form):
    slots = {"_packed_weight": _TABLE}

    def take(self, layer):
        self.is_small = layer.weight().dtype is torch.quint4x2
        self._packed_weight = layer._packed_params._packed_weight

    def forward(self, indices: Tensor) -> Tensor:
        if self.is_small:
            return torch.ops.quantized.embedding_4bit(self._packed_weight, indices)
        return torch.ops.quantized.embedding_byte(self._packed_weight, indices)


@_form_for("EmbeddingBag", place="torch.ao.nn.quantized.modules.embedding_ops")
class _EmbeddingBag(_Form):
    slots = {"_packed_weight": _TABLE}

    def take(self, layer):
        self.is_small = layer.weight().dtype is torch.quint4x2
        self.mode, self.include_last_offset = ("sum", "mean").index(layer.mode), layer.include_last_offset
        self._packed_weight = layer._packed_params._packed_weight

    def forward(
        self, indices: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        if self.is_small:
            return torch.ops.quantized.embedding_bag_4bit(
                self._packed_weight,
                indices,
                offsets,
                False,
                self.mode,
                False,
                per_sample_weights,
                None,
                self.include_last_offset,
            )
        return torch.ops.quantized.embedding_bag_byte(
            self._packed_weight,
            indices,
            offsets,
            False,
            self.mode,
            False,
            per_sample_weights,
            None,
            self.include_last_offset,
        )


@_form_for("QFunctional", place="torch.ao.nn.quantized.modules.functional_modules")
class _QFunctional(_Form):
    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("QFunctional has no forward: call one of its operations, such as add()")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.ops.quantized.add(x, y, self.scale, self.zero_point)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.ops.quantized.add_relu(x, y, self.scale, self.zero_point)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.ops.quantized.mul(x, y, self.scale, self.zero_point)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.ops.quantized.matmul(x, y, self.scale, self.zero_point)

    def cat(self, x: list[Tensor], dim: int = 0) -> Tensor:
        return torch.ops.quantized.cat(x, dim, self.scale, self.zero_point)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        return torch.ops.quantized.add_scalar(x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        return torch.ops.quantized.mul_scalar(x, y)


# -- recurrent layers, of small integers or in half precision ---------------------------------------------------------------


@functools.cache
def _layers_of(name):
    """A call of ``torch.quantized_lstm`` or ``torch.quantized_gru`` in scripts."""

    def call(*args, **kwargs):
        return getattr(torch.ops.quantized, name)(*args, **kwargs)

    def handler(emitter, *args, **kwargs):
        return quantized.emit(emitter, f"aten::{name}", args, kwargs)

    quantized.FUNCTIONS[id(call)] = call, handler
    return call


_lstm, _gru = _layers_of("quantized_lstm"), _layers_of("quantized_gru")
_CELLS = ir.ListType(quantized.packed_type("rnn.CellParamsBase"))


class _Recurrent(_Form):
    slots = {"_all_params": _CELLS}

    def take(self, layer):
        for name in ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional"):
            setattr(self, name, getattr(layer, name))
        self.dropout = float(self.dropout)
        self.count = self.num_layers * (2 if self.bidirectional else 1)
        self._all_params = layer.packed_cells()
        self.dtype = torch.float16 if self._all_params[0].kind == "quantized_fp16" else torch.qint8


@_form_for("LSTM", place="torch.ao.nn.quantized.dynamic.modules.rnn", dynamic=True)
class _LSTM(_Recurrent):
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch = input.size(0) if self.batch_first else input.size(1)
        if hx is None:
            zeros = torch.zeros(self.count, batch, self.hidden_size, dtype=input.dtype, device=input.device)
            states = [zeros, zeros]
        else:
            states = [hx[0], hx[1]]
        output, h, c = _lstm(
            input, states, self._all_params, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first, dtype=self.dtype, use_dynamic=True,
        )  # fmt: skip
        return output, (h, c)


@_form_for("GRU", place="torch.ao.nn.quantized.dynamic.modules.rnn", dynamic=True)
class _GRU(_Recurrent):
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        batch = input.size(0) if self.batch_first else input.size(1)
        if hx is None:
            state = torch.zeros(self.count, batch, self.hidden_size, dtype=input.dtype, device=input.device)
        else:
            state = hx
        return _gru(
            input, state, self._all_params, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first,
        )  # fmt: skip


class _Cell(_Form):
    slots = {"_packed_weight_ih": _LINEAR, "_packed_weight_hh": _LINEAR}

    def take(self, layer):
        self.input_size, self.hidden_size = layer.input_size, layer.hidden_size
        self._packed_weight_ih, self._packed_weight_hh = (
            layer.packed_matrix("weight_ih"),
            layer.packed_matrix("weight_hh"),
        )
        for name, packed in (("bias_ih", self._packed_weight_ih), ("bias_hh", self._packed_weight_hh)):
            weight, bias = packed.unpack()
            self.register_buffer(name, torch.zeros(weight.shape[0]) if bias is None else bias)

    def state(self, input: Tensor, hx: Tensor | None) -> Tensor:
        if hx is None:
            return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        return hx


@_form_for("LSTMCell", place="torch.ao.nn.quantized.dynamic.modules.rnn", dynamic=True)
class _LSTMCell(_Cell):
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        if hx is None:
            zeros = self.state(input, None)
            states = [zeros, zeros]
        else:
            states = [hx[0], hx[1]]
        return torch.ops.quantized.quantized_lstm_cell_dynamic(
            input, states, self._packed_weight_ih, self._packed_weight_hh, self.bias_ih, self.bias_hh
        )


@_form_for("GRUCell", place="torch.ao.nn.quantized.dynamic.modules.rnn", dynamic=True)
class _GRUCell(_Cell):
    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return torch.ops.quantized.quantized_gru_cell_dynamic(
            input, self.state(input, hx), self._packed_weight_ih, self._packed_weight_hh, self.bias_ih, self.bias_hh
        )


@_form_for("RNNCell", place="torch.ao.nn.quantized.dynamic.modules.rnn", dynamic=True)
class _RNNCell(_Cell):
    def take(self, layer):
        super().take(layer)
        self.nonlinearity = layer.nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        state = self.state(input, hx)
        if self.nonlinearity == "tanh":
            return torch.ops.quantized.quantized_rnn_tanh_cell_dynamic(
                input, state, self._packed_weight_ih, self._packed_weight_hh, self.bias_ih, self.bias_hh
            )
        return torch.ops.quantized.quantized_rnn_relu_cell_dynamic(
            input, state, self._packed_weight_ih, self._packed_weight_hh, self.bias_ih, self.bias_hh
        )
