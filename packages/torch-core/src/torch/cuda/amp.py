"""``torch.amp`` of CUDA, under older names."""

from __future__ import annotations

import sys

from .. import _C
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import autocast_mode as _autocast_mode
from ..amp import grad_scaler
from ..amp.autocast_mode import _cast, _deprecated  # noqa: F401  (_cast by the name of the old module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

__path__ = []  # programs also import torch.cuda.amp.grad_scaler
sys.modules[f"{__name__}.grad_scaler"] = grad_scaler
autocast_mode = common = sys.modules[__name__]
sys.modules.update({f"{__name__}.autocast_mode": autocast_mode, f"{__name__}.common": common})


class autocast(_autocast):
    """``torch.autocast("cuda", ...)``."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = _C.float16, cache_enabled: bool = True) -> None:
        _deprecated("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cuda", ...)``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("cuda", "GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: torch.dtype | None = None) -> Any:
    """``torch.amp.custom_fwd(..., device_type="cuda")``."""
    _deprecated("cuda", "custom_fwd")
    return _autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """``torch.amp.custom_bwd(..., device_type="cuda")``."""
    _deprecated("cuda", "custom_bwd")
    return _autocast_mode.custom_bwd(bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no device for it: neither CUDA nor an XLA of somewhere else.

    >>> torch.cuda.amp.common.amp_definitely_not_available() or torch.cuda.is_available()
    True
    """
    from importlib.util import find_spec

    from . import is_available

    return not (is_available() or find_spec("torch_xla"))
