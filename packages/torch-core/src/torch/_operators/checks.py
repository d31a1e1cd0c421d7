"""Conditions that programs state: ``torch._check`` and the like, and numbers that a compiler would follow by name."""

from __future__ import annotations

import math

import torch

from .._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LARGEST = 2**63 - 1


def _said(message):
    if message is None:
        return "expected cond to be True, but got False"
    if not callable(message):
        raise TypeError("message must be a callable")
    return str(message())


def _check_with(error_type, cond, message):
    """Raise an error of this type unless the condition, a bool, holds; ``message()`` is its text. A condition whose class
    has ``__torch_check__(message)``, since it is known only when a program runs, is stated by it."""
    if (state := getattr(type(cond), "__torch_check__", None)) is not None:
        state(cond, message)
        return
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error_type(_said(message))
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")


def _of(error_type):
    def check(cond, message=None):
        _check_with(error_type, cond, message)

    check.__doc__ = f"Raise {error_type.__name__} unless the condition, a bool, holds."
    return check


_check = _of(RuntimeError)
_check_index = _of(IndexError)
_check_value = _of(ValueError)
_check_type = _of(TypeError)
_check_not_implemented = _of(NotImplementedError)


def _check_is_size(i, message=None, *, max=None):
    """Raise RuntimeError unless the number can be a size: not negative, and at most ``max``."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def sym_constrain_range(size, *, min=None, max=None):
    """Raise RuntimeError unless the number lies within the bounds, of which None is none."""
    low, high = -_LARGEST - 1 if min is None else min, _LARGEST if max is None else max
    if high < low:
        raise RuntimeError(f"sym_constrain_range: max must be greater than or equal to min, got min={low} max={high}")

    def outside():
        return f"sym_constrain_range: invalid value range for {size}: it is not in [{low}, {high}]"

    if min is not None:
        _check(size >= min, outside)
    if max is not None:
        _check(size <= max, outside)


def sym_constrain_range_for_size(size, *, min=None, max=None):
    """Raise RuntimeError unless the number can be a size within the bounds; at least one above 2 has to be possible."""
    if max is not None and max <= 2:
        raise RuntimeError(f"sym_constrain_range_for_size: max must be greater than 2, got {max}")
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def _constrain_as_size(symbol, min=None, max=None):
    """Raise RuntimeError unless the number can be a size within the bounds."""
    sym_constrain_range_for_size(symbol, min=min, max=max)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raise an error of this type unless all elements of a bool tensor are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not torch.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond, message=None):
    """Raise RuntimeError unless all elements of a bool tensor are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition, message):
    """``assert condition, message``, for tensors of one element too. A condition of torch.fx, which is not known while a
    graph is made, becomes a node of it."""
    if type(condition) is not Tensor and hasattr(type(condition), "__torch_function__"):
        from ..overrides import handle_torch_function, has_torch_function_unary

        if has_torch_function_unary(condition):
            return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message
    return None


def _assert_async(input, assert_msg=None):
    """Raise RuntimeError when the only element of a tensor is zero; on the CPU there is nothing to wait for."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(self):
    """The sizes of a tensor as a tensor of int64."""
    return torch.tensor(self.shape, dtype=torch.int64)


def get_device_module(device: torch.device | str | int | None = None) -> Any:
    """The module of a device's functions: ``torch.cuda`` for ``"cuda"``, ``torch.cpu`` for none."""
    kind = "cpu" if device is None else torch.device(device).type
    module = getattr(torch, kind, None)
    if module is None:
        raise RuntimeError(f"get_device_module: torch has no module for devices of type {kind!r}")
    return module


def sym_int(a: Any) -> int:
    """The number cut off to an integer."""
    return int(a)


def sym_float(a: Any) -> float:
    """The number as a float."""
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """The greater number, as a float when one of them is.

    >>> torch.sym_max(1, 2.0), torch.sym_max(3, 2.0)
    (2.0, 3.0)
    """
    return _joined(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The lesser number, as a float when one of them is."""
    return _joined(min(a, b), a, b)


def _joined(chosen, *given):
    return float(chosen) if any(isinstance(g, float) for g in given) else chosen


def sym_not(a: Any) -> Any:
    """``not a``."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError(f"sym_ite: expected a bool and two values of one type, got {b!r}, {t!r}, {f!r}")
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, given one by one or as a list."""
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)


def sym_sqrt(a: Any) -> Any:
    """The square root of a number."""
    return math.sqrt(a)
