"""Layers that take and give quantized tensors.

Bytes are multiplied as they are, their sums of 32 bits rounded to the scale of the layer. Where a weight's zero is another integer than 0, or a sum would
be longer, layers compute with what their integers stand for, which gives the same up to the rounding of float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import _integers
from ._rows import rows_of
from ._weights import adopt, fit, held, hold, quantize_weight, write


def observed(mod: Any) -> tuple[float, int]:
    """Scale and zero point that the observer of a layer found."""
    post = getattr(mod, "activation_post_process", None)
    if post is None or isinstance(post, nn.Identity):
        raise AssertionError(f"{type(mod).__name__}: convert expects a layer that prepare gave an observer")
    scale, zero = post.calculate_qparams()
    return scale.item(), int(zero.item())


def numbers(layer: Any, x: Tensor) -> Tensor:
    """The numbers of a quantized input."""
    if not getattr(x, "is_quantized", False):
        raise NotImplementedError(
            f"{type(layer).__name__}: expected a quantized tensor, got {x.dtype}: put a QuantStub before it, then prepare and convert"
        )
    return x.dequantize()


class Rounds:
    """What layers share that round their results: ``scale`` and ``zero_point``."""

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        fit(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _rounds_to(self, scale: float, zero_point: int) -> None:
        self.register_buffer("scale", torch.tensor(float(scale), dtype=torch.float64))
        self.register_buffer("zero_point", torch.tensor(int(zero_point)))

    def _rounded(self, x: Tensor) -> Tensor:
        return torch.quantize_per_tensor(x, self.scale.item(), self.zero_point.item(), torch.quint8)

    def _scaled(self) -> tuple[float, int]:
        return self.scale.item(), self.zero_point.item()

    def extra_repr(self) -> str:
        said, (scale, zero_point) = super().extra_repr(), self._scaled()
        return f"{said}, " * bool(said) + f"scale={scale}, zero_point={zero_point}"


class Dropout(nn.Dropout):
    """Nothing is dropped of quantized tensors, in training either.

    >>> torch.ao.nn.quantized.Dropout(0.5)(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """A layer of the same ``p``, for what it prints."""
        return cls(mod.p, mod.inplace)


class Quantize(Rounds, nn.Module):
    """Float numbers to quantized ones.

    >>> layer = torch.ao.nn.quantized.Quantize(0.1, 10, torch.quint8)
    >>> layer(torch.tensor([1.0])).int_repr()
    tensor([20], dtype=torch.uint8)
    """

    def __init__(self, scale: float, zero_point: int, dtype: Any, factory_kwargs: Any = None):
        super().__init__()
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float32))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int64))
        self.dtype = dtype

    def forward(self, X: Tensor) -> Tensor:
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        return Quantize(*observed(mod), mod.activation_post_process.dtype)


class DeQuantize(nn.Module):
    """Quantized numbers to float ones."""

    def forward(self, Xq: Tensor) -> Tensor:
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        return DeQuantize()


