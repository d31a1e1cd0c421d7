"""The methods of Tensor that are rare or wordy enough to be Python. `complete` puts them onto the compiled type."""

from types import FunctionType

import torch._C as _C

from .._C import Tensor
from .conversions import CONVERSIONS, Conversions, conversion
from .deferred import GRADIENT_NAMES, METHODS_OF, STORAGE_METHODS, LoadsAutograd, of_module, of_storage
from .memory import Memory
from .protocols import Protocols
from .spellings import Spellings, answers_false, nonzero, spectral, writes_part

__all__ = ["CONVERSIONS", "complete", "nonzero"]


class _Empty:
    """What every class has."""


def _move(name, value, cls):
    """Put what a class of this package has onto the type, under its name there."""
    for function in (getattr(value, "fget", None), getattr(value, "__func__", value)):
        if isinstance(function, FunctionType) and function is not nonzero:
            function.__module__, function.__qualname__ = __name__, f"Tensor.{name}"
    setattr(cls, name, value)


def complete(cls):
    """Adds the methods of this package to the compiled type; called once by ``import torch``."""
    for name in GRADIENT_NAMES:
        setattr(cls, name, LoadsAutograd(name))
    for name, dtype in CONVERSIONS.items():
        _move(name, conversion(name, dtype), cls)
    for name in ("fft", "ifft", "rfft", "irfft"):
        _move(name, spectral(name), cls)
    for module, names in METHODS_OF.items():
        for name in names:
            _move(name, of_module(module, name), cls)
    for name, doc in (
        ("is_conj", "False: conjugates are computed at once."),
        ("is_neg", "False: negation is computed at once."),
        ("is_distributed", "False.\n\n>>> torch.ones(1).is_distributed()\nFalse\n"),
    ):
        _move(name, answers_false(name, doc), cls)
    for part in (Memory, Conversions, Protocols, Spellings):
        for name in vars(part).keys() - vars(_Empty).keys():
            _move(name, vars(part)[name], cls)
    for name in STORAGE_METHODS:
        setattr(_C.UntypedStorage, name, of_storage(name))
    for name in ("T", "real", "imag"):  # operators that users read as attributes
        write = writes_part(_C._operator(name)) if name != "T" else None
        setattr(cls, name, property(_C._operator(name), write, doc=_C._operator(name)._text))
    for device in ("ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu"):
        setattr(cls, f"is_{device}", False)
    cls.name = None
    cls.__div__, cls.__nonzero__, cls.__long__ = cls.__truediv__, cls.__bool__, cls.__int__  # Python 2 called them
    cls.__torch_dispatch__ = _C._disabled_torch_dispatch_impl
    cls.__array_priority__ = 1000  # ndarray + tensor asks the tensor
    # As a function of Python has them; libraries look there.
    _C._operator("meshgrid").__kwdefaults__ = {"indexing": None}


def _rebuild_from_type_v2(function, cls, args, state):
    """The tensor that a pickle of PyTorch describes as one of another class, or as one with attributes."""
    from .._copying import set_state

    tensor = function(*args)
    if type(tensor) is not cls:
        tensor = Tensor._make_subclass(cls, tensor, tensor.requires_grad)
    if isinstance(state, tuple):  # of a class with __slots__
        state = {**(state[0] or {}), **(state[1] or {})}
    set_state(tensor, state)
    return tensor
