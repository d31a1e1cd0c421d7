"""Exported programs in files: the graph as JSON, its tensors beside it, written and read by torch-serialize.

Reading runs no code of the file's: a graph may call operators of the core, the functions that recordings hold as one
call, and arithmetic on sizes, each by its name.
"""

from __future__ import annotations

import json
import os
from typing import Any

import torch
from torch import _pytree as pytree
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.while_loop import while_loop_op
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled
from torch._seams import size_of_text
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from . import _leaves, _rows
from ._core_aten import COMPOSED
from ._guards import Guard
from ._places import plain
from ._tape import Place, bare, describe, fake, hollow
from .exported_program import NUMBERS, ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)

VERSION = 1
HIGHER_ORDER = {f.name(): f for f in (cond_op, while_loop_op, map_impl, scan_op, wrap_with_set_grad_enabled)}
_ARGUMENTS = {c.__name__: c for c in (ConstantArgument, SymIntArgument, TensorArgument)}


# --- writing ---


def save(program: ExportedProgram, f: Any, extra_files: dict | None, options: dict) -> None:
    """See :func:`torch.export.save`."""
    if not isinstance(program, ExportedProgram):
        raise TypeError(f"export.save: expected an ExportedProgram, got {type(program).__name__}")
    if options:
        raise NotImplementedError(f"export.save: {', '.join(options)}")
    call = program.call_spec
    text = {
        "version": VERSION,
        **_graph(program.graph_module),
        "inputs": [_spec(s) | {"persistent": s.persistent} for s in program.graph_signature.input_specs],
        "outputs": [_spec(s) for s in program.graph_signature.output_specs],
        "ranges": program.range_constraints,
        "in_spec": pytree.treespec_dumps(call.in_spec),
        "out_spec": pytree.treespec_dumps(call.out_spec),
        "arguments": call.forward_arg_names,
        "aliases": _aliases(program.state_dict),
        "guards": [[g.text, g.answer] for g in program._guards],
        "calls": [[entry.fqn, _signature(entry.signature)] for entry in program.module_call_graph[1:]],
    }
    tensors = {name: t.detach() for name, t in program.state_dict.items()}
    content = {
        "exported program": json.dumps(text),
        "state_dict": tensors,
        "trained": [name for name, t in program.state_dict.items() if t.requires_grad],
        "constants": {name: t.detach() for name, t in program.constants.items()},
        "extra_files": dict(extra_files or {}),
    }
    torch.save(content, f)


def _signature(call):
    """How a submodule is called, where that is kept."""
    if call is None:
        return None
    specs = {"in_spec": pytree.treespec_dumps(call.in_spec), "out_spec": pytree.treespec_dumps(call.out_spec)}
    return specs | {"inputs": [_argument(a) for a in call.inputs], "outputs": [_argument(a) for a in call.outputs]}


def _argument(argument):
    found = dict(vars(argument))
    if "value" in found:
        found["value"] = _value(found["value"])
    return {"type": type(argument).__name__, **found}


def _graph(module):
    """A graph, with those of functions within."""
    functions = {n.target: _graph(getattr(module, n.target)) for n in module.graph.nodes if n.op == "get_attr"}
    return {"nodes": [_node(n) for n in module.graph.nodes], "functions": functions}


def _aliases(state):
    """Names of one tensor."""
    first: dict[int, str] = {}
    return {name: first[id(t)] for name, t in state.items() if first.setdefault(id(t), name) != name}


def _spec(spec):
    return {"kind": spec.kind.name, "target": spec.target, **_argument(spec.arg)}


def _node(node):
    found = {"op": node.op, "name": node.name, "args": _value(node.args), "kwargs": _value(dict(node.kwargs))}
    if node.op == "call_function":
        found["target"] = _name(node)
    elif node.op != "output":
        found["target"] = node.target
    found |= _seen(node.meta.get("val"), node.meta.get("sizes"))
    for key in ("operator", "arguments", "torch_fn"):
        if key in node.meta:
            found[key] = node.meta[key]
    place = node.meta.get("place")
    if place is not None:
        found["place"] = [place.frames, place.modules]
    return found


