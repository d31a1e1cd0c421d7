"""``checkScript``, ``checkTrace`` and the like: a program computes what the Python function does."""

from __future__ import annotations

import inspect
import math
import sys
import textwrap

import torch
from torch.testing._internal._profiling import ProfilingMode
from torch.testing._internal._state import freeze_rng_state
from torch.testing._internal.common_jit import JitCommonTestCase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def execWrapper(code: str, glob: dict[str, Any], loc: dict[str, Any]) -> None:
    """``exec``."""
    exec(code, glob, loc)


def do_input_map(fn: Callable[[Any], Any], input: Any) -> Any:
    """``fn`` of each tensor in lists, tuples and dictionaries; other values as they are."""
    if isinstance(input, torch.Tensor):
        return fn(input)
    if isinstance(input, dict):
        return {key: do_input_map(fn, value) for key, value in input.items()}
    if isinstance(input, tuple) and hasattr(input, "_fields"):
        return type(input)(*(do_input_map(fn, value) for value in input))
    if isinstance(input, (list, tuple)):
        return type(input)(do_input_map(fn, value) for value in input)
    return input


def _tensors(values):
    found = []
    do_input_map(found.append, values)
    return tuple(found)


class CheckedPrograms(JitCommonTestCase):
    """Adds the checks of programs to a test case."""

    def get_frame_vars(self, frames_up: int) -> dict[str, Any]:
        """The names that the caller so many frames up sees."""
        frame: Any = sys._getframe(frames_up + 1)
        return {**frame.f_locals, **frame.f_globals}

    def _python(self, text: str, name: str, frames_up: int) -> Any:
        """The function of Python that a text defines in the frame of the test."""
        names, made = self.get_frame_vars(frames_up + 1), {}
        execWrapper(textwrap.dedent(text), names, made)
        names.update(made)
        if name not in names:
            raise ValueError(f"checkScript: the text defines no function {name!r}; name= says which one to call")
        return names[name]

    def checkScript(
        self, script: Any, inputs: Any, name: str = "func", optimize: bool = True, inputs_requires_grad: bool = False,
        capture_output: bool = False, frames_up: int = 1, profiling: ProfilingMode = ProfilingMode.PROFILING,
        atol: float | None = None, rtol: float | None = None,
    ) -> Any:  # fmt: skip
        """A function, or the text of one, gives the same compiled as in Python; returns the compiled one.

        With ``capture_output`` what it prints is that of the file that ``assertExpected`` reads.
        """
        with torch.jit.optimized_execution(optimize):
            if isinstance(script, str):
                python = self._python(script, name, frames_up)
                compiled = getattr(torch.jit.CompilationUnit(script, _frames_up=frames_up), name)
            else:
                self.checkScript(
                    textwrap.dedent(inspect.getsource(script)), inputs, script.__name__, optimize, inputs_requires_grad,
                    capture_output, frames_up=frames_up + 1, profiling=profiling, atol=atol, rtol=rtol,
                )  # fmt: skip
                compiled, python = torch.jit.script(script, _frames_up=1), script
            given = do_input_map(lambda t: t.detach().requires_grad_(), inputs) if inputs_requires_grad else inputs
            with self.capture_stdout() as printed:
                first, again = compiled(*given), None
            if not capture_output:
                print(*printed, end="")
            with self.capture_stdout():
                again, wanted = compiled(*given), python(*inputs)
            if capture_output:
                self.assertExpected(printed[0], subname="stdout")
            self.assertEqual(wanted, first, atol=atol, rtol=rtol)
            self.assertEqual(first, again, atol=atol, rtol=rtol)
        return compiled

    def checkScriptRaisesRegex(
        self, script: Any, inputs: Any, exception: Any, regex: str, name: str | None = None, outputs: Any = None,
        capture_output: bool = False, frames_up: int = 1, profiling: ProfilingMode = ProfilingMode.PROFILING,
    ) -> None:  # fmt: skip
        """A function, or the text of one, raises this error in Python and compiled from text, and compiled itself."""
        is_text = isinstance(script, str)
        name = (name or "func") if is_text else script.__name__
        with self.assertRaisesRegex(exception, regex):
            (self._python(script, name, frames_up) if is_text else script)(*inputs)
        with self.assertRaisesRegex(exception, regex):
            text = script if is_text else textwrap.dedent(inspect.getsource(script))
            getattr(torch.jit.CompilationUnit(text, _frames_up=frames_up), name)(*inputs)
        if not is_text:
            with self.assertRaisesRegex(exception, regex):
                torch.jit.script(script)(*inputs)

    def checkTrace(
        self, func: Any, reference_tensors: Any, input_tensors: Any = None, drop: int | None = None,
        allow_unused: bool = False, verbose: bool = False, inputs_require_grads: bool = True,
        check_tolerance: float = 1e-5, export_import: bool = True, _force_outplace: bool = False,
        grad_atol: float | None = None, grad_rtol: float | None = None,
    ) -> Any:  # fmt: skip
        """A trace gives what the function does, with first and second gradients; returns the trace.

        The trace is made with ``input_tensors`` and run with ``reference_tensors``; the last ``drop`` outputs take no
        part in gradients.
        """
        traced = torch.jit.trace(
            func, reference_tensors if input_tensors is None else input_tensors, check_tolerance=check_tolerance,
            _force_outplace=_force_outplace, check_trace=False,
        )  # fmt: skip
        if export_import:
            traced = self.getExportImportCopy(traced)
        if verbose:
            print(traced.graph)
        self.assertEqual(func(*reference_tensors), traced(*reference_tensors))
        if not inputs_require_grads:
            return traced

        def gradients(run):
            inputs = do_input_map(lambda t: t.detach().clone().requires_grad_(), reference_tensors)
            leaves, outputs = _tensors(inputs), run(*inputs)
            loss = _weighted(_tensors(outputs), drop)
            first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=allow_unused)
            second_loss = _weighted(first) * loss
            second = torch.autograd.grad(second_loss, leaves, allow_unused=allow_unused)
            return outputs, first, second

        (outputs, first, second), (traced_outputs, traced_first, traced_second) = gradients(func), gradients(traced)
        self.assertEqual(outputs, traced_outputs)
        self.assertEqual(first, traced_first, atol=grad_atol, rtol=grad_rtol)
        self.assertEqual(second, traced_second, atol=8e-4, rtol=8e-4)
        return traced

    def checkModule(self, nn_module: Any, args: Any) -> Any:
        """A module gives the same compiled, and after it was saved and loaded; returns the compiled one."""
        compiled = torch.jit.script(nn_module)
        with freeze_rng_state():
            wanted = nn_module(*args)
        with freeze_rng_state():
            self.assertEqual(wanted, compiled(*args))
        self.assertExportImportModule(compiled, args)
        return compiled


def _weighted(values, drop=None):
    """A sum in which each value has a weight of its own, so that two that change places are noticed."""
    kept = values[: len(values) - (drop or 0)]
    return sum(math.log(i + 2) * v.sum() for i, v in enumerate(kept) if v is not None)
