"""Quantization of modules: calibrate and convert, dynamically, or after training that rounds."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.ao.nn.quantized import FloatFunctional

from . import quantization_mappings as mappings
from .fake_quantize import FakeQuantizeBase
from .observer import ObserverBase
from .qconfig import (
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
    float_qparams_weight_only_qconfig_4bit,
)
from .stubs import QuantWrapper


def propagate_qconfig_(module: nn.Module, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Give every module the configuration of the nearest one above that has one; a dict gives them by name or type."""

    def visit(one: nn.Module, name: str, inherited: Any) -> None:
        given = qconfig_dict or {}
        own = given.get(name, given.get(type(one), getattr(one, "qconfig", inherited)))
        one.qconfig = own
        for child_name, child in one.named_children():
            if not isinstance(child, (ObserverBase, FakeQuantizeBase)):
                visit(child, f"{name}.{child_name}" if name else child_name, own)

    visit(module, "", (qconfig_dict or {}).get(""))


class _Post:
    """The hook that shows results to the observer of their layer."""

    def __call__(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        return module.activation_post_process(output)


class _Pre:
    """The hook that shows its input to the observer of a layer, if that remembers nothing of earlier ones."""

    def __call__(self, module: nn.Module, inputs: Any) -> Any:
        return module.activation_post_process(inputs[0])


def get_default_custom_config_dict() -> dict[str, Any]:
    """Layers that are watched in another form, and what that form is converted to."""
    from torch.ao.nn import quantizable
    from torch.ao.nn import quantized as nnq

    return {
        "float_to_observed_custom_module_class": {
            nn.LSTM: quantizable.LSTM,
            nn.MultiheadAttention: quantizable.MultiheadAttention,
        },
        "observed_to_quantized_custom_module_class": {
            quantizable.LSTM: nnq.LSTM,
            quantizable.MultiheadAttention: nnq.MultiheadAttention,
        },
    }


def _custom(given: dict[str, Any] | None, key: str) -> dict[Any, Any]:
    return (get_default_custom_config_dict() if given is None else given).get(key, {})


def _add_observers(module: nn.Module, kinds: set[Any], whole: set[Any], custom: dict[Any, Any]) -> None:
    config = getattr(module, "qconfig", None)
    kind = type(module)
    _assert_valid_qconfig(config, module)
    special = mappings.DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(kind) if module.training else None
    if config is not None and (special or kind in kinds) and not _dynamic(config):
        if isinstance(module, FloatFunctional):
            module.activation_post_process = config.activation()
        elif kind not in mappings.no_observer_set() and not hasattr(module, "activation_post_process"):
            module.add_module("activation_post_process", (special or config.activation)())
            if _is_memoryless(config):
                module.register_forward_pre_hook(_Pre(), prepend=True)
            else:
                module.register_forward_hook(_Post(), prepend=True)
        if kind in whole or not list(module.children()) or kind.__module__.startswith("torch.ao.nn"):
            return
    for name, child in list(module.named_children()):
        if type(child) in custom and getattr(child, "qconfig", None) is not None:
            _watch_custom(module, name, custom[type(child)].from_float(child))
        elif not isinstance(child, (ObserverBase, FakeQuantizeBase)):
            _add_observers(child, kinds, whole, custom)


def _watch_custom(module: nn.Module, name: str, observed: nn.Module) -> None:
    """Put the observed form of a layer in place; its result has an observer, but for those that have one for each part."""
    setattr(module, name, observed)
    if type(observed) not in mappings.no_observer_set():
        observed.add_module("activation_post_process", observed.qconfig.activation())
        observed.register_forward_hook(_Post(), prepend=True)


def _dynamic(config: Any) -> bool:
    made = config.activation()
    dynamic = getattr(made, "is_dynamic", False) and not _is_memoryless(config)
    return bool(dynamic) or type(made).__name__ in ("PlaceholderObserver", "NoopObserver")


def _is_memoryless(config: Any) -> bool:
    """Whether ranges of activations are those of the last call; these are of a layer's input, all others of its result."""
    made = config.activation()
    return getattr(getattr(made, "activation_post_process", made), "averaging_constant", None) == 1


def prepare(
    model: nn.Module,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> nn.Module:
    """A copy whose layers with a ``qconfig`` (their own, or one from above) watch their results.

    >>> net = torch.nn.Sequential(torch.ao.quantization.QuantStub(), torch.nn.Linear(2, 2), torch.ao.quantization.DeQuantStub())
    >>> net.qconfig = torch.ao.quantization.default_qconfig
    >>> ready = torch.ao.quantization.prepare(net.eval())
    >>> _ = ready(torch.rand(8, 2))
    >>> type(torch.ao.quantization.convert(ready)[1])
    <class 'torch.ao.nn.quantized._layers.Linear'>
    """
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        import warnings

        warnings.warn("prepare: no module has a qconfig; set model.qconfig first", stacklevel=2)
    kinds = set(allow_list or {*mappings.DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *mappings.DEFAULT_QAT_MODULE_MAPPINGS})
    whole = set(observer_non_leaf_module_list or ())
    kinds |= set(mappings.DEFAULT_QAT_MODULE_MAPPINGS.values()) | whole
    _add_observers(model, kinds, whole, _custom(prepare_custom_config_dict, "float_to_observed_custom_module_class"))
    return model


def swap_module(
    mod: nn.Module, mapping: dict[Any, Any], custom_module_class_mapping: Any = None, **options: Any
) -> nn.Module:
    """The layer that stands in for one, if it has a configuration and one of the mappings knows it."""
    custom = custom_module_class_mapping or {}
    if getattr(mod, "qconfig", None) is None or type(mod) not in {**mapping, **custom}:
        return mod
    made = custom[type(mod)].from_observed(mod) if type(mod) in custom else _quantized(mapping[type(mod)], mod)
    for hook in mod._forward_pre_hooks.values():
        if not isinstance(hook, _Pre):
            made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if not isinstance(hook, _Post):
            made.register_forward_hook(hook)
    return made.train(mod.training)


def _quantized(kind: Any, mod: nn.Module) -> nn.Module:
    if not hasattr(kind, "get_quantized_weight"):
        return kind.from_float(mod)
    from .utils import get_qparam_dict

    observer = mod.qconfig.weight()
    observer(mod.weight)
    return kind.from_float(mod, get_qparam_dict(observer))


def convert(
    module: nn.Module,
    mapping: Any = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> nn.Module:
    """A copy with quantized layers in place of those that were observed; ``is_reference`` leaves them in floats, with weights that are rounded
    as integers would be, between the two marks of each.
    """
    if mapping is None and is_reference:
        mapping = mappings.get_default_static_quant_reference_module_mappings()
    if not inplace:
        module = copy.deepcopy(module)
    mapping = mappings.DEFAULT_STATIC_QUANT_MODULE_MAPPINGS if mapping is None else mapping
    custom = _custom(convert_custom_config_dict, "observed_to_quantized_custom_module_class")
    top = swap_module(module, mapping, custom)
    if top is module or type(top) not in custom.values():
        _convert(top, mapping, custom)
    if remove_qconfig:
        _remove_qconfig(top)
    return top


def _convert(module: nn.Module, mapping: dict[Any, Any], custom: dict[Any, Any]) -> None:
    for name, child in list(module.named_children()):
        if isinstance(child, (ObserverBase, FakeQuantizeBase)):
            continue
        made = swap_module(child, mapping, custom)
        if made is child and not isinstance(child, FloatFunctional):
            _convert(child, mapping, custom)
        setattr(module, name, made)


def _remove_qconfig(module: nn.Module) -> None:
    """Take configurations, observers and their hooks away; torchao calls it by this name."""
    for one in list(module.modules()):
        one.__dict__.pop("qconfig", None)
        post = one._modules.get("activation_post_process")
        if isinstance(post, (ObserverBase, FakeQuantizeBase)):
            del one._modules["activation_post_process"]
        for hooks in (one._forward_hooks, one._forward_pre_hooks):
            for handle, hook in list(hooks.items()):
                if isinstance(hook, (_Post, _Pre)):
                    del hooks[handle]


def quantize(model: nn.Module, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> nn.Module:
    """``prepare``, calibrate with ``run_fn(model, *run_args)``, and ``convert``."""
    ready = prepare(model if inplace else copy.deepcopy(model), inplace=True).eval()
    run_fn(ready, *run_args)
    return convert(ready, mapping, inplace=True)


def quantize_dynamic(
    model: nn.Module, qconfig_spec: Any = None, dtype: Any = torch.qint8, mapping: Any = None, inplace: bool = False
) -> nn.Module:
    """A copy whose linear and recurrent layers hold small integers; what passes is quantized as it comes.

    ``qconfig_spec`` is types or names of the layers, or a dict that gives each its ``QConfig``; ``dtype`` is ``torch.qint8``, ``torch.float16`` (weights
    in half precision), ``torch.quint8`` for embeddings or ``torch.quint4x2`` for bags of them.

    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> small = torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear}, dtype=torch.qint8)
    >>> small[0].weight().dtype, small(torch.rand(3, 4)).shape
    (torch.qint8, torch.Size([3, 2]))
    """
    defaults = {
        torch.qint8: default_dynamic_qconfig,
        torch.float16: float16_dynamic_qconfig,
        torch.quint8: float_qparams_weight_only_qconfig,
        torch.quint4x2: float_qparams_weight_only_qconfig_4bit,
    }
    if dtype not in defaults:
        raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
    if qconfig_spec is None:
        tables: Any = {torch.quint8: (nn.Embedding, nn.EmbeddingBag), torch.quint4x2: (nn.EmbeddingBag,)}
        kinds = tables.get(dtype, (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell))
        qconfig_spec = dict.fromkeys(kinds, defaults[dtype])
    elif not isinstance(qconfig_spec, dict):
        qconfig_spec = dict.fromkeys(qconfig_spec, defaults[dtype])
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    return convert(model, mapping or mappings.DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, inplace=True)


def prepare_qat(model: nn.Module, mapping: Any = None, inplace: bool = False) -> nn.Module:
    """A copy, in training mode, whose layers round weights and results as quantization will."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    if not inplace:
        model = copy.deepcopy(model)
    mapping = mappings.DEFAULT_QAT_MODULE_MAPPINGS if mapping is None else mapping
    propagate_qconfig_(model)
    model = convert(model, mapping, inplace=True, remove_qconfig=False, convert_custom_config_dict={})
    return prepare(model, inplace=True, observer_non_leaf_module_list=set(mapping.values()))


def quantize_qat(model: nn.Module, run_fn: Any, run_args: Any, inplace: bool = False) -> nn.Module:
    """``prepare_qat``, train with ``run_fn(model, *run_args)``, and ``convert``."""
    ready = prepare_qat(model.train() if inplace else copy.deepcopy(model).train(), inplace=True)
    run_fn(ready, *run_args)
    return convert(ready.eval(), inplace=True)


def add_quant_dequant(module: nn.Module) -> nn.Module:
    """Put every layer with a configuration of its own between the two marks."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        setattr(module, name, add_quant_dequant(child))
    return module


def default_eval_fn(model: nn.Module, calib_data: Any) -> None:
    """Run the model on inputs, of pairs of inputs and targets."""
    for data, _ in calib_data:
        model(data)


__all__ = [
    "add_quant_dequant", "convert", "default_eval_fn", "get_default_custom_config_dict", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_dynamic", "quantize_qat",
    "swap_module",
]  # fmt: skip
