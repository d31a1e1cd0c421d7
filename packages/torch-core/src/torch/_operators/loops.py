"""Control flow as functions: without a compiler a loop is a loop. Modes see the call of one, not what it calls."""

from __future__ import annotations

import functools

import torch

from .._functorch._batches import is_batchedtensor
from .._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["cond", "map", "scan", "while_loop"]


def _seen(function):
    """A function whose calls modes of ``__torch_function__`` are asked for."""

    @functools.wraps(function)
    def called(*args, **kwargs):
        from ..overrides import handle_torch_function, has_torch_function

        if has_torch_function(()):
            return handle_torch_function(called, (), *args, **kwargs)
        return function(*args, **kwargs)

    del called.__wrapped__
    return called


def _checked(value, name):
    """What a branch or a loop goes on by; RuntimeError unless it is one bool."""
    if isinstance(value, torch.Tensor):
        if value.dtype != torch.bool or value.numel() != 1:
            raise RuntimeError(f"{name}: the condition must be a bool or a tensor of one, got {_said(value)}")
    elif not isinstance(value, (bool, int)):
        raise RuntimeError(f"{name}: the condition must be a bool or a tensor of one, got {type(value).__name__}")
    return value


def _said(value):
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


@_seen
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, additional_inputs: Any = ()
) -> tuple:
    """``carried = body_fn(*carried)`` as long as ``cond_fn(*carried)``; the result keeps shapes and dtypes (RuntimeError).

    Both functions get ``additional_inputs`` behind what is carried. A value that is carried may be a tree of tensors.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: cond_fn and body_fn must be functions")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: carried_inputs must be a tuple or list, got {type(carried_inputs).__name__}")
    carried, more = tuple(carried_inputs), tuple(additional_inputs)
    while _checked(cond_fn(*carried, *more), "while_loop"):
        found = body_fn(*carried, *more)
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(carried):
            raise RuntimeError(f"while_loop: body_fn must give {len(carried)} values, got {len(found)}")
        for place, (before, after) in enumerate(zip(carried, found)):
            _kept("while_loop: body_fn", f"value {place}", before, after)
        carried = found
    return carried


def _kept(who, what, before, after):
    """RuntimeError unless a value has the shapes and dtypes that it had."""
    (old, form), (new, other) = tree_flatten(before), tree_flatten(after)
    if form != other:
        raise RuntimeError(f"{who} must keep the form of {what}: {form} became {other}")
    for one, two in zip(old, new):
        if isinstance(one, torch.Tensor) and (
            not isinstance(two, torch.Tensor) or (one.shape, one.dtype) != (two.shape, two.dtype)
        ):
            raise RuntimeError(f"{who} must keep shape and dtype of {what}: {one!r:.60} became {two!r:.60}")


@_seen
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``.

    Where examples of :func:`torch.func.vmap` choose differently, both run for all of them, and :func:`torch.where` chooses
    (RuntimeError where the two give unlike results).

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.tensor(1),))
    tensor(2)
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: true_fn and false_fn must be functions")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: operands must be a tuple or list, got {type(operands).__name__}")
    pred = _checked(pred, "cond")
    if isinstance(pred, torch.Tensor) and is_batchedtensor(pred):
        return _by_example(pred, true_fn(*operands), false_fn(*operands))
    return (true_fn if pred else false_fn)(*operands)


def _by_example(pred, one, other):
    """Of each example what its own ``pred`` chooses."""
    (ours, spec), (theirs, form) = tree_flatten(one), tree_flatten(other)
    if spec != form:
        raise RuntimeError(
            f"cond: the branches must give one form where examples choose differently: {spec} and {form}"
        )
    return tree_unflatten([_where(pred.reshape(()), a, b) for a, b in zip(ours, theirs)], spec)


def _where(pred, a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and (a.shape, a.dtype) == (b.shape, b.dtype):
        return torch.where(pred, a, b)
    if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor) and a == b:
        return a
    raise RuntimeError(
        f"cond: the branches must give like results where examples choose differently: {_said(a)} and {_said(b)}"
    )


def _slices(name, xs, dim=0):
    """The tensors of a tree, with ``dim`` first, and how many slices they have. RuntimeError where they have none, or not as many."""
    leaves, spec = tree_flatten(xs)
    if not leaves or not all(isinstance(x, torch.Tensor) for x in leaves):
        raise RuntimeError(
            f"{name}: xs must be a tensor, or a tree of at least one and of nothing else, got {xs!r:.60}"
        )
    for x in leaves:
        if not -x.dim() <= dim < x.dim():
            raise RuntimeError(f"{name}: xs must have a dim {dim} to go along, got a tensor of {x.dim()} dims")
    counts = [x.shape[dim] for x in leaves]
    if len(set(counts)) > 1:
        raise RuntimeError(f"{name}: all of xs must have one size along dim {dim}, got {counts}")
    return [x.movedim(dim, 0) for x in leaves], spec, counts[0]


def _stacked(name, results):
    """Trees of one form as a tree of stacks."""
    flat = [tree_flatten(result) for result in results]
    forms = [spec for _, spec in flat]
    if any(spec != forms[0] for spec in forms):
        raise RuntimeError(f"{name}: the function must give one form at each turn, got {forms[0]} and others")
    columns = zip(*(leaves for leaves, _ in flat))
    return tree_unflatten([None if column[0] is None else torch.stack(column) for column in columns], forms[0])


@_seen
def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for each slice of ``xs`` along its first dim, stacked. ``xs`` and results may be trees of tensors.

    Raises RuntimeError where ``xs`` have no first dim, or of several sizes.

    >>> from torch._higher_order_ops.map import map
    >>> map(lambda x, y: x.sum() + y, torch.arange(4).view(2, 2), torch.tensor(10))
    tensor([11, 15])
    """
    leaves, spec, count = _slices("map", xs)
    if not count:
        raise RuntimeError("map: xs must have a first dim of at least 1, got 0")
    return _stacked("map", [f(tree_unflatten([x[i] for x in leaves], spec), *args) for i in range(count)])


