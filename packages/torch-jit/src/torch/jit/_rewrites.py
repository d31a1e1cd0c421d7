"""Passes that put simpler instructions in the place of others, under the names that ``torch._C`` has for them. They work in
place, and keep what a graph computes.
"""

from __future__ import annotations

from typing import Any

from . import _ir as ir
from . import _native

#: loops of more turns stay loops
_MOST_TURNS = 8


def _nodes(block: Any) -> Any:
    """The nodes of a block and of the blocks within it, the inner ones first; a node may go while they are listed."""
    for node in list(block.nodes()):
        for inner in node.blocks():
            yield from _nodes(inner)
        yield node


def _replace(node: Any, value: Any) -> bool:
    node.output().replaceAllUsesWith(value)
    node.destroy()
    return True


def _constant(node: Any, value: Any) -> bool:
    with node.owningGraph().insert_point_guard(node):
        made = node.owningGraph().insertConstant(value)
    return _replace(node, made)


# --- peephole ---


def peephole(graph: Any, disable_shape_peepholes: bool = False) -> bool:
    """Remove what leaves its argument as it is, and answer what the types of a graph tell. Whether anything changed.

    >>> graph = torch._C.parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::t(%x)\\n  %z : Tensor = aten::t(%y)\\n  return (%z)")
    >>> torch._C._jit_pass_peephole(graph), [node.kind() for node in graph.nodes()]
    (True, [])
    """
    changed = False
    again = True
    while again:
        again = any(_simplified(node, not disable_shape_peepholes) for node in _nodes(graph.block()))
        changed = changed or again
    _native.eliminate_dead_code(graph)
    return changed


def _simplified(node: Any, by_shapes: bool) -> bool:
    rule = _RULES.get(node.kind())
    return rule is not None and node.outputsSize() == 1 and bool(rule(node, by_shapes))


def _twice_transposed(node, by_shapes):
    above = node.input(0).node()
    if above.kind() != node.kind() or node.owningBlock() != above.owningBlock():
        return False
    at = [tuple(each.toIValue() for each in list(n.inputs())[1:]) for n in (above, node)]
    if None in (*at[0], *at[1]) or set(at[0]) != set(at[1]):
        return False
    return _replace(node, above.input(0))


def _neutral(number):
    """``x + 0``, ``x * 1``: the argument, where the result has its type."""

    def rule(node, by_shapes):
        x, other = node.input(0), node.input(1)
        if not by_shapes or not other.isConstant() or isinstance(other.toIValue(), bool) or other.toIValue() != number:
            return False
        a, b = x.type(), node.output().type()
        known = x.isCompleteTensor() and node.output().isCompleteTensor()
        return known and (a.sizes(), a.dtype()) == (b.sizes(), b.dtype()) and _replace(node, x)

    return rule


def _is_none(answer):
    """``x is None`` of what cannot be it, or is."""

    def rule(node, by_shapes):
        a, b = (node.input(i).type().kind() for i in (0, 1))
        if "NoneType" not in (a, b):
            return False
        other = b if a == "NoneType" else a
        if other in ("OptionalType", "AnyType", "UnionType"):
            return False
        return _constant(node, (other == "NoneType") is answer)

    return rule


def _of_type(ask):
    """What the type of a tensor tells."""

    def rule(node, by_shapes):
        type = node.input(0).type()
        found = ask(type) if by_shapes and type.kind() == "TensorType" else None
        return found is not None and _constant(node, found)

    return rule


def _size(node, by_shapes):
    type = node.input(0).type()
    if not by_shapes or type.kind() != "TensorType" or not type.sizes() or None in type.sizes():
        return False
    if node.inputsSize() == 1:
        return _constant(node, list(type.sizes()))
    at = node.input(1).toIValue()
    return at is not None and -len(type.sizes()) <= at < len(type.sizes()) and _constant(node, type.sizes()[at])


def _number_of_number(node, by_shapes):
    above = node.input(0).node()
    if above.kind() != "prim::NumToTensor" or above.input(0).type() != node.output().type():
        return False
    return _replace(node, above.input(0))


def _expanded(node, by_shapes):
    type = node.input(0).type()
    sizes = node.input(1).toIValue()
    if not by_shapes or sizes is None or type.kind() != "TensorType" or list(type.sizes() or ()) != list(sizes):
        return False
    return bool(sizes) and None not in sizes and _replace(node, node.input(0))


def _unwrapped(node, by_shapes):
    given = node.input(0)
    return given.type().kind() not in ("OptionalType", "AnyType", "UnionType") and _replace(node, given)


