"""From a ModelProto to a module: its nodes as calls in a graph, its tensors as parameters and buffers."""

from __future__ import annotations

import inspect
import keyword
import operator
import os
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import torch
from torch.fx import Graph, GraphModule
from torch.fx._writer import _custom_builtins

from . import _inner, _types
from ._definitions import defined
from ._reading import OF_DOMAINS, table


def load(model: Any) -> GraphModule:
    """See :func:`torch.onnx.load`."""
    try:
        return _module(defined(_inline(_read(model))))
    except RuntimeError as error:  # of which NotImplementedError is one
        if isinstance(model, (str, os.PathLike)):
            error.args = (f"onnx.load: {os.fspath(model)}: {str(error).removeprefix('onnx.load: ')}",)
        raise


def _module(proto):
    graph, opset = proto.graph, next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 1)
    _refuse(graph)
    return Importer(graph, opset, _fixed(graph)).module()


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
    _spelt(proto)
    return proto


def _spelt(message):
    """RuntimeError for a text that is not UTF-8, which protobuf gives as bytes."""
    for field, value in message.ListFields():
        each = value if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else [value]
        if field.type == field.TYPE_MESSAGE:
            for inner in each:
                _spelt(inner)
        elif field.type == field.TYPE_STRING and any(isinstance(text, bytes) for text in each):
            found = next(text for text in each if isinstance(text, bytes))
            raise RuntimeError(f"onnx.load: {message.DESCRIPTOR.name}.{field.name} {found!r} is no text in UTF-8")


def tensor_of(proto: Any) -> torch.Tensor:
    """A tensor of a file."""
    from onnx import numpy_helper

    if proto.data_type in _types.NARROW:
        return torch.from_numpy(numpy_helper.to_array(proto).astype("int8")).to(_types.NARROW[proto.data_type][0])
    if proto.data_type not in _types.DTYPES:
        raise NotImplementedError(f"onnx.load: tensor {proto.name!r} has elements of a type that torch lacks")
    dtype, shape = _types.DTYPES[proto.data_type], tuple(proto.dims)
    if min(shape, default=0) < 0:
        raise RuntimeError(f"onnx.load: tensor {proto.name!r} has shape {shape}")
    try:
        if dtype == torch.bfloat16:  # which NumPy lacks
            bits = numpy_helper.to_array(proto).view("int16").copy()
            return torch.from_numpy(bits).view(torch.bfloat16)
        if dtype.itemsize == 1 and dtype.is_floating_point:
            return torch.from_numpy(numpy_helper.to_array(proto).view("uint8").copy()).view(dtype)
        return torch.from_numpy(numpy_helper.to_array(proto).copy())
    except ValueError as error:
        raise RuntimeError(
            f"onnx.load: the bytes of tensor {proto.name!r} do not make {dtype} of shape {shape}: {error}"
        ) from error


def _inline(proto):
    """The model with the functions that it brings along written out where they are called."""
    if not proto.functions:
        return proto
    from onnx import inliner

    own = {(f.domain, f.name) for f in proto.functions}
    _bounded(proto)
    found = inliner.inline_local_functions(proto)
    left = sorted({f"{n.domain}::{n.op_type}" for n in _inner.nodes(found.graph) if (n.domain, n.op_type) in own})
    if left:
        raise NotImplementedError(
            f"onnx.load: functions of the file for another opset than the model's: {', '.join(left)}"
        )
    return found


def _bounded(proto):
    """RuntimeError for functions that call themselves, or become more nodes than a graph should have."""
    calls = {(f.domain, f.name): [(n.domain, n.op_type) for n in _inner.nodes(f)] for f in proto.functions}
    sizes: dict = {}
    while calls:
        ready = [name for name, used in calls.items() if calls.keys().isdisjoint(used)]
        if not ready:
            raise RuntimeError(f"onnx.load: function {'::'.join(min(calls))} calls itself")
        for name in ready:
            sizes[name] = sum(sizes.get(used, 1) for used in calls.pop(name))
    count = sum(sizes.get((n.domain, n.op_type), 1) for n in _inner.nodes(proto.graph))
    if count > _MOST_NODES:
        raise RuntimeError(
            f"onnx.load: with its functions written out where they are called the graph has {count} nodes; "
            f"up to {_MOST_NODES} are read"
        )


