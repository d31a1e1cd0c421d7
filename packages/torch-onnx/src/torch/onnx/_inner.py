"""The graphs within If, Loop and Scan: what they take from outside, and whether their counts fit the node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._reading import control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import nn

KINDS = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}


def where(node: Any) -> str:
    """A node as errors name it."""
    return f"{node.op_type} {node.name or ', '.join(node.output)!r}"


def graphs(node: Any) -> dict[str, Any]:
    """The graphs of If, Loop and Scan by the attribute's name; RuntimeError when one is absent."""
    found = {a.name: a.g for a in node.attribute if a.HasField("g")}
    later = {a.name for a in node.attribute if a.ref_attr_name}  # in a function: the caller gives it
    for name in KINDS.get(node.op_type, ()):
        if name not in found and name not in later:
            raise RuntimeError(f"onnx.load: {where(node)} has no graph {name!r}")
    return found


def nodes(graph: Any) -> Iterator[Any]:
    """All nodes of a graph and of the graphs within it."""
    for node in graph.node:
        yield node
        for inner in graphs(node).values():
            yield from nodes(inner)


def taken(graph: Any) -> list[str]:
    """Names that a graph uses and does not give itself, in the order of their use."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    found: dict[str, None] = {}
    for node in graph.node:
        used = [*node.input, *(name for inner in graphs(node).values() for name in taken(inner))]
        found |= dict.fromkeys(name for name in used if name and name not in own)
        own |= set(node.output)
    found |= dict.fromkeys(o.name for o in graph.output if o.name not in own)
    return list(found)


def module(node: Any, body: Callable[[Any], nn.Module]) -> nn.Module:
    """The module for a node; `body` makes the module of a graph."""
    found = graphs(node)
    return {"If": _if, "Loop": _loop, "Scan": _scan}[node.op_type](node, found, body)


def _fits(node, what, got, wanted, why):
    if got != wanted:
        raise RuntimeError(f"onnx.load: {where(node)}: {what} {got}, expected {wanted} ({why})")


def _outputs(node, count):
    if len(node.output) > count:
        raise RuntimeError(f"onnx.load: {where(node)} has {len(node.output)} outputs, and its graph gives {count}")


def _if(node, found, body):
    _fits(node, "number of inputs", len(node.input), 1, "the condition")
    for name in KINDS["If"]:
        graph = found[name]
        _fits(node, f"number of inputs of {name}", len(graph.input), 0, "a branch takes its values from outside")
        _fits(node, f"number of outputs of {name}", len(graph.output), len(node.output), "the outputs of the node")
    return control.If(where(node), *(body(found[name]) for name in KINDS["If"]))


def _loop(node, found, body):
    graph, carried = found["body"], len(node.input) - 2
    if carried < 0:
        raise RuntimeError(f"onnx.load: {where(node)} has {len(node.input)} inputs, expected a count and a condition")
    _fits(node, "number of inputs of body", len(graph.input), 2 + carried, "turn, condition, and what is carried")
    if len(graph.output) < 1 + carried:
        raise RuntimeError(
            f"onnx.load: {where(node)}: body has {len(graph.output)} outputs, expected at least {1 + carried} "
            "(condition, and what is carried)"
        )
    _outputs(node, len(graph.output) - 1)
    stacked = [control.stacked(value) for value in graph.output[1 + carried :]]
    return control.Loop(where(node), body(graph), carried, stacked)


def _scan(node, found, body):
    graph = found["body"]
    options = {a.name: list(a.ints) for a in node.attribute if a.ints}
    if "directions" in options or "" in node.input:
        raise NotImplementedError(f"onnx.load: {where(node)} of opset 8, with batches and lengths")
    scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
    if not 1 <= scanned <= len(node.input):
        raise RuntimeError(f"onnx.load: {where(node)}: num_scan_inputs is {scanned}, of {len(node.input)} inputs")
    carried = len(node.input) - scanned
    _fits(node, "number of inputs of body", len(graph.input), len(node.input), "the inputs of the node")
    if len(graph.output) < carried:
        raise RuntimeError(
            f"onnx.load: {where(node)}: body has {len(graph.output)} outputs, expected at least {carried} (what is carried)"
        )
    _outputs(node, len(graph.output))

    def along(name, count):
        values = options.get(name, [0] * count)
        _fits(node, f"length of {name}", len(values), count, "one for each")
        return values

    entries = graph.output[carried:]
    inputs = zip(
        node.input[carried:], along("scan_input_axes", scanned), along("scan_input_directions", scanned), strict=True
    )
    outputs = zip(
        entries, along("scan_output_axes", len(entries)), along("scan_output_directions", len(entries)), strict=True
    )
    return control.Scan(
        where(node),
        body(graph),
        carried,
        [(name, axis, bool(way)) for name, axis, way in inputs],
        [control.stacked(value, axis, bool(way)) for value, axis, way in outputs],
    )