def _seen(value, sizes=None):
    """What a result was on the example: a tensor, a number, or several of them."""
    if isinstance(value, (list, tuple)):
        return {"values": [_seen(v) for v in value]}
    if isinstance(value, torch.Tensor):
        under = bare(value)
        sizes = sizes or [s if type(s) is int else str(s) for s in value.shape]
        found = {"val": [str(value.dtype).removeprefix("torch."), list(under.shape), list(sizes), list(under.stride())]}
        return found if value.device.type == "cpu" else {**found, "device": str(value.device)}
    found = {"number": _value(bare(value))}
    return {**found, "formula": str(value)} if isinstance(value, (torch.SymInt, torch.SymFloat)) else found


def _name(node):
    target = node.target
    for kind, table in (("number", NUMBERS), ("function", functions())):
        for name, function in table.items():
            if function is target:
                return [kind, name]
    if isinstance(target, torch._ops.OpOverload):
        if target.namespace != "aten":
            return [target.namespace, f"{target._opname}.{target._overloadname}"]
        name = target.overloadpacket.__name__
        return [target.namespace, f"{name}.{target._overloadname}" if name in COMPOSED else name]
    if isinstance(target, torch._ops.HigherOrderOperator):
        return ["higher_order", target.name()]
    if isinstance(target, torch._ops.OpOverloadPacket):
        return [target._library, target.__name__]
    raise NotImplementedError(f"export.save: {node} calls {target}, which has no name in a file")


def functions() -> dict[str, Any]:
    """Functions that a graph may call beside operators."""
    found = {name: getattr(torch.nn.functional, name) for name in _leaves.FUNCTIONS}
    return {**found, "recurrent": _leaves.recurrent}


