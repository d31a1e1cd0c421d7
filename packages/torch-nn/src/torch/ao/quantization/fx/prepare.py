"""Observers in a graph: after each value that integers will stand for."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .. import quantization_mappings as mappings
from ..observer import FixedQParamsObserver
from ..qconfig import _assert_valid_qconfig
from ..qconfig_mapping import TRANSPOSED
from ..quantize import _dynamic
from ._patterns import FUNCTIONS, SUMS, is_relu, kind_of, subject


def _is_observed_only_by_weight(qconfig: Any) -> bool:
    made = qconfig.weight()
    return getattr(made, "qscheme", None) is torch.per_channel_affine_float_qparams


def _is_fixed(qconfig: Any) -> bool:
    made = qconfig.activation()
    return isinstance(getattr(made, "activation_post_process", made), FixedQParamsObserver)


class _Preparing:
    def __init__(self, model: Any, mapping: Any, example_inputs: Any, config: Any, is_qat: bool, backend_config: Any):
        self.model, self.mapping, self.config, self.is_qat, self.backend = (
            model,
            mapping,
            config,
            is_qat,
            backend_config,
        )
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.floats = self._types(example_inputs)
        self.observers: dict[Any, Any] = {}  # value -> the node of its observer
        self.counts: dict[tuple[str, Any], int] = {}
        self.made = 0

    def _types(self, example_inputs: Any) -> dict[Any, Any]:
        from torch.fx import Interpreter

        found: dict[str, bool] = {}

        class Watching(Interpreter):
            def run_node(self, n: Any) -> Any:
                value = super().run_node(n)
                found[n.name] = isinstance(value, torch.Tensor) and value.dtype is torch.float32
                return value

        if not isinstance(example_inputs, (tuple, list)):
            example_inputs = (example_inputs,)
        # of a copy: statistics of norms move when a model in training runs
        with torch.no_grad():
            Watching(copy.deepcopy(self.model)).run(*example_inputs)
        return {node: found.get(node.name, False) for node in self.model.graph.nodes}

    def qconfig_of(self, node: Any) -> Any:
        what = subject(node, self.modules)
        if what is None:
            return None
        path = node.target if node.op == "call_module" else ""
        home = path.rpartition(".")[0]
        index = self.counts[home, what] = self.counts.get((home, what), -1) + 1
        if self.backend is not None and not self.backend.names(what) and kind_of(node, self.modules) != "shared":
            return None
        found = self.mapping.find(path, what, home, index)
        layer = self.modules.get(path) if path else None
        if found is self.mapping.global_qconfig and isinstance(layer, nn.Sequential) and len(layer):  # joined layers
            found = self.mapping.find(path, type(layer[0]), home, index)
        return found

    def observer(self, value: Any, make: Any, users: Any = None) -> Any:
        """The observer of a value, made where there is none: what these users take in its place, or all of them."""
        if value not in self.observers:
            name = f"activation_post_process_{self.made}"
            self.made += 1
            made = make() if isinstance(make, type) or not isinstance(make, nn.Module) else make
            self.model.add_submodule(name, made)
            return self._put(value, name, users)
        for user in users or ():
            user.replace_input_with(value, self.observers[value])
        return self.observers[value]

    def _put(self, value: Any, name: str, users: Any = None) -> Any:
        users = list(value.users if users is None else users)
        with self.model.graph.inserting_after(value):
            node = self.model.graph.call_module(name, (value,))
        for user in users:
            user.replace_input_with(value, node)
        self.observers[value] = self.observers[node] = node
        self.floats[node] = True
        return node

    def inputs(self, node: Any) -> list[Any]:
        """The values that a node computes with, but for weights."""
        kind = kind_of(node, self.modules)
        if kind == "joined":
            return list(node.args[0] if node.args else node.kwargs["tensors"])
        if kind == "sum":
            return self._operands(node)
        return [node.args[0]] if node.args else [node.kwargs["input"]]

    def _operands(self, node: Any) -> list[Any]:
        """The tensors of a sum or product, of which one may have a number beside it; none where ``alpha`` or ``out`` makes it another one."""
        if len(node.args) + len(node.kwargs) > 2:
            return []
        operands = [*node.args, *node.kwargs.values()]
        tensors = [v for v in operands if not isinstance(v, (int, float))]
        takes_a_number = SUMS[subject(node, self.modules)] in ("add", "mul")
        return tensors if takes_a_number and len(tensors) == 1 else operands

    def run(self) -> None:
        last_of: dict[Any, Any] = {}
        config, graph = self.config, self.model.graph
        placeholders = [n for n in graph.nodes if n.op == "placeholder"]
        for index in config.input_quantized_indexes:
            placeholders[index].meta["comes_quantized"] = True
            self.observers[placeholders[index]] = placeholders[index]
        for node in list(graph.nodes):
            kind = kind_of(node, self.modules)
            if kind is None or node in last_of:
                continue
            qconfig = self.qconfig_of(node)
            if kind == "shared":
                self._share(node)
                continue
            if qconfig is None:
                continue
            _assert_valid_qconfig(qconfig, self.modules.get(node.target))
            if kind == "table":
                if _is_observed_only_by_weight(qconfig):
                    self._mark(node, "weights", qconfig, node)
                continue
            if _dynamic(qconfig) or kind == "dynamic":
                what = subject(node, self.modules)
                is_function = what is F.linear and _weight_is_held(node)
                if _dynamic(qconfig) and (what in mappings.DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS or is_function):
                    self._mark(node, "weights", qconfig, node)
                continue
            if _is_observed_only_by_weight(qconfig):
                continue
            inputs = self.inputs(node)
            if (
                not inputs
                or not self.floats.get(node)
                or not all(isinstance(v, type(node)) and self.floats.get(v) for v in inputs)
            ):
                continue
            if node.target in FUNCTIONS and node.op == "call_function" and not _weight_is_held(node):
                continue
            last = node
            after = next(iter(node.users), None)
            joins_relu = kind == "sum" or (node.target in FUNCTIONS and node.target not in TRANSPOSED)
            if joins_relu and len(node.users) == 1 and is_relu(after, self.modules):
                last = after
                last_of[after] = node
            observes = qconfig
            if _is_fixed(qconfig):  # which is the range of the result: what comes in has that of all others
                observes = self.mapping.global_qconfig
                if (observes is None or _dynamic(observes)) and not all(v in self.observers for v in inputs):
                    continue
            for value in inputs:
                self.observer(value, observes.activation if observes is not None else None, [node])
            self._mark(node, kind, qconfig, last)
            self.observer(last, qconfig.activation)
        graph.lint()
        self.model.recompile()

    def _share(self, node: Any) -> None:
        """What passes numbers on has the observer of its input, where that has one."""
        values = [v for v in node.all_input_nodes if v in self.observers]
        if not values or not self.floats.get(node):
            if values and not self.floats.get(node):
                # a list of pieces: each one that is taken out of it is shared in its turn
                self.observers[node] = self.observers[values[0]]
                node.meta["quantized_as"] = "shared"
            return
        node.meta["quantized_as"] = "shared"
        source = self.observers[values[0]]
        if source.op == "placeholder":
            self.observers[node] = source
            return
        self._put(node, source.target)

    def _mark(self, node: Any, kind: str, qconfig: Any, last: Any) -> None:
        node.meta |= {"quantized_as": kind, "qconfig": qconfig, "quantized_until": last.name}
        if node.op == "call_module":
            layer = self.modules[node.target]
            layer.qconfig = qconfig
            trained = mappings.DEFAULT_QAT_MODULE_MAPPINGS.get(type(layer)) if self.is_qat else None
            if trained is not None and kind != "weights":
                self.model.set_submodule(node.target, trained.from_float(layer))
                self.modules[node.target] = self.model.get_submodule(node.target)
                self.modules[node.target].train(layer.training)


def _weight_is_held(node: Any) -> bool:
    """Whether the weight and bias of a function are parameters of the model."""
    values = [*node.args[1:3], *(node.kwargs.get(k) for k in ("weight", "bias"))]
    return all(v is None or getattr(v, "op", None) == "get_attr" for v in values)


def prepare(model: Any, mapping: Any, example_inputs: Any, config: Any, is_qat: bool, backend_config: Any) -> None:
    """Put observers into a GraphModule, in place."""
    _Preparing(model, mapping, example_inputs, config, is_qat, backend_config).run()