def _floating(type):
    return None if type.dtype() is None else type.dtype().is_floating_point


_RULES = {
    "aten::t": _twice_transposed, "aten::transpose": _twice_transposed,
    "aten::add": _neutral(0), "aten::sub": _neutral(0), "aten::mul": _neutral(1), "aten::div": _neutral(1),
    "aten::__is__": _is_none(True), "aten::__isnot__": _is_none(False),
    "aten::dim": _of_type(lambda t: t.dim()), "aten::is_floating_point": _of_type(_floating),
    "prim::device": _of_type(lambda t: t.device()), "aten::size": _size, "aten::expand": _expanded,
    "aten::Int": _number_of_number, "aten::Float": _number_of_number,
    "prim::unchecked_unwrap_optional": _unwrapped, "aten::_unwrap_optional": _unwrapped,
}  # fmt: skip


# --- loops ---


def unroll_loops(graph: Any) -> bool:
    """Put the turns of a loop after one another where there are few, and their number is a constant. Whether any was."""
    changed = False
    for node in _nodes(graph.block()):
        if node.kind() == "prim::Loop":
            turns, goes_on = node.input(0).toIValue(), node.input(1).toIValue()
            body = next(iter(node.blocks()))
            next_goes_on = list(body.outputs())[0].toIValue()
            if turns is not None and turns <= _MOST_TURNS and goes_on is True and next_goes_on is True:
                _unrolled(graph, node, body, turns)
                changed = True
    _native.eliminate_dead_code(graph)
    return changed


def _unrolled(graph, loop, body, turns):
    carried = list(loop.inputs())[2:]
    for turn in range(turns):
        with graph.insert_point_guard(loop):
            values = {body.inputs()[0].unique(): graph.insertConstant(turn)}
            values.update((v.unique(), given) for v, given in zip(list(body.inputs())[1:], carried))
            for node in body.nodes():
                clone = graph.createClone(node, lambda v, values=values: values.get(v.unique(), v))
                graph.insertNode(clone)
                values.update((v.unique(), made) for v, made in zip(node.outputs(), clone.outputs()))
        carried = [values.get(v.unique(), v) for v in list(body.outputs())[1:]]
    for output, value in zip(list(loop.outputs()), carried):
        output.replaceAllUsesWith(value)
    loop.destroy()


# --- operators ---


def decompose(graph: Any) -> None:
    """``addmm`` and ``linear`` as a product and a sum."""
    for node in _nodes(graph.block()):
        if node.kind() not in ("aten::addmm", "aten::linear"):
            continue
        with graph.insert_point_guard(node):
            if node.kind() == "aten::addmm":
                added, a, b, beta, alpha = list(node.inputs())[:5]
                made = graph.call("mm", [a, b])
                scaled = made if alpha.toIValue() == 1 else graph.call("mul", [made, alpha])
                added = added if beta.toIValue() == 1 else graph.call("mul", [added, beta])
                made = graph.call("add", [added, scaled])
            else:
                x, weight, bias = node.inputs()
                if bias.type().kind() == "OptionalType":
                    continue
                made = graph.call("matmul", [x, graph.call("t", [weight])])
                made = made if bias.type().kind() == "NoneType" else graph.call("add", [made, bias])
        made.setType(node.output().type())
        _replace(node, made)


def fuse_addmm(graph: Any) -> None:
    """A product of matrices that is added to something as one ``addmm``."""
    for node in _nodes(graph.block()):
        if node.kind() != "aten::add" or node.input(2).toIValue() != 1:
            continue
        for at in (0, 1):
            product = node.input(at).node()
            if product.kind() == "aten::mm" and len(product.output().uses()) == 1:
                with graph.insert_point_guard(node):
                    made = graph.call("addmm", [node.input(1 - at), product.input(0), product.input(1)])
                made.setType(node.output().type())
                _replace(node, made)
                product.destroy()
                break


def remove_expands(graph: Any) -> None:
    """Leave broadcasting to the operators."""
    for node in _nodes(graph.block()):
        if node.kind() == "aten::expand":
            _replace(node, node.input(0))


def remove_mutation(graph: Any, inputs: bool = False) -> bool:
    """A new tensor in place of each change of one that the same block has made, and that nothing else refers to; with ``inputs``
    also of the inputs of the graph, which its caller then finds as they were. Whether any was.
    """
    changed = False
    for node in _nodes(graph.block()):
        plain = node.kind()[:-1]
        if not (node.kind().endswith("_") and node.kind().startswith("aten::") and ir.signatures(plain)):
            continue
        target = node.input(0)
        if _is_own(node, target, inputs):
            made = _without_writing(graph, node, plain)
            if made is None:
                continue
            later = [use for use in target.uses() if use.user != node]
            node.output().replaceAllUsesWith(made)
            for use in later:
                if _follows(use.user, node):
                    use.user.replaceInput(use.offset, made)
            node.destroy()
            changed = True
    return changed


