"""Functions that ``torch.compile`` gives: the programs that were captured, each with the guards it stands behind."""

from __future__ import annotations

import functools
import math
import threading
import time

import torch
from torch._dynamo import config, exc, utils
from torch.jit import _ir as ir

from . import _backends, _callables, _stances
from ._guards import state_of_thread
from ._observer import Observer, Reason, current
from ._outputs import Outputs

#: everything that is compiled, for reset()
_all: list = []
_lock = threading.RLock()


class Program:
    """One captured run: when it may be run again, and how."""

    def __init__(self, guards, check, state, run, build, graph, sets_grad, pure):
        self.guards, self.check, self.state, self.run, self.build, self.graph = guards, check, state, run, build, graph
        self.sets_grad, self.pure = sets_grad, pure
        self.trial = Trial()

    def __call__(self, inputs):
        if not self.sets_grad:
            return self.build(self.run(*inputs), inputs)
        before = torch.is_grad_enabled()
        try:
            return self.build(self.run(*inputs), inputs)
        finally:
            torch._C._set_grad_enabled(before) if hasattr(torch._C, "_set_grad_enabled") else torch.set_grad_enabled(
                before
            )


class Trial:
    """Whether the program or the function as it was written is faster: the first calls take turns, the best times count."""

    TURNS = 8

    def __init__(self):
        self.turn, self.best = 0, [math.inf, math.inf]

    def timed(self, which, function, *args):
        """Call a function, and note how long it took; ``which`` is 0 for the program, 1 for the Python."""
        start = time.perf_counter()
        result = function(*args)
        self.best[which] = min(self.best[which], time.perf_counter() - start)
        self.turn += 1
        return result

    @property
    def is_slower(self):
        """Whether the program has lost."""
        return self.best[0] > self.best[1]


class Compiled:
    """A function and the programs that were captured of it."""

    def __init__(self, function, backend, fullgraph, dynamic, options):
        self.function, self.backend, self.fullgraph, self.dynamic, self.options = (
            function,
            backend,
            fullgraph,
            dynamic,
            options,
        )
        self.programs, self.reason, self.captures = [], None, 0
        self.chooses = backend is _backends.native
        with _lock:
            _all.append(self)

    def reset(self):
        self.programs, self.reason, self.captures = [], None, 0

    def __call__(self, args, kwargs):
        stance = _stances.current
        if self.reason is not None or stance.eager or _bypassed():
            return self.function(*args, **kwargs)
        observer = current()
        if observer is not None and observer.reason is None:  # within another function that is being captured
            return self.function(*args, **kwargs)
        state = state_of_thread()
        for program in self.programs:
            inputs = program.check(args, kwargs)
            if inputs is not None and program.state == state:
                if program.trial.turn < Trial.TURNS and self.chooses and config.choose_faster:
                    return self._try(program, args, kwargs)
                return self._replay(program, inputs, args, kwargs)
        return self._capture(args, kwargs, state)

    def _try(self, program, args, kwargs):
        """A call among the first: timed, as a program with its guards or as Python."""
        trial = program.trial
        if trial.turn % 2:
            result = trial.timed(1, self._plainly, args, kwargs)
        else:
            result = trial.timed(0, self._guarded, program, args, kwargs)
        if trial.turn == Trial.TURNS and trial.is_slower:
            self.reason, self.programs = Reason("as a program it is slower than as Python", ()), []
        return result

    def _plainly(self, args, kwargs):
        return self.function(*args, **kwargs)

    def _guarded(self, program, args, kwargs):
        inputs = program.check(args, kwargs)
        state_of_thread()
        return self._replay(program, inputs, args, kwargs)

    def _replay(self, program, inputs, args, kwargs):
        try:
            return program(inputs)
        except Exception:
            if program.pure:  # again, as Python, for the error that names the line
                return self.function(*args, **kwargs)
            raise

    def _capture(self, args, kwargs, state):
        stance = _stances.current
        if stance.fails and self.captures:
            raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'")
        if len(self.programs) >= config.recompile_limit:
            return self._eager_from_now(args, kwargs)
        if self.programs:
            utils.note_recompile(self.function, self.programs, args, kwargs)
        self.captures += 1
        observer = Observer()
        result = observer.run(self.function, args, kwargs)
        program = _finish(observer, result, self) if observer.reason is None else None
        if program is None or observer.reason is not None:
            utils.note_break(self.function, observer.reason)
            if self.fullgraph:
                raise exc.Unsupported(f"{_name(self.function)}: {observer.reason}")
            self.reason = observer.reason
            return result
        utils.note_capture(self.function)
        self.programs.insert(0, program)
        return result

    def _eager_from_now(self, args, kwargs):
        if config.fail_on_recompile_limit_hit or self.fullgraph:
            raise exc.FailOnRecompileLimitHit(
                f"{_name(self.function)} was captured {len(self.programs)} times (torch._dynamo.config.recompile_limit)"
            )
        utils.note_limit(self.function, len(self.programs))
        self.reason, self.programs = Reason("it was captured too often", ()), []
        return self.function(*args, **kwargs)


