"""Instructions instead of seconds: valgrind's callgrind counts them in a process of its own."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .measurement import TaskSpec

REGION = "torch_counted_region"  # of torch._C: what happens inside it is counted
NOISE = re.compile(
    r"^(_PyEval|dict_|_PyDict|lookdict|PyDict|unicode_|gc_|_PyObject_GC|visit_|subtract_refs|update_refs|_Py_Dealloc)|\.py:"
)

CHILD = """
import pickle
import torch
from torch import _C

torch.set_num_threads({threads})
{before}
names = {{"torch": torch}}
with open({values!r}, "rb") as file:
    names.update(pickle.load(file))

SOURCE = '''
def _prepare(_number):
{setup}
    def _run():
        for _ in range(_number):
{stmt}
    return _run
'''
exec(compile(SOURCE, "<timer>", "exec"), names)
run = names["_prepare"]({number})
names["_prepare"](2)()
_C._counted_region(run)
"""


class FunctionCount(NamedTuple):
    count: int
    function: str


class CopyIfCallgrind:
    """A global that may be copied, by pickle, into the process that counts; `setup` runs there first."""

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        self._value, self._setup = value, setup

    @property
    def value(self) -> Any:
        return self._value

    @property
    def setup(self) -> str | None:
        return self._setup

    @staticmethod
    def unwrap_all(globals: dict[str, Any]) -> dict[str, Any]:
        return {k: v.value if isinstance(v, CopyIfCallgrind) else v for k, v in globals.items()}


@dataclass(repr=False, eq=False, frozen=True)
class FunctionCounts:
    """How many instructions each function took, the most first."""

    _data: tuple[FunctionCount, ...]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: int | None = None

    def __iter__(self) -> Iterator[FunctionCount]:
        yield from self._data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, item: Any) -> FunctionCount | FunctionCounts:
        found = self._data[item]
        return FunctionCounts(found, self.inclusive, False) if isinstance(item, slice) else found

    def __repr__(self) -> str:
        rows = self._data
        if self.truncate_rows and len(rows) > 18:
            rows = (*rows[:9], None, *rows[-9:])
        width = max([len(str(r.count)) for r in rows if r] or [0])
        lines = [f"  {r.count:>{width}}  {r.function}" if r else "  ..." for r in rows]
        return "\n".join([f"<{type(self).__name__} object at {id(self):#x}>", *lines, "", f"Total: {self.sum()}"])

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, -1)

    def __mul__(self, factor: int | float) -> FunctionCounts:
        return self._of({r.function: int(r.count * factor) for r in self})

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """With other names; counts of equal names are added."""
        counts: dict[str, int] = defaultdict(int)
        for count, function in self:
            counts[map_fn(function)] += count
        return self._of(counts)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """Only those functions whose names the function accepts."""
        return self._of({r.function: r.count for r in self if filter_fn(r.function)})

    def denoise(self) -> FunctionCounts:
        """Without the interpreter's loop, dicts and collector, whose counts vary."""
        return self.filter(lambda name: not NOISE.search(name))

    def sum(self) -> int:
        return sum(r.count for r in self)

    def _merge(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive is not other.inclusive:
            raise ValueError("FunctionCounts: inclusive and exclusive counts cannot be merged")
        counts: dict[str, int] = defaultdict(int)
        for r in self:
            counts[r.function] += r.count
        for r in other:
            counts[r.function] += sign * r.count
        return self._of(counts)

    def _of(self, counts: dict[str, int]) -> FunctionCounts:
        return FunctionCounts(_sorted(counts), self.inclusive, self.truncate_rows)


@dataclass(repr=False, eq=False, frozen=True)
class CallgrindStats:
    """What callgrind counted in one statement, and in an empty one."""

    task_spec: TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None

    def __repr__(self) -> str:
        per_run = self.counts() / self.number_per_run
        lines = [
            f"<{type(self).__module__}.{type(self).__name__} object at {id(self):#x}>",
            self.task_spec.summarize(),
            f"  Instructions: {self.counts()} in {self.number_per_run} runs, {per_run:.0f} each",
        ]
        if len(self.baseline_exclusive_stats):
            lines.append(f"  Baseline:     {self.baseline_exclusive_stats.sum()} in {self.number_per_run} empty runs")
        return "\n".join(lines)

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """Counts by function: of its own instructions, or with those of what it called."""
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise: bool = False) -> int:
        """All instructions."""
        stats = self.stmt_exclusive_stats
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """How this one differs from another, function by function."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self) -> CallgrindStats:
        """Without the folders of objects, so that two builds can be compared."""
        plain = lambda stats: stats.transform(lambda name: re.sub(r"\[[^\]]*/", "[", name))
        return CallgrindStats(
            self.task_spec,
            self.number_per_run,
            self.built_with_debug_symbols,
            plain(self.baseline_inclusive_stats),
            plain(self.baseline_exclusive_stats),
            plain(self.stmt_inclusive_stats),
            plain(self.stmt_exclusive_stats),
            self.stmt_callgrind_out,
        )


def collect(spec: TaskSpec, globals: dict[str, Any], number: int, baseline: bool, keep: bool) -> CallgrindStats:
    if shutil.which("valgrind") is None:
        raise OSError(
            "collect_callgrind needs valgrind on PATH (Debian: apt install valgrind; Fedora: dnf install valgrind)"
        )
    text = _run(spec, spec.stmt, globals, number)
    empty = _run(spec, "pass", globals, number) if baseline else ""
    return CallgrindStats(spec, number, False, *parse(empty), *parse(text), text if keep else None)


def _run(spec: TaskSpec, stmt: str, globals: dict[str, Any], number: int) -> str:
    """The text of callgrind's file."""
    before = [v.setup for v in globals.values() if isinstance(v, CopyIfCallgrind) and v.setup]
    values = {k: v for k, v in CopyIfCallgrind.unwrap_all(globals).items() if k not in ("torch", "__builtins__")}
    with tempfile.TemporaryDirectory(prefix="torch-callgrind-") as scratch:
        copied, script, out = (Path(scratch, name) for name in ("globals", "timed.py", "callgrind.out"))
        for name, value in values.items():
            try:
                pickle.dumps(value)
            except Exception as error:
                raise TypeError(
                    f"collect_callgrind: the global {name!r} ({type(value).__name__}) cannot be copied into the process that "
                    f"counts ({error}); make it in setup"
                ) from None
        copied.write_bytes(pickle.dumps(values))
        indented = lambda text, depth: (
            textwrap.indent(text or "pass", " " * depth).replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
        )
        script.write_text(
            CHILD.format(
                threads=spec.num_threads,
                before="\n".join(before),
                values=str(copied),
                number=number,
                setup=indented(spec.setup, 4),
                stmt=indented(stmt, 12),
            )
        )
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no"]
        command += [f"--toggle-collect={REGION}", sys.executable, str(script)]
        settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, env=settings, capture_output=True, text=True, errors="replace")
        if done.returncode or not out.exists():
            raise OSError(
                f"collect_callgrind: the run under valgrind failed ({done.returncode}):\n{done.stderr[-3000:]}"
            )
        return out.read_text(errors="replace")


