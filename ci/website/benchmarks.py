"""The page of benchmarks, made of the run that ``ci/benchmarks.py`` has stored."""

from __future__ import annotations

import json
import math
from pathlib import Path

from packages import ROOT

STORE = ROOT / "docs" / "benchmarks.json"

HEAD = """\
# Benchmarks

What a few dozen things cost here and with PyTorch {other}, measured side by side. Ratios below 1 mean that ours takes less.

Measured on {day}: {processor}, {processors} processors of a machine that others used too (load {load}), Python {python},
{threads_text}; torch {ours} against PyTorch {other}. The two took turns, {rounds} rounds; each figure is the least of the
rounds' medians, which a busy machine disturbs least, but it disturbs it: read ratios between 0.8 and 1.25 as equal.

To measure on yours: `python ci/benchmarks.py --against OTHER/bin/python`, where OTHER is an environment with PyTorch
([the script](../ci/benchmarks.py)). Then `python3 ci/docs.py` makes this page of your figures.
"""


def duration(seconds: float) -> str:
    """A time in the unit that suits it, with three digits.

    >>> [duration(s) for s in (8.4e-8, 1.234e-5, 0.0456, 2.0)]
    ['84.0 ns', '12.3 µs', '45.6 ms', '2.00 s']
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= scale or unit == "ns":
            value = seconds / scale
            return f"{value:.{max(0, 2 - math.floor(math.log10(max(value, 1))))}f} {unit}"
    raise AssertionError


def mean(ratios: list[float]) -> float:
    """The geometric mean.

    >>> mean([0.5, 2.0])
    1.0
    """
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def page(stored: dict) -> str:
    """Markdown of a stored run: a table for each group."""
    about, rows = stored["about"], stored["rows"]
    threads = about["threads"]
    load = " to ".join(f"{n:g}" for n in sorted({min(about["load"]), max(about["load"])}))
    text = HEAD.format(**{**about, "load": load}, threads_text=f"{threads} thread{'s' * (threads != 1)}")
    for group in dict.fromkeys(row["group"] for row in rows):
        mine = [row for row in rows if row["group"] == group]
        ratios = [row["ours"] / row["other"] for row in mine]
        text += (
            f"\n## {group[0].upper()}{group[1:]}\n\n| what | ours | PyTorch | ratio |\n| --- | ---: | ---: | ---: |\n"
        )
        for row, ratio in zip(mine, ratios, strict=True):
            bold = "**" * (ratio > 1.25)
            text += (
                f"| {row['what']} | {duration(row['ours'])} | {duration(row['other'])} | {bold}{ratio:.2f}{bold} |\n"
            )
        if len(mine) > 1:
            text += f"\nGeometric mean of the ratios: {mean(ratios):.2f}.\n"
    return text


def stored() -> str:
    """The page of the run in the repository."""
    return page(json.loads(STORE.read_text()))


def write(folder: Path, sources) -> None:
    text = sources.markdown(stored(), ROOT / "docs" / "benchmarks.md", "benchmarks")
    (folder / "benchmarks.md").write_text(text)
