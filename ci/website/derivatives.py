"""The derivative of each row, as the C++ in packages/torch-autograd/csrc/derivatives states it."""

from __future__ import annotations

import importlib.util
import sys

from torch.autograd import _C
from torch.autograd._help import DIFFERENTIABILITY

from packages import ROOT

from .catalogue import Row

# The build reads the same for help(), without torch.
_FILE = ROOT / "packages" / "torch-autograd" / "csrc" / "derivatives" / "formulas.py"
_spec = importlib.util.spec_from_file_location("formulas_of_derivatives", _FILE)
_reader = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_reader)

Derivative, formulas, inputs, recorded = _reader.Derivative, _reader.formulas, _reader.inputs, _reader.recorded


def of(row: Row) -> tuple[str, Derivative | None]:
    """How the tape treats a row: a sentence, and the struct where it has a formula of its own."""
    how = _C._differentiability().get(row.schema, "composite" if row.info["composite"] else "not differentiable")
    if how in DIFFERENTIABILITY:
        return DIFFERENTIABILITY[how].capitalize() + ".", None
    derivative = recorded().get(row.symbol) or recorded().get(row.name)
    return "Recorded on the tape, and differentiable again.", derivative