@_seen
def scan(combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for each slice of ``xs`` along ``dim``, from ``init`` on: the last carry, and the ``y`` stacked along it.

    With ``reverse`` it goes from the last slice to the first, and each ``y`` stands where its ``x`` does; those with too few
    dims are stacked along a first one. All may be trees of tensors. Raises RuntimeError where the carry changes its form, shapes or dtypes, or sizes along ``dim`` differ.

    >>> from torch._higher_order_ops.scan import scan
    >>> scan(lambda total, x: (total + x, total * x), torch.tensor(0), torch.arange(4))
    (tensor(6), tensor([0, 0, 2, 9]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"scan: combine_fn must be a function, got {type(combine_fn).__name__}")
    if not tree_leaves(init) or not all(isinstance(x, torch.Tensor) for x in tree_leaves(init)):
        raise RuntimeError(
            f"scan: init must be a tensor, or a tree of at least one and of nothing else, got {init!r:.60}"
        )
    if not tree_leaves(xs):
        return init, xs
    leaves, spec, count = _slices("scan", xs, dim)
    if not count:
        raise RuntimeError(f"scan: xs must have at least one slice along dim {dim}, got 0")
    carry, results = init, []
    for i in reversed(range(count)) if reverse else range(count):
        found = combine_fn(carry, tree_unflatten([x[i] for x in leaves], spec))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise RuntimeError(f"scan: combine_fn must give the carry and a result, got {found!r:.60}")
        _kept("scan: combine_fn", "the carry", carry, found[0])
        carry = found[0]
        results.append(found[1])
    dim %= leaves[0].dim()
    stacked = _stacked("scan", results[::-1] if reverse else results)
    return carry, tree_map(lambda y: y if y is None or y.dim() <= dim else y.movedim(0, dim), stacked)