_MOST_NODES = 1_000_000  # some kilobytes each: a file of functions that call each other twice doubles with every one


def _refuse(graph):
    """NotImplementedError with all operators that cannot be read."""
    known = {*table(), *_inner.KINDS, "Constant"}
    absent = sorted({n.op_type if not n.domain else f"{n.domain}::{n.op_type}" for n in _inner.nodes(graph)
                     if n.op_type not in known or n.domain not in ("", "ai.onnx", OF_DOMAINS.get(n.op_type))})  # fmt: skip
    if absent:
        raise NotImplementedError(f"onnx.load: these operators cannot be read: {', '.join(absent)}")


def _fixed(graph):
    """Tensors that are no parameters: statistics of batches, shapes, bounds and single numbers."""
    fixed = set()
    for node in _inner.nodes(graph):
        if node.op_type == "BatchNormalization":
            fixed |= set(node.input[3:])
        elif node.op_type in ("Clip", "Pad", "Resize", "Dropout"):
            fixed |= set(node.input[1:])
    return fixed


def _word(name):
    """A name in letters, digits and underscores, as Python itself writes identifiers (``ª`` as ``a``)."""
    return re.sub(r"\W", "_", unicodedata.normalize("NFKC", name))


def _identifier(name):
    name = _word(name)
    return f"_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name


