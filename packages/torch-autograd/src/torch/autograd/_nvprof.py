"""Reads what nvprof wrote: an SQLite database of CUPTI's activities.

Ranges are pairs of markers with one id; the second has no name. A kernel belongs to every range during which the call
that launched it ran.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from pathlib import Path

from .profiler_util import FunctionEvent, Interval, StringTable

_REQUIRED = ("StringTable", "CUPTI_ACTIVITY_KIND_MARKER", "CUPTI_ACTIVITY_KIND_RUNTIME")
_KERNELS = ("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL")


def parse(path) -> list[FunctionEvent]:
    """FileNotFoundError when there is no such file; ValueError when it is no trace of nvprof."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"load_nvprof: no file {str(path)!r}")
    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    try:
        return _read(connection, path)
    except sqlite3.DatabaseError as error:
        raise ValueError(f"load_nvprof: {str(path)!r} is not a trace of nvprof: {error}") from None
    finally:
        connection.close()


def _read(connection, path) -> list[FunctionEvent]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if missing := [name for name in _REQUIRED if name not in tables]:
        raise ValueError(f"load_nvprof: {str(path)!r} is not a trace of nvprof: it has no table {missing[0]}")
    readable = StringTable()
    strings = {number: readable[text] for number, text in connection.execute("SELECT _id_, value FROM StringTable")}
    events = _ranges(connection, strings)
    kernels = next((name for name in _KERNELS if name in tables), None)
    if kernels:
        _add_kernels(connection, kernels, strings, events)
    return events


def _ranges(connection, strings) -> list[FunctionEvent]:
    begun: dict[int, tuple] = {}
    events = []
    rows = connection.execute("SELECT id, name, timestamp FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY timestamp, _id_")
    for number, name, time in rows:
        if name:
            if number in begun:
                raise RuntimeError(f"load_nvprof: marker {number} begins twice")
            begun[number] = (strings[name], time)
        elif number in begun:
            text, start = begun.pop(number)
            events.append(FunctionEvent(number, text, 0, start / 1e3, time / 1e3))
    events.sort(key=lambda event: event.time_range.start)
    return events


def _add_kernels(connection, table, strings, events) -> None:
    starts = [event.time_range.start for event in events]
    longest = max((event.time_range.elapsed_us() for event in events), default=0)
    rows = connection.execute(
        f"SELECT call.start, call.end, kernel.name, kernel.deviceId, kernel.start, kernel.end FROM {table} AS kernel "
        "JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS call ON call.correlationId = kernel.correlationId ORDER BY kernel.start"
    )
    for call_start, call_end, name, device, start, end in rows:
        first = bisect_left(starts, call_start / 1e3 - longest)
        for event in events[first : bisect_right(starts, call_start / 1e3)]:
            if event.time_range.end >= call_end / 1e3:
                event.append_kernel(strings[name], device, Interval(start / 1e3, end / 1e3))
