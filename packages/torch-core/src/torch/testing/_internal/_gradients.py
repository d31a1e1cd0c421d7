"""gradcheck with the settings of tests; torch-autograd is loaded when one is called."""

from __future__ import annotations

import torch
from torch.testing._internal import _flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    ours = {"check_batched_grad": True, "fast_mode": not _flags.TEST_WITH_SLOW_GRADCHECK}
    return {**given, **{key: value for key, value in ours.items() if given.get(key) is None}}


def gradcheck(fn: Any, inputs: Any, **kwargs: Any) -> bool:
    """``torch.autograd.gradcheck``, fast and with batched gradients unless said otherwise."""
    return torch.autograd.gradcheck(fn, inputs, **_settings(kwargs))


def gradgradcheck(fn: Any, inputs: Any, grad_outputs: Any = None, **kwargs: Any) -> bool:
    """``torch.autograd.gradgradcheck``, fast and with batched gradients unless said otherwise."""
    return torch.autograd.gradgradcheck(fn, inputs, grad_outputs, **_settings(kwargs))


def _assertGradAndGradgradChecks(test_case: Any, apply_fn: Any, inputs: Any, **kwargs: Any) -> None:
    test_case.assertTrue(gradcheck(apply_fn, inputs, **kwargs))
    test_case.assertTrue(gradgradcheck(apply_fn, inputs, **kwargs))
