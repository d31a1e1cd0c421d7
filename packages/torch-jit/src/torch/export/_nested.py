"""Calls that take functions, ``torch.cond`` and loops: each function is recorded on a tape of its own, the call is one operator.

What a function reads of the program around it, tensors and numbers that follow sizes, becomes an operand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import _pytree as pytree
from torch._higher_order_ops import cond, map, scan, while_loop

from ._errors import UserErrorType
from ._tape import Ref, Tape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._recorder import Recorder


@dataclass
class Nested:
    """A function within a program: its tape, and what stands for its operands there.

    ``taken`` has the numbers of the operands on its tape, None where it does not look at one; ``rules`` what numbers it takes of
    the program around it, behind them: (number here, rule there). ``varying`` are the sizes of its values in each run.
    """

    word: str
    tape: Tape
    taken: list[int | None]
    rules: list[Any] = field(default_factory=list)
    varying: list[dict] = field(default_factory=list)


def call(recorder: Recorder, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Record a call of one of these functions, and give what it does."""
    return HANDLERS[function](recorder, *args, **kwargs)


def _within(recorder, parts, words):
    """Functions, each with its own operands: (what they give, their records, the further operands that all take).

    ``parts`` are (function, operands): leaves that are tensors come first among the operands of a record.
    """
    found, results, lifted = [], [], []
    for function, operands in parts:
        child = recorder.nested(lifted)
        leaves, spec = pytree.tree_flatten(operands)
        own = [child.operand(i, leaf) for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        with child.recording_within():
            result = function(*pytree.tree_unflatten(leaves, spec))
        child.finish(result)
        for leaf in child.tape.outputs:
            if not isinstance(leaf, Ref):
                raise recorder.refuse(
                    f"calls {words[0].split('_')[0]} with a function that gives {leaf!r}, and no tensor"
                )
        found.append((child, own))
        results.append(result)
    nested = [
        Nested(word, child.tape, [*own, *(child.lifted_as(ref) for ref in lifted)])
        for word, (child, own) in zip(words, found, strict=True)
    ]
    return results, nested, lifted


def _cond(recorder, pred, true_fn, false_fn, operands=()):
    if not isinstance(pred, torch.Tensor):
        condition = pred if not hasattr(pred, "holds") else None
        if condition is None:
            raise recorder.refuse("calls torch.cond by a number of a tensor: give it a tensor")
        return recorder.again(true_fn if condition else false_fn, operands)
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: operands must be a tuple or list, got {type(operands).__name__}")
    if pred.dtype != torch.bool or pred.numel() != 1:
        raise RuntimeError(
            f"cond: pred must be a bool tensor of one element, got {pred.dtype} of shape {tuple(pred.shape)}"
        )
    asked = Ref(recorder.number(pred))
    taken = recorder.plainly(pred)
    tensors = [Ref(recorder.number(x)) for x in pytree.tree_leaves(operands) if isinstance(x, torch.Tensor)]
    results, nested, lifted = _within(
        recorder, [(true_fn, tuple(operands)), (false_fn, tuple(operands))], ["true_graph", "false_graph"]
    )
    (leaves, spec), (others, other_spec) = map_flat(results)
    if spec != other_spec or any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(leaves, others, strict=True)):
        raise recorder.refuse(
            f"calls torch.cond with branches that give unlike results: {_said(results[0])} and {_said(results[1])}"
        )
    arguments = {"pred": asked, "true_graph": nested[0], "false_graph": nested[1], "operands": [*tensors, *lifted]}
    chosen = [leaf.clone() for leaf in (leaves if taken else others)]
    recorder.higher_order("cond", arguments, chosen)
    return pytree.tree_unflatten(chosen, spec)


def map_flat(results):
    """Each result taken apart."""
    return [pytree.tree_flatten(result) for result in results]


def _said(result):
    shapes = [f"{x.dtype} of shape {tuple(x.shape)}" for x in pytree.tree_leaves(result)]
    return ", ".join(shapes) or "nothing"


