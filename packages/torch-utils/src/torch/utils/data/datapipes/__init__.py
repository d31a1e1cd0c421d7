"""Data pipes: data sets that are made one of another, ``IterableWrapper(range(4)).map(str).batch(2)``."""

from . import iter as iter
from . import map as map
