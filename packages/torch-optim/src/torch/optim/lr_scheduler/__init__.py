# ruff: noqa: F403
"""Changing learning rates over time."""

from .base import *
from .base import _enable_get_lr_call  # noqa: F401  (schedulers written elsewhere import it from here)
from .combined import *
from .cosine import *
from .curves import *
from .cyclic import *
from .plateau import *

_LRScheduler = LRScheduler  # noqa: F405  (its name until 2022)