class Weighted(_integers.Refound, Rounds):
    """Layers with a weight of small integers and a bias of floats."""

    relu = False
    _packed_as = ""  #: the name of weight and bias in a state, where they are packed

    def _rounds_to(self, scale: float, zero_point: int) -> None:
        self.scale, self.zero_point = float(scale), int(zero_point)

    def _scaled(self) -> tuple[float, int]:
        return self.scale, self.zero_point

    def _rounded(self, x: Tensor) -> Tensor:
        return torch.quantize_per_tensor(x, self.scale, self.zero_point, torch.quint8)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        write(self, destination, prefix, self._packed_as)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *args: Any
    ) -> None:
        if strict:
            numbers = (name for name in ("scale", "zero_point") if name in self.__dict__)
            missing_keys.extend(prefix + name for name in numbers if prefix + name not in state_dict)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *args)

    @property
    def _packed_params(self) -> Any:
        """Weight and bias as the operators of ``torch.ops.quantized`` take them."""
        from ._operators import packed_layer

        return packed_layer(self)

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        return self.weight(), self.bias()

    def _hold(self, weight: Tensor, bias: Tensor | None) -> None:
        for name in ("weight", "bias"):
            self._parameters.pop(name, None)
        hold(self, "weight", weight)
        self.register_buffer("_bias", None if bias is None else bias.detach().clone())

    def weight(self) -> Tensor:
        """The weight, as a quantized tensor."""
        return held(self, "weight")

    def bias(self) -> Tensor | None:
        """The bias, in floats."""
        return self._buffers["_bias"]

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Take another quantized weight, and a bias."""
        self._hold(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a layer that was observed."""
        fake = getattr(mod, "weight_fake_quant", None)  # of a layer trained with rounding
        scale, zero = observed(mod)
        if hasattr(mod, "folded"):  # with a batch norm
            weight, bias = mod.folded()
            layer = mod
        else:
            layer = mod[0] if isinstance(mod, nn.Sequential) else mod
            weight, bias = layer.weight, layer.bias
        observer = fake.activation_post_process if fake is not None else mod.qconfig.weight()
        if observer.dtype is not torch.qint8:
            raise ValueError(f"{cls.__name__}: weights are quantized to torch.qint8, got {observer.dtype}")
        made = cls._like(layer)
        made._hold(quantize_weight(weight, observer, fake is not None), bias)
        made._rounds_to(scale, zero)
        return made

    def _finish(self, y: Tensor) -> Tensor:
        return self._rounded(torch.relu(y) if self.relu else y)


def zeros_like_weight(weight: Tensor, dtype: Any = torch.qint8) -> Tensor:
    return torch.quantize_per_tensor(torch.zeros(weight.shape), 1.0, 0, dtype)


class Linear(Weighted, nn.Module):
    """``x @ weight^T + bias`` of quantized tensors.

    >>> torch.ao.nn.quantized.Linear(2, 3)(torch.quantize_per_tensor(torch.ones(1, 2), 0.1, 0, torch.quint8)).shape
    torch.Size([1, 3])
    """

    _version, _packed_as = 3, "_packed_params"

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8):
        super().__init__()
        if dtype is not torch.qint8:
            raise NotImplementedError(f"Linear: weights are torch.qint8, got {dtype}")
        self.in_features, self.out_features = in_features, out_features
        self._hold(
            zeros_like_weight(torch.empty(out_features, in_features)), torch.zeros(out_features) if bias_ else None
        )
        self._rounds_to(1.0, 0)

    @classmethod
    def _like(cls, layer: Any) -> Any:
        return cls(layer.in_features, layer.out_features, layer.bias is not None)

    def forward(self, x: Tensor) -> Tensor:
        if getattr(x, "is_quantized", False) and x.shape[-1:] != (self.in_features,):
            raise RuntimeError(f"Linear: expected {self.in_features} features, got an input of shape {tuple(x.shape)}")
        y = _integers.dense(self, x, *self._scaled(), self.relu)
        return self._finish(F.linear(numbers(self, x), self.weight().dequantize(), self.bias())) if y is None else y

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__

    def extra_repr(self) -> str:
        own = f"in_features={self.in_features}, out_features={self.out_features}, {super().extra_repr()}"
        return f"{own}, qscheme={self.weight().qscheme()}"


class _Convolution(Weighted):
    """What the convolutions share."""

    _floats: Any = None  #: the layer of floats

    def __init__(self, *args: Any, **kwargs: Any):
        layer = self._floats(*args, **kwargs)
        adopt(self, layer)
        self._hold(zeros_like_weight(layer.weight), layer.bias)
        self._rounds_to(1.0, 0)

    @classmethod
    def _like(cls, layer: Any) -> Any:
        made = cls.__new__(cls)
        adopt(made, layer)
        return made

    def forward(self, input: Tensor) -> Tensor:
        y = _integers.convolution(self, input, *self._scaled(), self.relu)
        if y is None:
            y = self._finish(self._conv_forward(numbers(self, input), self.weight().dequantize(), self.bias()))
        return y

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__


