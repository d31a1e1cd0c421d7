"""Weights that are quantized and brought back, and the layers' common half."""

import torch
from torch.ao.quantization.fx import _decomposed

__all__ = ["DEFAULT", "QuantizedWeights", "ReferenceQuantizedModule", "adopted"]

_BY_CHANNEL = (torch.per_channel_affine, torch.per_channel_affine_float_qparams)
_SCHEMES = (None, torch.per_tensor_affine, *_BY_CHANNEL)
_SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)


def _is_by_channel(scheme):
    return scheme in (*_BY_CHANNEL, torch.per_channel_symmetric)


def _quantize_weight(
    weight, weight_qscheme, weight_dtype, weight_scale, weight_zero_point, weight_axis_int=0,
):  # fmt: skip
    """A weight as a quantized tensor, or in half precision. ValueError for what neither is."""
    if weight_dtype == torch.float16:
        return weight.to(torch.float16)
    if weight_qscheme == torch.per_tensor_affine and weight_dtype in (torch.quint8, torch.qint8, torch.qint32):
        return torch.quantize_per_tensor(weight, float(weight_scale), int(weight_zero_point), weight_dtype)
    if weight_qscheme in _BY_CHANNEL and weight_dtype in (torch.quint8, torch.qint8, torch.qint32):
        return torch.quantize_per_channel(weight, weight_scale, weight_zero_point, weight_axis_int, weight_dtype)
    raise ValueError(f"Unsupported dtype and qscheme: {weight_dtype}, {weight_qscheme}")


def _quantize_and_dequantize_weight(
    weight, weight_qscheme, weight_dtype, weight_scale, weight_zero_point, weight_axis_int=0,
):  # fmt: skip
    """A weight rounded to what its quantized form can say; as it is where it has none."""
    if weight_qscheme not in (torch.per_tensor_affine, *_BY_CHANNEL):
        return weight
    quantized = _quantize_weight(weight, weight_qscheme, weight_dtype, weight_scale, weight_zero_point, weight_axis_int)
    return quantized.dequantize() if quantized.is_quantized else quantized.to(weight.dtype)


def _quantize_and_dequantize_weight_decomposed(
    weight, weight_qscheme, weight_dtype, weight_scale, weight_zero_point, weight_axis_int, weight_quant_min, weight_quant_max,
):  # fmt: skip
    """The same by operators on plain integers, between bounds."""
    if weight_qscheme is None or weight_dtype in (torch.float16, torch.float32):
        return weight
    bounds = weight_quant_min, weight_quant_max, weight_dtype
    if _is_by_channel(weight_qscheme):
        given = weight_scale, weight_zero_point, weight_axis_int, *bounds
        return _decomposed.dequantize_per_channel(_decomposed.quantize_per_channel(weight, *given), *given)
    given = float(weight_scale), int(weight_zero_point), *bounds
    return _decomposed.dequantize_per_tensor(_decomposed.quantize_per_tensor(weight, *given), *given)


def adopted(cls, layer):
    """A layer of the class with the attributes, parameters and buffers of a float one. AssertionError for one of another kind."""
    base = next(b for b in cls.__mro__ if b.__module__.startswith("torch.nn.modules") and b is not torch.nn.Module)
    assert isinstance(layer, base), f"{cls.__name__}.from_float: expected a {base.__name__}, got {type(layer).__name__}"
    made = cls.__new__(cls)
    torch.nn.Module.__init__(made)
    made.__dict__.update((name, held) for name, held in vars(layer).items() if name not in vars(made))
    made._parameters.update(layer._parameters)
    made._buffers.update(layer._buffers)
    return made


