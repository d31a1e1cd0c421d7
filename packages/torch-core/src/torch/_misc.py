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
    from .storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))


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


def _of_tensor(name):
    def function(input, *args, **kwargs):
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{name}(...)``."
    return function


#: Methods that programs call as functions.
METHODS = (
    "is_signed", "is_conj", "is_inference", "is_distributed", "size", "stride", "expand", "expand_as", "repeat", "fill_", "zero_",
    "bernoulli_", "pin_memory", "gcd_", "get_device", "is_neg", "lcm_", "xlogy_",
)  # fmt: skip
globals().update((name, _of_tensor(name)) for name in METHODS)

_settings = {"matmul": "highest", "determinism": 0, "interop": 1, "warn_always": False}

#: Libraries that programs ask for: LAPACK comes with OpenBLAS.
has_lapack, has_mkl, has_openmp = True, False, False


def is_warn_always_enabled():
    """What was set: False at first."""
    return _settings["warn_always"]


def set_warn_always(b):
    """Accepted for compatibility: how often a warning is shown is a matter of the module ``warnings`` here."""
    _settings["warn_always"] = bool(b)


def is_deterministic_algorithms_warn_only_enabled():
    """False: there is nothing to warn of."""
    return False


def is_autocast_enabled(device_type=None):
    """False: operators are not cast by themselves."""
    return False


def get_autocast_dtype(device_type):
    """The dtype that ``autocast`` would take: bfloat16 on the CPU, float16 on CUDA."""
    dtypes = {"cpu": _C.bfloat16, "cuda": _C.float16}
    if device_type not in dtypes:
        raise RuntimeError(f"get_autocast_dtype: expected device_type 'cpu' or 'cuda', got {device_type!r}")
    return dtypes[device_type]


def to_dlpack(tensor):
    """A DLPack capsule of the tensor's memory."""
    return tensor.__dlpack__()


def from_file(filename, shared=False, size=0, *, dtype=None, requires_grad=False):
    """A tensor over the first ``size`` elements of a file; with ``shared``, writing to it writes to the file, which grows."""
    from .storage import UntypedStorage

    dtype = dtype or _C.get_default_dtype()
    storage = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
    result = Tensor().to(dtype).set_(storage, 0, (size,))
    return result.requires_grad_() if requires_grad else result


def get_float32_matmul_precision():
    """What was set: "highest" at first."""
    return _settings["matmul"]


def set_float32_matmul_precision(precision):
    """ "highest", "high" or "medium": how exact products of float32 must be; all are computed as "highest" here."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"float32_matmul_precision must be 'highest', 'high' or 'medium', got {precision!r}")
    _settings["matmul"] = precision


def get_deterministic_debug_mode():
    """What was set: 0 at first."""
    return _settings["determinism"]


def set_deterministic_debug_mode(debug_mode):
    """ "default", "warn" or "error", or 0 to 2: what to do about operators that are not deterministic; there are none."""
    modes = {"default": 0, "warn": 1, "error": 2}
    mode = modes.get(debug_mode, debug_mode)
    if mode not in (0, 1, 2):
        raise ValueError(f"deterministic_debug_mode must be 'default', 'warn', 'error' or 0 to 2, got {debug_mode!r}")
    _settings["determinism"] = mode


def get_num_interop_threads():
    """What was set: 1 at first."""
    return _settings["interop"]


def set_num_interop_threads(num):
    """Accepted for compatibility: there is one pool of threads, see ``set_num_threads``."""
    if num < 1:
        raise RuntimeError(f"set_num_interop_threads: expected a positive number of threads, got {num}")
    _settings["interop"] = num


def get_default_device():
    """The device of new tensors: the CPU."""
    return _C.device("cpu")


def set_default_device(device):
    """The CPU, or None for it: another default is not there yet (NotImplementedError)."""
    if device is not None and _C.device(device).type != "cpu":
        raise NotImplementedError(
            f"set_default_device: new tensors are made on the CPU, pass device={str(device)!r} instead"
        )


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
