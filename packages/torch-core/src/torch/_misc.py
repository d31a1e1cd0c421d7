"""Small questions that `torch` answers: typename, is_storage, is_floating_point, ..."""

from . import _C
from ._C import Tensor


def typename(obj):
    """The type of an object as a string: ``"torch.FloatTensor"`` for a tensor, else the qualified name of its class."""
    if isinstance(obj, Tensor):
        return obj.type()
    cls = type(obj)
    module = getattr(obj, "__module__", None) or cls.__module__
    name = getattr(obj, "__qualname__", None) or cls.__qualname__
    return name if module in ("builtins", None) else f"{module}.{name}"


def is_storage(obj):
    """True when the object is a storage."""
    return isinstance(obj, _C.UntypedStorage)


def is_floating_point(input):
    """True when the dtype is float16, bfloat16, float32 or float64."""
    return input.dtype.is_floating_point


def is_complex(input):
    """True when the dtype is complex64 or complex128."""
    return input.dtype.is_complex


def numel(input):
    """Number of elements."""
    return input.numel()


def is_same_size(input, other):
    """True when both tensors have the same sizes."""
    return input.is_same_size(other)


def is_nonzero(input):
    """True when a tensor of one element is not zero; RuntimeError for any other number of elements."""
    if input.numel() != 1:
        raise RuntimeError(
            f"is_nonzero: Boolean value of Tensor with {input.numel()} values is ambiguous; it must have one"
        )
    return bool(input)


def set_flush_denormal(mode):
    """Whether denormal numbers become zero; not supported here: kernels follow IEEE 754, so this returns False."""
    return False


def compiled_with_cxx11_abi():
    """True: every build of torch-core uses the C++11 ABI."""
    return True


def are_deterministic_algorithms_enabled():
    """True: results never depend on the number of threads or on timing."""
    return True


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted for compatibility: every operator here is deterministic anyway."""


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to; RuntimeError names the two that do not fit.

    >>> torch.broadcast_shapes((2, 1), (3,), 1)
    torch.Size([2, 3])
    """
    result = _C.Size()
    for shape in shapes:
        shape = _C.Size((shape,) if isinstance(shape, int) else shape)
        if any(n < 0 for n in shape):
            raise RuntimeError(f"broadcast_shapes: sizes must not be negative, got {tuple(shape)}")
        longer = max(len(result), len(shape))
        pairs = zip(
            (1,) * (longer - len(result)) + tuple(result), (1,) * (longer - len(shape)) + tuple(shape), strict=True
        )
        fitted = []
        for a, b in pairs:
            if a != b and 1 not in (a, b):
                raise RuntimeError(
                    f"broadcast_shapes: shapes {tuple(result)} and {tuple(shape)} do not broadcast: sizes {a} and {b} differ"
                )
            fitted.append(b if a == 1 else a)
        result = _C.Size(fitted)
    return result
