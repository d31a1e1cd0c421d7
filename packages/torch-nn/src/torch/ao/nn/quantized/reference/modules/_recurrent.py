"""Recurrent layers that compute in floats, with matrices that are quantized and brought back at each call."""

import torch
from torch import nn

from .utils import DEFAULT, QuantizedWeights, adopted

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]

_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


class _Recurrent(QuantizedWeights):
    def __init__(self, *args, weight_qparams_dict=None, **kwargs):
        super().__init__(*args, **kwargs)
        self._init_weight_qparams_dict(weight_qparams_dict, next(self.parameters()).device)

    @classmethod
    def from_float(cls, mod, weight_qparams_dict, use_precomputed_fake_quant=False):
        """The layer that a float one means: for the name of each matrix its qscheme, dtype, scale, zero_point and axis, and
        ``is_decomposed`` for all. AssertionError for one that is missing.
        """
        made = adopted(cls, mod)
        made._init_weight_qparams_dict(weight_qparams_dict, next(mod.parameters()).device)
        return made

    def _init_weight_qparams_dict(self, weight_qparams_dict, device):
        names = [name for name, held in self._parameters.items() if held is not None and held.dim() == 2]
        how = weight_qparams_dict or dict.fromkeys(names, DEFAULT)
        missing, others = set(names) - set(how), set(how) - {*names, "is_decomposed"}
        assert not missing and not others, (
            f"{self._get_name()}: expected weight_qparams_dict to say how {', '.join(names)} are quantized, got {', '.join(how)}"
        )
        self.is_decomposed = how.get("is_decomposed", False)
        for name in names:
            self._take_qparams(name, how[name], device, points=torch.int32)
            if how[name]["qscheme"] is None:  # PyTorch's states have no scale then
                for part in ("scale", "zero_point", "axis"):
                    del self._buffers[f"{name}_{part}"]

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        super()._load_from_state_dict(state_dict, prefix, *rest)
        for name in [each.removesuffix("_axis") for each in self._buffers if each.endswith("_axis")]:
            self.__dict__[f"{name}_axis_int"] = int(self._buffers[f"{name}_axis"])

    def _get_name(self):
        return f"Quantized{type(self).__name__}(Reference)"


class _Layer(_Recurrent):
    def _matrices(self, suffix):
        held = zip(_KINDS, self._weights(suffix))
        return tuple(self._rounded(kind + suffix) if w is not None and w.dim() == 2 else w for kind, w in held)

    def _each(self, of_matrix):
        return {
            n: of_matrix(n) if hasattr(self, f"{n}_qscheme") else getattr(self, n) for n in self._flat_weights_names
        }

    def get_flat_weights(self):
        """All parameters, in the order in which they were made: the matrices rounded as they are quantized."""
        return list(self._each(self._rounded).values())

    def get_quantized_weight_bias_dict(self):
        """All parameters by their names: the matrices as they are quantized, the biases in floats."""
        return self._each(self._quantized)


class _Cell(_Recurrent):
    def _matrices(self):
        return self.get_weight_ih(), self.get_weight_hh()

    def get_weight_ih(self):
        """The matrix of the input in floats, rounded as it is quantized."""
        return self._rounded("weight_ih")

    def get_weight_hh(self):
        """The matrix of the state in floats, rounded as it is quantized."""
        return self._rounded("weight_hh")

    def get_quantized_weight_ih(self):
        """The matrix of the input as it is quantized."""
        return self._quantized("weight_ih")

    def get_quantized_weight_hh(self):
        """The matrix of the state as it is quantized."""
        return self._quantized("weight_hh")


class LSTM(_Layer, nn.LSTM):
    """An LSTM whose matrices are quantized.

    >>> how = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": 0.5, "zero_point": 0}
    >>> layer = LSTM.from_float(torch.nn.LSTM(1, 1), {"weight_ih_l0": how, "weight_hh_l0": how, "is_decomposed": False})
    >>> layer.get_quantized_weight_bias_dict()["weight_ih_l0"].dtype
    torch.qint8
    """


class GRU(_Layer, nn.GRU):
    """A GRU whose matrices are quantized."""


class LSTMCell(_Cell, nn.LSTMCell):
    """A step of an LSTM whose matrices are quantized."""


class GRUCell(_Cell, nn.GRUCell):
    """A step of a GRU whose matrices are quantized."""


class RNNCell(_Cell, nn.RNNCell):
    """A step of a recurrent layer whose matrices are quantized."""