def _while_loop(recorder, cond_fn, body_fn, carried_inputs, additional_inputs=()):
    carried = tuple(carried_inputs)
    leaves, spec = pytree.tree_flatten(carried)
    more = tuple(additional_inputs)
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        raise recorder.refuse("calls while_loop with numbers that are carried: make them tensors (torch.tensor)")
    own, extra = [Ref(recorder.number(x)) for x in leaves], [Ref(recorder.number(x)) for x in pytree.tree_leaves(more)]
    start = pytree.tree_unflatten([x.clone() for x in leaves], spec)
    result = recorder.apart(lambda: while_loop(cond_fn, body_fn, start, more))
    copies = (*pytree.tree_unflatten([x.clone() for x in leaves], spec), *more)
    results, nested, lifted = _within(
        recorder, [(cond_fn, copies), (body_fn, copies)], ["while_loop_cond_graph", "while_loop_body_graph"]
    )
    arguments = {"cond_graph": nested[0], "body_graph": nested[1], "carried": own, "additional": [*extra, *lifted]}
    given, form = pytree.tree_flatten(result)
    given = [leaf.clone() for leaf in given]
    recorder.higher_order("while_loop", arguments, given)
    return pytree.tree_unflatten(given, form)


def _map(recorder, f, xs, *args):
    leaves, spec = pytree.tree_flatten(xs)
    own = [Ref(recorder.number(x)) for x in leaves]
    extra = [Ref(recorder.number(x)) for x in pytree.tree_leaves(args) if isinstance(x, torch.Tensor)]
    result = recorder.apart(lambda: map(f, xs, *args))
    first = pytree.tree_unflatten([x[0].clone() for x in leaves], spec)
    _, nested, lifted = _within(recorder, [(f, (first, *args))], ["map_body_graph"])
    arguments = {"body_graph": nested[0], "xs": own, "args": [*extra, *lifted]}
    given, form = pytree.tree_flatten(result)
    recorder.higher_order("map_impl", arguments, given)
    return pytree.tree_unflatten(given, form)


def _scan(recorder, combine_fn, init, xs, *, dim=0, reverse=False):
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves:
        return init, xs
    with recorder:  # the operator goes forward along the first dim
        leaves = [x if dim == 0 else x.movedim(dim, 0) for x in leaves]
        leaves = [x.flip(0) if reverse else x for x in leaves]
    own = [Ref(recorder.number(x)) for x in leaves]
    start, form = pytree.tree_flatten(init)
    carried = [Ref(recorder.number(x)) for x in start]
    carry, results = recorder.apart(lambda: scan(combine_fn, init, pytree.tree_unflatten(leaves, spec)))
    copies = (
        pytree.tree_unflatten([x.clone() for x in start], form),
        pytree.tree_unflatten([x[0].clone() for x in leaves], spec),
    )
    _, nested, lifted = _within(recorder, [(combine_fn, copies)], ["scan_combine_graph"])
    arguments = {"combine_graph": nested[0], "init": carried, "xs": own, "additional": lifted}
    last, (rows, rows_form) = pytree.tree_leaves(carry), pytree.tree_flatten(results)
    last = [x.clone() for x in last]
    recorder.higher_order("scan", arguments, [*last, *rows])
    with recorder:
        rows = [x.flip(0) if reverse else x for x in rows]
        dim %= leaves[0].dim()
        rows = [x if dim == 0 or x.dim() <= dim else x.movedim(0, dim) for x in rows]
    return pytree.tree_unflatten(last, form), pytree.tree_unflatten(rows, rows_form)


def refuse_write(recorder: Any) -> Exception:
    """The error for a write to what a nested function got from outside."""
    return recorder.refuse(
        "writes, within a function of torch.cond or of a loop, to a tensor from outside of it: give a new one instead",
        UserErrorType.ANTI_PATTERN,
    )


HANDLERS = {cond: _cond, while_loop: _while_loop, map: _map, scan: _scan}
