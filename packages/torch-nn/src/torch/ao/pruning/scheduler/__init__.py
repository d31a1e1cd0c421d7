"""What changes the sparsity of a sparsifier as training goes on."""

from .base_scheduler import BaseScheduler
from .cubic_scheduler import CubicSL
from .lambda_scheduler import LambdaSL

__all__ = ["BaseScheduler", "CubicSL", "LambdaSL"]
