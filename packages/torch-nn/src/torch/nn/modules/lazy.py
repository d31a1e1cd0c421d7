"""Layers that learn a size from their first input."""

from __future__ import annotations

from ..parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Before a layer's class in the bases of its lazy form.

    The lazy form holds uninitialised parameters; ``initialize_parameters(*input)`` gives them their shapes at the first
    call, after which the module turns into ``cls_to_become``.

    >>> layer = torch.nn.LazyLinear(3)
    >>> layer(torch.zeros(2, 5)).shape
    torch.Size([2, 3])
    >>> layer
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become = None

    def has_uninitialized_params(self) -> Any:
        """True until the first call."""
        tensors = [*self._parameters.values(), *self._buffers.values()]
        return any(is_lazy(tensor) for tensor in tensors)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define initialize_parameters(*input)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.has_uninitialized_params():
            self.initialize_parameters(*args, **kwargs)
        if self.cls_to_become is None:
            return super().__call__(*args, **kwargs)
        self.__class__ = self.cls_to_become
        return self(*args, **kwargs)
