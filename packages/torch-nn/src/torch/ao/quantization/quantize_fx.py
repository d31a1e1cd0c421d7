"""Quantization of graphs: a model is traced, watched and converted without marks in its code.

>>> from torch.ao.quantization import get_default_qconfig_mapping
>>> from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
>>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
>>> x = torch.rand(16, 4)
>>> ready = prepare_fx(net, get_default_qconfig_mapping(), (x,))
>>> _ = ready(x)
>>> convert_fx(ready)(x).shape
torch.Size([16, 2])
"""

from __future__ import annotations

import copy
from typing import Any

from torch import nn

from .fx.custom_config import ConvertCustomConfig, FuseCustomConfig, PrepareCustomConfig, classes_of
from .qconfig_mapping import as_mapping

__all__ = [
    "attach_preserved_attrs_to_model",
    "convert_fx",
    "convert_to_reference_fx",
    "fuse_fx",
    "prepare_fx",
    "prepare_qat_fx",
]


def _traced(model: nn.Module, config: Any = None) -> Any:
    from torch.fx import GraphModule

    from .fx.tracer import QuantizationTracer

    if isinstance(model, GraphModule):
        return copy.deepcopy(model)
    config = config or PrepareCustomConfig()
    names = [*config.non_traceable_module_names, *config.standalone_module_names]
    classes = [
        *config.non_traceable_module_classes,
        *config.standalone_module_classes,
        *classes_of(config.float_to_observed_mapping),
    ]
    model = copy.deepcopy(model)
    made = GraphModule(model, QuantizationTracer(names, classes).trace(model), type(model).__name__)
    for name in config.preserved_attributes:
        setattr(made, name, getattr(model, name))
    return made.train(model.training)


def _prepared(
    what: str,
    model: nn.Module,
    mapping: Any,
    example_inputs: Any,
    config: Any,
    equalization: Any,
    backend: Any,
    is_qat: bool,
) -> Any:
    from .fx._backend import Patterns
    from .fx.fuse import fuse
    from .fx.prepare import prepare

    if not isinstance(model, nn.Module):
        raise TypeError(f"{what}: expected a module, got {type(model).__name__}")
    if equalization:
        raise NotImplementedError(f"{what}: weights are not equalized with inputs (_equalization_config)")
    config = PrepareCustomConfig.of(config, what)
    mapping = as_mapping(mapping, what)
    made = _traced(model, config)
    _prepare_standalone(what, made, mapping, config, backend, is_qat)
    observed_classes = classes_of(config.float_to_observed_mapping)
    for path, layer in list(made.named_modules()):
        observed = observed_classes.get(type(layer))
        if observed is not None:
            made.set_submodule(path, observed.from_float(layer))
    backend = _backend(backend, what)
    fuse(made, is_qat, None if backend is None else Patterns(backend, what))
    prepare(made, mapping, example_inputs, config, is_qat, backend)
    made._output_quantized_indexes = list(config.output_quantized_indexes)
    return made


def _prepare_standalone(what: str, made: Any, mapping: Any, config: Any, backend: Any, is_qat: bool) -> None:
    """Modules that are graphs of their own: they take and give floats."""
    for node in made.graph.nodes:
        if node.op != "call_module":
            continue
        layer = made.get_submodule(node.target)
        entry = config.standalone_module_names.get(node.target, config.standalone_module_classes.get(type(layer)))
        if entry is None:
            continue
        own = PrepareCustomConfig.of(entry.prepare_custom_config, what)
        if own.input_quantized_indexes or own.output_quantized_indexes:
            raise NotImplementedError(
                f"{what}: {node.target} is a graph of its own, which takes and gives floats here; leave out the indexes of quantized inputs and results"
            )
        of = mapping if entry.qconfig_mapping is None else entry.qconfig_mapping
        its_backend = backend if entry.backend_config is None else entry.backend_config
        graph = _prepared(what, layer, of, entry.example_inputs, own, None, its_backend, is_qat)
        made.set_submodule(node.target, graph)
        node.meta["standalone"] = True


def _backend(given: Any, what: str) -> Any:
    """A ``BackendConfig``, or the one of a dict, or None."""
    from .backend_config import BackendConfig

    if given is None or isinstance(given, BackendConfig):
        return given
    if isinstance(given, dict):
        return BackendConfig.from_dict(given)
    raise TypeError(f"{what}: expected a BackendConfig, got {type(given).__name__}")


def prepare_fx(
    model: nn.Module,
    qconfig_mapping: Any,
    example_inputs: Any,
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
) -> Any:
    """A graph of the model, its layers fused, that watches the numbers which integers will stand for.

    ``qconfig_mapping`` is a ``QConfigMapping`` or its dict, ``example_inputs`` a tuple of arguments: the model runs once on them.
    """
    return _prepared(
        "prepare_fx",
        model,
        qconfig_mapping,
        example_inputs,
        prepare_custom_config,
        _equalization_config,
        backend_config,
        False,
    )


