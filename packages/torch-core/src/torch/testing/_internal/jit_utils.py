"""Tests of scripts and traces: ``JitTestCase``; needs torch-jit.

Programs run here as they were compiled: there are no fusion groups, and execution plans to look at, and what asks for them raises
NotImplementedError; hooks of the compiler are kept and not called.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import sys
import tempfile
import warnings
from io import StringIO as StringIO
from pathlib import Path

import torch

# First, because it says what to install.
from torch.testing._internal.common_jit import JitCommonTestCase as JitCommonTestCase
from torch.testing._internal.common_jit import graph_of

# isort: split
from torch.autograd import Variable as Variable
from torch.testing import FileCheck as FileCheck
from torch.testing._internal import common_cuda
from torch.testing._internal._flags import IS_WINDOWS as IS_WINDOWS
from torch.testing._internal._jit_checks import CheckedPrograms, do_input_map
from torch.testing._internal._jit_checks import execWrapper as execWrapper
from torch.testing._internal._profiling import ProfilingMode as ProfilingMode
from torch.testing._internal._profiling import enable_profiling_mode as enable_profiling_mode
from torch.testing._internal._profiling import (
    enable_profiling_mode_for_profiling_tests as enable_profiling_mode_for_profiling_tests,
)
from torch.testing._internal._state import is_iterable_of_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TEST_BAILOUTS = False
RUN_CUDA = common_cuda.TEST_CUDA
RUN_CUDA_MULTI_GPU = common_cuda.TEST_MULTIGPU
RUN_CUDA_HALF = RUN_CUDA and common_cuda.SM60OrLater
FUSION_GROUP = "prim::TensorExprGroup"


def _no(what: str) -> NotImplementedError:
    return NotImplementedError(f"{what}: programs run as they were compiled here, so there is none to look at")


class _Captured(list):
    """A list that receives what is printed inside, as one text."""

    _stream = "stdout"

    def __enter__(self) -> _Captured:
        self._text = io.StringIO()
        redirect: Any = contextlib.redirect_stdout if self._stream == "stdout" else contextlib.redirect_stderr
        self._redirect = redirect(self._text)
        self._redirect.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._redirect.__exit__(*error)
        self.append(self._text.getvalue())


class _AssertRaisesRegexWithHighlightContext:
    """A block that raises an error whose message marks a piece of the source."""

    def __init__(self, test_case: Any, exception: Any, regex: str, highlight: str) -> None:
        self._block = test_case._raising(exception, regex, highlight)

    def __enter__(self) -> None:
        self._block.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._block.__exit__(*error)


class JitTestCase(CheckedPrograms):
    """A test case that compiles, traces, saves and loads, and looks into graphs.

    >>> from torch.testing._internal.jit_utils import JitTestCase
    >>> add = JitTestCase().checkScript("def func(x, n: int):\\n    return x + n", (torch.ones(2), 3))
    >>> JitTestCase().assertGraphContainsExactly(add.graph, "aten::add", 1)
    """

    def setUp(self) -> None:
        """While a test runs, calls take ``profile_and_replay``, which asks PyTorch to run twice for its profiler."""
        super().setUp()
        kind, call = torch.jit.ScriptFunction, torch.jit.ScriptFunction.__call__

        def without(function: Any, *args: Any, profile_and_replay: bool = False, **kwargs: Any) -> Any:
            return call(function, *args, **kwargs)

        self.addCleanup(setattr, kind, "__call__", call)
        kind.__call__ = without

    class capture_stdout(_Captured):
        """What is printed."""

    class capture_stderr(_Captured):
        """What is written to stderr."""

        _stream = "stderr"

    def _count(self, graph: Any, kind: str, consider_subgraphs: bool) -> int:
        if consider_subgraphs:
            text = str(graph)
            return text.count(kind) - text.count(f"with {kind}")

        def nodes(block):
            for node in block.nodes():
                yield node
                for inner in node.blocks():
                    yield from nodes(inner)

        return sum(node.kind() == kind for node in nodes(graph))

    def assertGraphContains(self, graph: Any, kind: str, consider_subgraphs: bool = False) -> None:
        """The graph, or a block in it, has a node of this kind."""
        if not self._count(graph, kind, consider_subgraphs):
            self.fail(f"{graph}\nError: graph contains no {kind}")

    def assertGraphContainsExactly(
        self, graph: Any, kind: str, num_kind_nodes: int, consider_subgraphs: bool = False
    ) -> None:
        """The graph and the blocks in it have so many nodes of this kind."""
        count = self._count(graph, kind, consider_subgraphs)
        if count != num_kind_nodes:
            self.fail(f"{graph}\nError: graph contains {count} {kind} nodes but expected {num_kind_nodes}")

    def assertExpectedGraph(self, trace: Any, *args: Any, **kwargs: Any) -> None:
        """``assertExpected`` of the graph without dead code, with its values named in order."""
        graph = graph_of(trace)
        graph = graph.copy()
        torch._C._jit_pass_lint(graph)
        torch._C._jit_pass_dce(graph)
        self.assertExpected(str(torch._C._jit_pass_canonicalize(graph)), *args, **kwargs)

    def run_pass(self, name: str, trace: Any) -> Any:
        """The graph after ``torch._C._jit_pass_<name>``, checked before and after."""
        graph = graph_of(trace)
        torch._C._jit_pass_lint(graph)
        try:
            run = getattr(torch._C, "_jit_pass_" + name)
        except AttributeError:
            raise NotImplementedError(f"run_pass: there is no pass {name!r} in this stack") from None
        result = run(graph)
        graph = graph if result is None or isinstance(result, bool) else result
        torch._C._jit_pass_lint(graph)
        return graph

    def assertRaisesRegexWithHighlight(self, exception: Any, regex: str, highlight: str) -> Any:
        """What runs inside raises this error, and its message marks this piece of the source."""
        return _AssertRaisesRegexWithHighlightContext(self, exception, regex, highlight)

    @contextlib.contextmanager
    def _raising(self, exception: Any, regex: str, highlight: str) -> Iterator[None]:
        with self.assertRaisesRegex(exception, regex) as caught:
            yield
        if highlight:
            torch.testing.FileCheck().check_source_highlighted(highlight).run(str(caught.exception))

    def getExportImportCopyWithPacking(self, m: Any, also_test_file: bool = True, map_location: Any = None) -> Any:
        """``getExportImportCopy`` between the modules' methods ``_pack`` and ``_unpack``, where they have any."""
        _call_where_there(m, "_pack")
        copy = self.getExportImportCopy(m, also_test_file, map_location)
        _call_where_there(m, "_unpack")
        _call_where_there(copy, "_unpack")
        return copy

    def assertAllFused(self, graph: Any, except_for: Any = ()) -> None:
        """Refused."""
        raise _no("assertAllFused (fusion groups)")

    def assertLastGraphAllFused(self) -> None:
        """Refused."""
        raise _no("assertLastGraphAllFused (fusion groups)")

    def checkBailouts(self, model: Any, inputs: Any, expected: Any) -> None:
        """Refused."""
        raise _no("checkBailouts (bailouts)")

    def setHooks(self) -> None:
        """Sets two hooks of PyTorch's compiler, which nothing here calls."""
        torch._C._jit_set_emit_hooks(self.emitModuleHook, self.emitFunctionHook)

    def clearHooks(self) -> None:
        """Sets no hooks."""
        torch._C._jit_set_emit_hooks(None, None)

    def emitFunctionHook(self, func: Any) -> None:
        """A compiled function computes the same after it was saved and loaded; called by tests, not by the compiler."""
        self.getExportImportCopy(func)

    emitModuleHook = emitFunctionHook


