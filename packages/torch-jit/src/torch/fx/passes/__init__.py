"""Passes: functions that look at a graph or change it."""

from torch import _seams

_MODULES = (
    "dialect", "graph_drawer", "graph_manipulation", "infra", "operator_support", "param_fetch", "shape_prop", "split_module",
    "tools_common", "utils",
)  # fmt: skip

__getattr__, __dir__ = _seams.later(globals(), modules=_MODULES)
