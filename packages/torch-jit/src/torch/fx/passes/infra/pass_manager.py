"""Passes in a row."""

import inspect
from collections.abc import Callable

from torch.fx.graph_module import GraphModule

from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Callable) -> Callable:
    """A pass that returns a :class:`PassResult` also where ``fn`` changes the graph and returns None."""

    def wrapped(graph_module):
        result = fn(graph_module)
        if result is None:
            return PassResult(graph_module, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    wrapped.__name__ = getattr(fn, "__name__", type(fn).__name__)
    wrapped._pass = fn
    return wrapped


def this_before_that_pass_constraint(this: Callable, that: Callable) -> Callable:
    """A constraint that is true of two passes unless ``that`` stands before ``this``."""

    def holds(first, second):
        return not (_of(first) is _of(that) and _of(second) is _of(this))

    return holds


def _of(function):
    return getattr(function, "_pass", function)


def check_order(passes, constraints):
    """RuntimeError where one of two passes must not stand before the other."""
    for constraint in constraints:
        for j, second in enumerate(passes):
            for first in passes[:j]:
                if not constraint(first, second):
                    raise RuntimeError(
                        f"pass {_name(first)!r} must not stand before {_name(second)!r}: pass schedule constraint violated"
                    )


def _topological_sort_passes(passes: list[Callable], constraints: list[Callable]) -> list[Callable]:
    """Passes in an order that breaks no constraint, and is theirs where it may be. RuntimeError where there is none."""
    if not constraints:
        return passes
    behind = {i: [] for i in range(len(passes))}
    waits_for = dict.fromkeys(behind, 0)
    for i, first in enumerate(passes):
        for j, second in enumerate(passes):
            if i != j and not all(constraint(first, second) for constraint in constraints):
                behind[j].append(i)
                waits_for[i] += 1
    ready = [i for i in behind if not waits_for[i]]
    for i in ready:
        for later in behind[i]:
            waits_for[later] -= 1
            if not waits_for[later]:
                ready.append(later)
    if len(ready) < len(passes):
        left = [passes[i] for i in behind if waits_for[i]]
        raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
    return [passes[i] for i in ready]


def _name(function):
    function = _of(function)
    return getattr(function, "__name__", type(function).__name__)


class PassManager:
    """Runs passes one after the other, ``steps`` times or until none changes anything.

    Constraints are functions of two passes that say whether the first may stand before the second; passes are put into an order
    in which all are true. A pass returns a :class:`PassResult`; an exception in one names it, and the passes before it.
    """

    def __init__(
        self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False
    ):
        self.passes = list(passes or ())
        self.constraints = list(constraints or ())
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint on the order."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """Raise RuntimeError where the order breaks a constraint."""
        check_order(self.passes, self.constraints)
        self._validated = True

    def solve_constraints(self):
        """Put the passes into an order that breaks no constraint."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """Call ``check(graph_module)`` before the first pass, and after each where that was asked for. TypeError for a function of
        other arguments."""
        if len(parameters := inspect.signature(check).parameters) != 1:
            raise TypeError(f"add_checks: expected a function of a graph module, got one of {list(parameters)}")
        self.check = check

    def check(self, module):
        """Raises where a GraphModule is not in order; nothing by default."""

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for i, step in enumerate(self.passes):
                result = self._run(step, module, self.passes[:i])
                module, changed = result.graph_module, changed or result.modified
                module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)

    @staticmethod
    def _run(step, module, before):
        try:
            result = step(module)
            if not isinstance(result, PassResult):
                raise TypeError(f"it gave {type(result).__name__} and no PassResult: wrap it in pass_result_wrapper")
            if not isinstance(result.graph_module, GraphModule):
                raise TypeError(f"it must return a GraphModule, got {type(result.graph_module).__name__}")
        except Exception as error:
            after = f" after the passes {[_name(each) for each in before]}" if before else ""
            raise Exception(f"pass {_name(step)!r} failed{after}: {type(error).__name__}: {error}") from error
        return result
