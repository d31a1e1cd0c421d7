"""``functionalize``: a function that changes tensors in place becomes one whose operators change nothing.

Within it tensors are wrappers (csrc/func/functional.h): a change in place is another value for the tensor and all that
share its memory. What is changed of the inputs is written into them at the end.
"""

from __future__ import annotations

import functools

from torch import Tensor, _seams
from torch._pytree import tree_flatten

from ..autograd import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function without changes in place: the same results from operators that change nothing.

    A mode of ``__torch_dispatch__`` sees ``add`` in place of ``add_``, and with ``remove="mutations_and_views"`` a copy after
    each view. RuntimeError for another ``remove``, and for a change of a tensor that is no argument of the function.

    >>> def f(x):
    ...     y = x * 1
    ...     y[0].add_(10)
    ...     return y
    >>> torch.func.functionalize(f)(torch.ones(2))
    tensor([11.,  1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize: remove must be 'mutations' or 'mutations_and_views', got {remove!r}")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        flat, spec = tree_flatten((args, kwargs))
        level = _C._functional_enter(remove == "mutations_and_views")
        try:
            given = [_C._functional_make(x, level) if isinstance(x, Tensor) else x for x in flat]
            full, named = spec.unflatten(given)
            outputs, shape = tree_flatten(func(*full, **named))
            parts = [_C._functional_parts(x, level) for x in given]
            values = [_value(x, level) for x in outputs]
        finally:
            _C._vmap_leave()
        for x, g, part in zip(flat, given, parts, strict=True):
            if part is not None and part[1]:
                _C._functional_write_back(g, x)
        originals = {id(g): x for g, x in zip(given, flat, strict=True) if isinstance(x, Tensor)}
        return shape.unflatten([originals.get(id(o), v) for o, v in zip(outputs, values, strict=True)])

    return wrapper


def _value(x, level):
    part = _C._functional_parts(x, level)
    return x if part is None else part[0]


def _text(tensor):
    """What ``repr`` says of a tensor within; None for any other."""
    if (level := _C._functional_level(tensor)) == 0:
        return None
    value = repr(_C._functional_parts(tensor, level)[0]) if level > 0 else "of a functionalize that has ended"
    return f"FunctionalTensor(lvl={level}, value={value})"


_seams.print_wrappers.append(_text)
