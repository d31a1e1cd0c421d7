"""Functions with a gradient of their own, on examples of a batch and on dual numbers.

A Function records itself around what happens here, as for any input. Its forward becomes

- on dual numbers: that of the primals, and ``jvp`` of the tangents; without a ``jvp``, its ``backward`` transposed;
- on examples of a batch: its ``vmap``, for all of them at once; without one, ``forward`` as it stands. Where the values
  behind the examples need gradients, a Function of all of them maps ``forward`` and ``backward`` over the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._pytree import _broadcast_to_and_flatten, tree_flatten, tree_map
from torch.autograd import Function

from ..autograd import _C
from ._jvp import _linear
from ._vmap import _Info, vmap


def forward(cls, ctx, inputs):
    """What ``cls.forward`` gives for inputs some of which are wrappers."""
    level, is_dual = _C._level_among(inputs)
    if is_dual:
        return _with_tangents(cls, ctx, inputs, level)
    if level and cls.vmap is not Function.vmap:
        return _by_rule(cls, inputs, level)
    if level and _values_need_gradients(inputs, level):
        return _mapped(cls, inputs, level)
    return cls.forward(*inputs) if cls._has_setup_context else cls.forward(ctx, *inputs)


class _Context:
    """What ``jvp``, or ``backward`` of one example, sees of a call."""

    def __init__(self, saved, attributes, needs):
        vars(self).update(attributes)
        self.saved_tensors = self.saved_variables = saved
        self.needs_input_grad = needs


# --- dual numbers ---


def _with_tangents(cls, ctx, inputs, level):
    parts = [_C._dual_parts(x) or (x, None) if isinstance(x, Tensor) else (x, None) for x in inputs]
    primals, tangents = [p for p, _ in parts], [t for _, t in parts]
    pushed = _pushed if cls.jvp is not Function.jvp else _transposed
    output, found, inner = _C._call_outside(level, pushed, (cls, primals, tangents))
    if not cls._has_setup_context and inner is not None:
        vars(ctx).update(vars(inner))
        ctx.save_for_backward(*inner.saved_tensors)
        if inner.non_differentiable:
            ctx.mark_non_differentiable(*inner.non_differentiable)
    outputs = output if isinstance(output, tuple) else (output,)
    if len(found) != len(outputs):
        raise RuntimeError(
            f"{cls.__name__}.jvp returned an incorrect number of forward gradients (expected {len(outputs)} got {len(found)})"
        )
    constant = () if inner is None else inner.non_differentiable or ()
    made = []
    for i, (one, tangent) in enumerate(zip(outputs, found, strict=True)):
        if tangent is not None and (not _moves(one) or any(one is c for c in constant)):
            raise RuntimeError(
                f"{cls.__name__}.jvp: a tangent for output {i}, which is not differentiable; return None there"
            )
        changed = next((k for k, p in enumerate(primals) if p is one and tangents[k] is not None), None)
        if changed is not None and tangent is not None:  # in place
            with torch.no_grad():
                tangents[changed].copy_(tangent)
            ctx.mark_dirty(inputs[changed])
            made.append(inputs[changed])
        elif tangent is None:
            made.append(one)
        else:
            if tangent.shape != one.shape:
                raise RuntimeError(
                    f"{cls.__name__}.jvp: a tangent of shape {tuple(tangent.shape)} for an output of shape {tuple(one.shape)}"
                )
            made.append(_C._dual_make(one, tangent, level))
    return tuple(made) if isinstance(output, tuple) else made[0]


def _pushed(cls, primals, tangents):
    """The output, its tangents by the Function's own rule, and the context of the call."""
    output, ctx = _C._apply_with_context(cls, *primals)
    saved = getattr(ctx, "saved_for_forward", None)
    saved = ctx.saved_tensors if saved is None else saved
    if ctx.materialize_grads:
        tangents = [
            torch.zeros_like(p) if t is None and _moves(p) else t for p, t in zip(primals, tangents, strict=True)
        ]
    found = cls.jvp(_Context(saved, vars(ctx), ctx.needs_input_grad), *tangents)
    return output, found if isinstance(found, tuple) else (found,), ctx