def _without_writing(graph, node, plain):
    """The result as a new tensor of the dtype of what is changed; None where there is no operator that gives it."""
    new = graph.create(plain, list(node.inputs()))
    new.insertBefore(node)
    new.output().setType(ir.TensorType.get())
    if new.schema() in (None, "", "(no schema)"):
        new.destroy()
        return None
    with graph.insert_point_guard(node):
        made = graph.call("to", [new.output(), node.input(0)])
    made.setType(node.output().type())
    return made


def _is_own(node, target, inputs=False):
    """Whether a value is a new tensor of the node's block that only operators read, none of which gives a view of it."""
    made = target.node()
    if made.kind() == "aten::to" and len(made.input(0).uses()) == 1:
        made = made.input(0).node()
    if made.owningBlock() != node.owningBlock():
        return False
    given = inputs and made.kind() == "prim::Param"
    if not given and (not made.kind().startswith("aten::") or made.kind().endswith("_") or _gives_alias(made)):
        return False
    return all(use.user == node or _only_reads(use, node.owningBlock()) for use in target.uses())


def _only_reads(use, block):
    """Whether a use reads a tensor, or changes it and gives it to nobody."""
    user = use.user
    if user == block.returnNode():
        return True
    if not user.kind().startswith("aten::") or user.owningBlock() != block:
        return False
    if user.kind().endswith("_") and use.offset == 0:
        return not user.output().uses()
    return not _gives_alias(user)


def _gives_alias(node):
    """Whether a result may be an argument or a view of one, or an argument is written to."""
    schema = node.schema() or ""
    return "(a" in schema or node.kind() in (
        "aten::to",
        "aten::reshape",
        "aten::contiguous",
        "aten::flatten",
        "aten::expand_as",
    )


def _follows(user, node):
    if user == node.owningBlock().returnNode():
        return True
    at = node.next()
    while at is not None and at != node.owningBlock().returnNode():
        if at == user:
            return True
        at = at.next()
    return False


# --- types ---


def erase_shapes(graph: Any) -> None:
    """Leave of each tensor's type that it is a tensor."""

    def visit(block):
        for value in block.inputs():
            _erase(value)
        for node in block.nodes():
            for value in node.outputs():
                _erase(value)
            for inner in node.blocks():
                visit(inner)

    visit(graph.block())


def _erase(value):
    if value.type().kind() == "TensorType":
        value.setType(ir.TensorType.get())


def inline_fork_wait(graph: Any) -> None:
    """Compute what is forked where it is forked; a future that is not waited for in the same graph stays one.

    >>> @torch.jit.script
    ... def f(x):
    ...     return torch.jit.wait(torch.jit.fork(torch.relu, x))
    >>> torch._C._jit_pass_inline_fork_wait(f.graph)
    >>> [node.kind() for node in f.graph.nodes()]
    ['aten::relu']
    """
    for node in _nodes(graph.block()):
        uses = node.output().uses() if node.kind() == "prim::fork" else []
        if not uses or not node.hasAttribute("Subgraph") or any(use.user.kind() != "aten::wait" for use in uses):
            continue
        with graph.insert_point_guard(node):
            results = graph.inlineCall(node.g("Subgraph"), list(node.inputs()))
        for use in list(uses):
            _replace(use.user, results[0])
        node.destroy()


def canonicalize_for_fuser(graph: Any) -> None:
    """Plans group operators in the form that they have: a graph stays as it is."""


FACES = {
    "_jit_pass_canonicalize_graph_fuser_ops": canonicalize_for_fuser,
    "_jit_pass_inline_fork_wait": inline_fork_wait,
    "_jit_pass_constant_loop_unrolling": unroll_loops,
    "_jit_pass_constant_propagation_immutable_types": _native.fold_constants,
    "_jit_pass_decompose_ops": decompose,
    "_jit_pass_erase_shape_information": erase_shapes,
    "_jit_pass_fuse_addmm": fuse_addmm,
    "_jit_pass_loop_unrolling": unroll_loops,
    "_jit_pass_peephole": peephole,
    "_jit_pass_remove_expands": remove_expands,
    "_jit_pass_remove_mutation": remove_mutation,
}