def _value(value):
    """Constants of arguments as JSON; what JSON lacks is an object with one key."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return [_value(v) for v in value]
    if isinstance(value, dict):
        return {"dict": {k: _value(v) for k, v in value.items()}}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    raise NotImplementedError(f"export.save: a constant of type {type(value).__name__} has no form in a file")


# --- reading ---


def load(f: Any, extra_files: dict | None, options: dict) -> ExportedProgram:
    """See :func:`torch.export.load`."""
    if options:
        raise NotImplementedError(f"export.load: {', '.join(options)}")
    content = torch.load(f, weights_only=True)
    if not isinstance(content, dict) or not isinstance(content.get("exported program"), str):
        raise RuntimeError(f"export.load: {_named(f)} holds no exported program")
    try:
        return _read(content, extra_files)
    except RecursionError:
        why = "it is nested too deep"
    except NotImplementedError as error:
        raise NotImplementedError(f"export.load: {error} ({_named(f)})") from error
    except (LookupError, TypeError, ValueError, AttributeError, SyntaxError, ArithmeticError, AssertionError) as error:
        why = f"{type(error).__name__}: {error}"
    except RuntimeError as error:
        why = str(error)
    raise RuntimeError(f"export.load: the program in the file is broken ({why}; {_named(f)})")


def _named(f):
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else f"{type(f).__name__} object"


def _read(content, extra_files):
    text = json.loads(content["exported program"])
    if text["version"] != VERSION:
        raise NotImplementedError(f"the file has version {text['version']}, this torch reads {VERSION}")
    graph, nodes, modules = _read_graph(text)
    state, trained = dict(content["state_dict"]), set(content["trained"])
    aliases = text["aliases"]
    parameters = {s["target"] for s in text["inputs"] if s["kind"] == "PARAMETER"}
    parameters |= {first for name, first in aliases.items() if name in parameters}
    for name, tensor in state.items():
        if name in parameters and name not in aliases:
            state[name] = torch.nn.Parameter(tensor, requires_grad=name in trained)
    for name, first in aliases.items():
        if first in aliases:
            raise ValueError(f"{name!r} and {first!r} are said to be one tensor, and are not")
        state[name] = state[first]
    for s in text["inputs"]:
        held = {
            "PARAMETER": state,
            "BUFFER": {**state, **content["constants"]},
            "CONSTANT_TENSOR": content["constants"],
        }
        if s["kind"] in held and s["target"] not in held[s["kind"]]:
            raise ValueError(
                f"input {s['name']!r} is the {s['kind'].lower()} {s['target']!r}, which the file does not hold"
            )
    taken = [n.name for n in graph.nodes if n.op == "placeholder"]
    if (said := [s["name"] for s in text["inputs"]]) != taken:
        raise ValueError(
            f"the graph takes {', '.join(taken)}, and the inputs are said to be {', '.join(map(str, said))}"
        )
    inputs = [
        InputSpec(InputKind[s["kind"]], _read_argument(s, nodes), s["target"], s["persistent"]) for s in text["inputs"]
    ]
    outputs = [OutputSpec(OutputKind[s["kind"]], _read_argument(s, nodes), s["target"]) for s in text["outputs"]]
    call = ModuleCallSignature(
        [], [], pytree.treespec_loads(text["in_spec"]), pytree.treespec_loads(text["out_spec"]), text["arguments"]
    )
    for what, spec, found in (("in", call.in_spec, inputs), ("out", call.out_spec, outputs)):
        leaves = sum(s.kind in (InputKind.USER_INPUT, OutputKind.USER_OUTPUT) for s in found)
        if spec.num_leaves != leaves:
            raise ValueError(f"{what}_spec has {spec.num_leaves} leaves, the program {leaves} {what}puts")
    calls = [ModuleCallEntry(name, _read_signature(call, nodes)) for name, call in text.get("calls", ())]
    if extra_files is not None:
        extra_files.update({k: content["extra_files"][k] for k in extra_files if k in content["extra_files"]})
    ranges = {name: (low, high) for name, (low, high) in text["ranges"].items()}
    signature = ExportGraphSignature(inputs, outputs)
    made = ExportedProgram(
        modules, graph, signature, state, ranges, [ModuleCallEntry("", call), *calls], None, dict(content["constants"])
    )
    made._guards = [Guard(text, bool(answer)) for text, answer in text.get("guards", ())]
    return made


def _read_signature(call, nodes):
    if call is None:
        return None
    inputs, outputs = ([_read_argument(a, nodes) for a in call[which]] for which in ("inputs", "outputs"))
    specs = (pytree.treespec_loads(call[which]) for which in ("in_spec", "out_spec"))
    return ModuleCallSignature(inputs, outputs, *specs)


def _read_graph(text):
    """A graph, its nodes by name, and the graph modules of functions within."""
    graph, nodes = Graph(), {}
    for found in text["nodes"]:
        node = nodes[found["name"]] = _made(graph, found, nodes)
        if node.name != found["name"]:
            raise ValueError(f"two nodes of one name: {found['name']}")
    modules, plain_module = {}, torch.nn.Module()
    for name, inner in text.get("functions", {}).items():
        if not name.isidentifier() or hasattr(plain_module, name):  # such as forward, which it would hide
            raise ValueError(f"a function of the name {name!r}")
        within, _, own = _read_graph(inner)
        modules[name] = GraphModule(own, within)
    graph.lint()
    return graph, nodes, modules


def _read_argument(spec, nodes):
    kind = _ARGUMENTS[spec["type"]]
    if kind is ConstantArgument:
        return ConstantArgument(spec["name"], _read_value(spec["value"], nodes))
    return kind(spec["name"])


def _made(graph, found, nodes):
    args, kwargs = tuple(_read_value(found["args"], nodes)), _read_value(found["kwargs"], nodes)
    op = found["op"]
    if op == "output":
        return graph.output(args[0] if not isinstance(args[0], list) else tuple(args[0]))
    if op == "get_attr":
        node = graph.create_node("get_attr", found["target"], (), {}, found["name"])
    elif op == "placeholder":
        node = graph.create_node("placeholder", found["target"], (), {}, found["name"])
    elif op == "call_function":
        target = _target(*found["target"])
        if "operator" in found and found["target"][0] == "aten" and "." not in found["target"][1]:
            examples = map_arg((args, kwargs), lambda n: bare(n.meta["val"]))
            target = _rows.overload(found["operator"], tuple(found["arguments"]), *examples)
        node = graph.create_node("call_function", target, args, kwargs, found["name"])
    else:
        raise ValueError(f"a node that is {op!r}")
    if "val" in found:
        describe(node, *_read_tensor(found))
    elif "values" in found or "number" in found:
        node.meta["val"] = _read_seen(found, nodes)
    if "torch_fn" in found:
        node.meta["torch_fn"] = tuple(map(str, found["torch_fn"]))
    if "operator" in found:
        node.meta["operator"], node.meta["arguments"] = found["operator"], tuple(found["arguments"])
    if "place" in found:
        frames, modules = found["place"]
        place = Place(tuple(map(tuple, frames)), tuple(map(tuple, modules)))
        node.meta.update(
            place=place, stack_trace=place.trace(), nn_module_stack={p: (plain(p), k) for p, k in place.modules}
        )
    return node


def _read_tensor(found):
    dtype, shape, sizes, *strides = found["val"]  # files of 0.1.0 have no strides
    tensor = hollow(shape, strides[0] if strides else None, _of_torch(dtype, torch.dtype))
    return tensor, sizes, torch.device(found.get("device", "cpu"))


def _read_seen(found, nodes):
    if "values" in found:
        return [_read_seen(each, nodes) for each in found["values"]]
    if "val" in found:
        return fake(*_read_tensor(found))
    number = _read_value(found["number"], nodes)
    return size_of_text(found["formula"], number) if "formula" in found and type(number) is int else number


def _target(library, name):
    if library == "number":
        return NUMBERS[name]
    if library == "function":
        return functions()[name]
    if library == "higher_order":
        return HIGHER_ORDER[name]
    if library != "aten":
        found = torch.ops
        for part in (library, *name.split(".")):
            found = getattr(found, part, None)
        if not isinstance(found, (torch._ops.OpOverloadPacket, torch._ops.OpOverload)):  # not what torch.ops itself has
            raise ValueError(
                f"the program calls {library}::{name}, which torch.library does not know here: register it first"
            )
        return found
    composed, _, overload = name.partition(".")
    if composed in COMPOSED and overload in ("default", "input", "vec"):
        return getattr(getattr(torch.ops.aten, composed), overload)
    if name not in _NO_ROWS and name not in _rows.schemas():
        raise ValueError(f"operator aten.{name} is not part of this stack")
    packet = getattr(torch.ops.aten, name)
    return packet.int if name == "sym_size" else packet.default


#: calls of graphs that are no rows of the core
_NO_ROWS = {"sym_size", "item", "_assert_scalar"}


def _of_torch(name, *kinds):
    found = getattr(torch, name) if name.isidentifier() else None
    if not isinstance(found, kinds):
        raise ValueError(f"torch.{name} is no {' or '.join(k.__name__ for k in kinds)}")
    return found


def _read_value(value, nodes):
    if isinstance(value, list):
        return [_read_value(v, nodes) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "node":
        return nodes[inside]
    if kind == "dict":
        return {k: _read_value(v, nodes) for k, v in inside.items()}
    if kind == "float":
        return float.fromhex(inside)
    if kind == "complex":
        return complex(*map(float.fromhex, inside))
    if kind == "torch":
        return _of_torch(inside, torch.dtype, torch.layout, torch.memory_format)
    if kind == "device":
        return torch.device(inside)
    raise ValueError(f"a constant that is {kind!r}")
