"""A search for options: generations of candidates, measured, mixed and changed."""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.tc import _arguments, _cache, _flags, _halide
from torch.tc._options import MappingOptions

#: for a first look: a few seconds
autotuner_settings = {"threads": 1, "generations": 2, "pop_size": 8, "number_elites": 2}


@dataclass
class Settings:
    generations: int = 5
    pop_size: int = 16
    crossover_rate: int = 80  #: percent of children that mix two candidates
    mutation_rate: int = 20  #: percent of choices that change at random
    number_elites: int = 4
    threads: int = 1
    gpus: str = ""
    progress: bool = True  #: a line for each generation, on stderr
    seed: int = 0
    tuner_gen_log_generations: bool = False
    tuner_min_launch_total_threads: int = 0

    def __post_init__(self) -> None:
        for field, least in (("generations", 1), ("pop_size", 1), ("number_elites", 1), ("threads", 1)):
            value = getattr(self, field)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"autotune: {field} expected a whole number from {least}, got {value!r}")
        for field in ("crossover_rate", "mutation_rate"):
            if not 0 <= getattr(self, field) <= 100:
                raise ValueError(f"autotune: {field} expected percent, got {getattr(self, field)!r}")


def cases(unit: Any, inputs: Sequence[Any]) -> list[list[Any]]:
    """One or several sets of arguments, with tensors made for shapes."""

    def several(one: Any) -> bool:
        return isinstance(one, list | tuple) and any(isinstance(t, torch.Tensor | list | tuple) for t in one)

    count = len(unit.one.parameters)
    sets = [list(one) for one in inputs] if inputs and all(map(several, inputs)) else [list(inputs)]
    for one in sets:
        if len(one) != count:
            raise TypeError(f"{unit.one.name}: autotune expected {count} arguments, got {len(one)}")
    return [[made(p, t) for p, t in zip(unit.one.parameters, one, strict=True)] for one in sets]


def made(parameter: Any, given: Any) -> Any:
    """A tensor for a shape: small random numbers, or zeros for whole numbers, which may be indices."""
    if not isinstance(given, list | tuple):
        return given
    dtype = getattr(torch, parameter.dtype)
    return torch.rand(*given).to(dtype) if dtype.is_floating_point else torch.zeros(*given, dtype=dtype)


class Case:
    """One set of arguments, and what the first candidate made of them."""

    def __init__(self, unit: Any, inputs: Sequence[Any]):
        self.unit, self.inputs = unit, _arguments.tensors(unit.source, unit.one, inputs)
        self.shapes = _arguments.shapes(self.inputs)
        self.expected = unit.program(self.shapes, MappingOptions("naive"))
        self.results = self.expected.empty()
        self.expected.run(self.inputs, self.results)

    def measure(self, options: MappingOptions, limit: float) -> float:
        """Microseconds of a run, or infinity for a candidate that is slow from the start, refused, or wrong."""
        halide = _halide.load()
        try:
            program = self.unit.program(self.shapes, options)
            results = program.empty()
            program.run(self.inputs, results)
        except (halide.HalideError, RuntimeError) as error:
            _flags.say("debug_tuner", f"{options!r} is refused: {error}")
            return math.inf
        if not all(map(agrees, results, self.results)):
            _flags.say("debug_tuner", f"{options!r} gives another result")
            return math.inf
        best, until = math.inf, time.perf_counter() + 0.02
        for k in range(200):
            start = time.perf_counter()
            program.run(self.inputs, results)
            end = time.perf_counter()
            best = min(best, (end - start) * 1e6)
            if (end > until and k >= 2) or best > 4 * limit:
                break
        return best


def agrees(a: Any, b: Any) -> bool:
    if not a.dtype.is_floating_point:
        return bool((a == b).all())
    scale = b.abs().max().item() if b.numel() else 0.0
    near = 2e-2 if a.dtype == torch.float16 else 1e-3
    return b.numel() == 0 or not math.isfinite(scale) or (a - b).abs().max().item() <= near * scale + 1e-6


