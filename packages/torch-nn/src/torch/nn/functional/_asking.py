"""Functions in Python that classes with ``__torch_function__`` see as one, and not by the operators that they call."""

from __future__ import annotations

import functools

import torch
from torch._seams import of_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


def asking(count: int) -> Callable[[F], F]:
    """Lets classes with ``__torch_function__`` among the first ``count`` arguments see the function as one."""

    def decorate(function):
        called = of_tensors(function)

        @functools.wraps(function)
        def asked(*args, **kwargs):
            if not kwargs and all(type(x) is torch.Tensor for x in args[:count]):
                return called(*args)
            from torch.overrides import handle_torch_function, has_torch_function

            given = (*args, *kwargs.values())
            if has_torch_function(given):
                return handle_torch_function(asked, given, *args, **kwargs)
            return called(*args, **kwargs)

        return asked

    return decorate
