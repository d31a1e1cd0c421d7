"""Forward mode: ``jvp`` by dual numbers, and ``linearize`` by transposing twice.

The pullback of a function is linear in its cotangent u; its own pullback is therefore the pushforward of the function
(J. Townsend, "A new trick for calculating Jacobian vector products", 2017), and it pushes any number of tangents without
computing the function again.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._pytree import tree_flatten, tree_map
from torch.autograd import grad as backward

from ..autograd import _C
from . import _levels
from ._grad import split_aux, tensors_only, with_fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _structure(name, primals):
    """The tensors of the primals, and their structure."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, shape = tree_flatten(primals)
    if not flat:
        raise RuntimeError(f"{name}: Expected primals to contain at least one Tensor.")
    return flat, shape


def _fitting(name, primals, shape, tangents):
    """The tangents, which must have the structure and the shapes of the primals."""
    given, structure = tree_flatten(tangents)
    if structure != shape:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {shape} and tangents with "
            f"structure {structure}"
        )
    for x, t in zip(primals, given, strict=True):
        if not isinstance(t, Tensor) or t.shape != x.shape:
            got = tuple(t.shape) if isinstance(t, Tensor) else type(t).__name__
            raise RuntimeError(f"{name}: expected a tangent of the primal's shape {tuple(x.shape)}, got {got}")
    return given


def _refuse_sparse(name, outputs):
    sparse = next((o for o in outputs if o.layout is not torch.strided), None)
    if sparse is not None:
        raise NotImplementedError(
            f"{name}: an output of layout {sparse.layout} has no tangent here; return its values() or to_dense()"
        )


def _linear(name, func, primals, has_aux):
    """The function's output and the means to push tangents of its primals forward, any number of times."""
    shape = _structure(name, primals)[1]
    recording = torch.is_grad_enabled()
    with torch.enable_grad():
        args, _, leaves = with_fresh(name, primals, range(len(primals)), True)  # what push gives may depend on them
        output, aux = split_aux(name, func(*args), has_aux)
        flat, spec = tensors_only(name, output)
        reached = [o for o in flat if o.requires_grad]
        _refuse_sparse(name, reached)
        again = _levels.has_history(reached, leaves)
        us = [torch.zeros_like(o, requires_grad=True) for o in reached]
        back = backward(reached, leaves, us, create_graph=True, allow_unused=True) if reached else []
        pairs = [(i, b) for i, b in enumerate(back) if b is not None and b.requires_grad]

    def push(tangents):
        given = _fitting(name, leaves, shape, tangents)
        now = torch.is_grad_enabled() and (again or _levels.has_history(given, leaves))
        found = [None] * len(us)
        if pairs:
            with torch.enable_grad():
                found = backward(
                    [b for _, b in pairs], us, [given[i].to(b.dtype) for i, b in pairs], retain_graph=True,
                    create_graph=now, allow_unused=True,
                )  # fmt: skip
        found = iter(_levels.without_own(_levels.zeros_where_absent(found, us), [*leaves, *us], now))
        return spec.unflatten([next(found) if o.requires_grad else torch.zeros_like(o) for o in flat])

    output, aux = _levels.without_own((output, aux), leaves, recording)
    return output, push, aux


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """``func(*primals)``, and the product of its Jacobian with the tangents, which have the primals' structure.

    RuntimeError for primals that are no tuple, tangents of other shapes, outputs that are no tensors, and with ``strict``
    for an output that does not depend on the primals; NotImplementedError for sparse outputs.

    >>> torch.func.jvp(lambda x: x * x, (torch.tensor([1.0, 2.0]),), (torch.ones(2),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    name = "jvp(f, primals, tangents)"
    flat, shape = _structure(name, primals)
    for x in flat:
        _levels.check_differentiable(name, x)
    tangents = tuple(tangents) if isinstance(tangents, list) else tangents
    given = _fitting(name, flat, shape, tangents)
    if any(x.layout is not torch.strided for x in flat):  # no dual numbers
        output, push, aux = _linear(name, func, primals, has_aux)
        return (output, push(tangents), aux) if has_aux else (output, push(tangents))
    level = _C._dual_enter()
    try:
        duals = [_C._dual_make(x, t.to(x.dtype), level) for x, t in zip(flat, given, strict=True)]
        output, aux = split_aux(name, func(*shape.unflatten(duals)), has_aux)
        outputs, spec = tensors_only(name, output)
        _refuse_sparse(name, outputs)
        parts = [_parts(o, level) for o in outputs]
        if strict and any(t is None for _, t in parts):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                "This is not allowed with strict=True."
            )
        aux = tree_map(lambda x: _parts(x, level)[0], aux)
    finally:
        _C._dual_leave(level)
    output = spec.unflatten([p for p, _ in parts])
    tangent = spec.unflatten([torch.zeros_like(p) if t is None else t for p, t in parts])
    return (output, tangent, aux) if has_aux else (output, tangent)


def _parts(x, level):
    """The primal and the tangent of a dual number of the level; any other value, and None."""
    parts = _C._dual_parts(x) if isinstance(x, Tensor) and _C._level_among((x,)) == (level, True) else None
    return parts or (x, None)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)``, and the function that pushes tangents forward there without computing ``func`` again.

    >>> output, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(3.0))
    tensor(3.)
    """
    output, push, _ = _linear("linearize(f, *primals)", func, primals, False)
    return output, lambda *tangents: push(tangents)
