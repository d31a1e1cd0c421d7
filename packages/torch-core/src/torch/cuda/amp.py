"""``torch.amp`` of CUDA, under older names."""

from __future__ import annotations

import functools
import sys

from .. import _C
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd, custom_fwd, grad_scaler
from ..amp.autocast_mode import _cast  # noqa: F401  (by the name of the old module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

__path__ = []  # programs also import torch.cuda.amp.grad_scaler
sys.modules[f"{__name__}.grad_scaler"] = grad_scaler
autocast_mode = sys.modules[f"{__name__}.autocast_mode"] = sys.modules[__name__]
custom_fwd = functools.partial(custom_fwd, device_type="cuda")
custom_bwd = functools.partial(custom_bwd, device_type="cuda")


class autocast(_autocast):
    """``torch.autocast("cuda", ...)``."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = _C.float16, cache_enabled: bool = True) -> None:
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
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