def _name(function):
    return getattr(function, "__qualname__", type(function).__qualname__)


def _bypassed():
    """Whether operators go another way than programs know: modes of functions, layers, tracing."""
    from torch import overrides

    return bool(overrides._state.modes) or torch.jit.is_tracing() or ir._native._tracing()


def _finish(observer, result, compiled):
    """The program of an observation that has nothing against it."""
    outputs = Outputs(observer, result)
    if (observer.grad != observer.entry_grad and observer.sets_grad) or torch.is_grad_enabled() != observer.entry_grad:
        if torch.is_grad_enabled() != observer.entry_grad:
            observer.stop("the mode of gradients is another one afterwards")
    if observer.state != state_of_thread():
        observer.stop("modes of operators are others afterwards")
    graph = observer.graph
    pure = _scan(observer, graph)
    if observer.reason is not None:
        return None
    graph.setLocation(None)
    values = [observer.tracer.value_of(t) for t in outputs.tensors]
    graph.registerOutput(_tuple(graph, values))
    graph.lint()
    check = observer.guards.compile(observer.inputs)
    run = compiled.backend(observer, graph, outputs.tensors, compiled)
    return Program(observer.guards, check, observer.state, run, outputs.build, graph, observer.sets_grad, pure)


def _tuple(graph, values):
    node = graph.create("prim::TupleConstruct", values, 1)
    node.output().setType(ir.TupleType([v.type() for v in values]))
    graph.insertNode(node)
    return node.output()


def _scan(observer, graph):
    """Look through a graph for what must not be in one; whether it can be run again without anybody noticing."""
    pure = True
    for node in graph.nodes():
        kind = node.kind()
        if kind == "prim::Constant":
            if node.hasAttribute("value") and node.kindOf("value") == "t":
                if node.output().unique() not in observer.constant_values:
                    observer.stop("a tensor is used that was read in a way that is not followed")
        elif kind.startswith("aten::"):
            name = kind[6:]
            if name in _callables._VALUES:
                observer.stop(f"{name} goes by the values of a tensor")
            if name == "index" and not all(map(_counts, _parts(node.inputsAt(1)))):
                observer.stop("a mask picks a number of elements")
            if node.hasEffects() or node.isNondeterministic():
                pure = pure and kind == "aten::set_grad_enabled"
        elif kind not in ("prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct"):
            observer.stop(f"{kind} is called")
    return pure


def _counts(value):
    """Whether a tensor among indices stands for as many elements as it has; a mask does not."""
    kind = value.type()
    if kind.kind() == "NoneType":
        return True
    return kind.kind() == "TensorType" and kind.dtype() not in (None, torch.bool, torch.uint8)


def _parts(value):
    node = value.node()
    return node.inputs() if node.kind() == "prim::ListConstruct" else [value]


def reset():
    """Forget all programs."""
    with _lock:
        for each in _all:
            each.reset()


def function_of(model, compiled):
    """The function that stands for ``model``: it looks like it, and calls go through the captured programs."""

    @functools.wraps(model)
    def call(*args, **kwargs):
        return compiled(args, kwargs)

    call._torchdynamo_orig_callable = model
    call._torchdynamo_inline = model
    call._compiled = compiled
    return call
