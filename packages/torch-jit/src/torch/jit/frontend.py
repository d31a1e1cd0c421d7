"""Errors of the compiler under the names that programs catch, and what can be asked of a source."""

import inspect

from torch.jit._script.errors import FrontendError, NotSupportedError

__all__ = [
    "FrontendError",
    "NotSupportedError",
    "UnsupportedNodeError",
    "get_default_args",
    "get_jit_class_def",
    "get_jit_def",
    "is_static_fn",
]

UnsupportedNodeError = NotSupportedError


def get_default_args(fn):
    """The defaults of a function's parameters, by name.

    >>> torch.jit.frontend.get_default_args(lambda x, k=2, *, deep=True: x)
    {'k': 2, 'deep': True}
    """
    if fn is None:
        return {}
    parameters = inspect.signature(fn).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def is_static_fn(cls, fn):
    """Whether a class defines this name as a static method.

    >>> class Maths:
    ...     @staticmethod
    ...     def twice(x):
    ...         return 2 * x
    >>> torch.jit.frontend.is_static_fn(Maths, "twice"), torch.jit.frontend.is_static_fn(Maths, "thrice")
    (True, False)
    """
    return isinstance(inspect.getattr_static(cls, fn, default=None), staticmethod)


def _no_tree(name):
    raise NotImplementedError(
        f"torch.jit.frontend.{name}: sources are read by Python's ast and become graphs at once; ast.parse gives the tree"
    )


def get_jit_def(fn, def_name, *args, **kwargs):
    """Refused: sources become graphs at once, and there is no tree between them."""
    _no_tree("get_jit_def")


def get_jit_class_def(cls, self_name, *args, **kwargs):
    """Refused, as :func:`get_jit_def` is."""
    _no_tree("get_jit_class_def")
