"""Which data pipes a pipe is made of."""

from __future__ import annotations

from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def _inside(value, found):
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        found.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _inside(item, found)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            _inside(item, found)
    elif type(value).__module__.startswith("torch.utils.data.datapipes"):  # what branches of one stream share
        _inside(vars(value), found)


def traverse_dps(datapipe: Any) -> dict[int, Any]:
    """A tree: of each pipe by its ``id``, the pipe and the tree of those that it reads.

    Example:
        >>> from torch.utils.data.datapipes.iter import IterableWrapper
        >>> source = IterableWrapper([1])
        >>> tree = traverse_dps(source.map(str))
        >>> [list(below) == [id(source)] for pipe, below in tree.values()]
        [True]
    """
    below: list[Any] = []
    _inside(vars(datapipe), below)
    return {id(datapipe): (datapipe, {key: value for pipe in below for key, value in traverse_dps(pipe).items()})}


traverse = traverse_dps
