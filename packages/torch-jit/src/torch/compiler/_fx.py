"""A captured graph as an ``fx.GraphModule``, for backends that are a user's own functions."""

from __future__ import annotations

import math
import operator
import re

import torch
from torch import fx
from torch._seams import named_size
from torch.export._tape import describe, hollow

from ._numbers import MATH

_DTYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, torch.complex32,
    torch.complex64, torch.complex128, torch.bool, None, None, None, torch.bfloat16,
)  # fmt: skip
#: what gives numbers that follow from sizes, or from values
_OF_SIZES = {
    "aten::size": torch.ops.aten.sym_size.int, "aten::add": operator.add, "aten::sub": operator.sub, "aten::mul": operator.mul,
    "aten::floordiv": operator.floordiv, "aten::remainder": operator.mod, "prim::exact_add": operator.add, "prim::exact_sub": operator.sub,
    "prim::exact_mul": operator.mul, "prim::exact_pow": operator.pow, "prim::abs": abs, "prim::max": max, "prim::min": min,
    "aten::floor": math.floor, "aten::ceil": math.ceil, "aten::round": round, "aten::div": operator.truediv, "aten::eq": operator.eq, "aten::ne": operator.ne, "aten::lt": operator.lt,
    "aten::le": operator.le, "aten::gt": operator.gt, "aten::ge": operator.ge, "aten::__not__": operator.not_, "aten::pow": operator.pow,
    "aten::_holds": lambda t: bool(t.all()), "aten::Int": int, "aten::Float": float, "aten::Bool": bool, **{f"aten::{function.__name__}": function for function in MATH},
}  # fmt: skip
_NUMBERS = ("int", "float", "bool")
_LAYOUTS = (torch.strided, torch.sparse_coo)
_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)


def graph_module(observer, graph):
    """The graph with an input for each tensor that the program reads, those tensors as examples, and what makes its inputs of
    them: a size that may change is one of its own, before the first tensor that has it.
    """
    made, values, sizes, places = fx.Graph(), {}, {}, []
    inputs = list(graph.inputs())
    for i, value in enumerate(inputs):
        for dim, name in _names(observer, i).items():
            if name not in sizes:
                sizes[name] = made.placeholder(name)
                sizes[name].meta["example_value"] = named_size(name, observer.examples[i].shape[dim])
                sizes[name].meta["val"] = sizes[name].meta["example_value"]
                places.append((i, dim))
        node = made.placeholder(f"x{i}" if len(inputs) > 1 else "x")
        values[value.unique()] = node
        places.append((i, None))
        _look(observer, i, node)
    root = torch.nn.Module()
    for node in graph.nodes():
        if node.kind() == "aten::size" and (known := _size_of(observer, inputs, node)) in sizes:
            values[node.output().unique()] = sizes[known]
        else:
            _convert(root, made, node, values)
    if getattr(observer, "space", None) is None:
        _look_alike(graph, values)
    made.output(values[next(iter(graph.outputs())).unique()])
    made.lint()
    examples = [n.meta["example_value"] if n.name in sizes else None for n in made.find_nodes(op="placeholder")]
    tensors = iter(observer.examples)
    examples = [next(tensors) if each is None else each for each in examples]
    return fx.GraphModule(root, made), examples, (_with_sizes(places) if sizes else None)


def _with_sizes(places):
    """What a graph with sizes among its inputs is called with, made of the tensors."""

    def made(inputs):
        return [inputs[i] if dim is None else inputs[i].shape[dim] for i, dim in places]

    return made


def _names(observer, i):
    """The symbols of an input's sizes that may change, by dim; equal ones have one name."""
    space = getattr(observer, "space", None)
    if space is None:
        return {}
    same = space.extents.same
    return {d: f"s{same.get(n, n)[1:]}" for (at, d), n in space.free.items() if at == i and d is not None}


def _size_of(observer, inputs, node):
    """The symbol that a node reads of an input, or None."""
    at = next((i for i, v in enumerate(inputs) if v.unique() == node.inputsAt(0).unique()), None)
    dim = node.inputsAt(1).node()
    if at is None or not dim.hasAttribute("value"):
        return None
    rank = observer.examples[at].dim()
    return _names(observer, at).get(dim.ival("value") % rank)


