"""Where the pieces of a spread tensor lie: not there."""

from .._absent import fill
from . import REASON

fill(globals(), REASON, functions=["compute_local_shape_and_global_offset"])