#: operators that give elements as they take them
_MOVES = {"Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}


class Importer:
    """Reads one graph; `outer` are the names that it takes from the graphs around it, None for the model's own."""

    def __init__(self, proto: Any, opset: int, fixed: set[str], outer: list[str] | None = None) -> None:
        self.proto, self.opset, self.fixed, self.outer = proto, opset, fixed, outer
        self.graph, self.root = Graph(), torch.nn.Module()
        self._nodes: dict[str, Any] = {}
        kinds = {v.name: v.type.tensor_type.elem_type for v in proto.input} | {
            t.name: t.data_type for t in proto.initializer
        }
        #: which names are held in bytes, and their types
        self._narrow = {name: kind for name, kind in kinds.items() if kind in _types.NARROW}

    def module(self) -> GraphModule:
        """The module; RuntimeError where the graph makes no sense."""
        stored = {t.name: t for t in self.proto.initializer}
        inputs = [v.name for v in self.proto.input if self.outer is not None or v.name not in stored]
        words = {"self", *_custom_builtins}  # of the program text that is made of the graph
        for name in (*inputs, *(self.outer or ())):
            word = _identifier(name)
            while word in words:
                word += "_"
            words.add(word)
            self._give(name, self.graph.placeholder(word))
        for name, tensor in stored.items():
            self._give(name, self._hold(name, tensor_of(tensor), name in self.fixed))
        for node in self.proto.node:
            self._node(node)
        results = [self._value(o.name, "the outputs of the graph") for o in self.proto.output]
        single = self.outer is None and len(results) == 1
        self.graph.output(results[0] if single else tuple(results))
        self.graph.lint()
        return GraphModule(self.root, self.graph)

    def _give(self, name, value):
        if name in self._nodes:
            raise RuntimeError(f"onnx.load: {name!r} is given twice in graph {self.proto.name!r}")
        self._nodes[name] = value

    def _value(self, name, user):
        if name not in self._nodes:
            raise RuntimeError(f"onnx.load: no input, tensor or earlier node gives {name!r}, which {user} need")
        return self._nodes[name]

    def _hold(self, name, tensor, fixed):
        *path, last = [_word(part) or "_" for part in name.replace("::", "_").strip("./").split(".")]
        if not path and last[0].isdigit():
            last = f"_{last}"
        place, way = self.root, []
        for part in path:
            while hasattr(place, part) and not isinstance(getattr(place, part), torch.nn.Module):
                part += "_"
            if not hasattr(place, part):
                place.add_module(part, torch.nn.Module())
            place = getattr(place, part)
            way.append(part)
        while hasattr(place, last):
            last += "_"
        if tensor.is_floating_point() and tensor.dim() and not fixed:
            place.register_parameter(last, torch.nn.Parameter(tensor))
        else:
            place.register_buffer(last, tensor)
        return self.graph.get_attr(".".join([*way, last]))

    def _node(self, node):
        if node.op_type == "Constant":
            self._give(node.output[0], self._hold(node.output[0], _constant(node), True))
            return
        if node.op_type in _inner.KINDS:
            self._control(node)
            return
        function = table()[node.op_type]
        attributes = {a.name: self._attribute(node, a) for a in node.attribute}
        parameters = {} if not inspect.isfunction(function) else inspect.signature(function).parameters
        if "kind" in parameters:
            attributes["kind"] = node.op_type
        if "opset" in parameters:
            attributes["opset"] = self.opset
        if "outputs" in parameters:
            attributes["outputs"] = len(node.output)
        self._of_few_bits(node, attributes)
        made = self.graph.call_function(function, self._args(node), attributes)
        if len(node.output) == 1 and node.op_type not in ("Split", "LSTM", "GRU", "RNN", "Unique"):
            self._give(node.output[0], made)
        else:
            self._parts(node, made)

    def _of_few_bits(self, node, attributes):
        """Tells the readers that care which of their values have 2 and 4 bits, and follows those; the rest is refused."""
        kinds = [self._narrow.get(name) for name in node.input]
        kind, op = next((k for k in kinds if k), None), node.op_type
        if op == "CastLike":
            kind = kinds[1]
            if kind:
                attributes["to"] = kind
        elif op == "Cast":
            kind = attributes["to"]
        elif op == "QuantizeLinear":
            kind = kinds[2] if len(kinds) > 2 and node.input[2] else attributes.get("output_dtype")
            if kind in _types.NARROW:
                attributes["output_dtype"] = kind
        elif op == "DequantizeLinear":
            return
        elif kind and op not in _MOVES:
            raise NotImplementedError(
                f"onnx.load: {_inner.where(node)} of integers of 2 or 4 bits: DequantizeLinear first"
            )
        if kind in _types.NARROW:
            self._narrow.update(dict.fromkeys(node.output, kind))

    def _args(self, node):
        return tuple(self._value(name, f"the inputs of {_inner.where(node)}") if name else None for name in node.input)

    def _attribute(self, node, attribute):
        value = _attribute(attribute)
        if isinstance(value, torch.Tensor):
            return self._hold(f"{node.output[0]}_{attribute.name}", value, True)
        return value

    def _parts(self, node, made):
        for i, name in enumerate(node.output):
            if name:
                self._give(name, self.graph.call_function(operator.getitem, (made, i)))

    def _control(self, node):
        outer = list(dict.fromkeys(name for graph in _inner.graphs(node).values() for name in _inner.taken(graph)))
        if few := [name for name in outer if name in self._narrow]:
            raise NotImplementedError(
                f"onnx.load: {_inner.where(node)} takes {few[0]!r}, integers of 2 or 4 bits: DequantizeLinear first"
            )
        module = _inner.module(node, lambda graph: Importer(graph, self.opset, self.fixed, outer).module())
        name = _identifier(node.name or node.op_type.lower())
        while hasattr(self.root, name):
            name += "_"
        self.root.add_module(name, module)
        captured = [self._value(name, f"the graphs of {_inner.where(node)}") for name in outer]
        self._parts(node, self.graph.call_module(name, (*self._args(node), *captured)))


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
    if attribute.type == AttributeProto.TYPE_PROTO:
        return None  # of a value that is absent: torch has no types of those
    if attribute.type == AttributeProto.STRING:
        return value.decode()
    if attribute.type == AttributeProto.STRINGS:
        return [v.decode() for v in value]
    if attribute.type == AttributeProto.TENSOR:
        return tensor_of(value)
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return list(value)
    return value
