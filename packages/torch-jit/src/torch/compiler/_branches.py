"""``torch.cond`` in a program: both branches are followed, each into a block of the graph, and the call goes on with what the one
that is taken gives.
"""

from __future__ import annotations

import torch
from torch import _pytree as pytree
from torch.jit import _ir as ir


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
        try:
            found[choice] = _followed(observer, function, operands, choice is taken)
        finally:
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
    recording = ir._native.Recording(None)
    state = torch.get_rng_state()
    leaves, spec = pytree.tree_flatten(operands)
    twins = [t.detach().clone() if isinstance(t, torch.Tensor) else t for t in leaves]
    for twin, leaf in zip(twins, leaves):
        if isinstance(leaf, torch.Tensor):
            twin.requires_grad = leaf.requires_grad
    recording.end()
    for twin, leaf in zip(twins, leaves):
        if isinstance(twin, torch.Tensor):
            observer.kept.append(twin)
            observer.tensors.add(id(twin))
            observer.tracer.set_value(twin, observer.tracer.value_of(leaf))
    try:
        return observer.apply(function, *pytree.tree_unflatten(twins, spec))
    finally:
        recording = ir._native.Recording(None)
        torch.set_rng_state(state)
        recording.end()


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
    results = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            recording = ir._native.Recording(None)
            leaf = leaf.view_as(leaf)  # the node's, where the branch gives an operand
            recording.end()
            out = node.addOutput()
            out.setType(ir.TensorType.get())
            observer.tracer.set_value(leaf, out)
            observer.tensors.add(id(leaf))
            observer.kept.append(leaf)
        results.append(leaf)
    return pytree.tree_unflatten(results, spec)


def _alike(mine, other):
    if isinstance(mine, torch.Tensor) and isinstance(other, torch.Tensor):
        return mine.shape == other.shape and mine.dtype == other.dtype
    return type(mine) is type(other) and mine == other
