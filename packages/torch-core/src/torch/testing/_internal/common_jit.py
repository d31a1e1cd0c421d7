"""Programs that are written and read back, in tests; needs torch-jit."""

from __future__ import annotations

import io

try:
    from torch.jit._ir import Graph
except ImportError as error:
    from torch import _install

    raise ModuleNotFoundError(
        f"torch.testing._internal: tests of scripts need the distribution 'torch-jit': {_install.command('torch-jit')}"
    ) from error

import torch
from torch.testing._internal._case import TestCase
from torch.testing._internal._state import TemporaryFileName, freeze_rng_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def graph_of(trace: Any) -> Graph:
    """The graph itself, or that of a traced or compiled function."""
    if isinstance(trace, Graph):
        return trace
    graph = trace.graph
    return graph() if callable(graph) else graph


class JitCommonTestCase(TestCase):
    """A test case that compares a program with itself after it was saved and loaded."""

    def createFunctionFromGraph(self, trace: Any) -> Any:
        """A function that runs the graph."""
        return torch._C._create_function_from_graph("forward", graph_of(trace))

    def runAndSaveRNG(self, func: Any, inputs: Any, kwargs: dict[str, Any] | None = None) -> Any:
        """The results; random numbers go on afterwards as if none had been drawn."""
        with freeze_rng_state():
            return func(*inputs, **(kwargs or {}))

    def assertExportImport(self, trace: Any, inputs: Any) -> None:
        """The graph computes the same after it was saved and loaded."""
        self.assertExportImportModule(self.createFunctionFromGraph(trace), inputs)

    def assertExportImportModule(self, m: Any, inputs: Any) -> None:
        """The program computes the same after it was saved and loaded."""
        loaded = self.getExportImportCopy(m)
        self.assertEqual(
            self.runAndSaveRNG(m, inputs), self.runAndSaveRNG(loaded, inputs), "after it was saved and loaded"
        )

    def getExportImportCopy(self, m: Any, also_test_file: bool = True, map_location: Any = None) -> Any:
        """The program after it was saved to memory and loaded, and then to a file and loaded."""
        buffer = io.BytesIO()
        torch.jit.save(m, buffer)
        buffer.seek(0)
        loaded = torch.jit.load(buffer, map_location=map_location)
        if not also_test_file:
            return loaded
        with TemporaryFileName() as name:
            torch.jit.save(loaded, name)
            return torch.jit.load(name, map_location=map_location)
