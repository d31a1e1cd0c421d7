"""Observers in a graph: after each value that integers will stand for."""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch
from torch import nn
from torch.ao.nn.quantized import reference as nnqr
from torch.nn import functional as F

from .. import quantization_mappings as mappings
from ..backend_config import ObservationType, get_native_backend_config
from ..observer import FixedQParamsObserver
from ..qconfig import _assert_valid_qconfig
from ..qconfig_mapping import TRANSPOSED
from ..quantize import _dynamic
from ._backend import Patterns, admits
from ._patterns import FUNCTIONS, JOINS, SUMS, is_relu, kind_of, subject


def _is_observed_only_by_weight(qconfig: Any) -> bool:
    made = qconfig.weight()
    return getattr(made, "qscheme", None) is torch.per_channel_affine_float_qparams


def _is_fixed(qconfig: Any) -> bool:
    made = qconfig.activation()
    return isinstance(getattr(made, "activation_post_process", made), FixedQParamsObserver)


class _Preparing:
    def __init__(self, model: Any, mapping: Any, example_inputs: Any, config: Any, is_qat: bool, backend_config: Any):
        self.model, self.mapping, self.config, self.is_qat = model, mapping, config, is_qat
        self.patterns = None if backend_config is None else Patterns(backend_config, "prepare_fx")
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

    def role(self, node: Any) -> tuple[str | None, Any, Any]:
        """The word for a node, what the backend says of it, and the last node of its pattern."""
        kind, last = kind_of(node, self.modules), node
        joins_relu = kind == "sum" or (node.target in FUNCTIONS and node.target not in TRANSPOSED)
        if self.patterns is None:
            after = next(iter(node.users), None)
            if joins_relu and len(node.users) == 1 and is_relu(after, self.modules):
                last = after
            return kind, None, last
        entry, nodes = self.patterns.at(node, self.modules) or (None, [node])
        if entry is None or entry.observation_type is ObservationType.INPUT_OUTPUT_NOT_OBSERVED:
            return None, None, node
        last = nodes[-1]
        is_known = node is last or (joins_relu and len(nodes) == 2 and is_relu(last, self.modules))
        if entry.observation_type is ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT:
            return kind if is_known and kind in ("shared", "joined") else "shared reference", entry, last
        usual = getattr(nnqr, entry.root_module.__name__, None) if entry.root_module is not None else None
        is_usual = entry.reference_quantized_module in (None, usual)
        return kind if is_known and is_usual and kind not in (None, "shared") else "reference", entry, last

    def run(self) -> None:
        within: set[Any] = set()  # patterns, behind their first node
        placeholders = [n for n in self.model.graph.nodes if n.op == "placeholder"]
        for index in self.config.input_quantized_indexes:
            placeholders[index].meta["comes_quantized"] = True
            self.observers[placeholders[index]] = placeholders[index]
        for node in list(self.model.graph.nodes):
            if node in within:
                continue
            kind, entry, last = self.role(node)
            if kind is not None and self.observe(node, kind, entry, last):
                while last is not node:
                    within.add(last)
                    last = last.args[0]
        self.model.graph.lint()
        self.model.recompile()

    def observe(self, node: Any, kind: str, entry: Any, last: Any) -> bool:
        """Put observers around a pattern; whether there are any."""
        qconfig = self.qconfig_of(node)
        if kind in ("shared", "shared reference"):
            self._share(node, kind)
            return False
        if qconfig is None:
            return False
        _assert_valid_qconfig(qconfig, self.modules.get(node.target))
        what = subject(node, self.modules)
        is_weighted = kind in ("dynamic", "table") or what in FUNCTIONS or what in mappings.DEFAULT_QAT_MODULE_MAPPINGS
        if entry is None and is_weighted:  # layers of the native backend have a few dtypes only
            entry = _native_entry(what)
        if entry is not None and not admits(entry, qconfig, what):
            return False
        if kind == "table":
            if _is_observed_only_by_weight(qconfig):
                self._mark(node, "weights", qconfig, node, entry)
            return False
        if _dynamic(qconfig) or kind == "dynamic":
            is_function = what is F.linear and _weight_is_held(node)
            if _dynamic(qconfig) and (what in mappings.DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS or is_function):
                self._mark(node, "weights", qconfig, node, entry)
            return False
        inputs = [] if _is_observed_only_by_weight(qconfig) else self.inputs(node)
        if (
            not inputs
            or not self.floats.get(node)
            or not all(isinstance(v, type(node)) and self.floats.get(v) for v in inputs)
            or (node.target in FUNCTIONS and node.op == "call_function" and not _weight_is_held(node))
        ):
            return False
        observes = qconfig
        if _is_fixed(qconfig):  # which is the range of the result: what comes in has that of all others
            observes = self.mapping.global_qconfig
            if (observes is None or _dynamic(observes)) and not all(v in self.observers for v in inputs):
                return False
        for value in inputs:
            self.observer(value, observes.activation if observes is not None else None, [node])
        if kind == "weighted" and not _multiplies(qconfig):
            kind = "reference"
        if kind == "joined":
            self._join(node, inputs, qconfig, entry)
            return True
        self._mark(node, kind, qconfig, last, entry)
        self.observer(last, qconfig.activation)
        return True

    def _join(self, node: Any, inputs: list[Any], qconfig: Any, entry: Any) -> None:
        """What is joined has one observer with the result; ranges that are known stay what they are."""
        nodes = [self.observers[value] for value in inputs]
        is_own = entry is not None and entry.observation_type is not ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
        if is_own or any(each.op != "call_module" or _range_is_known(self.module(each)) for each in nodes):
            self._mark(node, "joined" if subject(node, self.modules) in JOINS else "reference", qconfig, node, entry)
            self.observer(node, qconfig.activation)
            return
        shared, others = nodes[0].target, {each.target for each in nodes}
        for each in self.model.graph.nodes:
            if each.op == "call_module" and each.target in others:
                each.target = shared
        self._mark(node, "joined" if subject(node, self.modules) in JOINS else "shared", qconfig, node, entry)
        self._put(node, shared)

    def module(self, node: Any) -> nn.Module:
        return self.model.get_submodule(node.target)

    def _share(self, node: Any, kind: str = "shared") -> None:
        """What passes numbers on has the observer of its input, where that has one."""
        values = [v for v in node.all_input_nodes if v in self.observers]
        if not values or not self.floats.get(node):
            if values and not self.floats.get(node):
                # a list of pieces: each one that is taken out of it is shared in its turn
                self.observers[node] = self.observers[values[0]]
                node.meta["quantized_as"] = kind
            return
        node.meta["quantized_as"] = kind
        source = self.observers[values[0]]
        if source.op == "placeholder":
            if kind == "shared":
                self.observers[node] = source
            return
        self._put(node, source.target)

    def _mark(self, node: Any, kind: str, qconfig: Any, last: Any, entry: Any = None) -> None:
        node.meta |= {"quantized_as": kind, "qconfig": qconfig, "quantized_until": last.name}
        if kind == "reference":
            node.meta["quantized_until"] = node.name
        root = node
        while entry is not None and root is not last and not _is_root(root, entry.root_module, self.modules):
            root = next(iter(root.users))
        if kind == "reference" and entry is not None and entry.reference_quantized_module is not None:
            root.meta |= {"reference": entry.reference_quantized_module, "qconfig": qconfig}
        if root.op != "call_module":
            return
        layer = self.modules[root.target]
        layer.qconfig = qconfig
        trained = mappings.DEFAULT_QAT_MODULE_MAPPINGS.get(type(layer)) if entry is None else entry.qat_module
        if self.is_qat and trained is not None and kind != "weights":
            self.model.set_submodule(root.target, trained.from_float(layer))
            self.modules[root.target] = self.model.get_submodule(root.target)
            self.modules[root.target].train(layer.training)


def _is_root(node: Any, root: Any, modules: dict[str, nn.Module]) -> bool:
    return root is None or subject(node, modules) == root


def _multiplies(qconfig: Any) -> bool:
    """Whether integers of these dtypes are multiplied."""
    return qconfig.weight().dtype is torch.qint8 and qconfig.activation().dtype in (torch.quint8, torch.qint8)


def _range_is_known(made: nn.Module) -> bool:
    return isinstance(getattr(made, "activation_post_process", made), FixedQParamsObserver)


@functools.cache
def _native_entries() -> dict[Any, Any]:
    return {each.pattern: each for each in get_native_backend_config().configs}


def _native_entry(what: Any) -> Any:
    return _native_entries().get(what)


def _weight_is_held(node: Any) -> bool:
    """Whether the weight and bias of a function are parameters of the model."""
    values = [*node.args[1:3], *(node.kwargs.get(k) for k in ("weight", "bias"))]
    return all(v is None or getattr(v, "op", None) == "get_attr" for v in values)


def prepare(model: Any, mapping: Any, example_inputs: Any, config: Any, is_qat: bool, backend_config: Any) -> None:
    """Put observers into a GraphModule, in place."""
    _Preparing(model, mapping, example_inputs, config, is_qat, backend_config).run()
