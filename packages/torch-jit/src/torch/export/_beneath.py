"""What functions of torch call beneath: under autocast, and where ``torch.func`` or the tape work, the operators of plain tensors.

A mode of ``__torch_dispatch__`` sees them behind casts, transforms and derivatives. It records what the mode of functions does
not: calls of tensors that stand for others, and of backward passes.
"""

from __future__ import annotations

import sys

import torch
from torch import _pytree as pytree
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._recorder import Recorder


class Beneath:
    """Records the operators that run while no call of a function is being recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> Beneath:
        _seams.push_mode(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _seams.pop_mode()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        recorder, kwargs = self._recorder.innermost(), kwargs or {}
        if recorder.is_busy or not hasattr(func, "overloadpacket"):
            return func(*args, **kwargs)
        if func is torch.ops.aten.lift_fresh.default:  # torch.Tensor([1, 2])
            return recorder.fresh(args[0])
        with recorder.busy():
            return recorder.operator(func, func.overloadpacket.__name__, args, kwargs)


def is_needed(args: Any, kwargs: Any) -> bool:
    """Whether what a call does shows only beneath: it casts, or one of its tensors stands for others."""
    if _seams.is_casting():
        return True
    functions = sys.modules.get("torch.autograd._C")
    if functions is None:
        return False
    tensors = tuple(t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor))
    return bool(tensors) and bool(functions._level_among(tensors)[0])
