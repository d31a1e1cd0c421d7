"""A definition at given sizes and types as a pipeline of Halide, not yet scheduled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch.tc import _halide, _types
from torch.tc._index import Sizes
from torch.tc._ranges import Ranges, infer, variables
from torch.tc._source import Source
from torch.tc._syntax import Call, Definition, Name, Number, Statement, walk
from torch.tc._values import Check, Value, Values


@dataclass
class Stage:
    """What one statement became: ``func`` holds the result; a reduction sums up in ``sums`` first."""

    name: str
    func: Any
    variables: tuple[str, ...]
    shape: tuple[int, ...]
    sums: Any = None
    over: dict[str, Any] = field(default_factory=dict)  #: variables of a reduction, outermost first
    extents: dict[str, int] = field(default_factory=dict)
    reads: list[tuple[Stage, bool]] = field(default_factory=list)  #: and whether only at the stage's own indices
    plain: bool = True  #: not of a kind that is only run as written
    result: bool = False

    @property
    def work(self) -> int:
        """Elements that are computed, times terms of a reduction."""
        total = 1
        for n in (*self.shape, *(self.extents[v] for v in self.over)):
            total *= n
        return total


@dataclass
class Pipeline:
    inputs: list[Any]  #: parameters of Halide, in order
    stages: list[Stage]
    results: list[
        tuple[str, str, tuple[int, ...], Stage | None]
    ]  #: name, dtype, shape; no stage where it has no elements
    checks: list[tuple[Check, Any, Any]]  #: with the least and greatest index met


def sizes_of(source: Source, one: Definition, shapes: Sequence[tuple[int, ...]]) -> Sizes:
    """Sizes by name from the shapes of the arguments."""
    names: dict[str, int] = {}
    first: dict[str, str] = {}
    for p, shape in zip(one.parameters, shapes, strict=True):
        if len(p.dims) != len(shape):
            wanted = ", ".join(str(d.id if isinstance(d, Name) else d.value) for d in p.dims)
            text = f"{one.name}: {p.name} has the dims ({wanted}), got a tensor of shape {tuple(shape)}"
            raise ValueError(source.shown(p.at, text))
        for d, n in zip(p.dims, shape, strict=True):
            if isinstance(d, Number):
                if d.value != n:
                    raise ValueError(source.shown(d.at, f"{one.name}: expected {d.value}, got shape {tuple(shape)}"))
            elif names.setdefault(d.id, n) != n:
                text = f"{one.name}: {d.id} is {names[d.id]} in {first[d.id]} and {n} in {p.name}"
                raise ValueError(source.shown(d.at, text))
            else:
                first.setdefault(d.id, p.name)
    return Sizes(names, {p.name: tuple(shape) for p, shape in zip(one.parameters, shapes, strict=True)})


class Lowering:
    def __init__(self, hl: Any, source: Source, one: Definition, shapes: Sequence[tuple[int, ...]]):
        self.hl, self.source, self.one = hl, source, one
        self.sizes = sizes_of(source, one, shapes)
        self.funcs: dict[str, Value] = {}
        self.current: dict[str, Stage] = {}
        self.stages: list[Stage] = []
        self.checks: list[tuple[Check, Any, Any]] = []
        self.inputs = []
        for p, shape in zip(one.parameters, shapes, strict=True):
            image = hl.ImageParam(_halide.type_of(hl, p.dtype), len(shape), p.name)
            stride = 1
            for d, n in enumerate(reversed(shape)):
                image.dim(d).set_bounds(0, n).set_stride(stride)
                stride *= n
            self.inputs.append(image)
            self.funcs[p.name] = image, p.dtype

    def run(self) -> Pipeline:
        for number, s in enumerate(self.one.statements):
            self.statement(number, s)
        results = []
        for name, _ in self.one.results:
            stage = self.current.get(name)
            if stage is not None:
                stage.result = True
            results.append((name, self.funcs[name][1], self.sizes.shapes[name], stage))
        return Pipeline(self.inputs, self.stages, results, self.checks)

    def statement(self, number: int, s: Statement) -> None:
        hl, ranges = self.hl, infer(self.source, s, self.sizes)
        known = self.sizes.shapes.get(s.target)
        shape = known or tuple(ranges[i][1] for i in s.indices)
        for i, at, n in zip(s.indices, s.places, shape, strict=True):
            if not 0 <= ranges[i][0] <= ranges[i][1] <= n:
                raise self.source.error(at, f"{i} runs to {ranges[i][1] - 1}, but {s.target} ends at {n - 1}")
        values = Values(hl, self.source, self.sizes, self.funcs, ranges)
        pure = {i: hl.Var(i) for i in s.indices}
        names = [v.id for x in (s.value, *s.exists) for v in variables(x, self.sizes)]
        over = list(dict.fromkeys(v for v in [*names, *ranges] if v not in pure))
        empty = any(low == high for low, high in ranges.values())
        whole = all(ranges[i] == (0, n) for i, n in zip(s.indices, shape, strict=True))
        running = over if whole else [*s.indices, *over]
        domain = self.domain(running, ranges) if running and not empty else {}
        values.env = {**pure, **domain}
        kind = _types.kind(s.value, {n: d for n, (_, d) in self.funcs.items()})
        value = (0, kind) if empty else values(s.value)
        assert value[1] == kind
        dtype = self.dtype(s, kind)
        before = self.funcs.get(s.target)
        if 0 in shape:
            self.sizes.shapes[s.target], self.funcs[s.target] = shape, (None, dtype)
            return
        if empty and s.reduction in ("min", "max") and before is None:
            raise ValueError(self.source.shown(s.at, f"{self.one.name}: the {s.reduction} over nothing has no value"))
        place = [pure[i] for i in reversed(s.indices)]
        stage = Stage(f"{s.target}.{number}", hl.Func(f"{s.target}_{number}"), s.indices, shape)
        stage.extents = {v: high - low for v, (low, high) in ranges.items()}
        anew = whole and (s.op == "=" or s.op.endswith("!"))
        start = before[0][place] if before and not anew else None
        if s.op == "=" and whole and not empty:
            stage.func[place] = values.to(value, dtype)
        elif empty:
            stage.func[place] = start if start is not None else self.identity(s, dtype)
        else:
            self.reduction(stage, s, values, value, dtype, place, domain, start, whole)
        self.reads(stage, s, start is not None)
        for check in dict.fromkeys(values.checks):
            self.check(check, ranges)
        self.sizes.shapes[s.target], self.funcs[s.target] = shape, (stage.func, dtype)
        self.current[s.target] = stage
        self.stages.append(stage)

    def reduction(self, stage, s: Statement, values: Values, value, dtype, place, domain, start, whole) -> None:
        """Sums in a Func of their own, which the stage copies; writes of a part of a tensor alike."""
        hl, sums = self.hl, self.hl.Func(f"{s.target}_{len(self.stages)}_sums")
        wide = "float32" if dtype == "float16" and s.reduction in ("+", "*") else dtype
        target = place if whole else [domain[i] for i in reversed(s.indices)]
        first = values.to((start, dtype), wide) if start is not None else self.identity(s, wide)
        sums[place] = first
        if s.op.endswith("!") and not whole:
            sums[target] = self.identity(s, wide)
        term = values.to(value, wide)
        match s.reduction:
            case "+":
                sums[target] = sums[target] + term
            case "*":
                sums[target] = sums[target] * term
            case "min":
                sums[target] = hl.min(sums[target], term)
            case "max":
                sums[target] = hl.max(sums[target], term)
            case _:
                sums[target] = term
        stage.func[place] = values.to((sums[place], wide), dtype)
        stage.sums, stage.over, stage.plain = sums, domain, whole

    def domain(self, names: list[str], ranges: Ranges) -> dict[str, Any]:
        """Variables of a reduction; the last named runs fastest."""
        inner = list(reversed(names))
        space = self.hl.RDom([self.hl.Range(ranges[v][0], ranges[v][1] - ranges[v][0]) for v in inner])
        found = {v: space[k] for k, v in enumerate(inner)}
        return {v: found[v] for v in names}

    def dtype(self, s: Statement, kind: str) -> str:
        own = _types.settled(kind)
        if s.reduction and own == "bool" and s.reduction in "+*":
            own = "int32"
        if s.target not in self.funcs:
            return own
        known = self.funcs[s.target][1]
        if _types.common(known, kind) != known:
            raise self.source.error(s.value.at, f"{s.target} holds {known}, got {own}; say: {known}(...)")
        return known

    def identity(self, s: Statement, dtype: str) -> Any:
        number = {"+": 0, "*": 1, "": 0}.get(s.reduction)
        if number is None:
            number = _halide.least(dtype) if s.reduction == "max" else _halide.greatest(dtype)
        return Values(self.hl, self.source, self.sizes, {}, {}).to((number, _types.NUMBER), dtype)

    def reads(self, stage: Stage, s: Statement, again: bool) -> None:
        """Which earlier stages it needs."""
        own = tuple(Name(i, 0) for i in s.indices)
        for e in walk(s.value):
            if isinstance(e, Name) and e.id in self.current:
                e = Call(e.id, (), e.at)
            if not isinstance(e, Call) or e.name not in self.funcs:
                continue
            if e.name in self.current:
                stage.reads.append((self.current[e.name], e.arguments == own))
        if again and s.target in self.current:
            stage.reads.append((self.current[s.target], True))

    def check(self, one: Check, ranges: Ranges) -> None:
        """Two more results: the least and the greatest index that the statement meets."""
        hl = self.hl
        parts = [one.index, *(c for c, _ in one.given)]
        names = list(dict.fromkeys(v.id for x in parts for v in variables(x, self.sizes)))
        values = Values(hl, self.source, self.sizes, self.funcs, ranges)
        domain = self.domain(names, ranges) if names else {}
        values.env = domain
        index = hl.clamp(values.to(values(one.index), "int64"), hl.i64(-(2**31)), hl.i64(2**31 - 1))
        index = hl.cast(hl.Int(32), index)
        for condition, holds in one.given:
            test = values.to(values(condition), "bool")
            index = hl.select(test if holds else hl.logical_not(test), index, hl.i32(0))
        ends = []
        for pick in (hl.min, hl.max):
            f = hl.Func(f"index_{len(self.checks)}_{len(ends)}")
            f[()] = hl.i32(0)
            f[()] = pick(f[()], index)
            ends.append(f)
        self.checks.append((one, *ends))


def lower(hl: Any, source: Source, one: Definition, shapes: Sequence[tuple[int, ...]]) -> Pipeline:
    return Lowering(hl, source, one, shapes).run()