def _look(observer, i, node):
    """What an input looks like: a fake tensor, with symbolic sizes where they may change; equal ones have one name. The tensor
    itself may go before the graph does."""
    value, names = observer.examples[i], _names(observer, i)
    if not isinstance(value, torch.Tensor):
        node.meta["example_value"] = node.meta["val"] = value
        return
    sizes = [names.get(d, n) for d, n in enumerate(value.shape)]
    like = hollow(value.shape, value.stride(), value.dtype).requires_grad_(value.requires_grad)
    describe(node, like, sizes, value.device)
    node.meta["example_value"] = node.meta["val"]


def _look_alike(graph, values):
    """What the results of a graph of fixed sizes look like."""
    for node in graph.nodes():
        for value in node.outputs():
            noted, like = values[value.unique()], value.type()
            if value.isCompleteTensor() and isinstance(noted, fx.Node) and "val" not in noted.meta:
                sizes = like.sizes()
                describe(noted, hollow(sizes, like.strides(), like.dtype()), sizes, like.device())
                noted.meta["example_value"] = noted.meta["val"]


def _convert(root, made, node, values):
    kind, inputs = node.kind(), [values[v.unique()] for v in node.inputs()]
    outputs = list(node.outputs())
    if kind == "prim::Constant":
        values[outputs[0].unique()] = _constant(made, node)
    elif kind == "prim::ListConstruct":
        values[outputs[0].unique()] = inputs
    elif kind == "prim::TupleConstruct":
        values[outputs[0].unique()] = tuple(inputs)
    elif kind == "prim::ListUnpack":
        for i, value in enumerate(outputs):
            values[value.unique()] = made.call_function(operator.getitem, (inputs[0], i))
    elif kind == "prim::NumToTensor" or _is_on_its_way(node):
        values[outputs[0].unique()] = inputs[0]  # a size that may change, on its way to an operator; a condition
    elif kind in _READS and node.inputsAt(0).type().kind() == "TensorType":
        values[outputs[0].unique()] = made.call_method("item", (inputs[0],))
    elif kind == "prim::PythonOp":
        result = made.call_function(node.ival("pyobj"), tuple(inputs))
        for i, value in enumerate(outputs):
            values[value.unique()] = result if len(outputs) == 1 else made.call_function(operator.getitem, (result, i))
    elif kind == "prim::If" and not outputs:
        made.call_function(torch._check, (inputs[0],))
    elif kind == "prim::If":
        result = made.call_function(torch.ops.higher_order.cond, _branches(root, made, node, inputs[0], values))
        for i, value in enumerate(outputs):
            values[value.unique()] = made.call_function(operator.getitem, (result, i))
    elif kind == "prim::Loop":
        result = made.call_function(torch.ops.higher_order.while_loop, _turns(root, made, node, inputs, values))
        for i, value in enumerate(outputs):
            values[value.unique()] = made.call_function(operator.getitem, (result, i + 1))
    elif len(outputs) == 1 and str(outputs[0].type()) in _NUMBERS:
        values[outputs[0].unique()] = made.call_function(_OF_SIZES[kind], tuple(inputs))
    elif kind == "aten::set_grad_enabled":
        made.call_function(torch.set_grad_enabled, (inputs[0],))
    else:
        result = made.call_function(*_call(node, inputs))
        if len(outputs) == 1:
            values[outputs[0].unique()] = result
        for i, value in enumerate(outputs if len(outputs) > 1 else ()):
            values[value.unique()] = made.call_function(operator.getitem, (result, i))


_READS = ("aten::Int", "aten::Float", "aten::Bool")


def _is_on_its_way(node):
    """Whether a node makes a number of a size, or the condition of a block of a tensor."""
    if node.kind() == "aten::Int":
        return node.inputsAt(0).node().kind() == "prim::NumToTensor"
    return node.kind() == "aten::Bool" and all(
        use.user.kind() in ("prim::If", "prim::Loop", "prim::Return") and use.user.outputsSize()
        for use in node.output().uses()
    )