def _transposed(cls, primals, tangents):
    """The same for a Function without a rule, whose backward can be differentiated."""
    places = [i for i, t in enumerate(tangents) if t is not None]
    reached = []  # for each output, whether a tangent arrives

    def function(*values):
        full = list(primals)
        for i, value in zip(places, values, strict=True):
            full[i] = value
        output = cls.apply(*full)
        outputs = output if isinstance(output, tuple) else (output,)
        reached[:] = [isinstance(o, Tensor) and o.requires_grad for o in outputs]
        return tuple(o for o, is_reached in zip(outputs, reached, strict=True) if is_reached), output

    given = tuple(primals[i] for i in places)
    _, push, output = _linear(f"{cls.__name__}.jvp", function, given, True)
    found = iter(push(tuple(tangents[i] for i in places)))
    return output, [next(found) if is_reached else None for is_reached in reached], None


def _moves(x):
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


# --- examples of a batch ---


def _taken_apart(inputs, level):
    """The inputs with batches in place of examples, where these have the dim of the batch, and its size."""
    flat, spec = tree_flatten(inputs)
    values = [_C._vmap_unwrap(x, level) if isinstance(x, Tensor) else None for x in flat]
    full = spec.unflatten([x if v is None else v for x, v in zip(flat, values, strict=True)])
    dims = spec.unflatten([None if v is None else 0 for v in values])
    return full, dims, next(len(v) for v in values if v is not None)


def _values_need_gradients(inputs, level):
    values = [(_C._vmap_unwrap(x, level), x) for x in inputs if isinstance(x, Tensor)]
    return any((x if v is None else v).requires_grad for v, x in values)


def _refuse_old_form(cls):
    if not cls._has_setup_context:
        raise RuntimeError(
            f"In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
            f"the setup_context staticmethod: {cls.__name__} has a forward that takes ctx"
        )


def _by_rule(cls, inputs, level):
    _refuse_old_form(cls)
    if cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
        )
    full, dims, size = _taken_apart(inputs, level)
    info = _Info(size, _C._vmap_randomness())
    result = _C._call_outside(level, cls.vmap, (info, dims, *full))
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls.__name__} to return a tuple (output, out_dims), got {type(result).__name__}"
        )
    outputs, spec = tree_flatten(result[0])
    places = _broadcast_to_and_flatten(result[1], spec)
    if places is None:
        raise ValueError(f"{cls.__name__}.vmap: out_dims {result[1]!r} do not fit the output {spec}")
    return spec.unflatten(
        [x if d is None else _C._vmap_wrap(x, d % x.dim(), level) for x, d in zip(outputs, places, strict=True)]
    )


def _mapped(cls, inputs, level):
    _refuse_old_form(cls)
    full, dims, _ = _taken_apart(inputs, level)
    randomness = _C._vmap_randomness()
    attributes, shape = {}, None

    def example(*args):
        nonlocal shape
        ctx = cls._backward_cls()
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        attributes.update(vars(ctx))
        shape = isinstance(output, tuple)
        saved = ctx.saved_tensors
        kept[:] = [s is not None for s in saved]
        return output, tuple(s for s in saved if s is not None)

    kept = []

    class Mapped(Function):
        @staticmethod
        def forward(ctx, *values):
            output, saved = vmap(example, dims, randomness=randomness)(*values)
            ctx.save_for_backward(*saved)
            return output

        @staticmethod
        def backward(ctx, *gradients):
            arrives = []

            def of_example(gradients, saved):
                saved = iter(saved)
                saved = tuple(next(saved) if k else None for k in kept)
                found = cls._run_backward(_Context(saved, attributes, ctx.needs_input_grad), *gradients)
                found = found if isinstance(found, tuple) else (found,)
                arrives[:] = [f is not None for f in found]
                return tuple(f for f in found if f is not None)

            found = iter(vmap(of_example, randomness=randomness)(gradients, ctx.saved_tensors))
            found = [next(found) if a else None for a in arrives]
            return tuple(f.sum(0) if f is not None and d is None else f for f, d in zip(found, dims, strict=True))

    Mapped.__name__ = Mapped.__qualname__ = cls.__name__
    output = _C._call_outside(level, Mapped.apply, tuple(full))
    return tree_map(lambda x: _C._vmap_wrap(x, 0, level) if isinstance(x, Tensor) else x, output)
