# ruff: noqa: F403
"""Running a module on several devices of one machine."""

from .data_parallel import *
from .parallel_apply import *
from .replicate import *
from .scatter_gather import *
