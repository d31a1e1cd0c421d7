"""What comparisons of graphs are measured with."""

from . import utils as utils

__all__ = ["utils"]
