"""The methods of Tensor that are rare or wordy enough to be Python. `complete` puts them onto the compiled type."""

import itertools
import sys
import warnings

from . import _C
from ._C import Tensor

# What torch.autograd puts onto the type when it is imported; before that, touching one imports it.
GRADIENT_NAMES = (
    "grad", "grad_fn", "is_leaf", "backward", "register_hook", "retain_grad", "retains_grad", "requires_grad_", "output_nr",
    "_grad", "_backward_hooks", "detach_", "register_post_accumulate_grad_hook",
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
            from torch import _install

            upgrade = _install.command("torch-autograd", upgrade=True)
            raise AttributeError(f"the installed torch-autograd has no Tensor.{self.name}: {upgrade}")


def _of_storage(name):
    """A method of UntypedStorage that torch.storage replaces with the real one."""

    def method(self, *args):
        from . import storage  # noqa: F401

        return getattr(self, *args) if name == "__getattr__" else getattr(self, name)(*args)

    return method


def _is_view(self):
    """Whether this tensor was made as a view of another, whose memory it shares.

    >>> x = torch.ones(2, 3)
    >>> x[0]._is_view(), x._is_view()
    (True, False)
    """
    return self._base is not None


def _storage(self):
    """The memory of this tensor as elements of its dtype: a TypedStorage.

    >>> list(torch.tensor([[1.0, 2.0], [3.0, 4.0]]).storage())
    [1.0, 2.0, 3.0, 4.0]
    """
    return self.untyped_storage()._typed(self.dtype)


def _storage_type(self):
    """The class of this tensor's storage, such as torch.FloatStorage.

    >>> torch.ones(1).storage_type().__name__
    'FloatStorage'
    """
    import torch

    return getattr(torch, self.storage().pickle_storage_type())


def _set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Lets the tensor share the memory of a tensor or storage, with the geometry given; with none it becomes empty.

    >>> x = torch.empty(0)
    >>> x.set_(torch.tensor([1.0, 2.0, 3.0]).untyped_storage(), 1, (2,))
    tensor([2., 3.])
    """
    set_ = _C._operator("set_")
    if source is None:
        return set_(self)
    if isinstance(source, Tensor):
        whole = size is None and storage_offset == 0
    else:
        if not hasattr(source, "_typed") and not hasattr(source, "_tensor"):
            raise TypeError(f"set_: source must be a tensor or a storage, not {type(source).__name__}")
        typed = source if hasattr(source, "dtype") else source._typed(self.dtype)
        source = typed._tensor()
        if source.dtype != self.dtype:
            raise RuntimeError(f"set_: the tensor is of {self.dtype}, the storage of {source.dtype}")
        whole = False
        size = (len(source) - storage_offset,) if size is None else size
    return set_(self, source) if whole else set_(self, source, storage_offset, size, () if stride is None else stride)


def _repr_html_(self):
    """What a notebook shows: shape, dtype, device, range, and a picture of what looks like one."""
    from ._card import card

    return card(self)


def _repr(self, *, tensor_contents=None):
    from ._printing import text

    return text(self, tensor_contents)


def _format(self, spec):
    if self.dim() == 0 and (spec or type(self) is _C.Tensor) and not self.is_meta:
        try:
            number = self.item()
        except RuntimeError:  # the examples of a batch have no number
            if spec:
                raise
        else:
            return number.__format__(spec)
    return object.__format__(self, spec)


def _index(self, indices):
    """``self[indices]``, with None for dims that are taken whole.

    >>> torch.tensor([[1, 2], [3, 4]]).index((None, torch.tensor([1, 0])))
    tensor([[2, 1],
            [4, 3]])
    """
    if isinstance(indices, Tensor):
        return self[indices]
    return self[tuple(slice(None) if i is None else i for i in indices)]


def _record_stream(self, stream):
    """Keep the memory until a stream is done with it; RuntimeError for a device without streams.

    >>> if torch.cuda.is_available():
    ...     torch.ones(2, device="cuda").record_stream(torch.cuda.current_stream())
    """
    if self.device.type in ("cpu", "meta"):
        raise RuntimeError(f"record_stream: the tensor is on {self.device}, which has no streams")
    from ._cuda.streams import record_stream

    record_stream(self, stream)


def _iter(self):
    """Over the first dim.

    >>> [row.tolist() for row in torch.eye(2)]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self, element):
    from numbers import Number

    if isinstance(element, (Tensor, Number)):
        return bool((self == element).any().item())
    raise TypeError(f"'in': a Tensor contains numbers and tensors, not {type(element).__name__}")


