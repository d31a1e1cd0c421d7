"""Which configuration each layer and operator of a graph has: what ``prepare_fx`` takes."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .fake_quantize import default_fixed_qparams_range_0to1_fake_quant, default_fixed_qparams_range_neg1to1_fake_quant
from .qconfig import (
    QConfig,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_placeholder_observer,
    default_weight_fake_quant,
    default_weight_observer,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = [
    "QConfigMapping", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping",
]  # fmt: skip

UNIT = (
    nn.Sigmoid,
    nn.Hardsigmoid,
    nn.Softmax,
    torch.sigmoid,
    nn.functional.hardsigmoid,
    "sigmoid",
    "sigmoid_",
    "hardsigmoid",
    "hardsigmoid_",
)
TRANSPOSED = (
    nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d,
)  # fmt: skip
NORMED = (F.layer_norm, nn.LayerNorm)
SIGNED_UNIT = (nn.Tanh, torch.tanh, "tanh", "tanh_")
_KEYS = {
    "": "set_global",
    "object_type": "set_object_type",
    "module_name_regex": "set_module_name_regex",
    "module_name": "set_module_name",
    "module_name_object_type_order": "set_module_name_object_type_order",
}


class QConfigMapping:
    """Configurations for all, by type or function, by pattern of names, by name: the later kind counts before the earlier.

    >>> from torch.ao.quantization import QConfigMapping, default_qconfig
    >>> mapping = QConfigMapping().set_global(default_qconfig).set_module_name("head", None)
    >>> mapping.to_dict()["module_name"]
    [('head', None)]
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[tuple[str, Any, int], Any] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """What counts where nothing else is said."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """For a class of layers, a function, or a method's name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """For layers whose path a pattern matches; of several the first that was set."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """For a layer by path, and all within it."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: Any
    ) -> QConfigMapping:
        """For the ``index``-th use of a type or function within a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict of lists."""
        return {
            "": self.global_qconfig,
            "object_type": list(self.object_type_qconfigs.items()),
            "module_name_regex": list(self.module_name_regex_qconfigs.items()),
            "module_name": list(self.module_name_qconfigs.items()),
            "module_name_object_type_order": [(*k, v) for k, v in self.module_name_object_type_order_qconfigs.items()],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """The mapping of such a dict, as ``prepare_fx`` took it before 1.13."""
        unknown = set(qconfig_dict) - set(_KEYS)
        if unknown:
            raise ValueError(
                f"QConfigMapping: unknown keys {', '.join(map(repr, sorted(unknown)))}; there are {', '.join(map(repr, _KEYS))}"
            )
        made = cls()
        for key, method in _KEYS.items():
            if key == "":
                made.set_global(qconfig_dict.get(""))
            else:
                for entry in qconfig_dict.get(key, ()):
                    getattr(made, method)(*entry)
        return made

    def __repr__(self) -> str:
        rows = "\n".join(f" {key or 'global'}: {value!r}" for key, value in self.to_dict().items() if value)
        return f"QConfigMapping (\n{rows}\n)"

    def find(self, name: str, kind: Any, module: str, index: int) -> Any:
        """The configuration of a node: a layer's path or ``""``, its type or function, the module it stands in, and how often that type stood there."""
        ordered = self.module_name_object_type_order_qconfigs
        if (module, kind, index) in ordered:
            return ordered[module, kind, index]
        path = name or module
        while path:
            if path in self.module_name_qconfigs:
                return self.module_name_qconfigs[path]
            path = path.rpartition(".")[0]
        if name or module:
            for pattern, qconfig in self.module_name_regex_qconfigs.items():
                if re.match(pattern, name or module):
                    return qconfig
        if kind in self.object_type_qconfigs:
            return self.object_type_qconfigs[kind]
        return self.module_name_qconfigs.get("", self.global_qconfig)


def _default(qconfig: Any, unit: Any, signed_unit: Any, weight: Any) -> QConfigMapping:
    mapping = QConfigMapping().set_global(qconfig)
    for kind in TRANSPOSED:  # whose weights have one scale
        mapping.set_object_type(kind, QConfig(activation=qconfig.activation, weight=weight))
    for kind in NORMED:  # whose weights stay floats
        mapping.set_object_type(kind, QConfig(activation=qconfig.activation, weight=default_placeholder_observer))
    for kind in UNIT:
        mapping.set_object_type(kind, QConfig(activation=unit, weight=weight))
    for kind in SIGNED_UNIT:
        mapping.set_object_type(kind, QConfig(activation=signed_unit, weight=weight))
    return mapping


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """``get_default_qconfig`` for all, and the known ranges of sigmoids, softmax and tanh.

    >>> torch.ao.quantization.get_default_qconfig_mapping().global_qconfig.weight().qscheme
    torch.per_channel_symmetric
    """
    return _default(
        get_default_qconfig(backend, version), default_fixed_qparams_range_0to1_observer,
        default_fixed_qparams_range_neg1to1_observer, default_weight_observer,
    )  # fmt: skip


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """``get_default_qat_qconfig`` for all, and the known ranges of sigmoids, softmax and tanh."""
    return _default(
        get_default_qat_qconfig(backend, version), default_fixed_qparams_range_0to1_fake_quant,
        default_fixed_qparams_range_neg1to1_fake_quant, default_weight_fake_quant,
    )  # fmt: skip


def as_mapping(given: Any, what: str) -> QConfigMapping:
    """A mapping, or the mapping of a dict."""
    if isinstance(given, QConfigMapping):
        return given
    if isinstance(given, dict):
        return QConfigMapping.from_dict(given)
    raise TypeError(f"{what}: qconfig_mapping must be a QConfigMapping or a dict, got {type(given).__name__}")
