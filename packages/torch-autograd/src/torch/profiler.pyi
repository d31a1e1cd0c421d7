"""``torch.profiler`` is ``torch.autograd.profiling`` under the name that users know; type checkers read files."""

from .autograd.profiling import *  # noqa: F403
from .autograd.profiling import itt as itt
from .autograd.profiling import profiler as profiler