def _reversed(self):
    return self if self.dim() == 0 else self.flip(0)


def _deepcopy(self, memo):
    """For ``copy.deepcopy``: a leaf with memory of its own.

    >>> import copy
    >>> copy.deepcopy(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    from ._copying import deepcopy

    return deepcopy(self, memo)


def _copy(self):
    from ._copying import copy

    return copy(self)


def _reduce_ex(self, protocol):
    """For ``pickle``: values, strides and whether a gradient is needed.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(torch.tensor([1.0, 2.0])))
    tensor([1., 2.])
    """
    from ._copying import reduce

    return reduce(self, protocol)


def _setstate(self, state):
    """Takes what ``__reduce_ex__`` of an old file held.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(torch.ones(1, requires_grad=True))).requires_grad
    True
    """
    from ._copying import set_state

    set_state(self, state)


def _type(self, dtype=None, non_blocking=False, **kwargs):
    """The name of the tensor's legacy class, or the tensor converted to a dtype or legacy class.

    >>> torch.ones(1).type(), torch.ones(1).type(torch.int64)
    ('torch.FloatTensor', tensor([1]))
    """
    from ._compat.classes import class_name, target

    if dtype is None:
        return class_name(self)
    *place, dtype = target(dtype)
    if place == [self.device.type]:  # whichever of several devices it is on
        place = []
    return self.to(*place, dtype, non_blocking=non_blocking)


def _type_as(self, other):
    """The tensor with the dtype and on the device of another.

    >>> torch.ones(1).type_as(torch.zeros(1, dtype=torch.int64))
    tensor([1])
    """
    return self.to(other)


def _cpu(self, memory_format=None):
    """The tensor on the CPU; itself when it is there already.

    >>> torch.ones(2).cpu().device
    device(type='cpu')
    """
    return self.to("cpu")


def _cuda(self, device=None, non_blocking=False, memory_format=None):
    """A copy of the tensor on a CUDA device; needs the distribution torch-core-cuda.

    >>> if torch.cuda.is_available():
    ...     x = torch.ones(2).cuda()
    """
    if device is not None and not isinstance(device, int) and _C.device(device).type != "cuda":
        raise RuntimeError(f"cuda: Invalid device, must be cuda device, got {device}; to() moves a tensor anywhere")
    try:
        return self.to("cuda" if device is None else device, non_blocking=non_blocking)
    except NotImplementedError as error:
        raise type(error)(str(error).replace("to:", "cuda:", 1)) from None


def _conversion(name, dtype):
    def convert(self, memory_format=None):
        return self.to(dtype) if memory_format is None else self.to(dtype, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = (
        f"The tensor as {dtype}; itself when it is one already.\n\n>>> torch.tensor([True]).{name}().dtype\n{dtype}\n"
    )
    return convert


def _spectral(name):
    def transform(self, signal_ndim, normalized=False, **kwargs):
        from ._compat import fft

        return getattr(fft, name)(self, signal_ndim, normalized, **kwargs)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = (
        f"The transform of 2018: ``torch.{name}(self, signal_ndim)`` over pairs in a last dim of 2.\n\n"
        f">>> torch.ones(4, 2).{name}(1).dim()\n{1 if name == 'irfft' else 3 if name == 'rfft' else 2}\n"
    )
    return transform


def _new(self, *args, **kwargs):
    """A new tensor of this one's dtype, made as the legacy constructor makes it.

    >>> torch.ones(1, dtype=torch.float64).new([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    if self.is_sparse:
        from ._compat.classes import sparse_tensor

        return sparse_tensor(self.dtype, args, self.is_cuda)
    return _C._legacy_new(self.dtype, self.device, args, kwargs)


def _new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A new tensor with a copy of the data; dtype and device are this tensor's where not given.

    >>> torch.ones(1, dtype=torch.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    return _C.tensor(
        data,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def _share_memory_(self):
    """Moves the storage into shared memory, in place; needs torch-multiprocessing.

    >>> torch.ones(2).share_memory_().is_shared()
    True
    """
    from torch.multiprocessing import _share_tensor

    return _share_tensor(self)


def _to_sparse_coo(self):
    """The elements that are not zero as a sparse tensor; ``self.to_sparse()``."""
    return self.to_sparse()


def _to_sparse_csr(self, dense_dim=None):
    """The elements that are not zero, or those of a sparse tensor, in layout torch.sparse_csr."""
    return _C._operator("_to_sparse_compressed")(self, layout=_C.sparse_csr, dense_dim=dense_dim)


def _to_sparse_csc(self, dense_dim=None):
    """The elements that are not zero, or those of a sparse tensor, in layout torch.sparse_csc."""
    return _C._operator("_to_sparse_compressed")(self, layout=_C.sparse_csc, dense_dim=dense_dim)


def _to_sparse_bsr(self, blocksize, dense_dim=None):
    """The blocks that are not zero, or those of a sparse tensor, in layout torch.sparse_bsr."""
    return _to_blocks(self, _C.sparse_bsr, blocksize, dense_dim)


def _to_sparse_bsc(self, blocksize, dense_dim=None):
    """The blocks that are not zero, or those of a sparse tensor, in layout torch.sparse_bsc."""
    return _to_blocks(self, _C.sparse_bsc, blocksize, dense_dim)


def _to_blocks(self, layout, blocksize, dense_dim):
    size = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    return _C._operator("_to_sparse_compressed")(self, layout=layout, blocksize=size, dense_dim=dense_dim)


def nonzero(input, *, out=None, as_tuple=False):
    """The positions of elements that are not zero, as rows; or with ``as_tuple`` one tensor a dim, which can index.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    return _C._operator("nonzero_tuple")(input) if as_tuple else _C._operator("nonzero")(input, out=out)


def _unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The values that occur, in order; on request where each went, and how often it occurs.

    >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    from ._operators.unique import unique

    return unique(self, sorted, return_inverse, return_counts, dim)


def _unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    from ._operators.unique import unique_consecutive

    return unique_consecutive(self, return_inverse, return_counts, dim)


def _of_module(module, name):
    """A method that a module of torch-core holds as a function, imported when first called."""

    def method(self, *args, **kwargs):
        return getattr(__import__(f"torch.{module}", fromlist=[name]), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``torch.{module}.{name}(self, ...)``." + EXAMPLES.get(name, "")
    return method


#: Of the methods below that PyTorch had in 2018.
EXAMPLES = {
    name: f"\n\n>>> {code}\n{shown}\n"
    for name, code, shown in (
        ("renorm", "torch.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm(2, 0, 1.0)", "tensor([[0.6000, 0.8000],\n        [0.3000, 0.4000]])"),
        ("renorm_", "torch.tensor([[3.0, 4.0]]).renorm_(2, 0, 1.0)", "tensor([[0.6000, 0.8000]])"),
        ("btrifact", "torch.tensor([[[4.0, 1.0], [1.0, 3.0]]]).btrifact()[1]", "tensor([[1, 2]], dtype=torch.int32)"),
        ("apply_", "torch.tensor([1.0, 2.0]).apply_(lambda x: x + 1)", "tensor([2., 3.])"),
        ("map_", "torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda x, y: x * y)", "tensor([3., 8.])"),
        ("map2_", "torch.ones(1).map2_(torch.ones(1), torch.ones(1), lambda x, y, z: x + y + z)", "tensor([3.])"),
        ("resize", "torch.arange(4).resize(2, 2)", "tensor([[0, 1],\n        [2, 3]])"),
        ("resize_as", "torch.arange(4).resize_as(torch.zeros(2, 2))", "tensor([[0, 1],\n        [2, 3]])"),
        ("masked_copy", "torch.zeros(2).masked_copy(torch.tensor([True, False]), torch.ones(1))", "tensor([1., 0.])"),
        ("masked_copy_", "torch.zeros(2).masked_copy_(torch.tensor([True, False]), torch.ones(1))", "tensor([1., 0.])"),
        ("is_nonzero", "torch.tensor([3.0]).is_nonzero()", "True"),
    )
}  # fmt: skip

METHODS_OF = {
    "_operators.composed": (
        "adjoint", "cov", "corrcoef", "renorm", "renorm_", "fill_diagonal_", "float_power_", "hash_tensor",
    ),
    "_copying": ("module_load",),
    "_operators.lu": ("lu", "btrifact"),
    "_operators.counting": ("histogram", "nonzero_static"),
    "_operators.copies": ("narrow_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"),
    "_operators.callbacks": ("apply_", "map_", "map2_"),
    "_compat.methods": ("resize", "resize_as", "masked_copy", "masked_copy_"),
    "_operators.predicates": ("is_nonzero",),
    "_quantized": (
        "dequantize", "int_repr", "q_scale", "q_zero_point", "qscheme", "q_per_channel_axis", "q_per_channel_scales",
        "q_per_channel_zero_points",
    ),
}  # fmt: skip


def _answers_false(name, doc):
    def answer(self, *args):
        return False

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = doc
    return answer


def _of_number(self, name, advice):
    """What transposes a matrix leaves a number alone, with a warning."""
    warnings.warn(f"Tensor.{name} is deprecated on 0-D tensors. {advice}", stacklevel=3)


def _matrix_transpose(self):
    """The matrices transposed; RuntimeError for a vector. A number's is deprecated."""
    if self.dim() == 0:
        _of_number(self, "mT", "This function is the identity in these cases.")
    return _C._operator("mT")(self)


def _adjoint(self):
    """The conjugate of the matrices transposed; RuntimeError for a vector. A number's is deprecated."""
    dims = self.dim()
    if dims == 0:
        _of_number(self, "mH", "Consider using x.conj().")
        return self.conj()
    if dims == 1:
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return self.adjoint()


def _matrix_adjoint(self):
    """The conjugate of a matrix transposed; RuntimeError for other tensors than matrices. A number's is deprecated."""
    dims = self.dim()
    if dims == 0:
        _of_number(self, "H", "Consider using x.conj().")
        return self.conj()
    if dims != 2:
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {dims}-D tensor.")
    return self.adjoint()


def _cuda_array_interface(self):
    """The memory of a CUDA tensor as other libraries read it; no attribute of other tensors."""
    from ._cuda_array import interface

    return interface(self)


def _pin_memory(self, device=None):
    """A copy in memory that stays in place, which CUDA reads without a copy of its own; itself when it is there.

    RuntimeError without a CUDA device, and for what is not a dense tensor of the CPU.

    >>> if torch.cuda.is_available():
    ...     x = torch.ones(2).pin_memory()
    """
    from .cuda._absent import need_device

    need_device("pin_memory")
    from ._cuda.pinned import pinned

    return pinned(self)


def _is_pinned(self, device=None):
    """Whether the memory is pinned, as ``pin_memory`` makes it.

    >>> torch.ones(2).is_pinned()
    False
    """
    if "torch._cuda" not in sys.modules:
        return False  # nothing was pinned
    from ._cuda.pinned import is_pinned

    return is_pinned(self)


def _where(self, condition, other):
    """``torch.where(condition, self, other)``.

    >>> x = torch.tensor([1.0, -1.0])
    >>> x.where(x > 0, torch.zeros(2))
    tensor([1., 0.])
    """
    return _C._operator("where")(condition, self, other)


def _dim_order(self, *, ambiguity_check=False):
    """The dims in the order in which they lie in memory, outermost first.

    With ``ambiguity_check`` a RuntimeError tells where dims of one element or of equal strides leave the order open; a
    list of memory formats settles it where the tensor is contiguous in one of them.

    >>> torch.empty(2, 3, 5, 7).to(memory_format=torch.channels_last).dim_order(ambiguity_check=True)
    (0, 2, 3, 1)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if type(ambiguity_check) not in (bool, list) or not all(isinstance(f, _C.memory_format) for f in formats):
        raise TypeError(
            f"The ambiguity_check argument must be a bool or a list of memory formats, got {ambiguity_check!r}"
        )
    order = tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))
    strides = self.stride()
    is_open = 1 in self.shape or any(a == b for a, b in itertools.pairwise(strides))
    if ambiguity_check and is_open and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats. "
            f"Its shape is {tuple(self.shape)}, its strides are {strides}"
        )
    return order


def _rdiv(self, other):
    """``other / self``, as Python 2 called it.

    >>> torch.tensor([2.0]).__rdiv__(3)
    tensor([1.5000])
    """
    return other / self


def _idiv(self, other):
    """``self /= other``, as Python 2 called it.

    >>> torch.tensor([3.0]).__idiv__(2)
    tensor([1.5000])
    """
    return self.div_(other)


def _dir(self):
    return sorted({*object.__dir__(self), *GRADIENT_NAMES})


def _wrapped(self, array, context=None, return_scalar=False):
    """What a function of NumPy gives for a tensor: a tensor.

    >>> import numpy
    >>> numpy.exp(torch.zeros(2))
    tensor([1., 1.])
    """
    from ._C import from_numpy, tensor

    return from_numpy(array) if getattr(array, "ndim", 0) else tensor(array.item())


CONVERSIONS = {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32, "long": _C.int64,
    "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool, "chalf": _C.complex32, "cfloat": _C.complex64, "cdouble": _C.complex128,
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
    """Removed in 0.4; the error says what to do instead.

    >>> torch.ones(1).reinforce(1.0)
    Traceback (most recent call last):
        ...
    RuntimeError: reinforce() was removed in 0.4: call backward() on -log_prob...
    """
    raise RuntimeError("reinforce() was removed in 0.4: call backward() on -log_prob(sample) * reward instead")


def _torch_function(cls, func, types, args=(), kwargs=None):
    """The function's result, its tensors of the class ``cls``; NotImplemented for types that are none of its bases."""
    from .overrides import _of_subclass

    return _of_subclass(cls, func, types, args, kwargs)


def _init_subclass(cls, **kwargs):
    """A class that answers operators gets what they give as it is, unless it brings a ``__torch_function__`` too."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    is_default = getattr(cls.__torch_function__, "__func__", None) is _torch_function
    if is_default and cls.__torch_dispatch__ is not _C._disabled_torch_dispatch_impl:
        cls.__torch_function__ = _C._disabled_torch_function_impl


def _make_wrapper_subclass(cls, size, *args, **kwargs):
    """A tensor of a class with ``__torch_dispatch__`` that has no memory; see torch._dispatch."""
    from ._dispatch import make_wrapper_subclass

    return make_wrapper_subclass(cls, size, *args, **kwargs)


def complete(cls):
    """Adds the methods of this file to the compiled type; called once by ``import torch``."""
    for name in GRADIENT_NAMES:
        setattr(cls, name, LoadsAutograd(name))
    for name, dtype in CONVERSIONS.items():
        setattr(cls, name, _conversion(name, dtype))
    for name in ("fft", "ifft", "rfft", "irfft"):
        setattr(cls, name, _spectral(name))
    for module, names in METHODS_OF.items():
        for name in names:
            setattr(cls, name, _of_module(module, name))
    for name, doc in (
        ("is_conj", "False: conjugates are computed at once."),
        ("is_neg", "False: negation is computed at once."),
        ("is_distributed", "False.\n\n>>> torch.ones(1).is_distributed()\nFalse\n"),
    ):
        setattr(cls, name, _answers_false(name, doc))
    cls.__cuda_array_interface__ = property(_cuda_array_interface)
    cls.mT, cls.H, cls.mH = property(_matrix_transpose), property(_matrix_adjoint), property(_adjoint)
    cls.name = None
    for device in ("ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu"):
        setattr(cls, f"is_{device}", False)
    cls.dim_order = _dim_order
    cls.pin_memory, cls.is_pinned = _pin_memory, _is_pinned
    cls.index, cls.record_stream = _index, _record_stream
    cls.where = _where
    cls.__div__, cls.__rdiv__, cls.__idiv__ = cls.__truediv__, _rdiv, _idiv  # Python 2 called them
    cls.__nonzero__, cls.__long__ = cls.__bool__, cls.__int__
    for name in ("T", "real", "imag"):  # operators that users read as attributes
        if hasattr(cls, name) or name in ("real", "imag"):
            setattr(cls, name, property(_C._operator(name), doc=_C._operator(name)._text))
    cls.__torch_function__ = classmethod(_torch_function)
    cls.__init_subclass__ = classmethod(_init_subclass)
    cls.__torch_dispatch__ = _C._disabled_torch_dispatch_impl
    cls._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
    cls.volatile = _Volatile()
    _C._operator("meshgrid").__kwdefaults__ = {
        "indexing": None
    }  # as a function of Python has them; libraries look there
    cls.reinforce = _reinforce
    cls.__repr__ = _repr
    cls._repr_html_ = _repr_html_
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
    cls.storage = cls._typed_storage = _storage
    cls._is_view = _is_view
    cls.storage_type = _storage_type
    cls.set_ = _set_
    for name in (
        "__getitem__",
        "__setitem__",
        "__iter__",
        "__repr__",
        "__copy__",
        "__deepcopy__",
        "__reduce_ex__",
        "__getattr__",
    ):
        setattr(_C.UntypedStorage, name, _of_storage(name))
    cls.new_tensor = _new_tensor
    cls.share_memory_ = _share_memory_
    cls.to_sparse_coo = _to_sparse_coo
    cls.to_sparse_csr, cls.to_sparse_csc = _to_sparse_csr, _to_sparse_csc
    cls.to_sparse_bsr, cls.to_sparse_bsc = _to_sparse_bsr, _to_sparse_bsc
    cls.nonzero = nonzero
    cls.unique = _unique
    cls.unique_consecutive = _unique_consecutive


def _rebuild_from_type_v2(function, cls, args, state):
    """The tensor that a pickle of PyTorch describes as one of another class, or as one with attributes."""
    from ._copying import set_state

    tensor = function(*args)
    if type(tensor) is not cls:
        tensor = Tensor._make_subclass(cls, tensor, tensor.requires_grad)
    if isinstance(state, tuple):  # of a class with __slots__
        state = {**(state[0] or {}), **(state[1] or {})}
    set_state(tensor, state)
    return tensor
