"""Control flow as functions: without a compiler a loop is a loop."""

import torch

__all__ = ["cond", "while_loop"]


def _condition(value, name):
    if isinstance(value, torch.Tensor):
        if value.dtype != torch.bool or value.numel() != 1:
            raise RuntimeError(
                f"{name}: the condition must be a bool or a tensor of one, got {value.dtype} of shape {tuple(value.shape)}"
            )
        return bool(value)
    if not isinstance(value, (bool, int)):
        raise RuntimeError(f"{name}: the condition must be a bool or a tensor of one, got {type(value).__name__}")
    return bool(value)


def while_loop(cond_fn, body_fn, carried_inputs):
    """``carried = body_fn(*carried)`` as long as ``cond_fn(*carried)``; the result keeps shapes and dtypes (RuntimeError).

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: cond_fn and body_fn must be functions")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: carried_inputs must be a tuple or list, got {type(carried_inputs).__name__}")
    carried = tuple(carried_inputs)
    while _condition(cond_fn(*carried), "while_loop"):
        found = body_fn(*carried)
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        for place, (before, after) in enumerate(zip(carried, found, strict=False)):
            if isinstance(before, torch.Tensor) and (
                not isinstance(after, torch.Tensor) or (before.shape, before.dtype) != (after.shape, after.dtype)
            ):
                raise RuntimeError(
                    f"while_loop: body_fn must keep shape and dtype of value {place}: {before!r:.60} became {after!r:.60}"
                )
        if len(found) != len(carried):
            raise RuntimeError(f"while_loop: body_fn must give {len(carried)} values, got {len(found)}")
        carried = found
    return carried


def cond(pred, true_fn, false_fn, operands=()):
    """``true_fn(*operands)`` or ``false_fn(*operands)``.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.tensor(1),))
    tensor(2)
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: true_fn and false_fn must be functions")
    return (true_fn if _condition(pred, "cond") else false_fn)(*operands)
