"""A prepared graph in floats that rounds wherever integers would stand: what other compilers read."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.ao.nn.quantized import reference as nnqr
from torch.ao.nn.quantized._weights import quantize_weight

from ..qconfig_mapping import TRANSPOSED
from ._patterns import FUNCTIONS, TRAINED
from .convert import _Converting, _found, attribute

__all__ = ["convert_to_reference", "reference_layer"]

_AFFINE = {torch.per_tensor_symmetric: torch.per_tensor_affine, torch.per_channel_symmetric: torch.per_channel_affine}


def _how(observer: Any) -> dict[str, Any]:
    """What a reference layer is told of the weight that an observer has seen."""
    if observer.dtype is torch.float16:
        return {"qscheme": None, "dtype": torch.float16, "scale": 1.0, "zero_point": 0}
    scale, zero = observer.calculate_qparams()
    scheme = _AFFINE.get(observer.qscheme, observer.qscheme)
    how = {"qscheme": scheme, "dtype": observer.dtype, "scale": scale, "zero_point": zero}
    return how if scheme is torch.per_tensor_affine else how | {"axis": observer.ch_axis}


def _float_of(layer: nn.Module) -> nn.Module:
    """A layer in floats of one that rounds."""
    return layer.to_float() if type(layer) in TRAINED else layer


def reference_layer(layer: nn.Module, qconfig: Any, kind: Any = None) -> nn.Module:
    """The layer whose weight is quantized and brought back at each call; ``kind`` is its class where that is no usual one."""
    whole = _float_of(layer)
    first = whole[0] if isinstance(whole, nni._FusedModule) else whole
    kind = kind or getattr(nnqr, type(first).__name__, None)
    if kind is None:
        raise NotImplementedError(
            f"convert_to_reference_fx: there is no reference layer for {type(first).__name__}; leave it out by "
            f"QConfigMapping.set_object_type({type(first).__name__}, None)"
        )
    if isinstance(first, (nn.RNNBase, nn.RNNCellBase)):
        observers = {
            name: qconfig.weight() for name, held in first._parameters.items() if held is not None and held.dim() == 2
        }
        for name, observer in observers.items():
            if observer.dtype is not torch.float16:
                quantize_weight(first._parameters[name], observer)
        how = {name: _how(observer) for name, observer in observers.items()}
        return kind.from_float(first, how | {"is_decomposed": False}).train(layer.training)
    fake = getattr(layer, "weight_fake_quant", None)
    observer = fake.activation_post_process if fake is not None else qconfig.weight()
    if observer.dtype is not torch.float16:
        quantize_weight(first.weight, observer, fake is not None)  # which finds the scale
    made = kind.from_float(first, _how(observer)).train(layer.training)
    if first is whole:
        return made
    whole._modules["0"] = made
    return whole


class _Referring(_Converting):
    def convert(self, node: Any) -> None:
        kind = node.meta.get("quantized_as")
        if node.op == "output":
            self.output(node)
        elif self.is_observer(node):
            self.quantize(node)
        elif kind in ("weighted", "weights") or node.meta.get("reference") is not None:
            self.weighted(node, kind == "weights")
        else:
            self.plain(node)
            if node.meta.get("comes_quantized"):
                self.integers[node] = self.floats.pop(node)

    def weighted(self, node: Any, is_dynamic: bool) -> None:
        qconfig = node.meta["qconfig"]
        source = node.args[0] if node.args else node.kwargs["input"]
        if node.op == "call_module":
            if self.modules[node.target] is self.layers[node.target]:
                kind = node.meta.get("reference")
                layer = self.layers[node.target]
                if hasattr(layer, "weight") or hasattr(layer, "0") or kind is not None or is_dynamic:
                    self.put(node.target, self.layer(layer, qconfig, kind))
            if is_dynamic:
                self.round_input(source, qconfig)
            self.plain(node)
            return
        if is_dynamic:
            self.round_input(source, qconfig)
        given = dict(zip(("input", "weight"), node.args)) | dict(node.kwargs)
        self.round_weight(given["weight"], qconfig, int(FUNCTIONS[node.target] in TRANSPOSED))
        self.plain(node)

    def layer(self, layer: nn.Module, qconfig: Any, kind: Any) -> nn.Module:
        has_weight = isinstance(layer, nni._FusedModule) or isinstance(getattr(layer, "weight", None), torch.Tensor)
        if kind is None and has_weight and not self.rounds_weight(layer):
            return layer  # norms and the like have weights in floats
        return reference_layer(layer, qconfig, kind)

    @staticmethod
    def rounds_weight(layer: nn.Module) -> bool:
        first = _float_of(layer)
        first = first[0] if isinstance(first, nni._FusedModule) else first
        return hasattr(nnqr, type(first).__name__) or isinstance(first, (nn.RNNBase, nn.RNNCellBase))

    def quantize(self, node: Any) -> None:
        old = node.args[0]
        observer = self.modules[node.target]
        scale, zero = _found(observer)
        prefix = self.prefix(old, node)
        held = self.number_held(f"{prefix}_scale", scale), self.number_held(f"{prefix}_zero_point", zero)
        made = self.graph.call_function(torch.quantize_per_tensor, (self.number(old), *held, observer.dtype))
        self.integers[node] = made

    @staticmethod
    def prefix(value: Any, observer: Any) -> str:
        """Under which name scales are held: that of the layer that gave a value, or takes it as its input."""
        if value.op == "call_module":
            return str(value.target).replace(".", "_")
        user = next((u for u in observer.users if u.op == "call_module"), None)
        return f"{str(user.target).replace('.', '_')}_input" if value.op == "placeholder" and user is not None else ""

    def round_input(self, source: Any, qconfig: Any) -> None:
        """An input that is rounded as it comes; in half precision where that is what the configuration says."""
        dtype = getattr(qconfig.activation(), "dtype", torch.float)
        if dtype is torch.float16:
            whole = self.graph.call_method("to", (self.number(source), torch.float16))
            self.rounded(source, self.graph.call_method("dequantize", (whole,)))
        elif dtype is not torch.float:
            halved = torch.backends.quantized.engine != "qnnpack"
            args = (self.number(source), dtype, halved)
            whole = self.graph.call_function(torch.quantize_per_tensor_dynamic, args)
            self.rounded(source, self.graph.call_method("dequantize", (whole,)))

    def rounded(self, source: Any, value: Any) -> None:
        """For the next node alone: others take the numbers as they came."""
        self.once[source] = value

    def round_weight(self, weight: Any, qconfig: Any, axis: int) -> None:
        observer = qconfig.weight()
        held = attribute(self.model, weight.target)
        number = self.number(weight)
        if observer.dtype is torch.float16:
            whole = self.graph.call_method("to", (number, torch.float16))
        else:
            quantize_weight(held, observer)
            how = _how(observer)
            scale, zero = how["scale"], how["zero_point"]
            per_tensor = how["qscheme"] is torch.per_tensor_affine
            values = (scale.item(), int(zero)) if per_tensor else (scale, zero)
            given = tuple(self.number_held(f"_{name}", v) for name, v in zip(("scale", "zero_point"), values))
            if per_tensor:
                whole = self.graph.call_function(torch.quantize_per_tensor, (number, *given, observer.dtype))
            else:
                args = (number, *given, how["axis"], observer.dtype)
                whole = self.graph.call_function(torch.quantize_per_channel, args)
        self.once[weight] = self.graph.call_method("dequantize", (whole,))

    def plain(self, node: Any) -> None:
        once = self.once
        self.once = {}
        self.floats[node] = self.graph.node_copy(node, lambda v: once[v] if v in once else self.number(v))

    def run(self) -> Any:
        self.once: dict[Any, Any] = {}
        return super().run()


def convert_to_reference(model: Any, config: Any) -> Any:
    """The GraphModule that computes in floats and rounds as integers would."""
    return _Referring(model, config).run()
