"""The interface of late 2018: definitions of a text as methods, options from factories, tuners and caches as objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.tc import _arguments, _cache, _source, _tuner, _unit
from torch.tc._options import MappingOptions
from torch.tc._program import Program

Factory = Callable[..., MappingOptions]


class TC:
    """All definitions of a text, each compiled at its first call with options from the factory.

    >>> import torch, torch.tc as tc
    >>> T = tc.define("def double(float(N) A) -> (B) { B(i) = A(i) + A(i) }", tc.make_naive_options_factory())
    >>> T.double(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, tc: str, mapping_options_factory: Factory | None = None):
        source = _source.of_caller(_unit.text_of(tc))
        self._units = {n: _unit.Compiled(source, one) for n, one in _unit.definitions(source).items()}
        self._text, self._factory = tc, mapping_options_factory or make_naive_options_factory()
        self._options: dict[Any, MappingOptions] = {}

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._units]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._units:
            raise AttributeError(f"tc: no definition {name!r}; there are {', '.join(self.__dict__.get('_units', ()))}")
        unit = self._units[name]

        def call(*inputs: Any, outputs: Any = None, unchecked: bool = False) -> Any:
            found = _arguments.tensors(unit.source, unit.one, inputs)
            key = name, _arguments.shapes(found)
            if key not in self._options:
                self._options[key] = self._factory(self._text, name, *found)
            got = unit(found, self._options[key], outputs)
            return got[0] if len(got) == 1 else tuple(got)

        call.__name__ = call.__qualname__ = name
        return call


def make_naive_options_factory() -> Factory:
    """Options "naive", whatever the sizes."""
    return lambda tc, entry_point, *inputs: MappingOptions("naive")


def make_load_from_cache_options_factory(cache_filename: str) -> Factory:
    """The best options of a file for the sizes of the first call."""

    def factory(tc: str, entry_point: str, *inputs: Any) -> MappingOptions:
        found = _cache.load(cache_filename, tc, entry_point, _arguments.shapes(inputs), 1)
        if not found:
            sizes = ", ".join(map(str, _arguments.shapes(inputs)))
            raise ValueError(f"tc: {cache_filename} holds no options of {entry_point} for {sizes}")
        return found[0]

    return factory


def make_autotuned_options_factory(
    starting_options: Any = None,
    tuner_config: TunerConfig | None = None,
    cache_filename: str | None = None,
    load_from_cache: bool = False,
    store_to_cache: bool = False,
) -> Factory:
    """Options tuned at the first call for each sizes."""
    settings = {"cache_filename": cache_filename, "load_from_cache": load_from_cache, "store_to_cache": store_to_cache}
    return lambda tc, entry_point, *inputs: autotune(
        tc, entry_point, *inputs, starting_options=starting_options, tuner_config=tuner_config, **settings
    )


class TunerConfig:
    """Settings of a tuner.

    >>> TunerConfig().generations(3).pop_size(10).settings
    {'generations': 3, 'pop_size': 10}
    """

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}

    def _setter(field: str) -> Any:  # type: ignore[misc]
        def setter(self: TunerConfig, value: Any) -> TunerConfig:
            self.settings[field] = value
            return self

        setter.__name__, setter.__doc__ = field, f"Set ``{field}``."
        return setter

    generations, pop_size, threads = _setter("generations"), _setter("pop_size"), _setter("threads")
    crossover_rate, mutation_rate = _setter("crossover_rate"), _setter("mutation_rate")
    number_elites, progress = _setter("number_elites"), _setter("progress")
    tuner_min_launch_total_threads = _setter("tuner_min_launch_total_threads")
    devices = _setter("gpus")

    def logtostderr(self, value: bool = True) -> TunerConfig:
        """Accepted; progress goes to stderr unless ``progress(False)``."""
        return self

    stderrthreshold = logtostderr


def unit_of(tc: str, entry_point: str) -> _unit.Compiled:
    source = _source.of_caller(_unit.text_of(tc))
    found = _unit.definitions(source)
    if entry_point not in found:
        raise ValueError(f"tc: no definition {entry_point!r}; there are {', '.join(found)}")
    return _unit.Compiled(source, found[entry_point])


def autotune(
    tc: str,
    entry_point: str,
    *inputs: Any,
    starting_options: Any = None,
    tuner_config: TunerConfig | None = None,
    cache_filename: str | None = None,
    load_from_cache: bool = False,
    store_to_cache: bool = False,
) -> MappingOptions:
    """The best options for these arguments; a cache file gives the start, and is given what was found, where asked to."""
    unit = unit_of(tc, entry_point)
    start = MappingOptions(starting_options) if isinstance(starting_options, str) else starting_options
    if (load_from_cache or store_to_cache) and not cache_filename:
        raise ValueError("tc: load_from_cache and store_to_cache need cache_filename")
    cases = _tuner.cases(unit, inputs)
    if load_from_cache and start is None:
        shapes = _arguments.shapes(_arguments.tensors(unit.source, unit.one, cases[0]))
        start = next(iter(_cache.load(cache_filename, tc, entry_point, shapes, 1)), None)
    settings = tuner_config.settings if tuner_config else {}
    return _tuner.tune(unit, cases, start, cache_filename if store_to_cache else None, **settings)


