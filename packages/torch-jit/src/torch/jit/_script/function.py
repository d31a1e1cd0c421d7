"""Compiled functions as Python sees them."""

from __future__ import annotations

import functools
import inspect
import pickle

import torch

from .. import _native
from .._forms import in_pytorchs_form
from .compiler import compiler
from .convert import Converter
from .library import is_library

__all__ = ["ScriptFunction", "script_function"]


class ScriptFunction(_native.Callable):
    """A compiled function: called like the Python function that it came from.

    >>> @torch.jit.script
    ... def double(x, n: int):
    ...     for i in range(n):
    ...         x = x + x
    ...     return x
    >>> double(torch.ones(2), 3)
    tensor([8., 8.])
    """

    __module__ = "torch.jit"

    def __init__(self, program, python=None):
        self._script_function = program
        self._run = run = program.function
        converter = Converter.of(program)
        # Called past Python where nothing is to be converted.
        super().__init__(run if converter is None else lambda *args, **kwargs: converter.call(run, args, kwargs))
        if python is not None:
            functools.update_wrapper(self, python)
            self.__dict__.pop("__wrapped__", None)
            self._torchdynamo_inline = python

    @property
    def name(self):
        return self._script_function.name

    @property
    def qualified_name(self):
        return self._run.qualified_name

    @property
    def graph(self):
        """The program as a graph."""
        return self._run.graph

    @property
    def inlined_graph(self):
        """The graph with the functions that it calls in it."""
        return in_pytorchs_form(self._run.inlined_graph)

    @property
    def code(self):
        """The program as readable Python."""
        from .printer import code_of

        return code_of(self._run)

    @property
    def code_with_constants(self):
        from .printer import code_and_constants

        return code_and_constants(self._run)

    @property
    def schema(self):
        """What it takes and gives."""
        from .._schema import schema_of

        return schema_of(self._script_function)

    def graph_for(self, *args, **kwargs):
        """The graph as it runs for these arguments: there is one for all."""
        return self._run.graph

    def save(self, filename, _extra_files=None):
        """Write an archive that :func:`torch.jit.load` and PyTorch read."""
        torch.jit.save(self, filename, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        import io

        buffer = io.BytesIO()
        torch.jit.save(self, buffer, _extra_files)
        return buffer.getvalue()

    def __get__(self, owner, cls=None):
        return self if owner is None else functools.partial(self, owner)

    def __repr__(self):
        return f"<torch.jit.ScriptFunction {self.qualified_name}>"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise pickle.PickleError(
            f"ScriptFunction cannot be pickled: {self.name} is compiled; write it with torch.jit.save"
        )


_functions = {}


def script_function(fn, public):
    """Compile a Python function; ``public`` is the function with its decorators."""
    found = _functions.get(fn)
    if found is None:
        program = compiler.function_of_library(fn, public) if is_library(fn) else compiler.function_for(fn)
        found = _functions[fn] = ScriptFunction(program, fn)
    return found


def signature_of(program):
    """The signature with which Python calls a program."""
    return inspect.signature(program) if program.signature is None else program.signature
