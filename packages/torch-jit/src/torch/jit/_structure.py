"""What a traced function takes and gives: tensors in nested tuples, lists and dictionaries, as values of a graph."""

from __future__ import annotations

import warnings

import torch

from . import _ir as ir
from ._reads import TracerWarning

__all__ = ["add_input", "integers_of", "output_value", "quantized_again", "type_of"]


def _is_named(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _class_name(cls):
    name = f"__torch__.{cls.__module__}.{cls.__qualname__}".replace(".<locals>", "")
    ir._native._register_class(name, cls)
    return name


def type_of(value):
    """The type of an input, with what is known of its tensors; RuntimeError for what is no tensor."""
    if isinstance(value, torch.Tensor):
        return ir.TensorType.create_from_tensor(value)
    if value is None:
        return ir.NoneType.get()
    if _is_named(value):
        return ir.TupleType.named(_class_name(type(value)), value._fields, [type_of(each) for each in value])
    if isinstance(value, tuple):
        return ir.TupleType([type_of(each) for each in value])
    if isinstance(value, list) and value:
        return ir.ListType(_common(value))
    if isinstance(value, dict) and value:
        if not all(isinstance(key, str) for key in value) and not all(type(key) is int for key in value):
            raise RuntimeError("trace: the keys of a dictionary must all be str, or all int")
        key = ir.StringType.get() if isinstance(next(iter(value)), str) else ir.IntType.get()
        return ir.DictType(key, _common(list(value.values())))
    if isinstance(value, (list, dict)):
        raise RuntimeError(
            f"trace: {'List' if isinstance(value, list) else 'Dict'} trace inputs must have elements: of an empty one it is not "
            "known what it holds; bind it with a lambda or functools.partial"
        )
    raise RuntimeError(
        f"trace: an input of type {type(value).__name__} cannot be traced: Only tensors, and tuples, lists and "
        "dictionaries of them; bind other arguments with a lambda or functools.partial"
    )


def _common(values):
    kinds = [type_of(each).unshaped() for each in values]
    if any(kind != kinds[0] for kind in kinds):
        raise RuntimeError(
            f"trace: inputs that are lists or dictionaries must have consistent element types, got {', '.join(map(str, kinds))}"
        )
    return kinds[0]


def copied(value):
    """The same with tensors of its own, which a trace may change in place."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if _is_named(value):
        return type(value)(*map(copied, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(copied, value))
    if isinstance(value, dict):
        return type(value)((key, copied(each)) for key, each in value.items())
    return value


def add_input(tracer, value, name):
    """An input of the graph for a value of these types, whose tensors the tracer knows from then on."""
    v = tracer.graph.addInput(name, type_of(value))
    _open(tracer, v, value)
    return v


def _open(tracer, v, value):
    graph = tracer.graph
    if isinstance(value, torch.Tensor):
        tracer.set_value(value, integers_of(graph, v) if value.is_quantized else v)
    elif isinstance(value, (tuple, list)):
        kind = "prim::ListUnpack" if isinstance(value, list) else "prim::TupleUnpack"
        node = graph.insertNode(graph.create(kind, [v], len(value)))
        for inner, out in zip(value, node.outputs()):
            out.setType(type_of(inner))
            _open(tracer, out, inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            _open(tracer, graph.call("__getitem__", [v, key]), inner)


def _of_quantized(graph, name, given):
    """A call of an operator of quantized tensors."""
    from ._script.quantized import function_of

    node = graph.insertNode(graph.create("prim::PythonOp", given, 1))
    node.ival_("pyobj", function_of(f"aten::{name}"))
    node.s_("name", name)
    node.s_("operator", name)
    return node.output()


def integers_of(graph, v):
    """The integers of a quantized tensor, which a trace is made of; its scale is that of the example."""
    return _of_quantized(graph, "int_repr", [v])


def quantized_again(tracer, q):
    """The quantized tensor of the integers that a trace has computed."""
    if q.dtype not in (torch.qint8, torch.quint8, torch.qint32):
        raise NotImplementedError(f"torch.jit.trace: a result of {q.dtype}; call dequantize() on it")
    graph, value = tracer.graph, tracer.value_of(q)
    if q.qscheme() is torch.per_tensor_affine:
        numbers = q.q_scale(), q.q_zero_point()
        return _of_quantized(graph, "_make_per_tensor_quantized_tensor", [value, *map(graph.insertConstant, numbers)])
    held = q.q_per_channel_scales(), q.q_per_channel_zero_points(), q.q_per_channel_axis()
    return _of_quantized(graph, "_make_per_channel_quantized_tensor", [value, *map(graph.insertConstant, held)])


def output_value(tracer, value, strict):
    """The value of the graph for what a function gave."""
    graph = tracer.graph
    if isinstance(value, torch.Tensor):
        return quantized_again(tracer, value) if value.is_quantized else tracer.value_of(value)
    if value is None:
        return graph.insertConstant(None)
    if isinstance(value, (tuple, list)):
        inner = [output_value(tracer, each, strict) for each in value]
        if isinstance(value, list):
            if strict:
                warnings.warn(
                    "trace: Encountering a list at the output of the function, whose length is fixed, might cause the trace to be "
                    "incorrect: give a tuple, or pass strict=False when the length is the same for all inputs",
                    TracerWarning,
                    stacklevel=2,
                )
            if len({str(v.type().unshaped()) for v in inner}) > 1:
                raise RuntimeError(
                    f"trace: a list at the output of the function holds values of several types, "
                    f"{', '.join(str(v.type().unshaped()) for v in inner)}: give a tuple"
                )
            if not inner:
                return graph.insertConstant([], ir.ListType(ir.TensorType.get()))
            node = graph.insertNode(graph.create("prim::ListConstruct", inner))
            node.output().setType(ir.ListType(inner[0].type().unshaped()))
            return node.output()
        node = graph.insertNode(graph.create("prim::TupleConstruct", inner))
        types = [v.type() for v in inner]
        named = _is_named(value)
        node.output().setType(
            ir.TupleType.named(_class_name(type(value)), value._fields, types) if named else ir.TupleType(types)
        )
        return node.output()
    if isinstance(value, dict):
        if strict:
            raise RuntimeError(
                "trace: Encountering a dict at the output of the function, whose keys would be fixed: give a tuple, or pass "
                "strict=False when the keys are the same for all inputs"
            )
        flat = []
        for key, each in value.items():
            if not isinstance(key, (str, int, torch.Tensor)) or type(key) is not type(next(iter(value))):
                raise RuntimeError(
                    "trace: the keys of a dictionary that is given back must all be str, all int or all tensors, not "
                    f"{type(key).__name__}"
                )
            known = output_value(tracer, key, strict) if isinstance(key, torch.Tensor) else graph.insertConstant(key)
            flat += [known, output_value(tracer, each, strict)]
        node = graph.insertNode(graph.create("prim::DictConstruct", flat))
        inner = flat[1].type().unshaped() if flat else ir.TensorType.get()
        node.output().setType(ir.DictType(flat[0].type().unshaped() if flat else ir.StringType.get(), inner))
        return node.output()
    raise RuntimeError(
        f"trace: the function gave a value of type {type(value).__name__}: Only tensors, and tuples, lists and dictionaries "
        "of them, can be output from traced functions; others cannot be understood by the tracer, only outputs matching these"
    )
