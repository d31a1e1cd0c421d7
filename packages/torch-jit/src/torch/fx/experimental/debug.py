"""Stopping where a graph begins."""

from __future__ import annotations

from torch.fx.graph_module import GraphModule

__all__ = ["set_trace"]


def set_trace(gm: GraphModule) -> GraphModule:
    """The module, whose ``forward`` stops in the debugger (``breakpoint()``) before its first statement.

    >>> import torch
    >>> traced = set_trace(torch.fx.symbolic_trace(torch.relu))
    >>> "breakpoint()" in traced.code
    True
    """
    gm.graph.on_generate_code(lambda before: lambda body: ["breakpoint()\n", *(before(body) if before else body)])
    gm.recompile()
    return gm
