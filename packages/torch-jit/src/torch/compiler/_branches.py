"""``torch.cond`` and ``torch.while_loop`` in a program. Both branches are followed, each into a block of the graph, and the call
goes on with what the one that is taken gives; a turn of a loop is followed once, and the call goes on with what its last one gives.
"""

from __future__ import annotations

import sys

import torch
from torch import _pytree as pytree
from torch.jit import _ir as ir

from ._opaque import unwatched


def cond(observer, args, kwargs):
    """``torch.cond(pred, true_fn, false_fn, operands)`` where ``pred`` is a tensor."""
    pred, true_fn, false_fn, operands = _given(*args, **kwargs)
    if not isinstance(pred, torch.Tensor):
        return observer.apply(true_fn if observer.truth(pred) else false_fn, *operands)
    if observer.takes_sizes or pred.numel() != 1 or not observer.tracer.has_value(pred):
        observer.stop("torch.cond goes by a value that is not recorded")
        return torch.cond(*args, **kwargs)
    taken = _value(pred)
    graph = observer.graph
    asked = graph.call("Bool", [observer.tracer.value_of(pred)])
    node = graph.create("prim::If", [asked], 0)
    graph.insertNode(node)
    found = {}
    for choice, function in ((True, true_fn), (False, false_fn)):
        block, before = node.addBlock(), graph.insertPoint()
        graph.setInsertPoint(block)
        observer.blocks += 1
        try:
            found[choice] = _followed(observer, function, operands, choice is taken)
        finally:
            observer.blocks -= 1
            graph.setInsertPoint(before)
        if observer.reason is not None:
            return found[choice] if choice is taken else (true_fn if taken else false_fn)(*operands)
    return _joined(observer, node, found, taken)


def _given(pred, true_fn, false_fn, operands=()):
    return pred, true_fn, false_fn, operands


def _value(pred):
    from ._special import unwatched

    recording = ir._native.Recording(None)
    try:
        return unwatched("__bool__")(pred)
    finally:
        recording.end()


def _followed(observer, function, operands, taken):
    """What a branch gives. The one that is not taken has operands and random numbers of its own."""
    if taken:
        return observer.apply(function, *operands)
    leaves, spec = pytree.tree_flatten(operands)
    values = [observer.tracer.value_of(t) if isinstance(t, torch.Tensor) else None for t in leaves]
    with _NumbersOfItsOwn():
        return observer.apply(function, *pytree.tree_unflatten(_twins(observer, leaves, values), spec))


class _NumbersOfItsOwn:
    """A block whose random numbers are drawn again behind it."""

    def __enter__(self):
        recording = ir._native.Recording(None)
        self.state = torch.get_rng_state()
        recording.end()

    def __exit__(self, *error):
        recording = ir._native.Recording(None)
        torch.set_rng_state(self.state)
        recording.end()


def _twins(observer, leaves, values):
    """Copies of tensors, for a block in which they are these values."""
    recording = ir._native.Recording(None)
    twins = [t.detach().clone() if isinstance(t, torch.Tensor) else t for t in leaves]
    for twin, leaf in zip(twins, leaves):
        if isinstance(leaf, torch.Tensor):
            twin.requires_grad = leaf.requires_grad
    recording.end()
    for twin, value in zip(twins, values):
        if isinstance(twin, torch.Tensor):
            _stands_for(observer, twin, value)
    return twins


def _stands_for(observer, tensor, value):
    observer.kept.append(tensor)
    observer.tensors.add(id(tensor))
    observer.tracer.set_value(tensor, value)


def _joined(observer, node, found, taken):
    """The results of both branches as those of the node; what the branches give has to be alike."""
    trees = {choice: pytree.tree_flatten(result) for choice, result in found.items()}
    (leaves, spec), (others, other_spec) = trees[taken], trees[not taken]
    alike = spec == other_spec and all(map(_alike, leaves, others))
    effects = any(n.hasEffects() for block in node.blocks() for n in block.nodes())
    if not alike or effects:
        observer.stop(
            "the branches of torch.cond write" if effects else "the branches of torch.cond give results that differ"
        )
        return found[taken]
    blocks = dict(zip((True, False), node.blocks()))
    for mine, other in zip(leaves, others):
        if not isinstance(mine, torch.Tensor):
            continue
        for choice, tensor in ((taken, mine), (not taken, other)):
            blocks[choice].registerOutput(observer.tracer.value_of(tensor))
    return pytree.tree_unflatten(_outputs(observer, node, leaves), spec)


