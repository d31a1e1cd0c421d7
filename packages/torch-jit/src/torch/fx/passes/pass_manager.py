"""Passes in a row, as they were before :mod:`torch.fx.passes.infra.pass_manager`: each takes what the one before it returned."""

from __future__ import annotations

import functools
import inspect
import logging

from .infra.pass_manager import check_order, this_before_that_pass_constraint

__all__ = [
    "PassManager", "inplace_wrapper", "log_hook", "loop_pass", "this_before_that_pass_constraint",
    "these_before_those_pass_constraint",
]  # fmt: skip

logger = logging.getLogger(__name__)


def inplace_wrapper(fn):
    """A pass that returns what it was given, of a function that changes that and returns something else.

    >>> add = inplace_wrapper(lambda found: found.append(1))
    >>> add([])
    [1]
    """

    @functools.wraps(fn)
    def wrapped(given):
        fn(given)
        return given

    return wrapped


def log_hook(fn, level=logging.INFO):
    """A pass that tells the log what it was given."""

    @functools.wraps(fn)
    def wrapped(given):
        logger.log(level, "%s of %s", fn, given)
        return fn(given)

    return wrapped


def loop_pass(base_pass, n_iter=None, predicate=None):
    """A pass that runs another one ``n_iter`` times, or while ``predicate`` is true of what it gave.

    >>> loop_pass(lambda n: n + 1, predicate=lambda n: n < 5)(0)
    5
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("loop_pass: exactly one of n_iter and predicate must be given")

    @functools.wraps(base_pass)
    def wrapped(given):
        if predicate is None:
            for _ in range(n_iter):
                given = base_pass(given)
        else:
            while predicate(given):
                given = base_pass(given)
        return given

    return wrapped


def these_before_those_pass_constraint(these, those):
    """A constraint that is false of two passes where one of ``those`` stands before one of ``these``."""

    def holds(first, second):
        return not (inspect.unwrap(first) is those and inspect.unwrap(second) is these)

    return holds


class PassManager:
    """Runs passes one after the other; each gives what the next one takes.

    >>> PassManager([lambda n: n + 1, lambda n: n * 2])(3)
    8
    """

    def __init__(self, passes=None, constraints=None):
        self.passes, self.constraints = list(passes or ()), list(constraints or ())
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes):
        """One with these passes."""
        return cls(passes)

    def add_pass(self, _pass):
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint on the order."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes):
        """Take out the passes of these names."""
        self.passes = [each for each in self.passes if each.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target, _replacement):
        """Put a pass in the place of another one."""
        self.passes = [_replacement if each.__name__ == _target.__name__ else each for each in self.passes]
        self._validated = False

    def validate(self):
        """Raise RuntimeError where the order breaks a constraint."""
        check_order(self.passes, self.constraints)
        self._validated = True

    def __call__(self, source):
        if not self._validated:
            self.validate()
        for each in self.passes:
            source = each(source)
        return source
