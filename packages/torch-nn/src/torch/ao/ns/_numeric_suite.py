"""Weights and results of a model in floats beside those of its quantized form, layer by layer.

>>> import torch.ao.quantization as tq
>>> net = torch.nn.Sequential(tq.QuantStub(), torch.nn.Linear(4, 2)).eval()
>>> net.qconfig, x = tq.default_qconfig, torch.rand(3, 4)
>>> ready = tq.prepare(net)
>>> _ = ready(x)
>>> found = compare_model_outputs(net, tq.convert(ready), x)
>>> sorted(found), [t.shape for t in found["1.stats"]["float"]], found["1.stats"]["quantized"][0].dtype
(['0.stats', '1.stats'], [torch.Size([3, 2])], torch.quint8)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import _FusedModule
from torch.ao.nn.quantized import dynamic as nnqd
from torch.ao.quantization.quantization_mappings import get_default_compare_output_module_list

__all__ = [
    "Logger", "OutputLogger", "Shadow", "ShadowLogger", "compare_model_outputs", "compare_model_stub", "compare_weights", "get_logger_dict",
    "get_matching_activations", "prepare_model_outputs", "prepare_model_with_stubs",
]  # fmt: skip

NON_LEAF_MODULE_TO_ADD_OBSERVER_ALLOW_LIST = {nnqd.Linear, nnq.Linear, nnqd.LSTM, nn.LSTM}
_METHODS = (nnq.FloatFunctional, nnq.QFunctional)  #: modules whose operations are methods, with the observer within
_PACKED = "_packed_params._packed_params"


# -- weights ------------------------------------------------------------------------------------------------------------------


def _float_name(float_dict: dict[str, Any], layer: str) -> str | None:
    """The name of a layer's weight in floats; that of the first of joined layers, where it is one."""
    names = (f"{layer}.weight", f"{layer}.0.weight") if layer else ("weight", "0.weight")
    return next((name for name in names if name in float_dict), None)


def compare_weights(float_dict: dict[str, Any], quantized_dict: dict[str, Any]) -> dict[str, dict[str, Tensor]]:
    """The weights of two states, ``{"float": ..., "quantized": ...}`` under the names that the quantized one has for them."""
    found = {}
    for key, value in quantized_dict.items():
        for end in (_PACKED, "_packed_params._packed_weight", "weight"):
            layer = key.removesuffix(end).removesuffix(".") if key == end or key.endswith(f".{end}") else None
            name = None if layer is None else _float_name(float_dict, layer)
            if name is not None:
                found[key] = {"float": float_dict[name], "quantized": value[0] if end == _PACKED else value}
                break
    return found


# -- loggers ------------------------------------------------------------------------------------------------------------------


class Logger(nn.Module):
    """What keeps numbers in ``stats``; ``dtype`` is that of quantized ones."""

    def __init__(self) -> None:
        super().__init__()
        self.stats: dict[str, list[Any]] = {}
        self.dtype = torch.quint8

    def forward(self, x: Any) -> None:
        """Keep nothing: subclasses do."""


class ShadowLogger(Logger):
    """The results of a quantized layer and its shadow, ``stats["quantized"]`` and ``stats["float"]``; of several the first ones."""

    def __init__(self) -> None:
        super().__init__()
        self.stats = {"float": [], "quantized": []}

    def forward(self, x: Any, y: Any) -> None:
        """Keep both."""
        for name, value in (("quantized", x), ("float", y)):
            value = value[0] if isinstance(value, (tuple, list)) else value
            self.stats[name].append(value.detach())


