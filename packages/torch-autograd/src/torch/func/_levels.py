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


def has_history(results, leaves):
    """Whether a result leads to something else that needs a gradient than these leaves."""
    own = {id(leaf) for leaf in leaves if leaf.is_leaf}
    todo, seen = [], set()
    for result in results:
        if not isinstance(result, Tensor):
            continue
        if _C._values_need_gradients(result):
            return True
        if result.requires_grad:
            if result.grad_fn is None:
                if id(result) not in own:
                    return True
            else:
                todo.append(result.grad_fn)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) not in own:
            return True
        todo += [below for below, _ in node.next_functions if below is not None]
    return False


def without_own(results, leaves, recording):
    """Results for the caller: without a history that ends at the transform's own leaves, or with the one that they have."""
    flat, spec = tree_flatten(results)
    kept = [
        without_history(r)
        if isinstance(r, Tensor) and r.requires_grad and not (recording and has_history([r], leaves))
        else r
        for r in flat
    ]
    return spec.unflatten(kept)


def zeros_where_absent(gradients, inputs):
    """Gradients, with zeros for inputs that nothing depends on."""
    return [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, inputs, strict=True)]


def detached(tree):
    """The tensors of a tree without history."""
    return tree_map_only(Tensor, Tensor.detach, tree)


def name_of(func):
    """What messages call a function."""
    return getattr(func, "__name__", None) or repr(func)
