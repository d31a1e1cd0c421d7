"""Types of arguments that nothing declares, taken from calls with example inputs."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys

from . import types
from .errors import ScriptError

__all__ = ["from_examples", "number", "types_of"]

_known = []  # for each call of torch.jit.script with examples: its number, and code -> names of arguments -> types
_numbers = itertools.count(1)


def types_of(fn):
    """The types that arguments of a function had in the examples, by name."""
    return _known[-1][1].get(fn.__code__, {}) if _known else {}


def number():
    """Which examples there are types from; 0 where there are none. Modules share programs only within one."""
    return _known[-1][0] if _known else 0


@contextlib.contextmanager
def from_examples(obj, examples):
    """Within, programs take types that nothing says from calls of ``obj``, each with the arguments of one example.

    A dict has the examples of several modules or functions.
    """
    found = {}
    calls = examples.items() if isinstance(examples, dict) else [(obj, examples)]
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: _note(frame, found) if event == "call" else None)
    try:
        for callee, several in calls:
            for each in several:
                callee(*each) if isinstance(each, (tuple, list)) else callee(each)
    finally:
        sys.setprofile(before)
    _known.append((next(_numbers), found))
    try:
        yield
    finally:
        _known.pop()


def _note(frame, found):
    """Note the types of the arguments of a call that begins."""
    code = frame.f_code
    if frame.f_globals.get("__name__", "").partition(".")[0] == "torch" or code.co_flags & inspect.CO_GENERATOR:
        return
    here = found.setdefault(code, {})
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        try:
            of = types.of_value(frame.f_locals[name])
        except (ScriptError, KeyError):  # it has no type in a script
            continue
        before = here.get(name, of)
        here[name] = types.unify(before, of) or types.any_of(before, of)
