"""Modules that traces give."""

from __future__ import annotations

from ._script.module import RecursiveScriptModule

__all__ = ["TopLevelTracedModule"]


class TopLevelTracedModule(RecursiveScriptModule):
    """A traced module: its methods are programs, its parameters and buffers those of the module that was traced."""

    __module__ = "torch.jit"

    def _get_name(self):
        return self.original_name
