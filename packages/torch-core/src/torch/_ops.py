"""The classes of what ``torch.ops`` gives, under the names of PyTorch's own module."""

from ._overloads import OperatorBase, OpOverload, OpOverloadPacket
from .ops import Library as _OpNamespace

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "OperatorBase", "_OpNamespace"]


class HigherOrderOperator:
    """An operator that takes functions, as a compiler would see it. Raises NotImplementedError when called: there is no
    compiler, the function is to be called itself.
    """

    def __init__(self, name, *, cacheable=False):
        self._name = self.__name__ = name

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
