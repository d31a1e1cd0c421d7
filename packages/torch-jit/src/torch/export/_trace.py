"""The names of `export` in PyTorch's insides, by which libraries take it."""

from __future__ import annotations

from . import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .exported_program import ExportedProgram

_export_for_training = export


def _export(
    mod: Any, args: tuple, kwargs: dict | None = None, dynamic_shapes: Any = None, *, pre_dispatch: bool = False,
    allow_complex_guards_as_runtime_asserts: bool = False, **options: Any,
) -> ExportedProgram:  # fmt: skip
    """``export``: here a program is recorded at one level, and what it asks of sizes is asked at each call.

    >>> _export(torch.nn.ReLU(), (torch.ones(2),), pre_dispatch=True).module()(torch.ones(3)[:2])
    tensor([1., 1.])
    """
    return export(mod, args, kwargs, dynamic_shapes=dynamic_shapes, **options)
