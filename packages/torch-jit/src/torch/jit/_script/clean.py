"""Takes out of a graph unused values: those that the compiler made on its way and did not need."""

from __future__ import annotations

__all__ = ["clean"]

_PURE = frozenset(
    f"prim::{each}"
    for each in (
        "Constant", "TupleConstruct", "ListConstruct", "DictConstruct", "TupleIndex", "TupleUnpack", "GetAttr",
        "unchecked_cast", "Uninitialized", "isinstance", "TupleSlice",
    )
)  # fmt: skip


def clean(graph):
    """Remove nodes without effect whose results have no use."""
    while _clean(graph.block()):
        pass


def _clean(block):
    changed = False
    for node in reversed(list(block.nodes())):
        if node.kind() == "prim::If":
            changed |= _narrow(node)
        for inner in node.blocks():
            changed |= _clean(inner)
        if not any(each.uses() for each in node.outputs()) and _is_pure(node):
            node.destroy()
            changed = True
    return changed


def _narrow(node):
    """Drop the outputs of an ``if`` that have no use."""
    outputs, changed = list(node.outputs()), False
    for i in range(len(outputs) - 1, -1, -1):
        if not outputs[i].uses():
            node.eraseOutput(i)
            for inner in node.blocks():
                inner.eraseOutput(i)
            changed = True
    return changed


def _is_pure(node):
    kind = node.kind()
    if kind in _PURE:
        return True
    if kind == "prim::If":
        return all(_is_pure(each) for inner in node.blocks() for each in inner.nodes())
    return (
        kind.startswith("aten::")
        and node.schema() != "(no schema)"
        and not (node.hasEffects() or node.isNondeterministic())
    )
