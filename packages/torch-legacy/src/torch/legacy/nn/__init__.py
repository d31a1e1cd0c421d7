# ruff: noqa: F403
"""Layers and losses in the manner of Lua's nn: dims and classes count from 0."""

from .container import *
from .convolution import *
from .criterion import *
from .linear import *
from .module import Module  # noqa: F401
from .noise import *
from .pointwise import *
from .pooling import *
from .shapes import *
from .table_layers import *
from .tables import *
