"""What a program computes only from its own constants."""

from __future__ import annotations

import torch
from torch import _pytree as pytree

from ._program import Program, Step, Value

#: drawn anew each time, so not to be computed once
RANDOM = {
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal", "poisson",
    "multinomial", "dropout", "native_dropout", "empty", "empty_like", "new_empty",
}  # fmt: skip


def fold(program: Program) -> dict[Value, torch.Tensor]:
    """Takes the steps out that follow from held tensors and constants; what the others read of them is the result."""
    known: dict[Value, torch.Tensor] = {v: v.constant for v in program.held if v.constant is not None}
    given = set(known)
    left: list[Step] = []
    needed: set[Value] = {v for v in program.outputs if v is not None}
    for step in program.steps:
        values = [v for v in pytree.tree_leaves(step.arguments) if isinstance(v, Value)] + inner_values(step)
        if step.name not in RANDOM and not step.blocks and step.library == "aten" and all(v in known for v in values):
            if (found := _compute(step, known)) is not None:
                known.update(zip(step.results, found, strict=False))
                continue
        needed |= set(values)
        left.append(step)
    program.steps = left
    return {v: torch.as_tensor(t) for v, t in known.items() if v in needed and v not in given}


def inner_values(step: Step) -> list[Value]:
    """The values that the blocks of a step read."""
    found = []
    for block in step.blocks:
        found += [v for v in block.outputs if isinstance(v, Value)]
        for inner in block.steps:
            found += [v for v in pytree.tree_leaves(inner.arguments) if isinstance(v, Value)] + inner_values(inner)
    return found


def _compute(step: Step, known: dict) -> list | None:
    if step.target is None:
        return None
    arguments = pytree.tree_map(lambda v: known[v] if isinstance(v, Value) else v, step.arguments)
    try:
        with torch.no_grad():
            found = _call(step, arguments)
    except (TypeError, RuntimeError, ValueError):
        return None
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _call(step, arguments):
    from torch.export._rows import schemas

    for schema in schemas().get(step.name, ()):
        if {a.name for a in schema.arguments} >= set(arguments):
            full = {a.name: arguments.get(a.name, a.default_value) for a in schema.arguments}
            return step.target(
                *schema.positional(full), **{k: v for k, v in schema.named(full).items() if v is not None}
            )
    return step.target(**arguments)
