"""Making a module without filling its parameters."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """``module_cls(*args, **kwargs)`` with uninitialised parameters: made on the meta device, then given memory.

    RuntimeError when the class takes no ``device``.
    """
    import inspect

    from ..modules.module import Module

    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters and module_cls.__init__.__code__.co_flags & 0x08 == 0:
        raise RuntimeError(f"skip_init: {module_cls.__name__} takes no device and so cannot be made without memory")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
