"""The methods of Tensor that are rare or wordy enough to be Python. `complete` puts them onto the compiled type."""

from . import _C
from ._C import Tensor

# What torch.autograd puts onto the type when it is imported; before that, touching one imports it.
GRADIENT_NAMES = (
    "grad", "grad_fn", "is_leaf", "backward", "register_hook", "retain_grad", "retains_grad", "requires_grad_", "output_nr",
    "_grad", "_backward_hooks", "register_post_accumulate_grad_hook",
)  # fmt: skip


class LoadsAutograd:
    """Stands for an attribute that torch-autograd provides, until that part is there."""

    def __init__(self, name):
        self.name = name

    def __get__(self, tensor, kind=None):
        self._load()
        return getattr(kind if tensor is None else tensor, self.name)

    def __set__(self, tensor, value):
        self._load()
        setattr(tensor, self.name, value)

    def _load(self):
        import torch.autograd  # noqa: F401  (replaces this object on the type)

        if Tensor.__dict__.get(self.name) is self:
            raise AttributeError(
                f"the installed torch-autograd has no Tensor.{self.name}: pip install -U torch-autograd"
            )


def _repr(self, *, tensor_contents=None):
    from ._printing import text

    return text(self, tensor_contents)


def _format(self, spec):
    if self.dim() == 0 and spec:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def _iter(self):
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self, element):
    if isinstance(element, (Tensor, int, float, complex, bool)):
        return bool((self == element).any().item())
    raise TypeError(f"'in': a Tensor contains numbers and tensors, not {type(element).__name__}")


def _reversed(self):
    return self if self.dim() == 0 else self.flip(0)


def _deepcopy(self, memo):
    from ._copying import deepcopy

    return deepcopy(self, memo)


def _copy(self):
    from ._copying import copy

    return copy(self)


def _reduce_ex(self, protocol):
    from ._copying import reduce

    return reduce(self, protocol)


def _setstate(self, state):
    from ._copying import set_state

    set_state(self, state)


def _type(self, dtype=None, non_blocking=False, **kwargs):
    """The name of the tensor's legacy class, or the tensor converted to a dtype or legacy class."""
    from ._legacy import class_name, target

    return class_name(self) if dtype is None else self.to(*target(dtype))


def _type_as(self, other):
    """The tensor with the dtype and on the device of another."""
    return self.to(other)


def _cpu(self, memory_format=None):
    """The tensor on the CPU; itself when it is there already."""
    return self.to("cpu")


def _cuda(self, device=None, non_blocking=False, memory_format=None):
    """A copy of the tensor on a CUDA device; needs the distribution torch-core-cuda."""
    return self.to("cuda" if device is None else device)


def _conversion(name, dtype):
    def convert(self, memory_format=None):
        return self.to(dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The tensor as {dtype}; itself when it is one already."
    return convert


def _spectral(name):
    def transform(self, signal_ndim, normalized=False, **kwargs):
        from . import _spectral

        return getattr(_spectral, name)(self, signal_ndim, normalized, **kwargs)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"The transform of 2018: ``torch.{name}(self, signal_ndim)`` over pairs in a last dim of 2."
    return transform


def _new(self, *args, **kwargs):
    """A new tensor of this one's dtype, made as the legacy constructor makes it."""
    return _C._legacy_new(self.dtype, args)


def _new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A new tensor with a copy of the data; dtype and device are this tensor's where not given."""
    return _C.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def _share_memory_(self):
    """Moves the storage into shared memory, in place; needs torch-multiprocessing."""
    from torch.multiprocessing import _share_tensor

    return _share_tensor(self)


def nonzero(input, *, out=None, as_tuple=False):
    """The positions of elements that are not zero, as rows; or with ``as_tuple`` one tensor a dim, which can index."""
    return _C._operator("nonzero_tuple")(input) if as_tuple else _C._operator("nonzero")(input, out=out)


def _unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    from ._unique import unique

    return unique(self, sorted, return_inverse, return_counts, dim)


def _unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    from ._unique import unique_consecutive

    return unique_consecutive(self, return_inverse, return_counts, dim)


def _dir(self):
    return sorted({*object.__dir__(self), *GRADIENT_NAMES})


def _wrapped(self, array, context=None, return_scalar=False):
    from ._C import from_numpy, tensor

    return from_numpy(array) if getattr(array, "ndim", 0) else tensor(array.item())


CONVERSIONS = {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32, "long": _C.int64,
    "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool, "cfloat": _C.complex64, "cdouble": _C.complex128,
}  # fmt: skip


class _Volatile:
    """What switched recording off before 0.4; reading it says that this is over, and False."""

    def __get__(self, tensor, kind=None):
        if tensor is None:
            return self
        self._warn()
        return False

    def __set__(self, tensor, value):
        self._warn()

    def _warn(self):
        from warnings import warn

        warn("volatile was removed (it is always False); use `with torch.no_grad():` instead.", stacklevel=3)


def _reinforce(self, reward):
    """Removed in 0.4; the error says what to do instead."""
    raise RuntimeError("reinforce() was removed in 0.4: call backward() on -log_prob(sample) * reward instead")


def complete(cls):
    """Adds the methods of this file to the compiled type; called once by ``import torch``."""
    for name in GRADIENT_NAMES:
        setattr(cls, name, LoadsAutograd(name))
    for name, dtype in CONVERSIONS.items():
        setattr(cls, name, _conversion(name, dtype))
    for name in ("fft", "ifft", "rfft", "irfft"):
        setattr(cls, name, _spectral(name))
    for name in ("T", "mT", "H", "mH", "real", "imag"):  # operators that users read as attributes
        if hasattr(cls, name) or name in ("real", "imag"):
            setattr(cls, name, property(_C._operator(name), doc=_C._operator(name).__doc__))
    cls.volatile = _Volatile()
    cls.reinforce = _reinforce
    cls.__repr__ = _repr
    cls.__format__ = _format
    cls.__iter__ = _iter
    cls.__contains__ = _contains
    cls.__reversed__ = _reversed
    cls.__copy__ = _copy
    cls.__deepcopy__ = _deepcopy
    cls.__reduce_ex__ = _reduce_ex
    cls.__setstate__ = _setstate
    cls.__dir__ = _dir
    cls.__array_wrap__ = _wrapped
    cls.__array_priority__ = 1000  # ndarray + tensor asks the tensor
    cls.type = _type
    cls.type_as = _type_as
    cls.cpu = _cpu
    cls.cuda = _cuda
    cls.new = _new
    cls.new_tensor = _new_tensor
    cls.share_memory_ = _share_memory_
    cls.nonzero = nonzero
    cls.unique = _unique
    cls.unique_consecutive = _unique_consecutive
