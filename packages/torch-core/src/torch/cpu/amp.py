"""``torch.amp`` of the CPU, under older names."""

import sys

from .. import _C
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp.autocast_mode import _deprecated

__all__ = ["GradScaler", "autocast"]

__path__ = []  # programs also import torch.cpu.amp.autocast_mode
autocast_mode = grad_scaler = sys.modules[__name__]
sys.modules.update({f"{__name__}.autocast_mode": autocast_mode, f"{__name__}.grad_scaler": grad_scaler})


class autocast(_autocast):
    """``torch.autocast("cpu", ...)``."""

    def __init__(self, enabled=True, dtype=_C.bfloat16, cache_enabled=True):
        _deprecated("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cpu", ...)``."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _deprecated("cpu", "GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
