"""Passes: functions that look at a graph or change it."""

_MODULES = (
    "graph_drawer", "graph_manipulation", "infra", "operator_support", "param_fetch", "shape_prop", "split_module",
    "tools_common", "utils",
)  # fmt: skip


def __getattr__(name):
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.fx.passes' has no attribute {name!r}")