def _branches(root, made, node, asked, values):
    """The arguments of ``torch.cond``: its branches are modules of what they use of the graph around them."""
    used = dict.fromkeys(v for block in node.blocks() for v in _read(block) if v in values)
    operands: dict = {}
    fx.node.map_arg([values[v] for v in used], lambda n: operands.setdefault(n))
    number, names = len(list(root.children())) // 2, []
    for word, block in zip(("true", "false"), node.blocks()):
        inner, module = fx.Graph(), torch.nn.Module()
        given = {n: inner.placeholder(n.name) for n in operands}
        within = {v: fx.node.map_arg(values[v], given.__getitem__) for v in used}
        for each in block.nodes():
            _convert(module, inner, each, within)
        inner.output(tuple(within[v.unique()] for v in block.outputs()))
        names.append(f"{word}_graph_{number}")
        root.add_module(names[-1], fx.GraphModule(module, inner))
    return asked, *map(made.get_attr, names), tuple(operands)


def _turns(root, made, node, inputs, values):
    """The arguments of ``torch.while_loop``: whether there is one more turn is carried before the rest."""
    (block,) = node.blocks()
    _, *taken = block.inputs()
    used = dict.fromkeys(v for v in _read(block) if v in values)
    operands: dict = {}
    fx.node.map_arg([values[v] for v in used], lambda n: operands.setdefault(n))
    number = len(list(root.children())) // 2
    asked, turn, module = fx.Graph(), fx.Graph(), torch.nn.Module()
    first = asked.placeholder("goes_on")
    turn.placeholder("goes_on")
    within = {v.unique(): turn.placeholder(f"carried_{i}") for i, v in enumerate(taken)}
    for i in range(len(taken)):
        asked.placeholder(f"carried_{i}")
    for k in range(len(operands)):
        asked.placeholder(f"used_{k}")
    given = {n: turn.placeholder(f"used_{k}") for k, n in enumerate(operands)}
    within |= {v: fx.node.map_arg(values[v], given.__getitem__) for v in used}
    for each in block.nodes():
        _convert(module, turn, each, within)
    asked.output(first)
    turn.output(tuple(within[v.unique()] for v in block.outputs()))
    names = [f"while_loop_{word}_graph_{number}" for word in ("cond", "body")]
    for name, graph, holder in zip(names, (asked, turn), (torch.nn.Module(), module)):
        root.add_module(name, fx.GraphModule(holder, graph))
    return *map(made.get_attr, names), tuple(inputs[1:]), tuple(operands)


def _read(block):
    """What a block reads, by number: of itself, and of what is around it."""
    for node in block.nodes():
        yield from (v.unique() for v in node.inputs())
        for inner in node.blocks():
            yield from _read(inner)
    yield from (v.unique() for v in block.outputs())


def _constant(made, node):
    if not node.hasAttribute("value"):
        return None
    if node.kindOf("value") == "t":
        tensor = node.t("value")
        return made.call_function(_from, (tuple(tensor.flatten().tolist()), tuple(tensor.shape), tensor.dtype))
    value = node.ival("value")
    return bool(value) if str(node.output().type()) == "bool" else value


def _from(numbers, shape, dtype):
    return torch.tensor(numbers, dtype=dtype).reshape(shape)


def _call(node, inputs):
    """The operator of a node in ``torch.ops.aten``, with its arguments by place and by name."""
    text = str(node.schema())
    inside = re.sub(r"\[[^\]]*\]", "", text[text.index("(") + 1 : text.rindex(" -> ") - 1])
    args, kwargs, named = [], {}, False
    parameters = [p for p in inside.split(", ") if p]
    places = iter(inputs)
    for parameter in parameters:
        if parameter == "*":
            named = True
            continue
        kind, _, rest = parameter.partition(" ")
        name, _, default = rest.partition("=")
        value = _typed(kind, next(places))
        if not named:
            args.append(value)
        elif value is not None:
            kwargs[name] = value
    space, name = node.kind().split("::")
    if name == "_attention":  # as users know it
        *args, causal, scale = args
        name, kwargs = "scaled_dot_product_attention", {"is_causal": causal, "scale": scale}
    return getattr(getattr(torch.ops, space), name), tuple(args), kwargs


def _typed(kind, value):
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    table = {"dtype": _DTYPES, "layout": _LAYOUTS, "memory_format": _FORMATS}.get(kind.rstrip("?"))
    return table[value] if table is not None else value
