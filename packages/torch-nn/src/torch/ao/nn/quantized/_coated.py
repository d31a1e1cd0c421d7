"""Layers of floats in a coat: numbers out of integers, the layer as it is, and its result rounded."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ._layers import Rounds, numbers, observed
from ._weights import adopt

NAMES = (
    "BatchNorm2d", "BatchNorm3d", "ELU", "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "PReLU",
    "Sigmoid", "Softmax",
)  # fmt: skip


_AFFINE = ("weight", "bias", "scale", "zero_point", "eps")
_INSTANCES = ("num_features", *_AFFINE, "momentum", "affine", "track_running_stats")
#: arguments by place, where PyTorch's layers take others than the layers of floats do
_ARGUMENTS = {
    "ELU": ("scale", "zero_point", "alpha"),
    "GroupNorm": ("num_groups", "num_channels", *_AFFINE, "affine"),
    "Hardswish": ("scale", "zero_point"),
    "InstanceNorm1d": _INSTANCES,
    "InstanceNorm2d": _INSTANCES,
    "InstanceNorm3d": _INSTANCES,
    "LayerNorm": ("normalized_shape", *_AFFINE, "elementwise_affine"),
    "LeakyReLU": ("scale", "zero_point", "negative_slope", "inplace"),
    "PReLU": ("output_scale", "output_zero_point", "num_parameters"),
    "Sigmoid": ("output_scale", "output_zero_point"),
    "Softmax": ("dim", "scale", "zero_point"),
}


def _by_name(layer, args, given):
    """Arguments by place and by name, all by name."""
    names = _ARGUMENTS[layer]
    if len(args) > len(names):
        raise TypeError(f"{layer} of quantized tensors takes {', '.join(names)}; got {len(args)} arguments")
    twice = set(names[: len(args)]) & set(given)
    if twice:
        raise TypeError(f"{layer} got {', '.join(sorted(twice))} by place and by name")
    return {**dict(zip(names, args)), **given}


class _Coated(Rounds):
    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer with its own parameters, in a coat."""
        made = cls.__new__(cls)
        adopt(made, mod[0] if isinstance(mod, nn.Sequential) else mod)  # the first of joined layers
        made._rounds_to(*observed(mod))
        return made.eval()

    def forward(self, x: Tensor) -> Tensor:
        return self._rounded(super().forward(numbers(self, x)))

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__


class _CoatedBatchNorm(_Coated):
    relu = False

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        made = super().from_float(mod)
        made.scale, made.zero_point = made.scale.reshape(1), made.zero_point.reshape(1)  # as PyTorch's states have them
        return made

    def forward(self, x: Tensor) -> Tensor:
        """By the running statistics, in training as well."""
        statistics = self.running_mean, self.running_var
        y = nn.functional.batch_norm(numbers(self, x), *statistics, self.weight, self.bias, eps=self.eps)
        return self._rounded(y.relu() if self.relu else y)


def _coat(name: str) -> Any:
    layer = getattr(nn, name)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if name in _ARGUMENTS:
            args, kwargs = (), _by_name(name, args, kwargs)
        scale = kwargs.pop("output_scale", kwargs.pop("scale", 1.0))
        zero_point = kwargs.pop("output_zero_point", kwargs.pop("zero_point", 0))
        # bias is a tensor here where PyTorch's layers take one; LayerNorm of floats has a flag of that name
        parameters = {k: kwargs.pop(k) for k in ("weight", "bias") if not isinstance(kwargs.get(k, True), bool)}
        layer.__init__(self, *args, **kwargs)
        for parameter, value in parameters.items():
            setattr(self, parameter, value)
        self._rounds_to(scale, zero_point)

    base = _CoatedBatchNorm if name.startswith("BatchNorm") else _Coated
    doc = f"``torch.nn.{name}`` of a quantized tensor, rounded to ``scale`` and ``zero_point``."
    return type(name, (base, layer), {"__init__": __init__, "__doc__": doc, "__module__": "torch.ao.nn.quantized"})


globals().update({name: _coat(name) for name in NAMES})
