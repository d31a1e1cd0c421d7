"""Tells how far a long read or write is: to a function of the user, or by tqdm where that is installed.

Without being asked it speaks only on a terminal, only of files of `BIG` bytes or more, and only after two seconds.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable

BIG = 256 << 20
_DELAY = 2.0  # seconds


class Progress:
    """Counts bytes up to `total`; `advance` may be called by several threads, ``report`` runs in one at a time.

    Args:
        report: ``report(done, total)``, called after every piece; what it raises ends the work
    """

    def __init__(self, report: Callable[[int, int], object], total: int, close: Callable[[], object] = lambda: None):
        self.total = total
        self.done = 0
        self._report = report
        self._close = close
        self._lock = threading.Lock()

    def advance(self, count: int) -> None:
        with self._lock:
            self.done += count
            self._report(self.done, self.total)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind=None, *rest) -> None:
        if kind is None and self.done < self.total:  # headers, and what was small enough to be read at once
            self.advance(self.total - self.done)
        self._close()


class Silent(Progress):
    """Progress that no one asked for."""

    def __init__(self):
        super().__init__(lambda done, total: None, 0)

    def advance(self, count):
        pass


SILENT = Silent()


def progress(setting, total: int, title: str):
    """What ``progress=`` of a call asks for: a function, True for a bar, False for nothing, None for a bar where it helps."""
    if isinstance(setting, contextlib.nullcontext):  # progress that is shared by several files
        return setting
    if callable(setting):
        return Progress(setting, total)
    if setting not in (None, True, False):
        raise TypeError(f"progress must be True, False, None or a function (done, total), got {type(setting).__name__}")
    if setting is None:
        setting = total >= BIG and sys.stderr is not None and sys.stderr.isatty()
        delay = _DELAY
    else:
        delay = 0.0
    if not setting:
        return SILENT
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return SILENT if delay else _percentages(title, total)
    bar = tqdm(total=total, desc=title, unit="B", unit_scale=True, delay=delay, leave=not delay)
    return Progress(lambda done, total: bar.update(done - bar.n), total, bar.close)


def _percentages(title: str, total: int) -> Progress:
    """Lines of text for a user who asked and has no tqdm: one per tenth."""
    told = 0

    def report(done: int, total: int) -> None:
        nonlocal told
        if (tenths := 10 * done // max(total, 1)) > told:
            told = tenths
            print(f"{title}: {10 * tenths} % of {total:,} bytes", file=sys.stderr)

    return Progress(report, total)
