"""Regions in which operators choose their dtype: products and convolutions the lower precision, losses, factorizations and
transforms float32; what joins tensors takes the widest of theirs, and everything else computes in what it is given. Which
operator is which stands in its row (``Attr::casts``); float64, integers and complex numbers stay what they are."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping

from .. import _C, _cold, cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    import torch


__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def _type_of(device_type):
    """``"cpu"`` of ``"cpu:0"``; RuntimeError for what is no device."""
    if not isinstance(device_type, str):
        raise ValueError(f"autocast: expected device_type as a str, got {type(device_type).__name__}")
    return _C.device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Whether :class:`autocast` exists for a type of device: for ``"cpu"`` and ``"cuda"``.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return _type_of(device_type) in ("cpu", "cuda")


class autocast:
    """A block, or a decorated function, in which operators on tensors of one type of device choose their dtype:
    ``dtype`` (bfloat16 or float16) or float32. ``enabled=False`` makes a block without it inside of one with it.
    Conversions of parameters are kept until the outermost block ends, unless ``cache_enabled`` is False. A backward pass
    computes in the dtypes that its forward pass chose, wherever it is called.

    >>> layer, x = torch.ones(4, 3), torch.ones(2, 3)
    >>> with torch.autocast("cpu"):
    ...     y = torch.nn.functional.linear(x, layer)
    ...     with torch.autocast("cpu", enabled=False):
    ...         z = torch.nn.functional.linear(x, layer)
    >>> y.dtype, z.dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _type_of(device_type)
        if not is_autocast_available(self.device):
            raise RuntimeError(f"autocast: expected device_type 'cpu' or 'cuda', got {device_type!r}")
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else bool(cache_enabled)
        self._enabled = bool(enabled) and self._is_usable()
        self._outer = []  # of the blocks that this object is in

    def _is_usable(self):
        if self.device == "cuda" and not cuda.is_available():
            warnings.warn("autocast is enabled for CUDA, which is not available: it is switched off", stacklevel=3)
        elif self.fast_dtype not in (_C.bfloat16, _C.float16):
            where = "CUDA" if self.device == "cuda" else "the CPU"
            warnings.warn(
                f"autocast on {where} takes torch.bfloat16 or torch.float16, not {self.fast_dtype}: it is switched off",
                stacklevel=3,
            )
        else:
            return True
        return False

    def __enter__(self) -> Self:
        device, dtype = self.device, self.fast_dtype
        self._outer.append((is_autocast_enabled(device), get_autocast_dtype(device), is_autocast_cache_enabled()))
        if dtype.is_floating_point:
            _cold.set_autocast_dtype(device, dtype)
        _cold.set_autocast_enabled(device, self._enabled)
        _cold.set_autocast_cache_enabled(self._cache_enabled)
        _cold.autocast_increment_nesting()
        return self

    def __exit__(self, *error: Any) -> None:
        enabled, dtype, caches = self._outer.pop()
        _cold.autocast_decrement_nesting()  # the last one drops the conversions
        _cold.set_autocast_enabled(self.device, enabled)
        _cold.set_autocast_dtype(self.device, dtype)
        _cold.set_autocast_cache_enabled(caches)
        return False

    def __call__(self, function: Callable[..., Any]) -> Any:
        return autocast_decorator(self, function)


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Any:
    """``func`` inside of the block that ``autocast_instance`` makes, at each call."""

    @functools.wraps(func)
    def within(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return within


def _enter_autocast(*args):
    """Enters a block of those arguments, and gives the object that leaves it."""
    return autocast(*args).__enter__()


def _exit_autocast(mode):
    """Leaves a block of :func:`_enter_autocast`."""
    mode.__exit__(None, None, None)


def _cast(value, device_type, dtype):
    """The value with its floating-point tensors of that device, except float64 ones, in ``dtype``: also in containers."""
    if isinstance(value, _C.Tensor):
        is_cast = value.is_floating_point() and value.device.type == device_type and value.dtype != _C.float64
        return value.to(dtype) if is_cast else value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_cast(v, device_type, dtype) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: torch.dtype | None = None) -> Any:
    """Decorates ``forward`` of a :class:`torch.autograd.Function`, so that :func:`custom_bwd` can give ``backward`` the same
    state. With ``cast_inputs``, an enabled region converts the arguments to that dtype, and ``forward`` runs outside of it."""
    device_type = _type_of(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx, enabled = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorates ``backward`` of a Function whose ``forward`` has :func:`custom_fwd`: it runs under the same state."""
    device_type = _type_of(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated


def _deprecated(device_type, name):
    """Warn of a name of ``torch.cuda.amp`` or ``torch.cpu.amp``: it is that of ``torch.amp`` with a device."""
    old, new = f"torch.{device_type}.amp.{name}", f"torch.amp.{name}"
    text = f"`{old}(args...)` is deprecated. Please use `{new}({device_type!r}, args...)` instead."
    if name.startswith("custom"):
        text = f"`{old}(args...)` is deprecated. Please use `{new}(args..., device_type={device_type!r})` instead."
    warnings.warn(text, FutureWarning, stacklevel=3)


# --- the state, which blocks save and restore; torch has these names ---


def is_autocast_enabled(device_type="cuda"):
    """Whether this thread is in a block of :class:`autocast` for the type of device.

    >>> torch.is_autocast_enabled("cpu")
    False
    """
    kind = _type_of(device_type)
    return kind in ("cpu", "cuda", "meta") and _cold.is_autocast_enabled(kind)  # no block is ever of another device


def set_autocast_enabled(device_type, enabled=None):
    """Switches :class:`autocast` on or off for a type of device, outside of blocks; of one argument, for CUDA."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _cold.set_autocast_enabled(_type_of(device_type), enabled)


def get_autocast_dtype(device_type):
    """The lower precision of a type of device: bfloat16 on the CPU and float16 on CUDA, unless set.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _cold.get_autocast_dtype(_type_of(device_type))


def set_autocast_dtype(device_type, dtype):
    """Sets the lower precision of a type of device; RuntimeError for a dtype that is not of floating point."""
    _cold.set_autocast_dtype(_type_of(device_type), dtype)


def is_autocast_cache_enabled():
    """Whether conversions of parameters are kept until the outermost block ends."""
    return _cold.is_autocast_cache_enabled()


def set_autocast_cache_enabled(enabled):
    """Sets whether conversions of parameters are kept."""
    _cold.set_autocast_cache_enabled(enabled)


def clear_autocast_cache():
    """Drops the conversions of parameters that this thread keeps."""
    _cold.clear_autocast_cache()


def autocast_increment_nesting():
    """Counts one more block of this thread; the number of them."""
    return _cold.autocast_increment_nesting()


def autocast_decrement_nesting():
    """Counts one block less, and drops the conversions at the last one; the number of them."""
    return _cold.autocast_decrement_nesting()


def is_autocast_cpu_enabled():
    """``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """``set_autocast_enabled("cpu", enabled)``."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """``set_autocast_dtype("cpu", dtype)``."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """``set_autocast_dtype("cuda", dtype)``."""
    set_autocast_dtype("cuda", dtype)
