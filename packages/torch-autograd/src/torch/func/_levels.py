"""The inputs of a function that is being differentiated, and what becomes of its results.

A transform makes fresh inputs: aliases of what it was given. Where what was given has a history, or needs a gradient,
the alias continues it, so that transforms nest and the ordinary tape sees through them; elsewhere it is a leaf of the
transform's own. A result whose history ends only at such leaves has none for the caller, and comes back without it.
"""

import torch
from torch import Tensor
from torch._pytree import tree_flatten, tree_map_only

from ..autograd import _C


def check_differentiable(name, given):
    """RuntimeError for what is no tensor of real or complex numbers."""
    if not isinstance(given, Tensor):
        raise RuntimeError(
            f"{name}: expected all inputs to be differentiated to be Tensors, got {type(given).__name__}"
        )
    if not (given.is_floating_point() or given.is_complex()):
        raise RuntimeError(
            f"{name}: only Tensors of floating point and complex dtype can require gradients, got {given.dtype}"
        )


def fresh(name, given, recording):
    """An input of the function to be differentiated. ``recording``: whether the caller records gradients."""
    check_differentiable(name, given)
    if recording and given.requires_grad:
        with torch.enable_grad():
            return given.view_as(given)
    return without_history(given).requires_grad_()


def without_history(tensor):
    """An alias that is a leaf. Wrappers (examples of a batch, dual numbers) keep what their values are made of: that is for
    an outer transform."""
    alias = _C._wrapper_alias(tensor)
    return tensor.detach() if alias is None else alias


def _cut(tensor):
    """An alias without a history, neither its own nor that of the values within: one that a leaf gave to them which is the
    same for all examples."""
    level = _C._vmap_level(tensor)
    if level > 0 and _C._values_need_gradients(tensor):
        return _C._vmap_wrap(_cut(_C._vmap_unwrap(tensor, level)), 0, level)
    return without_history(tensor)


def has_history(results, leaves):
    """Whether a result leads to something else that needs a gradient than these leaves."""
    return _C._lead_elsewhere(tuple(results), tuple(leaves))


def without_own(results, leaves, recording):
    """Results for the caller: without a history that ends at the transform's own leaves, or with the one that they have."""
    flat, spec = tree_flatten(results)
    return spec.unflatten(
        [_cut(r) if _needs_gradients(r) and not (recording and has_history([r], leaves)) else r for r in flat]
    )


def _needs_gradients(value):
    return isinstance(value, Tensor) and (value.requires_grad or _C._values_need_gradients(value))


def zeros_where_absent(gradients, inputs):
    """Gradients, with zeros for inputs that nothing depends on."""
    return [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, inputs, strict=True)]


def detached(tree):
    """The tensors of a tree without history."""
    return tree_map_only(Tensor, Tensor.detach, tree)


def name_of(func):
    """What messages call a function."""
    return getattr(func, "__name__", None) or repr(func)
