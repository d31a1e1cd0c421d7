"""What can be said about a definition before sizes are known: names, ranks, and writes that would race."""

from __future__ import annotations

import difflib

from torch.tc import _functions, _types
from torch.tc._source import Source
from torch.tc._syntax import Call, Definition, Expr, Name, Size, Statement, walk


def check(source: Source, one: Definition) -> None:
    """Raise CompilationError for the first thing that is wrong."""
    _Check(source, one).run()


class _Check:
    def __init__(self, source: Source, one: Definition):
        self.source, self.one = source, one
        self.ranks: dict[str, int] = {}
        self.sizes: set[str] = set()

    def error(self, at: int, message: str):
        return self.source.error(at, message)

    def run(self) -> None:
        for p in self.one.parameters:
            if p.name in self.ranks:
                raise self.error(p.at, f"two parameters are called {p.name}")
            self.ranks[p.name] = len(p.dims)
            self.sizes |= {d.id for d in p.dims if isinstance(d, Name)}
        for p in self.one.parameters:
            if p.name in self.sizes:
                raise self.error(p.at, f"{p.name} is a parameter and the name of a size")
        inputs = set(self.ranks)
        if not self.one.results:
            raise self.error(self.one.at, f"{self.one.name} returns nothing")
        for k, (n, at) in enumerate(self.one.results):
            if n in inputs:
                raise self.error(at, f"{n} is a parameter; a result needs a name of its own")
            if n in [m for m, _ in self.one.results[:k]]:
                raise self.error(at, f"two results are called {n}")
        for s in self.one.statements:
            self.statement(s, inputs)
        for n, at in self.one.results:
            if n not in self.ranks:
                raise self.error(at, f"the result {n} is not written by any statement")

    def statement(self, s: Statement, inputs: set[str]) -> None:
        if s.target in inputs:
            raise self.error(s.at, f"{s.target} is a parameter; statements write results and tensors of their own")
        if s.target in self.sizes:
            raise self.error(s.at, f"{s.target} is a size, not a tensor")
        for place, index in zip(s.places, s.indices, strict=True):
            if index in self.sizes or index in self.ranks:
                kind = "a size" if index in self.sizes else "a tensor"
                raise self.error(place, f"{index} is {kind}; an index on the left is a variable")
            if s.indices.count(index) > 1:
                raise self.error(place, f"{index} stands twice on the left: only a diagonal would be written")
        known = self.ranks.get(s.target)
        if known is not None and known != len(s.indices):
            raise self.error(s.at, f"{s.target} has {known} dims, not {len(s.indices)}")
        ranged = [r.variable for r in s.ranges]
        for r in s.ranges:
            if r.variable in self.sizes or r.variable in self.ranks:
                raise self.error(r.at, f"{r.variable} is not a variable")
            if ranged.count(r.variable) > 1:
                raise self.error(r.at, f"{r.variable} has two ranges")
            for bound in (r.low, r.high):
                self.expression(bound)
                if free := self.variables(bound):
                    raise self.error(
                        free[0].at, f"the range of {r.variable} depends on {free[0].id}, not only on sizes"
                    )
                if access := [e for e in walk(bound) if self.is_access(e)]:
                    raise self.error(access[0].at, "a range depends on sizes, not on elements of tensors")
        for e in s.exists:
            if not self.is_access(e):
                raise self.error(e.at, "exists expects an element of a tensor, such as A(i)")
        for e in (s.value, *s.exists):
            self.expression(e)
        self.races(s)
        self.ranks[s.target] = len(s.indices)

    def races(self, s: Statement) -> None:
        over = [e for x in (s.value, *s.exists) for e in self.variables(x) if e.id not in s.indices]
        if s.op == "=":
            what = f"{s.target} is written at ({', '.join(s.indices)}), but"
            way = "several values for one place. Sum them (+=!), or another reduction"
            if over:
                raise self.error(over[0].at, f"{what} the right side also runs over {over[0].id}: {way}")
            for r in s.ranges:
                if r.variable not in s.indices:
                    raise self.error(r.at, f"{what} {r.variable} runs too: {way}")
        for e in walk(s.value):
            own = isinstance(e, Call | Name) and (e.name if isinstance(e, Call) else e.id) == s.target
            if not own or s.target not in self.ranks:
                continue
            if s.op != "=":
                raise self.error(
                    e.at, f"{s.target} is read while it is reduced: a race. Write to a tensor of another name"
                )
            if isinstance(e, Call) and e.arguments != tuple(Name(i, 0) for i in s.indices):
                raise self.error(
                    e.at,
                    f"{s.target} is read at other places than ({', '.join(s.indices)}), where it is written: a race. "
                    "Write to a tensor of another name",
                )

    def variables(self, e: Expr) -> list[Name]:
        return [x for x in walk(e) if isinstance(x, Name) and x.id not in self.sizes and x.id not in self.ranks]

    def is_access(self, e: Expr) -> bool:
        return (isinstance(e, Call) and e.name in self.ranks) or (isinstance(e, Name) and e.id in self.ranks)

    def expression(self, e: Expr) -> None:
        for x in walk(e):
            if isinstance(x, Call):
                self.call(x)
            elif isinstance(x, Name) and self.ranks.get(x.id, 0):
                raise self.error(x.at, f"{x.id} has {self.ranks[x.id]} dims: {x.id}(...) is an element of it")
            elif isinstance(x, Size):
                if x.tensor not in self.ranks:
                    raise self.error(x.at, self.unknown("tensor", x.tensor, self.ranks))
                if x.dim >= self.ranks[x.tensor]:
                    raise self.error(x.at, f"{x.tensor} has {self.ranks[x.tensor]} dims; there is no dim {x.dim}")

    def call(self, x: Call) -> None:
        if x.name in self.ranks:
            if len(x.arguments) != self.ranks[x.name]:
                raise self.error(x.at, f"{x.name} has {self.ranks[x.name]} dims, got {len(x.arguments)} indices")
            return
        if x.name in _types.NAMES:
            if len(x.arguments) != 1:
                raise self.error(x.at, f"a conversion takes one value, got {len(x.arguments)}")
            return
        function = _functions.canonical(x.name)
        if function is None:
            if x.name in {n for n, _ in self.one.results} | {s.target for s in self.one.statements}:
                raise self.error(x.at, f"{x.name} is read before it is written")
            raise self.error(x.at, self.unknown("tensor or function", x.name, [*self.ranks, *_functions.ARITY]))
        if len(x.arguments) != _functions.ARITY[function]:
            raise self.error(x.at, f"{x.name} takes {_functions.ARITY[function]} values, got {len(x.arguments)}")

    def unknown(self, what: str, name: str, known) -> str:
        close = difflib.get_close_matches(name, list(known), 1)
        return f"no {what} {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")
