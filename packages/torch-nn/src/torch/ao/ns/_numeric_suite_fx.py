"""Weights and results of two graphs side by side: a prepared one, or a model in floats, and what ``convert_fx`` made of it.

Results are ``{layer: {"weight" or "node_output": {model: [entry]}}}``; an entry has ``values``, the names of nodes and their types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.ao.quantization.fx._patterns import kind_of
from torch.ao.quantization.fx.convert import attribute
from torch.ao.quantization.observer import ObserverBase
from torch.ao.quantization.quantize_fx import _traced

__all__ = [
    "OutputLogger", "add_loggers", "add_shadow_loggers", "extend_logger_results_with_comparison", "extract_logger_info", "extract_weights",
    "loggers_set_enabled", "loggers_set_save_activations", "prepare_n_shadows_model",
]  # fmt: skip


class OutputLogger(nn.Module):
    """Keeps what passes through it in ``stats``, and says which node that came from."""

    def __init__(
        self, ref_node_name: str, prev_node_name: str, model_name: str, ref_name: str, prev_node_target_type: str, ref_node_target_type: str,
        results_type: str, index_within_arg: int, index_of_arg: int, fqn: str | None, qconfig_str: str | None = "",
    ):  # fmt: skip
        super().__init__()
        self.stats: list[Any] = []
        self.ref_node_name, self.prev_node_name, self.model_name, self.ref_name = (
            ref_node_name,
            prev_node_name,
            model_name,
            ref_name,
        )
        self.prev_node_target_type, self.ref_node_target_type = prev_node_target_type, ref_node_target_type
        self.results_type, self.index_within_arg, self.index_of_arg = results_type, index_within_arg, index_of_arg
        self.fqn, self.qconfig_str = fqn, qconfig_str
        self.enabled = self.save_activations = True

    def forward(self, x: Any) -> Any:
        """Keep a tensor, where it is enabled; pass everything on."""
        if self.enabled and self.save_activations and isinstance(x, Tensor):
            self.stats.append(x.detach())
        return x

    def extra_repr(self) -> str:
        return f"ref_name={self.ref_name}, model_name={self.model_name}, prev_node_name={self.prev_node_name}"


# -- nodes that stand for one another -----------------------------------------------------------------------------------------


def _graph(model: nn.Module) -> Any:
    from torch.fx import GraphModule

    return model if isinstance(model, GraphModule) else _traced(model)


def _known(graph: Any) -> dict[str, tuple[Any, Any]]:
    """The first and the last node of what quantization is about, by the name of the first in the graph in floats."""
    modules = dict(graph.named_modules(remove_duplicate=False))
    by_name = {node.name: node for node in graph.graph.nodes}
    found = {}
    for node in graph.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], ObserverBase):
            continue
        if "stands_for" in node.meta:
            found[node.meta["stands_for"][0]] = node, node
        elif kind_of(node, modules) not in (None, "shared"):
            found[node.name] = node, by_name.get(node.meta.get("quantized_until"), node)
        elif node.op == "call_module" and hasattr(modules[node.target], "weight"):
            found[node.name] = node, node  # quantized dynamically
    return found


def _pairs(graph_a: Any, graph_b: Any) -> dict[str, list[tuple[Any, Any]]]:
    nodes_a, nodes_b = _known(graph_a), _known(graph_b)
    return {name: [nodes, nodes_b[name]] for name, nodes in nodes_a.items() if name in nodes_b}


def _has_relu(first: Any, last: Any, graph: Any) -> bool:
    """Whether the result is that of a relu joined to the layer or operator."""
    return first is not last or "relu" in _type_of(first, graph).lower()


def _type_of(node: Any, graph: Any) -> str:
    if node.op == "call_module":
        return torch.typename(graph.get_submodule(node.target))
    target = node.target
    return (
        target
        if isinstance(target, str)
        else f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}"
    )


def _said(graph: Any, first: Any, last: Any) -> dict[str, Any]:
    return {
        "prev_node_name": last.name, "prev_node_target_type": _type_of(last, graph), "ref_node_name": first.name,
        "ref_node_target_type": _type_of(first, graph), "index_within_arg": 0, "index_of_arg": 0,
        "fqn": str(first.target) if first.op == "call_module" and not first.meta.get("of_function") else "",
    }  # fmt: skip


# -- weights ------------------------------------------------------------------------------------------------------------------


def _weight_of(node: Any, graph: Any) -> Tensor | None:
    if node.op == "call_module":
        layer = graph.get_submodule(node.target)
        layer = layer[0] if isinstance(layer, nn.Sequential) else layer
        weight = getattr(layer, "weight", None)
        return weight() if callable(weight) and not isinstance(weight, Tensor) else weight
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")
    return attribute(graph, given.target) if getattr(given, "op", None) == "get_attr" else None


def extract_weights(
    model_name_a: str, model_a: nn.Module, model_name_b: str, model_b: nn.Module, base_name_to_sets_of_related_ops: Any = None,
    unmatchable_types_map: Any = None, op_to_type_to_weight_extraction_fn: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """The weights of layers that are in both models, by the names of the second, under ``"weight"``."""
    _refuse(
        "extract_weights", base_name_to_sets_of_related_ops, unmatchable_types_map, op_to_type_to_weight_extraction_fn
    )
    graphs, found = (_graph(model_a), _graph(model_b)), {}
    for pair in _pairs(*graphs).values():
        weights = [_weight_of(first, graph) for (first, _), graph in zip(pair, graphs)]
        if all(isinstance(weight, Tensor) for weight in weights):
            found[pair[1][0].name] = {
                "weight": {
                    model: [{"type": "weight", "values": [weight.detach()], **_said(graph, first, first)}]
                    for model, weight, graph, (first, _) in zip((model_name_a, model_name_b), weights, graphs, pair)
                }
            }
    return found


def _refuse(what: str, *given: Any) -> None:
    if any(each is not None for each in given):
        raise NotImplementedError(
            f"{what}: which layers belong together follows from convert_fx, and from no tables of one's own"
        )


# -- results ------------------------------------------------------------------------------------------------------------------


def add_loggers(
    name_a: str, model_a: nn.Module, name_b: str, model_b: nn.Module, logger_cls: Callable[..., nn.Module], should_log_inputs: bool = False,
    base_name_to_sets_of_related_ops: Any = None, unmatchable_types_map: Any = None,
) -> tuple[nn.Module, nn.Module]:  # fmt: skip
    """Both models with a logger behind each layer and operator that both have; graphs are changed in place."""
    _refuse("add_loggers", base_name_to_sets_of_related_ops, unmatchable_types_map)
    if should_log_inputs:
        raise NotImplementedError(
            "add_loggers: inputs are not logged (should_log_inputs); they are results of the layers before"
        )
    graphs = _graph(model_a), _graph(model_b)
    pairs = _pairs(*graphs)
    for name, pair in pairs.items():
        if len({_has_relu(*nodes, graph) for nodes, graph in zip(pair, graphs)}) > 1:
            raise ValueError(
                f"add_loggers: {name} is joined to a relu in one of {name_a!r} and {name_b!r}, and not in the other; give the graph of prepare_fx "
                "or fuse_fx in place of the model in floats"
            )
    for i, (model, graph) in enumerate(zip((name_a, name_b), graphs)):
        for name, pair in pairs.items():
            first, last = pair[i]
            said = _said(graph, first, last)
            logger = logger_cls(model_name=model, ref_name=name, results_type="node_output", **said)
            path = f"{first.name}_ns_logger_{i}"
            graph.add_submodule(path, logger)
            users = list(last.users)
            with graph.graph.inserting_after(last):
                node = graph.graph.call_module(path, (last,))
            for user in users:
                user.replace_input_with(last, node)
        graph.recompile()
    return graphs


def extract_logger_info(
    model_a: nn.Module, model_b: nn.Module, logger_cls: type, model_name_to_use_for_layer_names: str
) -> dict[str, Any]:
    """What the loggers of both models have kept, by the names that one of the models has for its nodes."""
    found: dict[str, Any] = {}
    loggers = [each for model in (model_a, model_b) for each in model.modules() if isinstance(each, logger_cls)]
    names = {
        each.ref_name: each.ref_node_name for each in loggers if each.model_name == model_name_to_use_for_layer_names
    }
    if loggers and not names:
        known = sorted({each.model_name for each in loggers})
        raise ValueError(
            f"extract_logger_info: no model is called {model_name_to_use_for_layer_names!r}; there are {', '.join(map(repr, known))}"
        )
    for each in loggers:
        said = (
            "prev_node_name",
            "prev_node_target_type",
            "ref_node_name",
            "ref_node_target_type",
            "index_within_arg",
            "index_of_arg",
            "fqn",
        )
        entry = {"type": each.results_type, "values": each.stats, **{name: getattr(each, name) for name in said}}
        models = found.setdefault(names[each.ref_name], {}).setdefault(each.results_type, {})
        models.setdefault(each.model_name, []).append({**entry, "qconfig_str": each.qconfig_str})
    return found


def extend_logger_results_with_comparison(
    results: dict[str, Any], model_name_1: str, model_name_2: str, comparison_fn: Callable[[Tensor, Tensor], Tensor], comparison_name: str
) -> None:  # fmt: skip
    """Add to each entry of the second model how far its values are from those of the first; in place."""
    for layer, kinds in results.items():
        for models in kinds.values():
            for name in (model_name_1, model_name_2):
                if name not in models:
                    raise ValueError(f"{layer} has no results of {name!r}, but of {', '.join(map(repr, models))}")
            for one, two in zip(models[model_name_1], models[model_name_2], strict=True):
                two[comparison_name] = [comparison_fn(x, y) for x, y in zip(one["values"], two["values"], strict=True)]


def _each_logger(model: nn.Module, **values: bool) -> None:
    for each in model.modules():
        if isinstance(each, OutputLogger):
            each.__dict__ |= values


def loggers_set_enabled(model: nn.Module, enabled: bool) -> None:
    """Let the loggers of a model keep what passes, or not."""
    _each_logger(model, enabled=enabled)


def loggers_set_save_activations(model: nn.Module, save_activations: bool) -> None:
    """Let the loggers of a model keep tensors, or not."""
    _each_logger(model, save_activations=save_activations)


def _absent(name: str, way_out: str) -> Any:
    def absent(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}: graphs with shadows of their layers are not made; {way_out}")

    absent.__name__, absent.__doc__ = name, f"NotImplementedError: {way_out}."
    return absent


add_shadow_loggers = _absent(
    "add_shadow_loggers", "add_loggers compares two models, torch.ao.ns._numeric_suite has layers with shadows"
)
prepare_n_shadows_model = _absent("prepare_n_shadows_model", "prepare and convert the model with each configuration")