class QuantizedWeights:
    """A layer with parameters that stand for quantized ones: by name, how they are quantized, and what they are then."""

    is_decomposed = False

    def _take_qparams(self, name, how, device, points=torch.int64):
        scheme, axis = how["qscheme"], 0
        bounds = how.get("quant_min"), how.get("quant_max")
        self.__dict__.update({f"{name}_qscheme": scheme, f"{name}_dtype": how["dtype"]})
        self.__dict__.update(zip((f"{name}_quant_min", f"{name}_quant_max"), bounds))
        allowed = (*_SCHEMES, *_SYMMETRIC) if self.is_decomposed else _SCHEMES
        assert scheme in allowed, f"qscheme: {scheme} is not supported in reference quantized {self._get_name()}"
        by_channel = _is_by_channel(scheme)
        if by_channel:
            points, axis = (
                torch.float32 if scheme == torch.per_channel_affine_float_qparams else points,
                int(how["axis"]),
            )
        scale, point = (how["scale"], how["zero_point"]) if scheme is not None else (1.0, 0)
        points = points if by_channel else torch.int32
        self.register_buffer(f"{name}_scale", torch.as_tensor(scale, dtype=torch.float32, device=device))
        self.register_buffer(f"{name}_zero_point", torch.as_tensor(point, dtype=points, device=device))
        self.register_buffer(f"{name}_axis", torch.tensor(axis, dtype=torch.int32, device=device))
        self.__dict__[f"{name}_axis_int"] = axis

    def _qparams(self, name, *parts):
        return [getattr(self, f"{name}_{part}", None) for part in parts]

    def _rounded(self, name):
        """The parameter in floats, rounded as it is quantized."""
        given = getattr(self, name), *self._qparams(name, "qscheme", "dtype", "scale", "zero_point", "axis_int")
        if self.is_decomposed:
            return _quantize_and_dequantize_weight_decomposed(*given, *self._qparams(name, "quant_min", "quant_max"))
        return _quantize_and_dequantize_weight(*given)

    def _quantized(self, name):
        """The parameter as it is quantized: a quantized tensor, or integers where it is decomposed."""
        weight, scheme, dtype = getattr(self, name), *self._qparams(name, "qscheme", "dtype")
        scale, point, axis = self._qparams(name, "scale", "zero_point", "axis_int")
        bounds = *self._qparams(name, "quant_min", "quant_max"), dtype
        if self.is_decomposed and _is_by_channel(scheme):
            return _decomposed.quantize_per_channel(weight, scale, point, axis, *bounds)
        if self.is_decomposed:
            return _decomposed.quantize_per_tensor(weight, float(scale), int(point), *bounds)
        return _quantize_weight(weight, scheme, dtype, scale, point, axis)


DEFAULT = {"qscheme": torch.per_tensor_affine, "dtype": torch.quint8, "scale": 1.0, "zero_point": 0}


class ReferenceQuantizedModule(QuantizedWeights, torch.nn.Module):
    """A layer whose ``weight`` stands for a quantized one, which :meth:`get_weight` gives in floats."""

    @classmethod
    def from_float(cls, float_module, weight_qparams):
        """The layer that a float one means, with ``weight_qparams``: qscheme, dtype, scale, zero_point, and axis of channels.
        AssertionError for a scheme that has no quantized form.
        """
        made = adopted(cls, float_module)
        made._init_weight_qparams(weight_qparams, float_module.weight.device)
        return made

    def _init_weight_qparams(self, weight_qparams, device):
        how = weight_qparams or DEFAULT
        self.is_decomposed = how.get("is_decomposed", False)
        self._take_qparams("weight", how, device)

    def get_weight(self):
        """The weight in floats, rounded as it is quantized."""
        return self._rounded("weight")

    def get_quantized_weight(self):
        """The weight as it is quantized: a quantized tensor, or integers where it is decomposed."""
        return self._quantized("weight")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight_qscheme"], destination[prefix + "weight_dtype"] = (
            self.weight_qscheme,
            self.weight_dtype,
        )

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for name in ("weight_qscheme", "weight_dtype"):
            setattr(self, name, state_dict.pop(prefix + name, getattr(self, name)))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self.weight_axis_int = int(self.weight_axis)

    def _get_name(self):
        return f"Quantized{type(self).__name__}(Reference)"