def _call_where_there(module: Any, name: str) -> None:
    for each in module.modules():
        if hasattr(each, "_c") and each._c._type().find_method(name) is not None:
            getattr(each, name)()


def get_execution_plan(graph_executor_state: Any) -> Any:
    """Refused."""
    raise _no("get_execution_plan (execution plans)")


class NoTracerWarnContextManager:
    """No warnings of the tracer for what runs inside."""

    def __enter__(self) -> None:
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore", torch.jit.TracerWarning)

    def __exit__(self, *error: Any) -> None:
        self._warnings.__exit__(*error)


@contextlib.contextmanager
def inline_everything_mode(should_inline: bool) -> Iterator[None]:
    """Calls in graphs stay calls: ``True`` is refused."""
    if should_inline:
        raise NotImplementedError(
            "inline_everything_mode(True): graphs keep calls; run_pass('inline', graph) inlines them"
        )
    yield


def _trace(*args: Any, **kwargs: Any) -> Any:
    """A decorator that traces a function with these inputs."""
    return lambda func: torch.jit.trace(func, args, **kwargs)


def enable_cpu_fuser(fn: Any) -> Any:
    """The test with PyTorch's fuser on the CPU; the setting is accepted and changes no result here."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        torch._C._jit_override_can_fuse_on_cpu(True)
        try:
            return fn(*args, **kwargs)
        finally:
            torch._C._jit_override_can_fuse_on_cpu(False)

    return wrapper


def enable_cpu_fuser_if(cond: bool) -> Any:
    """``enable_cpu_fuser`` where the condition holds."""
    return enable_cpu_fuser if cond else lambda fn: fn


@contextlib.contextmanager
def _as_it_was(*args: Any) -> Iterator[None]:
    yield


#: blocks of settings of PyTorch's executors, which change no result here
set_fusion_group_inlining = _as_it_was


def _same(fn: Any) -> Any:
    """The test as it is: graphs keep calls, and there are no subgraphs to inline."""
    return fn


disable_autodiff_subgraph_inlining = _as_it_was
_inline_everything = _tmp_donotuse_dont_inline_everything = _same


def clear_class_registry() -> None:
    """Lets classes be compiled anew when they are next used."""
    torch._C._jit_clear_class_registry()


def get_module_method(m: Any, module: str, method: str) -> Any:
    """A method of a child of a compiled module."""
    return m._c.getattr(module)._get_method(method)


def attrs_with_prefix(module: Any, prefix: str) -> list[str]:
    """The names of a compiled module's children that begin so."""
    return [name for name, _ in module._modules._c.items() if name.startswith(prefix)]