def parse(text: str) -> tuple[FunctionCounts, FunctionCounts]:
    """Inclusive and exclusive counts in a file of callgrind (its manual, "Callgrind Format Specification")."""
    names: dict[str, dict[str, str]] = defaultdict(dict)
    exclusive: dict[str, int] = defaultdict(int)
    called: dict[str, int] = defaultdict(int)
    function, place, called_place, of_call = "", "", "", False

    def name(kind: str, text: str) -> str:
        number, _, given = text.partition(" ")  # "(12) name" the first time, "(12)" from then on
        if not number.startswith("("):
            return text
        if given:
            names[kind][number] = given
        return names[kind].get(number, number)

    target = ""
    for line in text.splitlines():
        key, equals, rest = line.partition("=")
        if equals and key in ("ob", "fn", "cob", "cfn", "calls", "fl", "fi", "fe", "cfi", "cfl"):
            if key == "ob":
                place = name("ob", rest)
            elif key == "cob":
                called_place = name("ob", rest)
            elif key == "fn":
                function, called_place = f"{name('fn', rest)} [{place}]", ""
            elif key == "cfn":
                target = f"{name('fn', rest)} [{called_place or place}]"
            elif key == "calls":
                of_call = True
        elif line[:1] in "0123456789+-*" and line[:1]:
            cost = line.split()[1:]
            if cost and of_call:
                called_place = ""
                if target != function:  # a function that calls itself has counted already
                    called[function] += int(cost[0])
            elif cost:
                exclusive[function] += int(cost[0])
            of_call = False
    inclusive = {f: exclusive.get(f, 0) + called.get(f, 0) for f in {*exclusive, *called}}
    return FunctionCounts(_sorted(inclusive), True), FunctionCounts(_sorted(exclusive), False)


def _sorted(counts: dict[str, int]) -> tuple[FunctionCount, ...]:
    rows: Iterable[FunctionCount] = (FunctionCount(count, name) for name, count in counts.items() if count)
    return tuple(sorted(rows, reverse=True))
