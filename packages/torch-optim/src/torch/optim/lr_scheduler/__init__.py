# ruff: noqa: F403
"""Changing learning rates over time."""

from .base import *
from .base import (  # noqa: F401  (schedulers written elsewhere import them from here)
    EPOCH_DEPRECATION_WARNING,
    _enable_get_lr_call,
    _warn_get_lr_called_within_step,
)
from .combined import *
from .cosine import *
from .curves import *
from .cyclic import *
from .plateau import *

_LRScheduler = LRScheduler  # noqa: F405  (its name until 2022)