class TensorExprTestOptions:
    """Settings of PyTorch's fuser for a test; they change no result here."""

    def restore(self) -> None:
        """Nothing was changed."""


def get_traced_sample_variant_pairs(device: Any, dtype: Any, op: Any) -> list[tuple[Any, Any]]:
    """Traced calls of an operator's forms, each with a sample that it takes; ``op`` is an ``OpInfo``."""
    pairs = []
    for sample in op.sample_inputs(device, dtype):
        for form in (op.get_op(), op.get_method()):
            if form is not None:
                call = lambda first, form=form, sample=sample: form(first, *sample.args, **sample.kwargs)
                pairs.append((torch.jit.trace(call, (sample.input,), check_trace=False), sample))
    return pairs


def __getattr__(name: str) -> Any:
    if name == "OperatorExportTypes":
        return torch.onnx.OperatorExportTypes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def warmup_backward(f: Any, *args: Any) -> list[Any]:
    """Three times the gradients of ``f`` with respect to the arguments, or ``f.backward`` without any."""
    results: list[Any] = []
    for _ in range(3):
        if args:
            results.append(torch.autograd.grad(f, *args, retain_graph=True))
        else:
            f.backward(retain_graph=True)
    return results


def make_global(*args: Any) -> None:
    """Puts functions and classes that a test defines into their module, where a script finds them."""
    for arg in args:
        setattr(sys.modules[arg.__module__], arg.__name__, arg)


def clone_inputs(args: Any) -> list[Any]:
    """Copies of the tensors, detached; lists of tensors too; other values as they are."""
    copies = do_input_map(lambda t: t.detach().clone(), list(args))
    return [list(c) if is_iterable_of_tensors(c) else c for c in copies]


def is_lambda(lamb: Any) -> bool:
    """Whether it is a lambda."""
    kind = type(lambda: 0)
    return isinstance(lamb, kind) and lamb.__name__ == "<lambda>"


def get_forward(c: Any) -> Any:
    """The method ``forward`` of a compiled module."""
    return c._get_method("forward")


def get_forward_graph(c: Any) -> Any:
    """The graph of ``forward`` of a compiled module."""
    return get_forward(c).graph


def _get_py3_code(code: str, fn_name: str) -> Any:
    """The function of this name that a text defines, from a file, so that its source can be read."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "script.py"
        file.write_text(code)
        spec: Any = importlib.util.spec_from_file_location(fn_name, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, fn_name)
