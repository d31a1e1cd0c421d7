"""A name of ``torch.compiler.disable`` that libraries import."""

from typing import Any


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """:func:`torch.compiler.disable`, which is imported when it is called.

    >>> torch._disable_dynamo(abs)(-1)
    1
    """
    from . import compiler

    return compiler.disable(fn, recursive)