def prepare_qat_fx(
    model: nn.Module,
    qconfig_mapping: Any,
    example_inputs: Any,
    prepare_custom_config: Any = None,
    backend_config: Any = None,
) -> Any:
    """``prepare_fx`` for training: weights and results are rounded as quantization will, and batch norms train on.

    >>> from torch.ao.quantization import get_default_qat_qconfig_mapping
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 2)).train()
    >>> ready = prepare_qat_fx(net, get_default_qat_qconfig_mapping(), (torch.rand(2, 4),))
    >>> ready(torch.rand(2, 4)).sum().backward()
    """
    return _prepared(
        "prepare_qat_fx", model, qconfig_mapping, example_inputs, prepare_custom_config, None, backend_config, True
    )


def convert_fx(
    graph_module: Any,
    convert_custom_config: Any = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    keep_original_weights: bool = False,
) -> Any:
    """The prepared graph with quantized layers and operators; a copy."""
    from .fx.convert import convert

    return _converted("convert_fx", graph_module, convert_custom_config, qconfig_mapping, convert)


def _converted(what: str, graph_module: Any, convert_custom_config: Any, qconfig_mapping: Any, convert: Any) -> Any:
    """A copy of a prepared graph, converted with the configurations that are asked for."""
    from torch.fx import GraphModule

    if not isinstance(graph_module, GraphModule):
        raise TypeError(f"{what}: expected the graph of prepare_fx, got {type(graph_module).__name__}")
    config = ConvertCustomConfig.of(convert_custom_config, what)
    model = copy.deepcopy(graph_module)
    model._output_quantized_indexes = list(getattr(graph_module, "_output_quantized_indexes", ()))
    if qconfig_mapping is not None:
        mapping = as_mapping(qconfig_mapping, what)
        modules = dict(model.named_modules(remove_duplicate=False))
        for node in model.graph.nodes:
            if "qconfig" not in node.meta or node.op != "call_module":
                continue
            layer = modules[node.target]
            found = mapping.find(node.target, type(layer), node.target.rpartition(".")[0], 0)
            if found is None:  # stays in floats
                for key in ("qconfig", "quantized_as", "quantized_until", "reference"):
                    node.meta.pop(key, None)
            else:
                node.meta["qconfig"] = layer.qconfig = found
    quantized_classes = classes_of(config.observed_to_quantized_mapping)
    for path, layer in list(model.named_modules()):
        quantized = quantized_classes.get(type(layer))
        if quantized is not None:
            model.set_submodule(path, quantized.from_observed(layer))
    for node in model.graph.nodes:
        if node.meta.pop("standalone", False):
            graph = _converted(what, model.get_submodule(node.target), config, qconfig_mapping, convert)
            model.set_submodule(node.target, graph)
    return convert(model.eval(), config)


def convert_to_reference_fx(
    graph_module: Any,
    convert_custom_config: Any = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
) -> Any:
    """The prepared graph in floats, which rounds wherever integers would stand: what compilers for other machines read.

    >>> from torch.ao.quantization import get_default_qconfig_mapping
    >>> ready = prepare_fx(torch.nn.Sequential(torch.nn.Linear(4, 2)).eval(), get_default_qconfig_mapping(), (torch.rand(2, 4),))
    >>> _ = ready(torch.rand(8, 4))
    >>> convert_to_reference_fx(ready).get_submodule("0")
    QuantizedLinear(Reference)(in_features=4, out_features=2, bias=True)
    """
    from .fx.reference import convert_to_reference

    what = "convert_to_reference_fx"
    return _converted(what, graph_module, convert_custom_config, qconfig_mapping, convert_to_reference)


def fuse_fx(model: nn.Module, fuse_custom_config: Any = None, backend_config: Any = None) -> Any:
    """A graph of the model with convolution or linear, batch norm and relu in one layer each.

    >>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
    >>> type(fuse_fx(net).get_submodule("0")).__name__
    'ConvReLU2d'
    """
    from .fx._backend import Patterns
    from .fx.fuse import fuse

    backend_config = _backend(backend_config, "fuse_fx")
    config = FuseCustomConfig.of(fuse_custom_config, "fuse_fx")
    made = _traced(model, PrepareCustomConfig().set_preserved_attributes(config.preserved_attributes))
    fuse(made, False, None if backend_config is None else Patterns(backend_config, "fuse_fx"))
    return made


def attach_preserved_attrs_to_model(model: Any, preserved_attrs: dict[str, Any]) -> None:
    """Set attributes of a graph."""
    for name, value in preserved_attrs.items():
        setattr(model, name, value)
