# ruff: noqa: F403
"""Layers and losses in the manner of Lua's nn: dims and classes count from 0."""

from . import _files
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

_files.register(__name__, {name: value for name, value in globals().items() if isinstance(value, type)})
