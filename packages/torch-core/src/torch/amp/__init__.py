"""Mixed precision: :class:`autocast`, under which operators choose their dtype, and the scale of losses.

>>> a, b = torch.ones(2, 3), torch.ones(3, 2)
>>> with torch.autocast("cpu", dtype=torch.bfloat16):
...     product = a @ b
>>> product.dtype, torch.amp.GradScaler("cpu", init_scale=8.0).get_scale()
(torch.bfloat16, 8.0)
"""

from . import autocast_mode, grad_scaler
from .autocast_mode import _enter_autocast as _enter_autocast
from .autocast_mode import _exit_autocast as _exit_autocast
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "autocast_mode",
    "custom_bwd",
    "custom_fwd",
    "grad_scaler",
    "is_autocast_available",
]
