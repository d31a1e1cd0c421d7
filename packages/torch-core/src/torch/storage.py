"""Storages: the memory under tensors, as bytes (UntypedStorage) and as elements of one dtype (TypedStorage)."""

from __future__ import annotations

from functools import partial

from . import _C, _untyped
from ._C import UntypedStorage
from ._compat.classes import PREFIXES
from ._parts import need
from ._tensor import CONVERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from typing_extensions import Self

    import torch


__all__ = ["TypedStorage", "UntypedStorage"]

StorageBase = UntypedStorage  # what programs ask of a storage without a dtype


class StorageType(type):
    """The type of TypedStorage, torch.FloatStorage and the like: a TypedStorage is one of the class of its dtype."""

    element = None  # the dtype that the class's name says, or None
    on_cuda = False

    def __instancecheck__(cls, storage: Any) -> Any:
        if cls.element is None or not type.__instancecheck__(TypedStorage, storage):
            return type.__instancecheck__(cls, storage)
        return storage.dtype == cls.element and storage.is_cuda == cls.on_cuda

    def __call__(
        cls,
        *args: Any,
        wrap_storage: Any = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | int | None = None,
        _internal: bool = False,
    ) -> Any:
        if cls.element is None:
            return super().__call__(*args, wrap_storage=wrap_storage, dtype=dtype, device=device)
        if cls.on_cuda:
            from .cuda._absent import need_device

            need_device(repr(cls))
            device = "cuda" if device is None else device
        if dtype is not None and dtype != cls.element:
            raise RuntimeError(f"{cls!r}: dtype is {cls.element} and cannot be {dtype}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.element, device=device)


class _of_class_or_instance:
    """A method that is given the dtype of the storage, or of the class, that it is called on."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, cls: Any) -> Any:
        return partial(self._function, _wanted(cls, None) if instance is None else instance._dtype)


class TypedStorage(metaclass=StorageType):
    """Elements of one dtype in the memory that tensors share: ``TypedStorage(3)``, ``TypedStorage([1.0, 2.0])``.

    ``TypedStorage(wrap_storage=untyped, dtype=torch.float32)`` gives bytes that are there already, without a copy, their
    type: so files are read. ``torch.FloatStorage(...)`` and the like say the dtype by their name.

    >>> s = torch.FloatStorage([1, 2, 3])
    >>> s[1] = 5
    >>> torch.tensor([], dtype=s.dtype).set_(s)
    tensor([1., 5., 3.])
    """

    is_sparse = False
    __slots__ = ("__weakref__", "_dtype", "_untyped")

    if TYPE_CHECKING:  # what is put here below

        def data_ptr(self) -> int: ...
        def get_device(self) -> int: ...
        def is_pinned(self, device: Any = None) -> bool: ...
        def is_shared(self) -> bool: ...
        def pin_memory(self, device: Any = None) -> Self: ...
        def resizable(self) -> bool: ...
        def share_memory_(self) -> Self: ...
        def bfloat16(self) -> TypedStorage: ...
        def byte(self) -> TypedStorage: ...
        def char(self) -> TypedStorage: ...
        def double(self) -> TypedStorage: ...
        def half(self) -> TypedStorage: ...
        def long(self) -> TypedStorage: ...
        def short(self) -> TypedStorage: ...

    def __init__(
        self,
        *args: Any,
        wrap_storage: Any = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | int | None = None,
    ) -> None:
        self._dtype = _C.get_default_dtype() if dtype is None else dtype
        if wrap_storage is not None:
            if args or device is not None:
                raise RuntimeError("TypedStorage: with wrap_storage, no size, data or device can be given")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    f"TypedStorage: wrap_storage must be an UntypedStorage, not {type(wrap_storage).__name__}"
                )
            self._untyped = wrap_storage
        elif len(args) > 1:
            raise TypeError(f"TypedStorage: expected a size or a sequence, got {len(args)} positional arguments")
        elif not args or hasattr(args[0], "__index__"):
            size = args[0].__index__() if args else 0
            if size < 0:
                raise RuntimeError(f"TypedStorage: size must not be negative, got {size}")
            self._untyped = UntypedStorage(size * self._dtype.itemsize, device=device)
        elif isinstance(args[0], TypedStorage | UntypedStorage):
            self._untyped = args[0]._tensor().to(self._dtype, copy=True).untyped_storage()
        else:
            self._untyped = _C.tensor(args[0], dtype=self._dtype, device=device).reshape(-1).untyped_storage()

    # --- what it is ---

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._dtype

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        return self._untyped.device

    @property
    def is_cuda(self) -> Any:
        """True in the memory of a GPU."""
        return self.device.type == "cuda"

    @property
    def _cdata(self):
        return self._untyped._cdata

    @property
    def filename(self) -> str | None:
        """The file that the memory is, or None."""
        return self._untyped.filename

    def size(self) -> Any:
        """Number of elements.

        >>> torch.FloatStorage(2).size()
        2
        """
        return self._untyped.nbytes() // self._dtype.itemsize

    def element_size(self) -> Any:
        """Bytes of one element.

        >>> torch.FloatStorage(2).element_size()
        4
        """
        return self._dtype.itemsize

    def nbytes(self) -> Any:
        """Size in bytes."""
        return self._untyped.nbytes()

    def untyped(self) -> Any:
        """The same memory as bytes."""
        return self._untyped

    def pickle_storage_type(self) -> Any:
        """The name of the class of this dtype: ``"FloatStorage"``."""
        return class_name(self._dtype)

    def type(self, dtype: str | None = None, non_blocking: bool = False) -> Any:
        """The name of this storage's class, or a copy converted to a dtype or to the class of that name.

        >>> torch.FloatStorage(2).type(), torch.FloatStorage(2).type("torch.LongStorage").type()
        ('torch.FloatStorage', 'torch.LongStorage')
        """
        if dtype is None:
            place = "torch." if self.device.type == "cpu" else f"torch.{self.device.type}."
            return place + self.pickle_storage_type()
        return self._to(dtype_of(dtype))

    def __sizeof__(self) -> Any:
        return object.__sizeof__(self) + self.nbytes()

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, TypedStorage) and self._untyped is other._untyped and self._dtype == other._dtype

    def __hash__(self) -> int:
        return hash((id(self._untyped), self._dtype))

    def __repr__(self) -> str:
        rows = "" if self.device.type == "meta" else "".join(f" {value}\n" for value in self)
        return f"{rows}[torch.storage.TypedStorage(dtype={self._dtype}, device={self.device}) of size {len(self)}]"

    # --- elements ---

    def _tensor(self):
        """All elements as a tensor over this memory."""
        return _untyped.elements(self._untyped, self._dtype)

    def _place(self, index):
        if not hasattr(index, "__index__"):
            raise TypeError(f"storage indices must be integers or slices, not {type(index).__name__}")
        place = index.__index__()
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range for a storage of size {len(self)}")
        return place

    def __getitem__(self, index: Any) -> Any:
        """An element as a number; of a slice the storage that shares its memory.

        >>> torch.FloatStorage([1, 2, 3])[1]
        2.0
        """
        if isinstance(index, slice):
            start, stop = _untyped.bounds(index, len(self))
            size = self._dtype.itemsize
            return self._untyped[start * size : stop * size]._typed(self._dtype)
        return self._tensor()[self._place(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, TypedStorage | UntypedStorage):
            value = value._tensor()
        self._tensor()[index if isinstance(index, slice) else self._place(index)] = value

    def tolist(self) -> Any:
        """The elements as Python numbers.

        >>> torch.FloatStorage([1, 2]).tolist()
        [1.0, 2.0]
        """
        return self._tensor().tolist()

    def fill_(self, value: Any) -> Self:
        """Sets every element to a number.

        >>> torch.FloatStorage(2).fill_(7).tolist()
        [7.0, 7.0]
        """
        self._tensor().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = False) -> Self:
        """Copies the elements of a storage of the same size, converting them.

        >>> torch.FloatStorage(2).copy_(torch.FloatStorage([1, 2])).tolist()
        [1.0, 2.0]
        """
        if len(source) != len(self):
            raise RuntimeError(f"copy_: the storages have {len(self)} and {len(source)} elements")
        self._tensor().copy_(source._tensor())
        return self

    def resize_(self, size: int | Sequence[int]) -> Self:
        """Makes room for another number of elements; those that fit stay.

        >>> storage = torch.FloatStorage([1, 2])
        >>> _ = storage.resize_(3)
        >>> storage.size()
        3
        """
        self._untyped.resize_(size * self._dtype.itemsize)
        return self

    # --- copies ---

    def clone(self) -> Any:
        """A copy.

        >>> torch.FloatStorage([1, 2]).clone().tolist()
        [1.0, 2.0]
        """
        return self._untyped.clone()._typed(self._dtype)

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: Any) -> Any:
        from copy import deepcopy

        return deepcopy(self._untyped, memo)._typed(self._dtype)

    def new(self, *args: Any) -> Any:
        """A new storage of this dtype.

        >>> torch.FloatStorage(2).new().size()
        0
        """
        return TypedStorage(*args, dtype=self._dtype)

    def _to(self, dtype):
        return self if dtype == self._dtype else self._tensor().to(dtype).untyped_storage()._typed(dtype)

    def to(self, *, device: torch.device | str | int, non_blocking: bool = False) -> Self:
        """The storage on a device; itself when it is there."""
        return self._untyped.to(device=device)._typed(self._dtype)

    def cpu(self) -> Any:
        """The storage on the CPU; itself when it is there.

        >>> torch.FloatStorage([1, 2]).cpu().device
        device(type='cpu')
        """
        return self if self.device.type == "cpu" else self.to(device="cpu")

    def cuda(self, device: torch.device | str | int | None = None, non_blocking: bool = False) -> Self:
        """A copy on a CUDA device; needs the distribution torch-core-cuda.

        >>> if torch.cuda.is_available():
        ...     torch.FloatStorage([1, 2]).cuda()
        """
        return self.to(device="cuda" if device is None else device)

    def __reduce__(self) -> Any:
        return _typed, (self._untyped, self._dtype)

    def __getstate__(self) -> dict[str, Any]:
        return None

    @_of_class_or_instance
    def _new_shared(dtype, size, *, device="cpu"):
        """A storage in shared memory, of the class's dtype or the instance's; needs torch-multiprocessing."""
        return UntypedStorage._new_shared(size * dtype.itemsize, device=device)._typed(dtype)

    @classmethod
    def from_buffer(
        cls, *args: Any, dtype: torch.dtype | None = None, device: torch.device | str | int | None = None, **kwargs: Any
    ) -> Any:
        """A storage with a copy of a buffer's bytes: ``FloatStorage.from_buffer(buffer, byte_order="native", count=-1,
        offset=0)``."""
        dtype = _wanted(cls, dtype)
        return UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)._typed(dtype)

    @classmethod
    def _from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        if cls is TypedStorage:
            raise RuntimeError("TypedStorage._from_buffer: call it on a class such as torch.ByteStorage")
        if dtype is not None:
            raise RuntimeError(f"{cls.__name__}._from_buffer: the class says the dtype; leave dtype={dtype} away")
        return cls.from_buffer(*args, device=device, **kwargs)

    @classmethod
    def from_file(
        cls, filename: Any, shared: bool = False, size: int | Sequence[int] = 0, *, dtype: torch.dtype | None = None
    ) -> Any:
        """The file as memory, ``size`` elements of it; with ``shared`` changes reach the file."""
        dtype = _wanted(cls, dtype)
        return UntypedStorage.from_file(filename, shared, size * dtype.itemsize)._typed(dtype)


def _wanted(cls, dtype):
    return dtype or cls.element or _C.get_default_dtype()


def _typed(untyped, dtype):
    """Elements of a dtype over bytes."""
    return TypedStorage(wrap_storage=untyped, dtype=dtype)


def _load_from_bytes(data):
    """The storage in a pickle of PyTorch, which holds it as a whole file of its own."""
    from io import BytesIO

    return need("serialize").load(BytesIO(data))


def _forward(name):
    def method(self, *args, **kwargs):
        result = getattr(self._untyped, name)(*args, **kwargs)
        return self if result is self._untyped else result

    method.__name__ = method.__qualname__ = name
    method.__doc__ = getattr(UntypedStorage, name).__doc__ or ""  # none under python -OO
    shown = {"is_shared": "False", "is_pinned": "False", "share_memory_": ".is_shared()\nTrue", "get_device": "-1"}.get(
        name
    )
    if name == "data_ptr":
        shown = " > 0\nTrue"
    if name == "pin_memory":
        method.__doc__ += (
            "\n\n>>> if torch.cuda.is_available():\n...     storage = torch.FloatStorage(2).pin_memory()\n"
        )
    elif shown:
        method.__doc__ += f"\n\n>>> torch.FloatStorage(2).{name}(){'' if shown[0] in ' .' else chr(10)}{shown}\n"
    return method


def _conversion(name, dtype):
    def convert(self):
        return (self if type(self) is TypedStorage else self._typed(_C.uint8))._to(dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = (
        f"The storage converted to {dtype}; itself when it is that already.\n\n"
        f">>> torch.ShortStorage([1, 2]).{name}().dtype\n{dtype}\n"
    )
    return convert


def class_name(dtype):
    """The name of a dtype's storage class: ``"FloatStorage"``."""
    for prefix, known in PREFIXES.items():
        if known == dtype:
            return prefix + "Storage"
    raise NotImplementedError(f"there is no storage class of {dtype}: use torch.UntypedStorage")


