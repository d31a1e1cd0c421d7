"""Modules by the names under which libraries look into nested tensors."""

from . import nested_tensor as nested_tensor
from . import ops as ops
