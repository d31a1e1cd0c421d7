"""What was measured, how sure it is, and in which units to say so."""

from __future__ import annotations

import contextlib
import math
import statistics
import textwrap
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


UNITS = (("s", 1.0, "second"), ("ms", 1e-3, "millisecond"), ("us", 1e-6, "microsecond"), ("ns", 1e-9, "nanosecond"))
SPREAD_OF_WARNING = 0.1  # interquartile range over median

Number = float


@dataclass(frozen=True)
class TaskSpec:
    """What a `Timer` times: everything but the times."""

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """The task in a few lines."""
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        return "\n".join(p for p in (self.title, self.description, self.setup_str(), threads) if p)


@dataclass(init=True, repr=False)
class Measurement:
    """Times of one task: `raw_times` are seconds of `number_per_run` runs each.

    >>> m = Measurement(10, [1.0, 1.1, 1.2], TaskSpec("f(x)"))
    >>> round(m.median, 6), m.significant_figures
    (0.11, 2)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[str, Any] | None = field(default=None)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and name in TaskSpec.__dataclass_fields__:  # label, num_threads, ...
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds of one run, in each of the measurements."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        self._some()
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        self._some()
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the first and the third quarter of the times."""
        self._some()
        times = sorted(self.times)

        def quantile(q: float) -> float:
            at = q * (len(times) - 1)
            low = int(at)
            return times[low] + (at - low) * (times[min(low + 1, len(times) - 1)] - times[low])

        return quantile(0.75) - quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something: those that three standard errors leave unchanged."""
        self._some()
        if len(self.times) < 4:
            return 2
        error = 3 * self.iqr / 1.349 / math.sqrt(len(self.times))  # 1.349: from quartiles to a standard deviation
        if error <= 0 or self.median <= 0:
            return 5
        return max(1, min(5, math.floor(math.log10(self.median)) - math.floor(math.log10(error))))

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread by more than a tenth."""
        return not self.meets_confidence(SPREAD_OF_WARNING)

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the interquartile range is below a share of the median."""
        return self.iqr / self.median < threshold if self.median else False

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The row that `Compare` puts it in."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one task joined into one; the times are kept as times of single runs."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, [t for m in ms for t in m.times], spec) for spec, ms in groups.items()]

    def __repr__(self) -> str:
        lines = [f"<{type(self).__module__}.{type(self).__name__} object at {id(self):#x}>", self.task_spec.summarize()]
        if not self.raw_times:
            return "\n".join([*lines, "no measurements"])
        unit, scale = select_unit(self.median)
        name = unit_to_english(unit)
        shown = [("Median" if len(self.times) > 1 else "Time", self.median)]
        if len(self.times) > 3:
            shown.append(("IQR   ", self.iqr))
        for label, value in shown:
            lines.append(f"  {label}: {value / scale:.2f} {name}{'' if value == scale else 's'}")
        runs = f"{self.number_per_run} run{'s' if self.number_per_run > 1 else ''} each"
        lines.append(f"  {len(self.times)} measurement{'s' if len(self.times) > 1 else ''}, {runs}")
        if len(self.times) > 3 and self.has_warnings:
            share = self.iqr / self.median if self.median else math.inf
            lines.append(f"  WARNING: the interquartile range is {share:.0%} of the median: the machine was not quiet")
        return "\n".join(lines)

    def _some(self) -> None:
        if not self.raw_times:
            raise ValueError("Measurement: there are no times")


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time in seconds reads best, and its length in seconds.

    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    return next(((name, scale) for name, scale, _ in UNITS if t >= scale), (UNITS[-1][0], UNITS[-1][1]))


def unit_to_english(u: str) -> str:
    """The name of a unit: ``us`` is a microsecond."""
    return {name: english for name, _, english in UNITS}[u]


def trim_sigfig(x: float, n: int) -> float:
    """x with n significant digits.

    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if n != int(n) or n < 1:
        raise ValueError(f"trim_sigfig: n must be a positive integer, got {n}")
    return float(f"{x:.{int(n) - 1}e}")


def ordered_unique(elements: Iterable[Hashable]) -> list:
    """The elements without repetitions, in the order of their first appearance."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Context in which torch uses n threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