def _outputs(observer, node, leaves):
    """Results of a node, which may be its operands, as tensors of its own."""
    results = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            recording = ir._native.Recording(None)
            leaf = leaf.view_as(leaf)
            recording.end()
            out = node.addOutput()
            out.setType(ir.TensorType.get())
            _stands_for(observer, leaf, out)
        results.append(leaf)
    return results


def _alike(mine, other):
    if isinstance(mine, torch.Tensor) and isinstance(other, torch.Tensor):
        return mine.shape == other.shape and mine.dtype == other.dtype
    return type(mine) is type(other) and mine == other


# --- loops ---


def while_loop(observer, args, kwargs):
    """``torch.while_loop(cond_fn, body_fn, carried, more)``; as it is written where the condition is no tensor."""
    asked, turn, carried, more = _given_loop(*args, **kwargs)
    leaves, spec = pytree.tree_flatten(tuple(carried))
    found = observer.apply(asked, *carried, *more)
    if not isinstance(found, torch.Tensor):
        while observer.truth(found):
            carried = observer.apply(turn, *carried, *more)
            found = observer.apply(asked, *carried, *more)
        return tuple(carried)
    why = _what_a_loop_lacks(observer, found, leaves)
    if why is None:
        node = _loop(observer, found, leaves)
        why = _followed_turn(observer, node, asked, turn, leaves, spec, more)
    if observer.reason is None and why is not None:
        observer.stop(f"torch.while_loop {why}")
    if observer.reason is not None:
        return torch.while_loop(*args, **kwargs)

    def run():
        return torch.while_loop(*args, **kwargs)

    results = pytree.tree_leaves(unwatched(observer, run))
    return pytree.tree_unflatten(_outputs(observer, node, results), spec)


def _given_loop(cond_fn, body_fn, carried_inputs, additional_inputs=()):
    return cond_fn, body_fn, carried_inputs, additional_inputs


def _what_a_loop_lacks(observer, found, leaves):
    if observer.takes_sizes or found.numel() != 1 or not observer.tracer.has_value(found):
        return "goes by a value that is not recorded"
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        return "carries what is no tensor"
    return None


def _loop(observer, found, leaves):
    """The node, with what its first turn begins with."""
    graph, tracer = observer.graph, observer.tracer
    values = [tracer.value_of(leaf) for leaf in leaves]
    first = [graph.insertConstant(sys.maxsize), graph.call("Bool", [tracer.value_of(found)])]
    node = graph.create("prim::Loop", [*first, *values], 0)
    graph.insertNode(node)
    return node


def _followed_turn(observer, node, asked, turn, leaves, spec, more):
    """Follow a turn into the block of the node; why it cannot be one."""
    graph, tracer = observer.graph, observer.tracer
    block, before = node.addBlock(), graph.insertPoint()
    block.addInputToBlock().setType(ir.IntType.get())
    values = [block.addInputToBlock() for _ in leaves]
    for value in values:
        value.setType(ir.TensorType.get())
    graph.setInsertPoint(block)
    observer.blocks += 1
    try:
        with _NumbersOfItsOwn():
            given = pytree.tree_unflatten(_twins(observer, leaves, values), spec)
            made = observer.apply(turn, *given, *more)
            found = observer.apply(asked, *made, *more)
            if observer.reason is not None:
                return None
            others, other_spec = pytree.tree_flatten(tuple(made))
            if other_spec != spec or not all(map(_alike, leaves, others)):
                return "carries what changes its form"
            if not isinstance(found, torch.Tensor) or not tracer.has_value(found):
                return "goes by a value that is not recorded"
            block.registerOutput(graph.call("Bool", [tracer.value_of(found)]))
            for other in others:
                block.registerOutput(tracer.value_of(other))
    finally:
        observer.blocks -= 1
        graph.setInsertPoint(before)
    return "writes" if any(n.hasEffects() for n in block.nodes()) else None
