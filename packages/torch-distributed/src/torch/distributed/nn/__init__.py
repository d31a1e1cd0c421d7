# ruff: noqa: F401, F403
"""Collectives that gradients flow through."""

from .functional import *
from .functional import _all_gather_base
