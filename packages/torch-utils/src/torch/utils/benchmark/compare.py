"""A table of measurements: a row for each variant, a column for each description, a section for each number of threads."""

from __future__ import annotations

import enum
import math

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


BEST, GOOD, BAD, WORST, PLAIN = "\033[92m\033[1m", "\033[34m", "\033[2m\033[91m\033[1m", "\033[31m", "\033[0m"


class Colorize(enum.Enum):
    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Collects measurements and prints them side by side.

    Example:
        >>> from torch.utils.benchmark import Measurement, TaskSpec
        >>> spec = lambda sub, text: TaskSpec("", label="sum", sub_label=sub, description=text)
        >>> print(Compare([Measurement(1, [2e-3], spec("small", "old")), Measurement(1, [1e-3], spec("small", "new"))]))
        [------- sum -------]
                        |  old  |  new
        1 threads: ---------------------
              small     |  2.0  |  1.0
        <BLANKLINE>
        Times are in milliseconds (ms).
        <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colorize = Colorize.NONE
        self._warnings = False

    def extend_results(self, results: Any) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Compare: expected Measurements, got {type(result).__name__}")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show no more digits than the measurements are good for."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the best in green and the bad in red, within columns or within rows."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark measurements that spread too much."""
        self._warnings = True

    def print(self) -> None:
        print(self)

    def __str__(self) -> str:
        tables: dict[str, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            tables.setdefault(m.task_spec.label or m.task_spec.stmt, []).append(m)
        return "\n".join(self._table(label, ms) for label, ms in tables.items())

    def _table(self, label: str, measurements: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in measurements))
        columns = ordered_unique(m.task_spec.description or "" for m in measurements)
        threads = sorted({m.task_spec.num_threads for m in measurements})
        env_count = len({m.task_spec.env for m in measurements})

        def row_name(m: Measurement) -> str:
            return (f"({m.task_spec.env}) " if env_count > 1 else "") + m.as_row_name

        rows = ordered_unique((m.task_spec.num_threads, row_name(m)) for m in measurements)
        cells = {(m.task_spec.num_threads, row_name(m), m.task_spec.description or ""): m for m in measurements}
        texts = {key: self._text(m, scale) for key, m in cells.items()}
        width = {c: max([len(c), *(len(t) for (_, _, k), t in texts.items() if k == c)]) for c in columns}
        first = max([12, *(len(name) + 6 for _, name in rows)]) + 4
        title = f" {label} "
        total = first + sum(width[c] + 5 for c in columns)
        edge = "-" * max((total - len(title)) // 2 - 6, 4)
        lines = [f"[{edge}{title}{edge}]", " " * first + "".join(f"|  {c:>{width[c]}}  " for c in columns)]
        for n in threads:
            head = f"{n} threads: "
            lines.append(head + "-" * (total - len(head)))
            for number, name in rows:
                if number != n:
                    continue
                line = f"{' ' * 6}{name}".ljust(first)
                for c in columns:
                    key = (n, name, c)
                    text = f"{texts.get(key, ''):>{width[c]}}"
                    line += f"|  {self._colored(text, key, cells)}  "
                lines.append(line)
        lines = [line.rstrip() for line in lines]
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit})."]
        if self._warnings and any(m.has_warnings for m in measurements):
            lines.append("(!) The interquartile range is more than a tenth of the median: the machine was not quiet.")
        return "\n".join([*lines, ""])

    def _text(self, m: Measurement, scale: float) -> str:
        value = m.median / scale
        if self._trim:
            figures = m.significant_figures
            value = trim_sigfig(value, figures)
            decimals = max(0, figures - 1 - (math.floor(math.log10(value)) if value else 0))
        else:
            decimals = 1
        mark = "! " if self._warnings and m.has_warnings else ""
        return f"{mark}{value:.{decimals}f}"

    def _colored(self, text: str, key, cells) -> str:
        if self._colorize is Colorize.NONE or key not in cells:
            return text
        same = 1 if self._colorize is Colorize.ROWWISE else 2
        others = [m.median for k, m in cells.items() if k[0] == key[0] and k[same] == key[same]]
        share = cells[key].median / min(others)
        color = (
            BEST if share <= 1.05 else GOOD if share <= 1.2 else WORST if share >= 2 else BAD if share >= 1.5 else ""
        )
        return f"{color}{text}{PLAIN}" if color and len(others) > 1 else text
