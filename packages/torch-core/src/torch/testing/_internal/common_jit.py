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


def check_output_types(self: Any, func: Any, ref_outputs: Any, args: Any, kwargs: Any) -> None:
    """The program that ran last for these arguments gives values of the types that the results are of."""
    graph = getattr(func, "last_graph", None)
    outputs = list(graph.outputs()) if graph is not None else []
    results = ref_outputs if isinstance(ref_outputs, tuple) and len(outputs) == len(ref_outputs) else (ref_outputs,)
    for value, result in zip(outputs, results):
        if isinstance(result, torch.Tensor):
            self.assertEqual(value.type().kind(), "TensorType")


def _numbers(values: Any) -> Any:
    """The sum of what can be differentiated in results, or None."""
    found = [each for each in _leaves(values) if each.requires_grad]
    return sum((each.abs() if each.is_complex() else each).sum() for each in found) if found else None


def _leaves(values: Any) -> list[Any]:
    if isinstance(values, torch.Tensor):
        return [values]
    return [leaf for each in values for leaf in _leaves(each)] if isinstance(values, (list, tuple)) else []


def check_against_reference(
    self: Any, func: Any, reference_func: Any, output_func: Any, args: Any, kwargs: Any = None, allow_unused: bool = True,
    check_types: bool = True, no_grad: bool = False, no_gradgrad: bool = False,
) -> None:  # fmt: skip
    """Two functions of the same arguments have the same results, gradients and gradients of gradients."""
    kwargs = kwargs or {}
    found = []
    for fn in (reference_func, func):
        given = [_own(each) for each in args]
        leaves = [each for each in _leaves(given) if each.requires_grad]
        with freeze_rng_state():
            results = output_func(fn(*given, **kwargs))
        total = None if no_grad else _numbers(results)
        first = second = ()
        if total is not None and leaves:
            first = torch.autograd.grad(total, leaves, create_graph=not no_gradgrad, allow_unused=allow_unused)
            again = _numbers(list(first)) if not no_gradgrad else None
            if again is not None:
                second = torch.autograd.grad(again, leaves, allow_unused=True)
        found.append((results, first, second))
    for what, expected, got in zip(("results", "gradients", "gradients of gradients"), *found):
        self.assertEqual(got, expected, msg=what, atol=1e-4, rtol=1e-4)
    if check_types:
        check_output_types(self, func, found[0][0], args, kwargs)


def _own(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return type(value)(map(_own, value)) if isinstance(value, (list, tuple)) else value


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
