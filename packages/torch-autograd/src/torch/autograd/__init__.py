"""The tape: operations on tensors that require gradients are recorded, and ``backward`` runs the record in reverse.

>>> import torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from sys import modules as _modules
from types import ModuleType as _ModuleType

from torch import _seams
from torch._seams import require as _require

from . import _built

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_require("torch-autograd", _built.CORE_INTERFACE, _built.CORE_FEATURES)

from . import _C, graph  # noqa: E402
from ._gradients import backward, grad  # noqa: E402
from .anomaly_mode import (  # noqa: E402
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
    set_detect_anomaly,
)
from .function import Function, InplaceFunction, NestedIOFunction, once_differentiable, traceable  # noqa: E402
from .grad_mode import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .variable import Variable  # noqa: E402

__all__ = [
    "Function",
    "InplaceFunction",
    "NestedIOFunction",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_anomaly_enabled",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "traceable",
]

#: what libraries with checkpoints of their own ask within a backward pass
_is_checkpoint_valid = Variable._execution_engine.is_checkpoint_valid

# Called by torch-core when a constructor is given requires_grad=True.
_set_requires_grad = _C._set_requires_grad

TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see; at run time these come when asked for
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck


class _Package(_ModuleType):
    """``gradcheck`` is a function here, also after the module of that name was imported."""

    @property
    def gradcheck(self) -> Any:
        from importlib import import_module

        return import_module("torch.autograd.gradcheck").gradcheck

    @gradcheck.setter
    def gradcheck(self, module: Any) -> None:
        pass


_modules[__name__].__class__ = _Package

# What few programs need is imported when they ask.
__getattr__, __dir__ = _seams.later(
    globals(),
    modules=(
        "functional",
        "forward_ad",
        "profiler",
        "profiler_legacy",
        "profiler_util",
        "profiling",
        "stochastic_function",
    ),
    names={
        **dict.fromkeys(
            ("gradgradcheck", "get_analytical_jacobian", "get_numerical_jacobian", "zero_gradients"), "gradcheck"
        ),
        "DeviceType": "profiler_util",
        "_disable_profiler": "profiler",
        "_profiler_enabled": "profiler",
    },
)
