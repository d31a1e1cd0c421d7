"""The classes of 2016: torch.FloatTensor(2, 3), isinstance(x, torch.DoubleTensor), x.type() == "torch.LongTensor".

They are no classes of tensors but names for a dtype on a device; every tensor is a torch.Tensor.
"""

from .. import _C
from .._C import Tensor

PREFIXES = {
    "Float": _C.float32, "Double": _C.float64, "Half": _C.float16, "BFloat16": _C.bfloat16, "Byte": _C.uint8, "Char": _C.int8,
    "Short": _C.int16, "Int": _C.int32, "Long": _C.int64, "Bool": _C.bool, "ComplexFloat": _C.complex64,
    "ComplexDouble": _C.complex128,
}  # fmt: skip
NAMES = {dtype: prefix + "Tensor" for prefix, dtype in PREFIXES.items()}


def over(storage, dtype):
    """The tensor of all elements of a storage."""
    if storage.untyped() is storage:
        return storage._typed(dtype)._tensor()
    if storage.dtype != dtype:
        raise TypeError(f"expected a storage of {dtype} (got {storage.dtype})")
    return storage._tensor()


def sparse_tensor(dtype, args, cuda):
    """What ``torch.sparse.FloatTensor(...)`` makes: of nothing, sizes, a torch.Size, or indices, values and a size."""
    from .._operators.sparse import sparse_coo_tensor

    if args and isinstance(args[0], Tensor):
        if len(args) not in (2, 3):
            raise TypeError(
                f"sparse tensor: expected (indices, values) or (indices, values, size), got {len(args)} arguments"
            )
        if args[1].dtype != dtype:
            raise TypeError(
                f"sparse tensor: expected values of {dtype}, got {args[1].dtype}; use torch.sparse_coo_tensor"
            )
        if cuda and not (args[0].is_cuda and args[1].is_cuda):
            raise RuntimeError(
                f"sparse tensor: expected indices and values on a CUDA device, got {args[0].device} and {args[1].device}"
            )
        return sparse_coo_tensor(*args)
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    return _C._operator("_sparse_zeros")(args or (0,), dtype=dtype, device="cuda" if cuda else "cpu")


class TensorType(type):
    """The type of torch.FloatTensor and the other classes."""

    def __instancecheck__(cls, tensor):
        return (
            isinstance(tensor, Tensor)
            and tensor.dtype == cls.dtype
            and tensor.is_cuda == cls.is_cuda
            and tensor.is_sparse == cls.is_sparse
        )

    def __call__(cls, *args, **kwargs):
        if cls.is_cuda:
            from ..cuda._absent import need_device

            need_device(repr(cls))
        if cls.is_sparse:
            return sparse_tensor(cls.dtype, args, cls.is_cuda)
        return _C._legacy_new(cls.dtype, "cuda" if cls.is_cuda else "cpu", args, kwargs)

    def __getattr__(cls, name):
        return getattr(Tensor, name)  # torch.ByteTensor.all

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def make(name, cuda=False, sparse=False):
    """The class of that name, such as FloatTensor."""
    members = {"dtype": PREFIXES[name.removesuffix("Tensor")], "is_cuda": cuda, "is_sparse": sparse}
    module = "torch" + ".cuda" * cuda + ".sparse" * sparse
    return TensorType(
        name, (), {**members, "__module__": module, "__slots__": (), "__doc__": _doc(f"{module}.{name}", members)}
    )


def _doc(name, members):
    """What `help(torch.FloatTensor)` says, with an example that runs."""
    dtype = members["dtype"]
    device = "cuda" if members["is_cuda"] else "cpu"
    kind = f"The name of 2016 for{' sparse' * members['is_sparse']} tensors of {dtype} on the device {device!r}."
    if members["is_cuda"]:
        return f"{kind}\n\n>>> isinstance(torch.ones(1), {name})\nFalse\n"
    if members["is_sparse"]:
        return f"{kind}\n\n>>> torch.zeros(2, dtype={dtype}).to_sparse().type()\n'{name}'\n"
    return f"{kind}\n\n>>> {name}(2, 3).shape, {name}(2).dtype\n(torch.Size([2, 3]), {dtype})\n"


def class_name(tensor):
    """The name of a tensor's legacy class: ``"torch.FloatTensor"``."""
    place = "torch." if tensor.device.type == "cpu" else f"torch.{tensor.device.type}."
    if tensor.is_sparse:
        place += "sparse."
    return place + NAMES.get(tensor.dtype, f"{str(tensor.dtype)[6:]}Tensor")


def target(kind):
    """The arguments for ``Tensor.to`` that a dtype, a legacy class or the name of one stands for."""
    if isinstance(kind, _C.dtype):
        return (kind,)
    if isinstance(kind, TensorType):
        return ("cuda" if kind.is_cuda else "cpu", kind.dtype)
    if isinstance(kind, str):
        place, _, name = kind.rpartition(".")
        dtype = PREFIXES.get(name.removesuffix("Tensor"))
        if dtype is not None and place in ("torch", "torch.cuda"):
            return ("cuda" if place == "torch.cuda" else "cpu", dtype)
        if place == "torch" and isinstance(getattr(_C, name, None), _C.dtype):
            return (getattr(_C, name),)
    if kind is Tensor:
        return ("cpu", _C.get_default_dtype())
    raise ValueError(f"type: invalid type: {kind!r}; expected a torch.dtype or a name such as 'torch.FloatTensor'")


_device = "cpu"  # that set_default_tensor_type chose


def set_default_tensor_type(t):
    """Set the default dtype by a legacy class such as torch.DoubleTensor or its name, and with a class of CUDA the device
    that tensors are made on.

    >>> torch.set_default_tensor_type("torch.DoubleTensor")
    >>> torch.ones(1).dtype
    torch.float64
    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    global _device
    *place, dtype = target(t)
    device = place[0] if place else "cpu"
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            f"set_default_tensor_type: only floating-point types are supported as the default type, got {t!r}"
        )
    if device == "cuda":
        from ..cuda._absent import need_device

        need_device(f"set_default_tensor_type({t!r})")
    _C.set_default_dtype(dtype)
    if device != _device:
        _C._set_default_device(None if device == "cpu" else _C.device(device))
        _C._set_legacy_device(device)
        _device = device


def __getattr__(name):
    if name != "_tensor_classes":
        raise AttributeError(f"module 'torch._compat.classes' has no attribute {name!r}")
    import torch

    places = (torch, torch.sparse, torch.cuda, torch.cuda.sparse)
    return {getattr(place, prefix + "Tensor") for place in places for prefix in PREFIXES}
