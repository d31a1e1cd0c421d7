"""Recurrent and attention layers of quantized tensors: their quantizable forms, converted."""

from __future__ import annotations

from typing import Any

from torch.ao.nn import quantizable

__all__ = ["LSTM", "MultiheadAttention"]


def _converted(cls: type, other: Any) -> Any:
    from torch.ao.quantization import convert

    if type(other) is not cls._FLOAT_MODULE:
        raise AssertionError(
            f"{cls.__name__}.from_observed: expected a {cls._FLOAT_MODULE.__module__}.{cls.__name__}, got {type(other).__name__}"
        )
    made = convert(other.eval(), convert_custom_config_dict={})
    made.__class__ = cls
    return made


class LSTM(quantizable.LSTM):
    """An LSTM of quantized tensors, which ``convert`` makes of an observed one."""

    _FLOAT_MODULE = quantizable.LSTM

    def _get_name(self) -> str:
        return "QuantizedLSTM"

    @classmethod
    def from_float(cls, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it takes two steps, ``prepare`` and ``convert``."""
        raise NotImplementedError(
            "quantized.LSTM.from_float: prepare and convert make it of an nn.LSTM, by way of a quantizable one"
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """The layer of an observed one, with the scales that were found."""
        return _converted(cls, other)


class MultiheadAttention(quantizable.MultiheadAttention):
    """Attention over quantized tensors, which ``convert`` makes of an observed one."""

    _FLOAT_MODULE = quantizable.MultiheadAttention

    def _get_name(self) -> str:
        return "QuantizedMultiheadAttention"

    @classmethod
    def from_float(cls, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it takes two steps, ``prepare`` and ``convert``."""
        raise NotImplementedError(
            "quantized.MultiheadAttention.from_float: prepare and convert make it of an nn.MultiheadAttention, by way of a quantizable one"
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """The layer of an observed one, with the scales that were found."""
        return _converted(cls, other)
