"""Attention: which form of scaled_dot_product_attention runs, and forms with scores of your own."""

from __future__ import annotations

import contextlib
import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal


__all__ = [
    "SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "activate_flash_attention_impl", "current_flash_attention_impl",
    "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel",
]  # fmt: skip

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """The forms of scaled_dot_product_attention; this build has the plain one, MATH."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = enum.Enum.__str__  # its name, where an IntEnum is a number
    __format__ = enum.Enum.__format__


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Any:
    """Inside, only the given forms may run; RuntimeError when MATH, the one there is, is not among them."""
    backends = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not backends or not all(isinstance(backend, SDPBackend) for backend in backends):
        raise AssertionError(
            f"Backends must be an instance of SDPBackend or a list of SDPBackend instances, got {backends}"
        )
    if SDPBackend.MATH not in backends:
        raise RuntimeError(
            f"sdpa_kernel: no available kernel among {[backend.name for backend in backends]}; this build has MATH"
        )
    yield


_implementations = {}
_active = None


def register_flash_attention_impl(impl: str | Literal["FA3", "FA4"], *, register_fn: Any) -> None:
    """Make ``impl`` a name for :func:`activate_flash_attention_impl`, which calls ``register_fn()``."""
    _implementations[impl] = register_fn


def list_flash_attention_impls() -> Sequence[str]:
    """The names that were registered."""
    return sorted(_implementations)


def activate_flash_attention_impl(impl: str | Literal["FA3", "FA4"]) -> None:
    """Switch to a registered implementation; ValueError for a name that is not."""
    global _active
    if impl not in _implementations:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'; registered: {', '.join(list_flash_attention_impls()) or 'none'}"
        )
    _implementations[impl]()
    _active = impl


def current_flash_attention_impl() -> str | None:
    """The active implementation, or None."""
    return _active


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Go back to the built-in form."""
    global _active
    _active = None
