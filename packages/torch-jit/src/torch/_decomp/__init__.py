"""Operators as simpler ones: functions that stand for an operator, for :func:`make_fx` and ``ExportedProgram.run_decompositions``.

>>> from torch._decomp import get_decompositions
>>> table = get_decompositions([torch.ops.aten.silu])
>>> program = torch.export.export(torch.nn.SiLU(), (torch.ones(3),)).run_decompositions(table)
>>> [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
['aten.sigmoid.default', 'aten.mul.Tensor']
"""

from __future__ import annotations

from typing import Any

import torch

from . import decompositions as decompositions  # it registers its functions
from ._tables import (
    decomposition_table,
    get_decompositions,
    global_decomposition_table,
    meta_table,
    pre_autograd_decomposition_table,
    register_decomposition,
    remove_decompositions,
)

__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table", "meta_table",
    "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions",
]  # fmt: skip


def core_aten_decompositions() -> Any:
    """What makes core ATen of a program: :func:`torch.export.default_decompositions`.

    >>> from torch._decomp import core_aten_decompositions
    >>> torch.ops.aten.linear.default in core_aten_decompositions()
    True
    """
    return torch.export.default_decompositions()