class Conv1d(_Convolution, nn.Conv1d):
    """A convolution of quantized tensors (N, C, L)."""

    _floats = nn.Conv1d


class Conv2d(_Convolution, nn.Conv2d):
    """A convolution of quantized tensors (N, C, H, W)."""

    _floats = nn.Conv2d


class Conv3d(_Convolution, nn.Conv3d):
    """A convolution of quantized tensors (N, C, D, H, W)."""

    _floats = nn.Conv3d


class _Transposed(_Convolution):
    """What the transposed convolutions share: a weight has one scale."""

    def forward(self, input: Tensor) -> Tensor:
        y = _integers.transposed(self, input, *self._scaled(), self.relu)
        if y is None:
            dims = self.weight_int.dim() - 2
            run = getattr(F, f"conv_transpose{dims}d")
            moves = self.stride, self.padding, self.output_padding, self.groups, self.dilation
            y = self._finish(run(numbers(self, input), self.weight().dequantize(), self.bias(), *moves))
        return y


class ConvTranspose1d(_Transposed, nn.ConvTranspose1d):
    """A transposed convolution of quantized tensors (N, C, L)."""

    _floats = nn.ConvTranspose1d


class ConvTranspose2d(_Transposed, nn.ConvTranspose2d):
    """A transposed convolution of quantized tensors (N, C, H, W)."""

    _floats = nn.ConvTranspose2d


class ConvTranspose3d(_Transposed, nn.ConvTranspose3d):
    """A transposed convolution of quantized tensors (N, C, D, H, W)."""

    _floats = nn.ConvTranspose3d


_TABLES = (torch.quint8, torch.qint8, torch.quint4x2)


class _Table(Weighted):
    """Tables of integers whose rows come as floats."""

    _packed_as = "_packed_weight"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        made = cls.__new__(cls)
        adopt(made, mod)
        observer = mod.qconfig.weight()
        if observer.dtype not in _TABLES:
            raise ValueError(
                f"{cls.__name__}: expected a weight of torch.quint8, got {observer.dtype}: use float_qparams_weight_only_qconfig"
            )
        made._hold(quantize_weight(mod.weight, observer), None)
        return made

    _floats: Any = None

    def __init__(self, *args: Any, _weight: Tensor | None = None, dtype: Any = torch.quint8, **kwargs: Any):
        layer = self._floats(*args, **kwargs)
        if dtype not in _TABLES:
            raise NotImplementedError(f"{type(self).__name__}: weights are {', '.join(map(str, _TABLES))}, got {dtype}")
        rows, shape = layer.weight.shape[0], tuple(layer.weight.shape)
        if _weight is None:
            scales, points = torch.ones(rows), torch.zeros(rows)
            _weight = torch.quantize_per_channel(torch.zeros(shape), scales, points, 0, dtype)
        if tuple(_weight.shape) != shape:
            raise AssertionError(
                f"{type(self).__name__}: expected a weight of shape {shape}, got {tuple(_weight.shape)}"
            )
        adopt(self, layer)
        self._hold(_weight, None)

    def set_weight(self, w: Tensor) -> None:
        """Take a quantized weight."""
        self._hold(w, None)

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__

    def extra_repr(self) -> str:
        weight = self.weight()
        sizes = f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}"
        return f"{sizes}, dtype={weight.dtype}, qscheme={weight.qscheme()}"

    def rows(self, indices: Tensor) -> Tensor:
        """The numbers of some rows: only these are made floats."""
        weight = self.weight()
        return rows_of(weight, indices)


class Embedding(_Table, nn.Embedding):
    """Rows of a table of integers, as floats."""

    _floats = nn.Embedding

    def forward(self, indices: Tensor) -> Tensor:
        return self.rows(indices)


class EmbeddingBag(_Table, nn.EmbeddingBag):
    """Sums or means of rows of a table of integers, as floats."""

    _floats = nn.EmbeddingBag

    def forward(
        self, indices: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        used, places = indices.unique(return_inverse=True)
        return F.embedding_bag(
            places.reshape(indices.shape).to(indices.dtype), self.rows(used), offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
        )  # fmt: skip
