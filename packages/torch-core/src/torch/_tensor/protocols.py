"""What Python and its libraries ask of every object: text, iteration, copies, pickles, overrides."""

import torch._C as _C

from .._C import Tensor
from .deferred import GRADIENT_NAMES


class Protocols:
    """Methods of Tensor."""

    def __repr__(self, *, tensor_contents=None):
        from .._printing import text

        return text(self, tensor_contents)

    def _repr_html_(self):
        """What a notebook shows: shape, dtype, device, range, and a picture of what looks like one."""
        from .._card import card

        return card(self)

    def __format__(self, spec):
        if self.dim() == 0 and (spec or type(self) is _C.Tensor) and not self.is_meta:
            try:
                number = self.item()
            except RuntimeError:  # the examples of a batch have no number
                if spec:
                    raise
            else:
                return number.__format__(spec)
        return object.__format__(self, spec)

    def __iter__(self):
        """Over the first dim.

        >>> [row.tolist() for row in torch.eye(2)]
        [[1.0, 0.0], [0.0, 1.0]]
        """
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        from numbers import Number

        if isinstance(element, (Tensor, Number)):
            return bool((self == element).any().item())
        raise TypeError(f"'in': a Tensor contains numbers and tensors, not {type(element).__name__}")

    def __reversed__(self):
        return self if self.dim() == 0 else self.flip(0)

    def __copy__(self):
        from .._copying import copy

        return copy(self)

    def __deepcopy__(self, memo):
        """For ``copy.deepcopy``: a leaf with memory of its own.

        >>> import copy
        >>> copy.deepcopy(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
        """
        from .._copying import deepcopy

        return deepcopy(self, memo)

    def __reduce_ex__(self, protocol):
        """For ``pickle``: values, strides and whether a gradient is needed.

        >>> import pickle
        >>> pickle.loads(pickle.dumps(torch.tensor([1.0, 2.0])))
        tensor([1., 2.])
        """
        from .._copying import reduce

        return reduce(self, protocol)

    def __setstate__(self, state):
        """Takes what ``__reduce_ex__`` of an old file held.

        >>> import pickle
        >>> pickle.loads(pickle.dumps(torch.ones(1, requires_grad=True))).requires_grad
        True
        """
        from .._copying import set_state

        set_state(self, state)

    def __dir__(self):
        return sorted({*object.__dir__(self), *GRADIENT_NAMES})

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """The function's result, its tensors of the class ``cls``; NotImplemented for types that are none of its bases."""
        from ..overrides import _of_subclass

        return _of_subclass(cls, func, types, args, kwargs)

    def __init_subclass__(cls, **kwargs):
        """A class that answers operators gets what they give as it is, unless it brings a ``__torch_function__`` too."""
        super(Tensor, cls).__init_subclass__(**kwargs)
        is_default = getattr(cls.__torch_function__, "__func__", None) is _default_torch_function
        if is_default and cls.__torch_dispatch__ is not _C._disabled_torch_dispatch_impl:
            cls.__torch_function__ = _C._disabled_torch_function_impl

    @staticmethod
    def _make_wrapper_subclass(cls, size, *args, **kwargs):
        """A tensor of a class with ``__torch_dispatch__`` that has no memory; see torch._dispatch."""
        from .._dispatch import make_wrapper_subclass

        return make_wrapper_subclass(cls, size, *args, **kwargs)


_default_torch_function = vars(Protocols)["__torch_function__"].__func__
