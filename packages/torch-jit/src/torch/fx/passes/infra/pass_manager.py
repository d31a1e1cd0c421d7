"""Passes in a row."""

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
        return not (_of(first) is that and _of(second) is this)

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
                        f"pass {first.__name__!r} must not stand before {second.__name__!r}: pass schedule constraint violated"
                    )


class PassManager:
    """Runs passes one after the other, ``steps`` times or until none changes anything.

    Constraints are functions of two passes, the first of which stands before the second; RuntimeError where one is false.
    """

    def __init__(
        self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False
    ):
        self.passes = [pass_result_wrapper(p) for p in passes or ()]
        self.constraints = list(constraints or ())
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        """Add a pass at the end."""
        self.passes.append(pass_result_wrapper(_pass))
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint on the order."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """Raise RuntimeError where the order breaks a constraint."""
        check_order(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """Call ``check(graph_module)`` before the first pass, and after each where that was asked for."""
        self.check = check

    def check(self, module):
        """Raises where a GraphModule is not in order; nothing by default."""

    def __call__(self, module):
        if not self._validated:
            self.validate_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for step in self.passes:
                result = step(module)
                if not isinstance(result.graph_module, GraphModule):
                    raise TypeError(
                        f"pass {step.__name__!r} must return a GraphModule, got {type(result.graph_module).__name__}"
                    )
                module, changed = result.graph_module, changed or result.modified
                module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)
