"""A function of each slice, and the operator that it is in graphs."""

from .._operators.loops import map
from .._ops import HigherOrderOperator

__all__ = ["MapImpl", "map", "map_impl"]


class MapImpl(HigherOrderOperator):
    """``map_impl(graph, xs, args)``: ``xs`` is a list of tensors that the graph gets slices of, in front of ``args``."""

    def __call__(self, f, xs, pos_args=()):
        return tuple(map(lambda slices, *args: tuple(f(*slices, *args)), list(xs), *pos_args))


map_impl = MapImpl("map_impl")
