"""Units with a definition of their gradients as functions of the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.tc import _arguments
from torch.tc._source import Source
from torch.tc._syntax import Definition


def order(source: Source, forward: Definition, backward: Definition) -> tuple[bool, list[int]]:
    """Whether the backward definition takes the results, and which parameter each of its results is the gradient of."""
    inputs, outputs = len(forward.parameters), len(forward.results)
    given = len(backward.parameters)
    if given not in (inputs + outputs, inputs + 2 * outputs):
        text = f"{backward.name} takes {given} parameters; expected the {inputs} of {forward.name}, then the gradients of its {outputs} results"
        raise source.error(backward.at, f"{text}, or its results and their gradients ({inputs + 2 * outputs})")
    names = {form.format(p.name): k for k, p in enumerate(forward.parameters) for form in FORMS}
    found = [names.get(n) for n, _ in backward.results]
    if None in found or len(set(found)) < len(found):
        if len(found) > inputs:
            raise source.error(backward.at, f"{backward.name} returns {len(found)} gradients of {inputs} parameters")
        found = list(range(len(found)))
    return given > inputs + outputs, found


#: how a backward definition may name the gradient of a parameter
FORMS = ("{}_grad", "grad_{}", "d_{}", "g_{}", "d{}", "{}g")


def arguments(unit: Any, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any] | None) -> list[Any]:
    """What the backward definition is called with; ones as gradients if there are none."""
    filled = [torch.ones_like(o) for o in outputs] if grads is None else grads
    return [*inputs, *(outputs if unit.order[0] else ()), *filled]


def function() -> Any:
    from torch.autograd import Function
    from torch.autograd.function import once_differentiable

    class Comprehension(Function):
        @staticmethod
        def forward(ctx: Any, unit: Any, pair: Any, file: Any, *inputs: Any) -> Any:
            outputs = unit.forward(inputs, pair[0])
            ctx.unit, ctx.pair, ctx.file = unit, pair, file
            ctx.numbers = {k: t for k, t in enumerate(inputs) if not isinstance(t, torch.Tensor)}
            tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
            ctx.save_for_backward(*tensors, *(outputs if unit.order[0] else ()))
            ctx.mark_non_differentiable(*(o for o in outputs if not o.dtype.is_floating_point))
            return tuple(outputs)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            unit, count = ctx.unit, len(ctx.unit.forward.one.parameters)
            saved = iter(ctx.saved_tensors)
            inputs = [ctx.numbers[k] if k in ctx.numbers else next(saved) for k in range(count)]
            given = arguments(unit, inputs, list(saved), grads)
            if ctx.file:
                unit.backward.remember(ctx.file, _arguments.shapes([torch.as_tensor(t) for t in given]))
            found = [None] * count
            for k, g in zip(unit.order[1], unit.backward(given, ctx.pair[1]), strict=True):
                found[k] = g if ctx.needs_input_grad[k + 3] else None
            for k, p in enumerate(unit.forward.one.parameters):
                if ctx.needs_input_grad[k + 3] and found[k] is None:
                    raise RuntimeError(f"{unit.backward.one.name}: no gradient of {p.name}, which needs one")
            return None, None, None, *found

    return Comprehension


def apply(unit: Any, inputs: Sequence[Any], pair: Any, file: str | None) -> tuple[Any, ...]:
    global _function
    _function = _function or function()
    found = _function.apply(unit, pair, file, *inputs)
    return found if isinstance(found, tuple) else (found,)


_function: Any = None
