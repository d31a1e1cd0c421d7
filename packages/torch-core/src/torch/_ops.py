"""The classes of what ``torch.ops`` gives, under the names of PyTorch's own module."""

from ._overloads import OperatorBase, OpOverload, OpOverloadPacket
from .ops import Library as _OpNamespace

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "OperatorBase", "_OpNamespace"]


#: operators that take functions, by name: ``torch.ops.higher_order``
HIGHER_ORDER: dict[str, "HigherOrderOperator"] = {}


class HigherOrderOperator:
    """An operator that takes functions, of which graphs keep a call as one node. Raises NotImplementedError when called, unless a
    class of it says what it does: then the function is to be called itself.

    >>> import torch
    >>> HigherOrderOperator("twice") is torch.ops.higher_order.twice
    True
    """

    __module__ = "torch.ops.higher_order"

    def __init__(self, name, *, cacheable=False):
        self._name = self.__name__ = self.__qualname__ = name
        HIGHER_ORDER[name] = self

    def name(self):
        """What the operator is called."""
        return self._name

    def py_impl(self, key):
        """A decorator that leaves the function as it is: nothing asks for it."""
        return lambda function: function

    py_functionalize_impl = fallthrough = lambda self, function=None: function

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(
            f"{self._name}: operators that take functions need a compiler; call the function itself"
        )

    def __str__(self):
        return self._name

    def __repr__(self):
        return f"<operator torch.ops.higher_order.{self._name}>"

    def __reduce__(self):
        return _of_name, (self._name,)

    def __deepcopy__(self, memo):
        return self


def _of_name(name):
    return HIGHER_ORDER[name]
