"""Operators that the standard defines by others: nodes of those that have no reader become calls of functions of the file,
which are then written out like all such functions.
"""

from __future__ import annotations

from typing import Any

from . import _inner
from ._reading import table

_DOMAIN = "torch.onnx.definitions"  # of the functions made here


def defined(proto: Any) -> Any:
    """The model with a function for each node that has no reader and that the standard defines; itself without such."""
    for turn in range(_TURNS):
        opsets = {_usual(o.domain): o.version for o in proto.opset_import}
        if not any(_definition(node, opsets) for node in _inner.nodes(proto.graph)):
            break
        proto = _written(proto, opsets, turn)
    return proto


_TURNS = 8  # definitions that use operators that have definitions themselves


def _usual(domain):
    return "" if domain == "ai.onnx" else domain


def _definition(node, opsets):
    """The schema of a node that has to be written out by its definition, if it has one."""
    from onnx import defs

    domain = _usual(node.domain)
    if node.op_type in _inner.KINDS or (not domain and node.op_type in {*table(), "Constant"}):
        return None
    try:
        schema = defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except defs.SchemaError:
        return None
    return schema if schema.has_function or schema.has_context_dependent_function else None


def _written(proto, opsets, turn):
    """One turn: the functions of all such nodes, written out."""
    import onnx
    from onnx import inliner, shape_inference

    model = onnx.ModelProto()
    model.CopyFrom(shape_inference.infer_shapes(proto))
    count = 0

    def replace(graph, types):
        nonlocal count
        types = {**types, **{v.name: v.type for v in (*graph.input, *graph.value_info, *graph.output)}}
        for tensor in graph.initializer:
            types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
        for node in graph.node:
            if schema := _definition(node, opsets):
                function = _function(schema, node, types, opsets)
                function.domain, function.name = _DOMAIN, f"{node.op_type}_{turn}_{count}"
                count += 1
                del function.opset_import[:]  # those of the model, for which the definition was asked
                function.opset_import.extend(model.opset_import)
                model.functions.append(function)
                node.domain, node.op_type = function.domain, function.name
                given = set(function.attribute) | {a.name for a in function.attribute_proto}
                kept = [a for a in node.attribute if a.name in given]
                del node.attribute[:]
                node.attribute.extend(kept)
            for inner in _inner.graphs(node).values():
                replace(inner, types)

    replace(model.graph, {})
    model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
    found = inliner.inline_local_functions(model)
    kept = [o for o in found.opset_import if o.domain != _DOMAIN]
    del found.opset_import[:]
    found.opset_import.extend(kept)
    return found


def _function(schema, node, types, opsets):
    """The definition of a node as a FunctionProto; some depend on the node and on the types of its inputs."""
    import onnx

    function = onnx.FunctionProto()
    version = opsets.get(_usual(node.domain), 1)
    if schema.has_function:
        body = schema.function_body
        function.CopyFrom(body)
        own = {a.name: a for a in node.attribute}
        function.attribute_proto.extend(
            a.default_value for name, a in schema.attributes.items() if name not in own and a.default_value.name
        )
        taken = {a.name for a in function.attribute_proto}
        names = [name for name in function.attribute if name not in taken]
        del function.attribute[:]
        function.attribute.extend(names)
        return function
    absent = [name for name in node.input if name and name not in types]
    if absent:
        raise NotImplementedError(
            f"onnx.load: {_inner.where(node)} is written out by its definition, which depends on the type of "
            f"{absent[0]!r}, which the file does not say"
        )
    inputs = [types[name].SerializeToString() if name else b"" for name in node.input]
    usual = min([v for v in schema.context_dependent_function_opset_versions if v <= version] or [version])
    made = schema.get_context_dependent_function_with_opset_version(usual, node.SerializeToString(), inputs)
    function.ParseFromString(made)
    if not function.node:
        raise NotImplementedError(
            f"onnx.load: {_inner.where(node)} is written out by its definition, which depends on shapes that the file does not say: "
            "onnx.shape_inference, or dims of the graph's inputs, supply them"
        )
    return function