class Search:
    def __init__(self, unit: Any, cases: Sequence[Sequence[Any]], start: MappingOptions | None, settings: Settings):
        self.unit, self.settings, self.random = unit, settings, random.Random(settings.seed)
        self.cases = [Case(unit, one) for one in cases]
        self.start = [start] if start is not None else []
        self.scores: dict[Any, tuple[float, list[float], MappingOptions]] = {}
        self.base: list[float] = []
        #: extents that a block may have in each dim, over all results
        ranks = [s.shape for c in self.cases for s in c.expected.pipeline.stages]
        self.depth = max(map(len, ranks), default=0)
        self.widest = [max((s[d] for s in ranks if len(s) > d), default=1) for d in range(self.depth)]

    def candidate(self) -> MappingOptions:
        pick = self.random.choice
        sizes = [pick([0, 1, *(1 << k for k in range(1, min(n, 256).bit_length()))]) for n in self.widest]
        one = MappingOptions("auto").tile(sizes).unroll(pick([1, 2, 4, 8])).vectorize(pick([0, 0, 4, 8, 16]))
        one.vectorizeReductions(pick([None, False, True])).parallel(pick([True, True, False]))
        return one.outerScheduleFusionStrategy(pick(["Preserve3Coincident", "Preserve3Coincident", "Min"]))

    def child(self, parents: list[MappingOptions]) -> MappingOptions:
        one = self.random.choice(parents).copy()
        fresh, s = self.candidate(), self.settings
        if self.random.uniform(0, 100) < s.crossover_rate:
            other = self.random.choice(parents)
            for k in one.values:
                if self.random.random() < 0.5:
                    one.values[k] = other.values[k]
        changed = {k: v for k, v in fresh.values.items() if self.random.uniform(0, 100) < s.mutation_rate}
        if "tile" in changed:  # one dim at a time
            d, before = self.random.randrange(max(1, self.depth)), list(one.values["tile"])
            before += [0] * (self.depth - len(before))
            changed["tile"] = tuple(changed["tile"][k] if k == d else v for k, v in enumerate(before))
        one.values |= changed | {"naive": False}
        return one

    def score(self, options: MappingOptions) -> float:
        if options.key not in self.scores:
            best = self.best[1] if self.scores else [math.inf] * len(self.cases)
            times = [c.measure(options, limit) for c, limit in zip(self.cases, best, strict=True)]
            total = sum(map(math.log, times)) if all(map(math.isfinite, times)) else math.inf
            self.scores[options.key] = total, times, options
            _flags.say("debug_tuner", f"{options!r}: {', '.join(f'{t:.1f} us' for t in times)}")
        return self.scores[options.key][0]

    @property
    def best(self) -> tuple[float, list[float], MappingOptions]:
        return min(self.scores.values(), key=lambda one: one[0])

    def run(self) -> None:
        s = self.settings
        population = [*self.start, MappingOptions("auto"), MappingOptions("naive")][: max(2, s.pop_size)]
        population += [self.candidate() for _ in range(s.pop_size - len(population))]
        try:
            for generation in range(1, s.generations + 1):
                for one in population:
                    self.score(one)
                ranked = sorted(self.scores.values(), key=lambda one: one[0])
                self.tell(f"generation {generation} of {s.generations}, {len(ranked)} candidates, best {self.shown()}")
                elites = [options for _, _, options in ranked[: s.number_elites]]
                parents = [options for total, _, options in ranked[: max(2, s.pop_size // 2)] if math.isfinite(total)]
                population = elites + [self.child(parents or elites) for _ in range(s.pop_size - len(elites))]
        except KeyboardInterrupt:
            if not self.scores or not math.isfinite(self.best[0]):
                raise
            self.tell(f"interrupted after {len(self.scores)} candidates, best {self.shown()}")

    def shown(self) -> str:
        return ", ".join(f"{t:.1f} us" for t in self.best[1])

    def tell(self, text: str) -> None:
        if self.settings.progress:
            print(f"tc: {self.unit.one.name}: {text}", file=sys.stderr, flush=True)


def tune(
    unit: Any, cases: Sequence[Sequence[Any]], start: MappingOptions | None, file: str | None, **settings: Any
) -> MappingOptions:
    """The best options for all cases together. An interrupt (Ctrl+C) ends the search with the best so far.

    ``generations`` of ``pop_size`` candidates; ``crossover_rate`` and ``mutation_rate`` in percent; ``number_elites`` stay from one generation to the
    next; ``progress=False`` is silent. ``threads`` and ``gpus`` are accepted: candidates are compiled and measured one by one.
    """
    known = {k: v for k, v in settings.items() if k in Settings.__dataclass_fields__}
    if unknown := set(settings) - set(known):
        raise TypeError(f"autotune: unknown settings {', '.join(sorted(unknown))}")
    search = Search(unit, cases, start, Settings(**known))
    if file:  # what was found before takes part
        search.start += _cache.load(file, unit.source.text, unit.one.name, search.cases[0].shapes, 3)
    search.run()
    best = search.best[2]
    for number, case in enumerate(search.cases):
        unit.chosen[case.shapes] = best
        if file:
            found = [
                (times[number], options) for total, times, options in search.scores.values() if math.isfinite(total)
            ]
            found = [one for one in found if len(search.cases) == 1 or one[1].key == best.key]
            _cache.store(file, unit.source.text, unit.one.name, case.shapes, sorted(found, key=lambda one: one[0]))
    return best
