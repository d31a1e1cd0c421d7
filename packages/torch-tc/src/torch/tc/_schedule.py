"""Loops for a pipeline: blocks, vectors, threads.

A statement is computed inside the one that reads it where that costs nothing twice, else it has loops of its own. Results are made block by
block; a reduction sums a block up in registers. Every cut that does not divide a size shifts its last block inwards or tests its
end: Halide checks, at each call and before it reads, that no schedule reaches beyond a tensor.
"""

from __future__ import annotations

from typing import Any

from torch.tc._lower import Pipeline, Stage
from torch.tc._options import MappingOptions

PARALLEL = 1 << 16  #: terms from which threads are worth their start


class Scheduler:
    def __init__(self, hl: Any, target: Any, options: MappingOptions, threads: int):
        self.hl, self.options = hl, options.values
        self.target, self.threads = target, threads
        self.guard, self.shift = hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards

    def run(self, pipeline: Pipeline) -> None:
        readers: dict[int, list[tuple[Stage, bool]]] = {}
        for stage in pipeline.stages:
            for read, own in stage.reads:
                readers.setdefault(id(read), []).append((stage, own))
        home: dict[int, Stage] = {}
        for stage in reversed(pipeline.stages):
            within = self.within(stage, readers.get(id(stage), []))
            home[id(stage)] = home[id(within)] if within is not None else stage
        for stage in pipeline.stages:
            if home[id(stage)] is stage:
                self.root(stage, [s for s in pipeline.stages if s.sums is not None and home[id(s)] is stage])

    def within(self, stage: Stage, readers: list[tuple[Stage, bool]]) -> Stage | None:
        """The one stage that reads this one, if it can be computed inside that one's loops."""
        if self.options["naive"] or stage.result or len(readers) != 1 or not stage.plain:
            return None
        reader, own = readers[0]
        if not own or reader.sums is not None or not reader.plain or reader.shape != stage.shape:
            return None
        return reader if stage.sums is None or self.options["fuse"] else None

    def lanes(self, stage: Stage) -> int:
        kind = stage.func.type()
        return self.options["lanes"] or max(1, min(16, self.target.natural_vector_size(kind)))

    def blocks(self, stage: Stage, sums: bool) -> list[int]:
        """The extent of a block in each dim: those that the options leave open fit registers."""
        rank, chosen = len(stage.shape), []
        for d, n in enumerate(stage.shape):
            given = self.options["tile"][d] if d < len(self.options["tile"]) else 0
            if not given:
                lanes = self.lanes(stage)
                wide = (2 if sums else 4) * lanes
                given = {rank - 1: wide, rank - 2: self.options["unroll"] if sums else 1}.get(d, 1)
            chosen.append(min(given, n))
        return chosen

    def root(self, stage: Stage, sums: list[Stage]) -> None:
        if not stage.result:
            stage.func.compute_root()
        if self.options["naive"] or not stage.plain or not stage.shape:
            for one in sums:
                one.sums.compute_root()
                if one.plain and not self.options["naive"]:
                    self.reduce(one, [1] * len(one.shape), None, stage.func)
            return
        hl, func, block = self.hl, stage.func, self.blocks(stage, bool(sums))
        outer, inner = [], []
        for name, n, b in zip(stage.variables, stage.shape, block, strict=True):
            v = hl.Var(name)
            if b == n and b > 1:
                inner.append((v, b))
            elif b == 1:
                outer.append((v, n))
            else:
                vo, vi = hl.Var(f"{name}_block"), hl.Var(f"{name}_in")
                func.split(v, vo, vi, b, self.shift)
                outer.append((vo, -(-n // b)))
                inner.append((vi, b))
        func.reorder(*(v for v, _ in reversed(inner)), *(v for v, _ in reversed(outer)))
        lanes = self.lanes(stage)
        if inner:
            v, b = inner[-1]
            while lanes > b:
                lanes //= 2
            if lanes > 1 and stage.variables[-1] in (v.name(), v.name().removesuffix("_in")):
                func.vectorize(v, lanes, self.shift)
        work = stage.work + sum(s.work for s in sums)
        if self.options["parallel"] and self.threads > 1 and work >= PARALLEL:
            for v, n in outer:
                if n > 1:
                    func.parallel(v)
                    break
        at = outer[-1][0] if outer else None
        for one in sums:
            if at is None:
                one.sums.compute_root()
            else:
                one.sums.compute_at(func, at)
            self.reduce(one, block, at, func)

    def reduce(self, stage: Stage, block: list[int], at: Any, home: Any) -> None:
        """The sums of one block of a reduction."""
        hl, sums, rank = self.hl, stage.sums, len(stage.shape)
        lanes, steps = self.lanes(stage), self.options["unroll"]
        xs = [hl.Var(v) for v in stage.variables]
        if rank and min(block[-1], stage.shape[-1]) >= lanes > 1:
            sums.vectorize(xs[-1], lanes, self.guard)
        if not stage.over:
            return
        over = list(stage.over.values())
        last = list(stage.over)[-1]
        along = self.options["reduction"]
        if along is None:
            along = not rank or block[-1] < min(
                4, lanes
            )  # gathers into a block measured faster than sums across a vector
        if along and stage.extents[last] >= lanes > 1 and self.factored(stage, block, at, home, lanes):
            return
        update = sums.update(0)
        inner_x = xs[-1:] if rank and block[-1] > 1 else []
        inner_y = xs[-2:-1] if rank > 1 and block[-2] > 1 else []
        rest = [x for x in reversed(xs) if not any(x is y for y in (*inner_x, *inner_y))]
        update.reorder(*inner_x, *inner_y, *reversed(over), *rest)
        if inner_x:
            while lanes > block[-1]:
                lanes //= 2
            if lanes > 1:
                update.vectorize(xs[-1], lanes, self.guard)
            if 1 < block[-1] // lanes <= steps and block[-1] % lanes == 0:
                update.unroll(xs[-1], block[-1] // lanes, self.guard)
        if inner_y and min(block[-2], steps) > 1:
            update.unroll(xs[-2], min(block[-2], steps), self.guard)

    def factored(self, stage: Stage, block: list[int], at: Any, home: Any, lanes: int) -> bool:
        """Sums in as many lanes as a vector has, added up at the end; False where Halide knows no way."""
        hl, update, rank = self.hl, stage.sums.update(0), len(stage.shape)
        last = list(stage.over)[-1]
        outer, inner, u = hl.RVar(f"{last}_block"), hl.RVar(f"{last}_in"), hl.Var(f"{last}_lane")
        update.split(stage.over[last], outer, inner, lanes, self.guard)
        try:
            parts = update.rfactor(inner, u)
        except hl.HalideError:
            return False
        if at is None:
            parts.compute_root()
        else:
            parts.compute_at(home, at)
        parts.vectorize(u, lanes, self.guard)
        xs = [hl.Var(v) for v in stage.variables]
        step, tight, rest = parts.update(0), [], []
        for d, (x, b) in enumerate(zip(xs, block, strict=True)):
            several = max(f for f in range(1, min(b, self.options["unroll"], 4) + 1) if b % f == 0)
            if several > 1 and d >= rank - 2:  # so many sums are held in registers
                xo, xi = hl.Var(f"{x.name()}_sums"), hl.Var(f"{x.name()}_one")
                step.split(x, xo, xi, several, self.guard)
                step.unroll(xi)
                tight, rest = [*tight, xi], [*rest, xo]
            else:
                rest.append(x)
        over = [outer, *reversed([r for v, r in stage.over.items() if v != last])]
        step.reorder(u, *reversed(tight), *over, *reversed(rest))
        step.vectorize(u, lanes, self.guard)
        if stage.func.type().is_float():
            stage.sums.update(0).atomic().vectorize(inner, lanes)
        return True
