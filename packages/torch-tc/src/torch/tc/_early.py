"""The interface of March 2018: texts that are added to a unit, programs by number, and a tuner of a text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from torch.tc import _arguments, _cache, _source, _tuner, _unit
from torch.tc._late import Executor, unit_of
from torch.tc._options import MappingOptions

_NO_CUDA = "programs run on the CPU, where no kernel of CUDA is compiled; TcUnit.ptx gives the text of one"


def _options(given: Any) -> MappingOptions | None:
    return MappingOptions(given) if isinstance(given, str) else given


class TcCompilationUnit:
    """Definitions of one or several texts, compiled for arguments by name.

    >>> import torch, torch.tc as tc
    >>> unit = tc.TcCompilationUnit()
    >>> unit.define("def scale(float(N) A) -> (B) { B(i) = A(i) * 2 }")
    >>> handle = unit.compile("scale", [torch.ones(2)], options="naive")
    >>> unit.run(handle, "scale", [torch.ones(2)])
    [tensor([2., 2.])]
    """

    def __init__(self) -> None:
        self._units: dict[str, _unit.Compiled] = {}
        self._compiled: list[Executor] = []

    def define(self, tc_lang: str) -> None:
        """Add the definitions of a text; one of a name that is there already replaces it."""
        source = _source.of_caller(_unit.text_of(tc_lang))
        found = _unit.definitions(source)
        self._units |= {name: _unit.Compiled(source, one) for name, one in found.items()}

    def _unit(self, name: str) -> _unit.Compiled:
        if name not in self._units:
            raise ValueError(
                f"tc: no definition {name!r}; there are {', '.join(self._units) or 'none: call define first'}"
            )
        return self._units[name]

    def compile(self, name: str, inputs: Sequence[Any], *, options: Any = None) -> int:
        """Compile a definition for the sizes of these arguments; returns a number to run it by."""
        unit = self._unit(name)
        shapes = _arguments.shapes(_arguments.tensors(unit.source, unit.one, inputs))
        self._compiled.append(Executor(unit, unit.program(shapes, _options(options))))
        return len(self._compiled) - 1

    def run(
        self, handle: int, name: str, inputs: Sequence[Any], *, outputs: Sequence[Any] = (), **switches: Any
    ) -> list[Any]:
        """The results of a compiled definition on arguments of its sizes; ``outputs`` are tensors to write to.

        Raises ValueError for a number that ``compile`` did not give, or gave for another definition.
        """
        _switches(switches)
        if not isinstance(handle, int) or not 0 <= handle < len(self._compiled):
            raise ValueError(f"tc: run: {handle!r} is no number that compile gave; it gave {len(self._compiled)}")
        executor = self._compiled[handle]
        if executor.program.name != name:
            raise ValueError(f"tc: run: {handle} was compiled from {executor.program.name!r}, not from {name!r}")
        return list(executor.run(inputs, outputs))

    def compile_and_run(
        self, name: str, inputs: Sequence[Any], *, options: Any = None, outputs: Sequence[Any] = (), **switches: Any
    ) -> list[Any]:
        """``compile``, then ``run``; a program of the same sizes and options is compiled once."""
        _switches(switches)
        return self._unit(name)(inputs, _options(options), list(outputs) or None)

    def manual_cuda_injection(self, name: str, injected_kernel: str, inputs: Any, grid: Any, block: Any) -> None:
        """Raises NotImplementedError: kernels written in CUDA are not run."""
        raise NotImplementedError(f"tc: manual_cuda_injection: {_NO_CUDA}")


def _switches(given: dict[str, Any]) -> None:
    """Of the arguments of 2018 ``unchecked`` is left, which changes nothing: all arguments are checked."""
    for name in given:
        if name != "unchecked":
            raise TypeError(f"tc: run() got an unexpected argument {name!r}; there are outputs and unchecked")


class TcAutotuner:
    """A tuner of a definition of a text: ``name`` says which where there are several, ``backward`` names that of gradients.

    Settings such as ``generations`` and ``pop_size`` hold for all its searches.

    >>> import torch.tc as tc
    >>> tuner = tc.TcAutotuner("def copy(float(N) A) -> (B) { B(i) = A(i) }", generations=1, pop_size=2, progress=False)
    >>> tuner.autotune((8,)) is not None
    True
    """

    def __init__(
        self,
        tc_lang: str,
        name: str | None = None,
        backward: str | None = None,
        training: bool = False,
        options: Any = None,
        cache: Any = None,
        **settings: Any,
    ):
        _tuner.Settings(**settings)
        self._text, self._settings, self._cache = _unit.text_of(tc_lang), settings, cache
        self._unit = _unit.TcUnit(tc_lang, name=name, backward=backward, training=training, options=options)

    def autotune(self, *inputs: Any, **settings: Any) -> Any:
        """The best options for these arguments, tensors or shapes; for training a pair, of the forward and backward definition."""
        settings = {"cache": self._cache, **self._settings, **settings}
        return self._unit.autotune(*inputs, **settings)

    def tune_and_store(
        self, tc_name: str, inputs: Sequence[Any], mapping_options: Any, cache_file: Any
    ) -> MappingOptions:
        """The best options for a definition of the text, searched from ``mapping_options`` on and kept in a file."""
        unit = unit_of(self._text, tc_name)
        file = os.fspath(cache_file)
        return _tuner.tune(unit, _tuner.cases(unit, inputs), _options(mapping_options), file, **self._settings)

    def load(self, filename: Any, tc_name: str, inputs: Sequence[Any], num_candidates: int = 1) -> list[MappingOptions]:
        """The best options of a file for a definition of the text and these arguments, at most so many."""
        unit = unit_of(self._text, tc_name)
        shapes = _arguments.shapes(_arguments.tensors(unit.source, unit.one, _tuner.cases(unit, inputs)[0]))
        return _cache.load(os.fspath(filename), self._text, tc_name, shapes, num_candidates)


def cuda_compiler(name: str) -> None:
    """Raises NotImplementedError: no compiler of CUDA is called."""
    raise NotImplementedError(f"tc: cuda_compiler({name!r}): {_NO_CUDA}")


def nvcc_flags(flags: str) -> None:
    """Raises NotImplementedError: no compiler of CUDA is called."""
    raise NotImplementedError(f"tc: nvcc_flags({flags!r}): {_NO_CUDA}")


def llvm_flags(flags: str) -> None:
    """Raises NotImplementedError: the LLVM within Halide takes no flags; ``MappingOptions`` say how a program is compiled."""
    raise NotImplementedError(f"tc: llvm_flags({flags!r}): Halide's LLVM takes no flags; see MappingOptions")