def dtype_of(kind):
    """The dtype that a dtype, a storage class or the name of one stands for."""
    if isinstance(kind, _C.dtype):
        return kind
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
    place, _, last = name.rpartition(".")
    dtype = PREFIXES.get(last.removesuffix("Storage"))
    if dtype is None or place != "torch" or not last.endswith("Storage"):
        raise ValueError(f"type: invalid type: {kind!r}; expected a torch.dtype or a name such as 'torch.FloatStorage'")
    return dtype


def make(name, cuda=False):
    """The class of that name, such as FloatStorage."""
    dtype, module = PREFIXES[name.removesuffix("Storage")], "torch.cuda" if cuda else "torch"
    members = {"element": dtype, "dtype": dtype, "on_cuda": cuda, "is_cuda": cuda}
    doc = f"The memory of {dtype} elements{' on a CUDA device' * cuda}, by its name of 2016."
    if cuda:
        doc += f"\n\n>>> isinstance(torch.ones(1).storage(), {module}.{name})\nFalse\n"
    else:
        doc += f"\n\n>>> torch.{name}([1, 2]).dtype\n{dtype}\n"
    return StorageType(name, (TypedStorage,), {**members, "__slots__": (), "__module__": module, "__doc__": doc})


_untyped.complete()
for _name in ("data_ptr", "is_shared", "share_memory_", "resizable", "is_pinned", "pin_memory", "get_device"):
    setattr(TypedStorage, _name, _forward(_name))
for _name, _dtype in CONVERSIONS.items():
    _name = {"cfloat": "complex_float", "cdouble": "complex_double"}.get(_name, _name)
    setattr(TypedStorage, _name, _conversion(_name, _dtype))
    setattr(UntypedStorage, _name, _conversion(_name, _dtype))


def __getattr__(name):
    if name not in ("Storage", "_storage_classes"):
        raise AttributeError(f"module 'torch.storage' has no attribute {name!r}")
    import torch

    if name == "Storage":  # the class of the dtype that tensors have by default
        return torch.FloatStorage
    return {torch.UntypedStorage, TypedStorage, *(getattr(torch, prefix + "Storage") for prefix in PREFIXES)}
