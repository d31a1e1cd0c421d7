"""Small questions that `torch` answers: typename, is_storage, is_floating_point, ..."""

from __future__ import annotations

import sys

from .. import _C
from .._C import Tensor
from .out import check_tensor, of_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import torch


has_cuda = has_cudnn = has_mps = False  # as of the build: the plug-in would say otherwise


def set_vital(name: str, attr: str, value: str) -> bool:
    """False: nothing is noted of how programs use torch."""
    return False


legacy_contiguous_format = _C.contiguous_format  # its name before 2020


def typename(obj: Any) -> str:
    """The type of an object as a string: ``"torch.FloatTensor"`` for a tensor, else the qualified name of its class.

    >>> torch.typename(torch.ones(1)), torch.typename([1, 2])
    ('torch.FloatTensor', 'list')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    cls = type(obj)
    module = getattr(obj, "__module__", None) or cls.__module__
    name = getattr(obj, "__qualname__", None) or cls.__qualname__
    return name if module in ("builtins", None) else f"{module}.{name}"


def _has_compatible_shallow_copy_type(self: Tensor, from_: Tensor) -> bool:
    """Whether one tensor may take the other's data: both are dense, or both are sparse in one way.

    >>> torch._has_compatible_shallow_copy_type(torch.ones(2), torch.zeros(3, dtype=torch.int64))
    True
    """
    return self.layout == from_.layout


def is_storage(obj: Any) -> bool:
    """True when the object is a storage.

    >>> torch.is_storage(torch.ones(2).untyped_storage()), torch.is_storage([1, 2])
    (True, False)
    """
    from ..storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))


def is_floating_point(input: Tensor) -> bool:
    """True when the dtype is float16, bfloat16, float32 or float64.

    >>> torch.is_floating_point(torch.ones(1)), torch.is_floating_point(torch.tensor([1]))
    (True, False)
    """
    try:
        return input.dtype.is_floating_point
    except AttributeError:
        check_tensor("is_floating_point", input=input)
        raise


def is_complex(input: Tensor) -> bool:
    """True when the dtype is complex64 or complex128."""
    try:
        return input.dtype.is_complex
    except AttributeError:
        check_tensor("is_complex", input=input)
        raise


@of_tensors
def numel(input: Tensor) -> int:
    """Number of elements.

    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    return input.numel()


@of_tensors
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True when both tensors have the same sizes.

    >>> torch.is_same_size(torch.ones(2), torch.zeros(2))
    True
    """
    return input.is_same_size(other)


@of_tensors
def is_nonzero(input: Tensor) -> bool:
    """True when a tensor of one element is not zero; RuntimeError for any other number of elements.

    >>> torch.is_nonzero(torch.tensor([3.0]))
    True
    """
    if input.numel() != 1:
        raise RuntimeError(
            f"is_nonzero: Boolean value of Tensor with {input.numel()} values is ambiguous; it must have one"
        )
    return bool(input)


def _of_tensor(name):
    def function(input, *args, **kwargs):
        if not hasattr(input, name):
            check_tensor(name, input=input)
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{name}(...)``."
    if METHODS[name]:
        function.__doc__ += f"\n\n>>> torch.{name}({METHODS[name].replace(' == ', chr(10))}\n"
    return function


#: Methods that programs call as functions, each with arguments and what they give.
METHODS = {
    "is_signed": "torch.ones(1)) == True",
    "is_conj": "",
    "is_inference": "",
    "is_distributed": "torch.ones(1)) == False",
    "size": "torch.zeros(2, 3)) == torch.Size([2, 3])",
    "stride": "torch.zeros(2, 3)) == (3, 1)",
    "expand": "torch.tensor([1, 2]), (2, 2)) == tensor([[1, 2],\n        [1, 2]])",
    "expand_as": "torch.tensor([7]), torch.zeros(3)) == tensor([7, 7, 7])",
    "repeat": "torch.tensor([1, 2]), (2,)) == tensor([1, 2, 1, 2])",
    "fill_": "torch.zeros(2), 7) == tensor([7., 7.])",
    "zero_": "torch.ones(2)) == tensor([0., 0.])",
    "bernoulli_": "torch.zeros(2), 1.0) == tensor([1., 1.])",
    "pin_memory": "torch.ones(1)).is_pinned() if torch.cuda.is_available() else True == True",
    "gcd_": "",
    "get_device": "torch.ones(1)) == -1",
    "is_neg": "",
    "lcm_": "",
    "xlogy_": "",
}
globals().update((name, _of_tensor(name)) for name in METHODS)

_settings = {"matmul": "highest", "determinism": 0, "interop": 1, "warn_always": False}

#: Libraries that programs ask for: LAPACK comes with OpenBLAS.
has_lapack, has_mkl, has_openmp = True, False, False


def is_warn_always_enabled() -> bool:
    """What was set: False at first."""
    return _settings["warn_always"]


def set_warn_always(b: bool) -> None:
    """Accepted for compatibility: how often a warning is shown is a matter of the module ``warnings`` here."""
    _settings["warn_always"] = bool(b)


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """False: there is nothing to warn of."""
    return False


@of_tensors
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory."""
    return tensor.__dlpack__()


