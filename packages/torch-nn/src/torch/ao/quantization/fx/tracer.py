"""How a model becomes the graph that is quantized: layers of ``torch.nn`` stay whole, and so does what the user names."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.fx import Tracer

__all__ = ["QuantizationTracer"]


class QuantizationTracer(Tracer):
    """A tracer that leaves some modules whole."""

    def __init__(self, skipped_module_names: list[str], skipped_module_classes: list[Any]):
        super().__init__()
        self.skipped_module_names = list(skipped_module_names)
        self.skipped_module_classes = tuple(skipped_module_classes)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        home = type(m).__module__
        return (
            (home.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, nn.Sequential))
            or module_qualified_name in self.skipped_module_names
            or type(m) in self.skipped_module_classes
            or _is_joined(m)
        )


def _is_joined(m: nn.Module) -> bool:
    from torch.ao.nn.intrinsic import _FusedModule

    return isinstance(m, _FusedModule)