class Executor:
    """A definition compiled for sizes and options, without the checks of a call."""

    def __init__(self, unit: _unit.Compiled, program: Program):
        self.unit, self.program = unit, program

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Run on tensors of the sizes it was compiled for."""
        found = _arguments.tensors(self.unit.source, self.unit.one, inputs)
        if _arguments.shapes(found) != self.program.shapes:
            wanted, got = self.program.shapes, _arguments.shapes(found)
            raise ValueError(f"tc: {self.program.name} was compiled for {wanted}, got {got}")
        return tuple(_arguments.execute(self.program.name, self.program, found, list(outputs) or None))

    unchecked_run = run

    def __call__(self, *inputs: Any, outputs: Sequence[Any] = ()) -> Any:
        got = self.run(inputs, outputs)
        return got[0] if len(got) == 1 else got


def compile(tc: str, entry_point: str, mapping_options: Any, *inputs: Any) -> Executor:
    """A definition compiled for the sizes of these arguments."""
    unit = unit_of(tc, entry_point)
    options = MappingOptions(mapping_options) if isinstance(mapping_options, str) else mapping_options
    return Executor(unit, unit.program(_arguments.shapes(_arguments.tensors(unit.source, unit.one, inputs)), options))


def autotune_and_compile(tc: str, entry_point: str, *inputs: Any, **settings: Any) -> Executor:
    """``autotune``, then ``compile`` with what it found."""
    return compile(tc, entry_point, autotune(tc, entry_point, *inputs, **settings), *inputs)


def make_autograd(forward_fun: Callable[..., Any], backward_fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with gradients from two without: the backward one takes the arguments, then gradients of the results."""
    from torch.autograd import Function
    from torch.autograd.function import once_differentiable

    class Pair(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*inputs)
            return forward_fun(*inputs)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward_fun(*ctx.saved_tensors, *(g.contiguous() for g in grads))

    return Pair.apply


class MappingOptionsCache:
    """A file of options.

    >>> import torch.tc
    >>> torch.tc.MappingOptionsCache("/nowhere.json").load("def f(float(N) A) -> (b) { b() +=! A(i) }", "f", [(3,)], 2)
    []
    """

    def __init__(self, filename: str):
        self.filename = filename

    def load(self, tc: str, entryPoint: str, inputs: Sequence[Any], numCandidates: int) -> list[MappingOptions]:
        """The best options for arguments, or shapes, at most so many."""
        shapes = [tuple(t.shape) if isinstance(t, torch.Tensor) else tuple(t) for t in inputs]
        return _cache.load(self.filename, tc, entryPoint, shapes, numCandidates)


class Tuner:
    """A tuner of the definitions of a text that writes to a file, if it is given one."""

    def __init__(self, tc: str, cacheFileName: str = ""):
        self.tc, self.file = tc, cacheFileName

    def tune(
        self, entryPoint: str, inputs: Sequence[Any], baseMapping: Any, config: TunerConfig
    ) -> list[MappingOptions]:
        """The best options, in a list."""
        stored = {"cache_filename": self.file, "store_to_cache": True} if self.file else {}
        return [autotune(self.tc, entryPoint, *inputs, starting_options=baseMapping, tuner_config=config, **stored)]


class CompilationCache:
    """Definitions of a text compiled by name and sizes."""

    def __init__(self, tc: str):
        source = _source.of_caller(_unit.text_of(tc))
        self.units = {n: _unit.Compiled(source, one) for n, one in _unit.definitions(source).items()}
        self.compiled: dict[Any, Program] = {}

    def key(self, entryPoint: str, inputs: Sequence[Any]) -> Any:
        if entryPoint not in self.units:
            raise ValueError(f"tc: no definition {entryPoint!r}; there are {', '.join(self.units)}")
        unit = self.units[entryPoint]
        return entryPoint, _arguments.shapes(_arguments.tensors(unit.source, unit.one, inputs))

    def is_compiled(self, entryPoint: str, inputs: Sequence[Any]) -> bool:
        return self.key(entryPoint, inputs) in self.compiled

    def compile(self, entryPoint: str, inputs: Sequence[Any], options: Any) -> None:
        key = self.key(entryPoint, inputs)
        self.compiled[key] = self.units[entryPoint].program(
            key[1], MappingOptions(options) if isinstance(options, str) else options
        )

    def program(self, entryPoint: str, inputs: Sequence[Any]) -> Program:
        key = self.key(entryPoint, inputs)
        if key not in self.compiled:
            raise RuntimeError(f"tc: {entryPoint} is not compiled for {key[1]}: call compile first")
        return self.compiled[key]

    def alloc_outputs(self, entryPoint: str, inputs: Sequence[Any]) -> list[Any]:
        return self.program(entryPoint, inputs).empty()

    def run(self, entryPoint: str, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> tuple[Any, ...]:
        return Executor(self.units[entryPoint], self.program(entryPoint, inputs)).run(inputs, outputs)

    unchecked_run = run


def assert_almost_equal(diff: Any, expected: Any, *inputs: Any, operations: int = 1, precision: float = 1e-7) -> None:
    """Raise AssertionError where a difference exceeds what so many operations at a precision can lose.

    >>> import torch
    >>> assert_almost_equal(torch.tensor([1e-9]), torch.ones(1))
    """
    biggest = max((t.abs().max().item() for t in (expected, *inputs) if t.numel()), default=1.0)
    allowed, worst = operations * precision * max(biggest, 1e-30), diff.abs().max().item() if diff.numel() else 0.0
    if not worst <= allowed:
        raise AssertionError(
            f"the difference {worst:g} exceeds {allowed:g}: {operations} operations of precision {precision:g}"
        )