class OutputLogger(Logger):
    """All results of a layer, ``stats["tensor_val"]``, passed on as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.stats = {"tensor_val": []}

    def forward(self, x: Any) -> Any:
        """Keep it."""
        self.stats["tensor_val"].append(x)
        return x


def _dequantized(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_dequantized(each) for each in value)
    return value.dequantize() if isinstance(value, Tensor) and value.is_quantized else value


class Shadow(nn.Module):
    """A quantized layer, and beside it the one in floats on the same inputs; its results are those of the first."""

    def __init__(self, q_module: nn.Module, float_module: nn.Module, logger_cls: Callable[[], nn.Module]):
        super().__init__()
        self.orig_module, self.shadow_module = q_module, float_module
        self.dequant = nnq.DeQuantize()
        self.logger = logger_cls()

    def forward(self, *x: Any) -> Any:
        """Both, and what the quantized layer gives."""
        return self._both("__call__", *x)

    def _both(self, name: str, *args: Any) -> Any:
        output = getattr(self.orig_module, name)(*args)
        self.logger(output, getattr(self.shadow_module, name)(*_dequantized(args)))
        return output


def _method(name: str) -> Any:
    def method(self: Any, *args: Any) -> Any:
        return self._both(name, *args)

    method.__name__, method.__doc__ = name, f"``{name}`` of both."
    return method


for _name in ("add", "add_scalar", "mul", "mul_scalar", "cat", "add_relu", "matmul"):
    setattr(Shadow, _name, _method(_name))


def get_logger_dict(mod: nn.Module, prefix: str = "") -> dict[str, dict[str, Any]]:
    """The ``stats`` of all loggers below a module, under the path of the layer that each belongs to and ``.stats``."""
    found = {}
    for path, each in mod.named_modules(prefix=prefix):
        if isinstance(each, Logger):
            layer = path.rpartition(".")[0]
            found[f"{layer}.stats" if layer else "stats"] = each.stats
    return found


# -- results ------------------------------------------------------------------------------------------------------------------


def _watch(model: nn.Module, logger_cls: Callable[[], nn.Module], allow_list: set[type]) -> None:
    joined = {part for layer in model.modules() if isinstance(layer, _FusedModule) for part in layer.children()}
    for layer in list(model.modules()):
        if type(layer) not in allow_list or layer in joined:
            continue
        is_watched = isinstance(getattr(layer, "activation_post_process", None), Logger)
        logger = layer.activation_post_process = logger_cls()
        # methods of some, and children of others one after the other, pass their results through it anyway
        if not isinstance(layer, (*_METHODS, nn.Sequential)) and not is_watched:
            layer.register_forward_hook(lambda module, args, output: module.activation_post_process(output))
        logger.train(layer.training)


def prepare_model_outputs(
    float_module: nn.Module,
    q_module: nn.Module,
    logger_cls: Callable[[], nn.Module] = OutputLogger,
    allow_list: set[type] | None = None,
) -> None:
    """Put loggers behind the layers of both models whose class is in a list, at first those that quantization is about; in place."""
    allow_list = get_default_compare_output_module_list() if allow_list is None else set(allow_list)
    for model in (float_module, q_module):
        _watch(model, logger_cls, allow_list)


def get_matching_activations(float_module: nn.Module, q_module: nn.Module) -> dict[str, dict[str, Any]]:
    """What the loggers of both models have seen, where a layer has one in either."""
    numbers, found = get_logger_dict(float_module), {}
    for key, stats in get_logger_dict(q_module).items():
        layer = key.removesuffix("stats")
        name = next((each for each in (key, f"{layer}0.stats") if each in numbers), None)
        if name is not None and stats["tensor_val"]:
            found[key] = {"float": numbers[name]["tensor_val"], "quantized": stats["tensor_val"]}
    return found


def compare_model_outputs(
    float_model: nn.Module,
    q_model: nn.Module,
    *data: Any,
    logger_cls: Callable[[], nn.Module] = OutputLogger,
    allow_list: set[type] | None = None,
) -> dict[str, dict[str, Any]]:
    """The results of the layers of two models for one input; loggers stay in both."""
    prepare_model_outputs(float_model, q_model, logger_cls, allow_list)
    float_model(*data)
    q_model(*data)
    return get_matching_activations(float_model, q_model)


def prepare_model_with_stubs(
    float_module: nn.Module, q_module: nn.Module, module_swap_list: Any, logger_cls: Callable[[], nn.Module]
) -> None:
    """Put a :class:`Shadow` in the place of each quantized layer whose form in floats is of a class in the list; in place."""
    layers = dict(float_module.named_children())
    for name, each in list(q_module.named_children()):
        layer = layers.get(name)
        if layer is None:
            continue
        if type(layer) in module_swap_list and _kinds(each) != _kinds(layer):
            setattr(q_module, name, Shadow(each, layer, logger_cls))
        else:
            prepare_model_with_stubs(layer, each, module_swap_list, logger_cls)


def _kinds(module: nn.Module) -> list[type]:
    return [type(each) for each in module.modules() if not isinstance(each, Logger)]


def compare_model_stub(
    float_model: nn.Module,
    q_model: nn.Module,
    module_swap_list: Any,
    *data: Any,
    logger_cls: Callable[[], nn.Module] = ShadowLogger,
) -> dict[str, dict[str, Any]]:
    """The results of quantized layers and of those in floats for the inputs that the quantized model gives them.

    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 2)).eval()
    >>> quantized = torch.ao.quantization.quantize_dynamic(net)
    >>> found = compare_model_stub(net, quantized, [torch.nn.Linear], torch.rand(3, 4))["0.stats"]
    >>> (found["float"][0] - found["quantized"][0]).abs().max() < 0.1
    tensor(True)
    """
    prepare_model_with_stubs(float_model, q_model, module_swap_list, logger_cls)
    q_model(*data)
    return get_logger_dict(q_model)
