"""From a ModelProto to a module: its nodes as calls in a graph, its tensors as parameters and buffers."""

from __future__ import annotations

import inspect
import operator
import os
import re
from typing import Any

import torch
from torch.fx import Graph, GraphModule

from . import _types
from ._reading import table


def load(model: Any) -> GraphModule:
    """See :func:`torch.onnx.load`."""
    proto = _read(model)
    return Importer(proto).module()


def _read(model):
    import onnx

    if isinstance(model, onnx.ModelProto):
        return model
    try:
        if isinstance(model, (bytes, bytearray)):
            proto = onnx.load_model_from_string(bytes(model))
        elif isinstance(model, (str, os.PathLike)):
            proto = onnx.load(os.fspath(model))
        elif hasattr(model, "read"):
            proto = onnx.load(model)
        else:
            raise TypeError(
                f"onnx.load: expected a path, an open file, bytes or a ModelProto, got {type(model).__name__}"
            )
        onnx.checker.check_model(proto)
    except (onnx.checker.ValidationError, ValueError) as error:
        raise RuntimeError(f"onnx.load: this is no valid model of ONNX: {error}") from error
    except Exception as error:
        if type(error).__name__ == "DecodeError":
            raise RuntimeError(f"onnx.load: this is no model of ONNX: {error}") from error
        raise
    return proto


def tensor_of(proto: Any) -> torch.Tensor:
    """A tensor of a file."""
    from onnx import numpy_helper

    if proto.data_type == 16 and proto.raw_data:
        return torch.frombuffer(bytearray(proto.raw_data), dtype=torch.bfloat16).reshape(tuple(proto.dims))
    if proto.data_type not in _types.DTYPES:
        raise NotImplementedError(f"onnx.load: tensor {proto.name!r} has elements of a type that torch lacks")
    return torch.from_numpy(numpy_helper.to_array(proto).copy())


class Importer:
    """Reads one model."""

    def __init__(self, proto: Any) -> None:
        self.proto = proto.graph
        self.graph, self.root = Graph(), torch.nn.Module()
        self._nodes: dict[str, Any] = {}
        self._taken: set[str] = set()

    def module(self) -> GraphModule:
        """The module; NotImplementedError names all operators that cannot be read."""
        self._refuse()
        stored = {t.name: t for t in self.proto.initializer}
        for value in self.proto.input:
            if value.name not in stored:
                self._nodes[value.name] = self.graph.placeholder(re.sub(r"\W", "_", value.name))
        fixed = self._fixed()
        for name, tensor in stored.items():
            self._hold(name, tensor_of(tensor), name in fixed)
        for node in self.proto.node:
            self._node(node)
        results = [self._nodes[o.name] for o in self.proto.output]
        self.graph.output(results[0] if len(results) == 1 else tuple(results))
        self.graph.lint()
        return GraphModule(self.root, self.graph)

    def _refuse(self):
        known = {*table(), "Constant"}
        absent = sorted({n.op_type if not n.domain else f"{n.domain}::{n.op_type}" for n in self.proto.node
                         if n.domain not in ("", "ai.onnx") or n.op_type not in known})  # fmt: skip
        if absent:
            raise NotImplementedError(f"onnx.load: these operators cannot be read: {', '.join(absent)}")

    def _fixed(self):
        """Tensors that are no parameters: statistics of batches, shapes, bounds and single numbers."""
        fixed = set()
        for node in self.proto.node:
            if node.op_type == "BatchNormalization":
                fixed |= set(node.input[3:])
            elif node.op_type in ("Clip", "Pad", "Resize", "Dropout"):
                fixed |= set(node.input[1:])
        return fixed

    def _hold(self, name, tensor, fixed):
        path = [re.sub(r"\W", "_", part) or "_" for part in name.replace("::", "_").strip("./").split(".")]
        path = [f"_{part}" if part[0].isdigit() and len(path) == 1 else part for part in path]
        place = self.root
        for part in path[:-1]:
            if not isinstance(getattr(place, part, None), torch.nn.Module):
                part = part if not hasattr(place, part) else f"{part}_"
                place.add_module(part, torch.nn.Module())
            place = getattr(place, part)
        last = path[-1]
        while hasattr(place, last):
            last += "_"
        if tensor.is_floating_point() and tensor.dim() and not fixed:
            place.register_parameter(last, torch.nn.Parameter(tensor))
        else:
            place.register_buffer(last, tensor)
        target = ".".join([*path[:-1], last])
        self._nodes[name] = self.graph.get_attr(target)

    def _node(self, node):
        if node.op_type == "Constant":
            self._hold(node.output[0], _constant(node), True)
            return
        function = table()[node.op_type]
        attributes = {a.name: _attribute(a) for a in node.attribute}
        outputs = len([o for o in node.output if o])
        parameters = {} if not inspect.isfunction(function) else inspect.signature(function).parameters
        if "kind" in parameters:
            attributes["kind"] = node.op_type
        if "outputs" in parameters:
            attributes["outputs"] = len(node.output)
        args = tuple(self._nodes[name] if name else None for name in node.input)
        made = self.graph.call_function(function, args, attributes)
        if outputs == 1 and len(node.output) == 1 and node.op_type not in ("Split", "LSTM", "GRU", "RNN", "Unique"):
            self._nodes[node.output[0]] = made
            return
        for i, name in enumerate(node.output):
            if name:
                self._nodes[name] = self.graph.call_function(operator.getitem, (made, i))


def _constant(node):
    from onnx import helper

    (attribute,) = node.attribute
    value = helper.get_attribute_value(attribute)
    if attribute.name == "value":
        return tensor_of(value)
    if attribute.name in ("value_float", "value_floats"):
        return torch.tensor(value, dtype=torch.float32)
    if attribute.name in ("value_int", "value_ints"):
        return torch.tensor(value, dtype=torch.int64)
    raise NotImplementedError(f"onnx.load: a Constant of kind {attribute.name}")


def _attribute(attribute):
    from onnx import AttributeProto, helper

    value = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.STRING:
        return value.decode()
    if attribute.type == AttributeProto.STRINGS:
        return [v.decode() for v in value]
    if attribute.type == AttributeProto.TENSOR:
        return tensor_of(value)
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return list(value)
    return value