def from_file(
    filename: Any,
    shared: bool = False,
    size: int | Sequence[int] = 0,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor over the first ``size`` elements of a file; with ``shared``, writing to it writes to the file, which grows.

    RuntimeError for a device other than the CPU, where the memory of files lies.
    """
    from ..storage import UntypedStorage

    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"from_file: the memory of a file lies on the CPU, got device={device!r}")
    if layout not in (None, _C.strided) or pin_memory:
        raise RuntimeError(
            f"from_file: the result is strided and not pinned, got layout={layout}, pin_memory={pin_memory}"
        )

    dtype = dtype or _C.get_default_dtype()
    storage = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
    result = Tensor().to(dtype).set_(storage, 0, (size,))
    return result.requires_grad_() if requires_grad else result


def get_float32_matmul_precision() -> str:
    """What was set: "highest" at first."""
    return _settings["matmul"]


def set_float32_matmul_precision(precision: str) -> None:
    """ "highest", "high" or "medium": how exact products of float32 must be; all are computed as "highest" here."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"float32_matmul_precision must be 'highest', 'high' or 'medium', got {precision!r}")
    _settings["matmul"] = precision


def get_deterministic_debug_mode() -> int:
    """What was set: 0 at first."""
    return _settings["determinism"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """ "default", "warn" or "error", or 0 to 2: 0 leaves CUDA free to add in any order, as ``use_deterministic_algorithms(False)``."""
    modes = {"default": 0, "warn": 1, "error": 2}
    mode = modes.get(debug_mode, debug_mode)
    if mode not in (0, 1, 2):
        raise ValueError(f"deterministic_debug_mode must be 'default', 'warn', 'error' or 0 to 2, got {debug_mode!r}")
    _settings["determinism"] = mode
    use_deterministic_algorithms(mode != 0)


def get_num_interop_threads() -> int:
    """What was set: 1 at first."""
    return _settings["interop"]


def set_num_interop_threads(num: int) -> None:
    """Accepted for compatibility: there is one pool of threads, see ``set_num_threads``."""
    if num < 1:
        raise RuntimeError(f"set_num_interop_threads: expected a positive number of threads, got {num}")
    _settings["interop"] = num


def get_default_device() -> torch.device:
    """Where this thread makes tensors when no device is given.

    >>> with torch.device("meta"):
    ...     torch.get_default_device()
    device(type='meta')
    """
    return _C._default_device()


def set_default_device(device: torch.device | str | int | None) -> None:
    """New tensors of this thread are made on ``device`` when none is given; None: on the CPU, as at the start.

    >>> torch.set_default_device("meta")
    >>> torch.zeros(2).device
    device(type='meta')
    >>> torch.set_default_device(None)
    """
    _C._set_default_device(None if device is None else _C.device(device))


def _on_device(device, function):
    """The function with ``device`` as the default one while it runs."""
    from functools import wraps

    @wraps(function)
    def run(*args, **kwargs):
        with device:
            return function(*args, **kwargs)

    return run


def compiled_with_cxx11_abi() -> bool:
    """True: every build of torch-core uses the C++11 ABI."""
    return True


_deterministic = False  # as it was asked for last; torch._cuda reads it when it is loaded


def are_deterministic_algorithms_enabled() -> bool:
    """Whether it was asked for that results never depend on timing; on the CPU they never do.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _deterministic


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Let CUDA add and write at indices in an order that is always the same; all else is so anyway."""
    global _deterministic
    _deterministic = bool(mode)
    if "torch._cuda" in sys.modules:
        sys.modules["torch._cuda"]._native.set_deterministic(_deterministic)


def broadcast_shapes(*shapes: int | Sequence[int]) -> torch.Size:
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
