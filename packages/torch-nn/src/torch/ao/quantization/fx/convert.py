"""A prepared graph with integers in place of the numbers that were observed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import quantized as nniq

from .. import quantization_mappings as mappings
from ..fake_quantize import FakeQuantizeBase
from ..observer import ObserverBase
from ._patterns import FUNCTIONS, SUMS, subject


class _Converting:
    def __init__(self, model: Any, config: Any):
        self.model, self.config = model, config
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.layers = dict(self.modules)  # those of floats
        self.graph = type(model.graph)()
        self.floats: dict[Any, Any] = {}  # old node -> its value in floats
        self.integers: dict[Any, Any] = {}  # old node -> its quantized value
        self.until: dict[str, Any] = {}  # name of the last node of a pattern -> its first

    def number(self, old: Any) -> Any:
        """The value in floats."""
        if old not in self.floats:
            self.floats[old] = self.graph.call_method("dequantize", (self.integers[old],))
        return self.floats[old]

    def integer(self, old: Any) -> Any:
        return self.integers.get(old)

    def operand(self, old: Any) -> Any:
        """A quantized value, or a number."""
        return old if isinstance(old, (int, float)) else self.integer(old)

    def observer_after(self, node: Any) -> Any:
        for user in node.users:
            if user.op == "call_module" and isinstance(self.modules[user.target], (ObserverBase, FakeQuantizeBase)):
                return self.modules[user.target]
        return None

    def is_observer(self, node: Any) -> bool:
        return node.op == "call_module" and isinstance(self.modules[node.target], (ObserverBase, FakeQuantizeBase))

    def keep_parameters(self) -> None:
        """What the graph reads of layers stays, under a name of its own, when integers take their place."""
        called = {node.target for node in self.model.graph.nodes if node.op == "call_module"}
        for node in self.model.graph.nodes:
            path, _, last = str(node.target).rpartition(".")
            if node.op == "get_attr" and path in called:
                name = f"_{path.replace('.', '_')}_{last}"
                setattr(self.model, name, getattr(self.modules[path], last))
                node.target = name

    def run(self) -> Any:
        self.keep_parameters()
        for node in self.model.graph.nodes:
            if node.meta.get("quantized_until", node.name) != node.name:
                self.until[node.meta["quantized_until"]] = node
        for node in self.model.graph.nodes:
            self.convert(node)
        from torch.fx import GraphModule

        self.graph.eliminate_dead_code()
        made = GraphModule(self.model, self.graph)
        for name in self.config.preserved_attributes:
            setattr(made, name, getattr(self.model, name))
        made.meta = dict(getattr(self.model, "meta", {}))
        for m in made.modules():
            m.__dict__.pop("qconfig", None)
        return made

    def convert(self, node: Any) -> None:
        kind = node.meta.get("quantized_as")
        if node.op == "output":
            self.output(node)
        elif self.is_observer(node):
            self.quantize(node)
        elif node.name in self.until:
            self.finish(self.until[node.name], node)
            self.note(self.until[node.name], node)
        elif kind == "shared":
            self.pass_on(node)
        elif kind == "reference" or "reference" in node.meta:
            self.reference(node)
        elif kind in ("weighted", "own", "sum", "joined", "unit"):
            if node.meta["quantized_until"] == node.name:
                self.finish(node, node)
                self.note(node, node)
        elif kind == "weights" and node.op == "call_function":
            layer, source = self.float_layer(node)
            name = f"{node.name}_quantized"
            self.put(name, mappings.DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS[type(layer)].from_float(layer).eval())
            self.floats[node] = self.graph.call_module(name, (self.number(source),))
            self.floats[node].meta |= {"stands_for": (node.name, node.name), "of_function": True}
        elif kind == "weights":
            layer = self.layers[node.target]
            if self.modules[node.target] is layer:
                made = mappings.DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS[type(layer)].from_float(layer)
                self.put(node.target, made.train(layer.training))
            self.plain(node)
        else:
            self.plain(node)
            if node.meta.get("comes_quantized"):
                self.integers[node] = self.floats.pop(node)

    def reference(self, node: Any) -> None:
        """In floats, between integers; a layer that another machine has integers for rounds its weight."""
        if "reference" in node.meta and self.modules[node.target] is self.layers[node.target]:
            from .reference import reference_layer

            kind, qconfig = node.meta["reference"], node.meta["qconfig"]
            self.put(node.target, reference_layer(self.layers[node.target], qconfig, kind))
        self.plain(node)

    def plain(self, node: Any) -> None:
        """As it is, in floats."""
        self.floats[node] = self.graph.node_copy(node, self.number)

    def quantize(self, node: Any) -> None:
        old = node.args[0]
        if old in self.integers:
            self.integers[node] = self.integers[old]
            return
        observer = self.modules[node.target]
        made = nnq.Quantize(*_found(observer), observer.dtype)
        name = f"{node.target}_quantize"
        self.put(name, made)
        self.integers[node] = self.graph.call_module(name, (self.number(old),))

    def number_held(self, prefix: str, value: Any) -> Any:
        """A node of a number that the model holds."""
        count = 0
        while hasattr(self.model, f"{prefix}_{count}"):
            count += 1
        self.model.register_buffer(f"{prefix}_{count}", torch.as_tensor(value))
        return self.graph.get_attr(f"{prefix}_{count}")

    def put(self, name: str, layer: nn.Module) -> None:
        self.model.add_submodule(name, layer)
        self.modules[name] = layer

    def pass_on(self, node: Any) -> None:
        """The same function of integers, where the observed values have them."""
        if not any(v in self.integers for v in node.all_input_nodes):
            self.plain(node)
            return
        self.integers[node] = self.graph.node_copy(
            node, lambda v: self.integers[v] if v in self.integers else self.floats[v]
        )

    def finish(self, first: Any, last: Any) -> None:
        """A pattern from its first node to its last."""
        observer = self.observer_after(last)
        kind, what = first.meta["quantized_as"], subject(first, self.modules)
        if observer is None:
            raise RuntimeError(f"convert_fx: the observer of {last.name} is gone from the graph")
        if kind == "sum":
            name = SUMS[what] + ("_relu" if last is not first else "")
            a, b = [*first.args[:2], *(first.kwargs[k] for k in ("input", "other") if k in first.kwargs)]
            if isinstance(a, (int, float)) or isinstance(b, (int, float)):  # the scale follows from that of the tensor
                operator, operands = getattr(torch.ops.quantized, name), (self.operand(a), self.operand(b))
                self.integers[last] = self.graph.call_function(operator, operands)
            else:
                self.integers[last] = self.function(name, (self.integer(a), self.integer(b)), observer)
        elif kind == "joined":
            given = {"tensors": first.args[0]} if first.args else dict(first.kwargs)
            dim = first.args[1] if len(first.args) > 1 else first.kwargs.get("dim", 0)
            self.integers[last] = self.function("cat", ([self.integer(v) for v in given["tensors"]], dim), observer)
        elif kind == "unit":
            self.integers[last] = self.graph.node_copy(first, self.integer)
        elif first.op == "call_function":
            self.integers[last] = self.layer_of_function(first, last is not first, observer)
        else:
            layer = self.layers[first.target]
            layer.activation_post_process = observer
            made = mappings.DEFAULT_STATIC_QUANT_MODULE_MAPPINGS[type(layer)].from_float(layer)
            # A layer that is called twice has a scale for each of its results.
            name = first.target if self.modules[first.target] is layer else f"{first.target}_{first.name}"
            self.put(name, made.train(layer.training))
            source = first.args[0] if first.args else first.kwargs["input"]
            self.integers[last] = self.graph.call_module(name, (self.integer(source),))

    def note(self, first: Any, last: Any) -> None:
        """Keep with the new node which pattern it stands for: what compares both graphs asks."""
        self.integers[last].meta |= {"stands_for": (first.name, last.name), "of_function": first.op == "call_function"}

    def function(self, name: str, args: Any, observer: Any) -> Any:
        scale, zero = map(self.number_held, ("_scale", "_zero_point"), _found(observer))  # in the model's state
        operators = torch.ops.quantized
        if name.startswith("matmul") and name.endswith("_relu"):
            return self.graph.call_method("relu", (self.graph.call_function(operators.matmul, (*args, scale, zero)),))
        return self.graph.call_function(getattr(operators, name), (*args, scale, zero))

    def float_layer(self, node: Any) -> tuple[nn.Module, Any]:
        """A layer that holds what a function was given as weight and bias, and the function's input."""
        kind = FUNCTIONS[node.target]
        is_transposed = issubclass(kind, nn.modules.conv._ConvTransposeNd)
        order = ("output_padding", "groups", "dilation") if is_transposed else ("dilation", "groups")
        given = dict(zip(("input", "weight", "bias", "stride", "padding", *order), node.args)) | dict(node.kwargs)
        held = {k: attribute(self.model, given[k].target) for k in ("weight", "bias") if given.get(k) is not None}
        weight, bias = held["weight"], held.get("bias")
        if kind is nn.Linear:
            layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None)
        else:
            groups = given.get("groups", 1)
            channels = weight.shape[1] * groups, weight.shape[0]
            moves = {k: given[k] for k in ("stride", "padding", *order) if k in given}
            layer = kind(
                *(reversed(channels) if is_transposed else channels),
                tuple(weight.shape[2:]),
                bias=bias is not None,
                **moves,
            )
        layer.weight, layer.bias = weight, bias
        layer.qconfig = node.meta["qconfig"]
        return layer, given["input"]

    def layer_of_function(self, node: Any, relu: bool, observer: Any) -> Any:
        """The quantized layer that holds what a function was given as weight and bias."""
        layer, source = self.float_layer(node)
        kind, layer.activation_post_process = type(layer), observer
        home = nniq if relu else nnq
        name = kind.__name__.replace("Conv", "ConvReLU").replace("Linear", "LinearReLU") if relu else kind.__name__
        made = getattr(home, name)
        name = f"{node.name}_quantized"
        self.put(name, made.from_float(layer).eval())
        called = node.target.__name__ + ("_relu" if relu else "")  # the operator of PyTorch that it is
        return self.graph.create_node("call_module", name, (self.integer(source),), {}, name=called)

    def output(self, node: Any) -> None:
        from torch.fx.node import map_arg

        kept = set(self.config_output())
        results = node.args[0]
        if kept and isinstance(results, (tuple, list)):
            value = type(results)(
                map_arg(r, self.integer if i in kept and r in self.integers else self.number)
                for i, r in enumerate(results)
            )
        elif kept == {0} and results in self.integers:
            value = self.integers[results]
        else:
            value = map_arg(results, self.number)
        self.graph.output(value)

    def config_output(self) -> list[int]:
        return getattr(self.model, "_output_quantized_indexes", [])


def _found(observer: Any) -> tuple[float, int]:
    scale, zero = observer.calculate_qparams()
    return scale.item(), int(zero.item())


def attribute(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part)
    return root


def convert(model: Any, config: Any) -> Any:
    """The GraphModule that computes with integers."""
    return _Converting(model, config).run()
