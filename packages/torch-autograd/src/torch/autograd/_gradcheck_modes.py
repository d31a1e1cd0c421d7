"""What gradcheck looks at beside backward: forward mode, and gradients and tangents in batches."""

from __future__ import annotations

from itertools import product

import torch

from . import forward_ad
from .gradcheck import GradcheckError, _close, _directions, _numerical, _tensors, _wanted


def check_forward(func, inputs, eps, atol, rtol):
    """Raises GradcheckError unless forward mode agrees with finite differences."""
    every = [_is_differentiable(o) for o in _tensors(func(*inputs))]
    for which, moves in enumerate(every):
        if not moves:
            continue
        numerical = _numerical(func, inputs, which, eps)
        for j, expected in enumerate(numerical):
            if expected is None:
                continue
            rows = [_row(func, inputs, j, unit, which) for unit in _units(inputs[j])]
            found = torch.stack(rows) if rows else torch.zeros_like(expected)
            if not _close(found, expected, rtol=rtol, atol=atol):
                raise GradcheckError(
                    f"Jacobian computed with forward mode mismatch for output {which} with respect to input {j},\n"
                    f"numerical:{expected}\nanalytical:{found}\n"
                )


def check_batched_backward(func, inputs):
    """Raises GradcheckError unless gradients of a batch are those of its examples."""
    wanted = [t for t in inputs if _wanted(t)]
    for which, output in enumerate(_tensors(func(*inputs))):
        if not output.requires_grad:
            continue
        seeds = _random((2, *output.shape), output)

        def backward(seed, batched, output=output):
            return torch.autograd.grad(
                output, wanted, seed, retain_graph=True, allow_unused=True, is_grads_batched=batched
            )

        expected = zip(*(backward(seed, False) for seed in seeds), strict=True)
        for j, (at_once, one_by_one) in enumerate(zip(backward(seeds, True), expected, strict=True)):
            if at_once is not None and not _close(at_once, torch.stack(one_by_one), rtol=1e-5, atol=1e-8):
                raise GradcheckError(
                    f"gradcheck failed while testing batched gradient computation: output {which}, input {j} gives\n"
                    f"{at_once}\nat once, and\n{torch.stack(one_by_one)}\none by one"
                )


def check_batched_forward(func, inputs):
    """Raises GradcheckError unless tangents of a batch are those of its examples."""
    for j, t in enumerate(inputs):
        if not _wanted(t):
            continue
        seeds = _random((2, *t.shape), t)

        def push(seed, j=j):
            return tuple(o for o in _push(func, inputs, j, seed) if o is not None)

        at_once = torch.func.vmap(push)(seeds)
        for which, (a, *rows) in enumerate(zip(at_once, *(push(seed) for seed in seeds), strict=True)):
            if not _close(a, torch.stack(rows), rtol=1e-5, atol=1e-8):
                raise GradcheckError(
                    f"gradcheck failed while testing batched forward mode: output {which}, input {j} gives\n{a}\nat once, "
                    f"and\n{torch.stack(rows)}\none by one"
                )


def _is_differentiable(t):
    return t.is_floating_point() or t.is_complex()


def _random(shape, like):
    generator = torch.Generator()
    generator.manual_seed(0)
    return torch.randn(shape, dtype=like.dtype, generator=generator).to(like.device)


def _units(t):
    """A tangent for each element, and for each direction that it has."""
    for index in product(*(range(s) for s in t.shape)):
        for direction in _directions(t):
            unit = torch.zeros(t.shape, dtype=t.dtype, device=t.device)
            unit[index] = direction
            yield unit


def _push(func, inputs, which, tangent):
    """The tangents of the outputs, where they have a derivative."""
    with forward_ad.dual_level():
        full = [forward_ad.make_dual(t, tangent) if i == which else t for i, t in enumerate(inputs)]
        found = []
        for o in _tensors(func(*full)):
            primal, moved = forward_ad.unpack_dual(o)
            found.append(torch.zeros_like(primal) if moved is None and _is_differentiable(primal) else moved)
        return found


def _row(func, inputs, j, unit, which):
    moved = _push(func, inputs, j, unit)[which].detach().contiguous()
    return (torch.view_as_real(moved) if moved.is_complex() else moved).reshape(-1)
