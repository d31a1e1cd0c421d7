"""Times statements of Python and of C++."""

from __future__ import annotations

import enum
import math
import textwrap
import timeit
from collections.abc import Callable
from typing import Any

import torch

from .callgrind import CopyIfCallgrind, collect
from .measurement import Measurement, TaskSpec, set_torch_threads

timer = timeit.default_timer
SHARE_OF_CLOCK = 1e-3  # that reading the clock may have in a measurement
LONGEST_BLOCK = 0.1  # seconds without a look at the clock


class Language(enum.Enum):
    PYTHON = 0
    CPP = 1


class Timer:
    """Times `stmt` after `setup`, as `timeit.Timer` does, with one thread unless told otherwise.

    Args:
        globals: names that the statement sees; `torch` is among them
        label, sub_label, description: what `Compare` calls the table, the row and the column
        env: which of several builds or machines it is
        language: `Language.CPP` compiles the statement with `torch.utils.cpp_extension`
        global_setup: C++ before the function: includes and definitions

    Example:
        >>> Timer("torch.ones(n)", "n = 3").timeit(100).number_per_run
        100
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str) or not isinstance(setup, str):
            raise TypeError("Timer: stmt and setup are text; give functions through globals")
        stmt, setup = textwrap.dedent(stmt).strip("\n"), textwrap.dedent(setup).strip("\n")
        self._language = _language(language)
        self._globals = {"torch": torch, **(globals or {})}  # as given: some may be wrapped for callgrind
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        if self._language is Language.CPP:
            if globals:
                raise ValueError("Timer: C++ sees no globals of Python; define what it needs in setup")
            if timer is not timeit.default_timer:
                raise ValueError("Timer: C++ is timed by its own clock")
            self._run = _compiled(self._task_spec)
        else:
            if global_setup:
                raise ValueError("Timer: global_setup is for C++; Python has setup")
            names = CopyIfCallgrind.unwrap_all(self._globals)
            self._run = timeit.Timer(stmt or "pass", setup or "pass", timer, names).timeit

    def _time(self, number: int) -> float:
        return max(self._run(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of `number` runs, after a few to warm up."""
        if not isinstance(number, int) or number < 1:
            raise ValueError(f"Timer.timeit: number of runs is an int from 1 on, got {number!r}")
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(number // 100, 2))
            return self._measurement(number, [self._time(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> list[float]:
        """As ``timeit.Timer.repeat``: seconds of `number` runs, `repeat` times."""
        with set_torch_threads(self._task_spec.num_threads):
            count = number if number > 0 else self.autorange()[0]
            return [self._time(count) for _ in range(repeat if repeat > 0 else timeit.default_repeat)]

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> tuple[int, float]:
        """As ``timeit.Timer.autorange``: a number of runs that takes 0.2 s, and the seconds they took."""
        with set_torch_threads(self._task_spec.num_threads):
            for power in range(30):
                for digit in (1, 2, 5):
                    number = digit * 10**power
                    taken = self._time(number)
                    if callback:
                        callback(number, taken)
                    if taken >= 0.2:
                        return number, taken
        raise AssertionError("30 powers of ten are enough")

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of as many runs that the clock does not matter, until they take `min_run_time` seconds together."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(min_run_time)
            times: list[float] = []
            while not times or math.fsum(times) < min_run_time:
                times.append(self._time(number))
                if callback:
                    callback(number, times[-1])
            return self._measurement(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measurements until the interquartile range is below `threshold` of the median, or `max_run_time` is over."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(0.05)
            times: list[float] = []
            while True:
                while len(times) < 4 or math.fsum(times) < min_run_time:
                    times.append(self._time(number))
                    if callback:
                        callback(number, times[-1])
                    if math.fsum(times) >= max_run_time:
                        return self._measurement(number, times)
                found = self._measurement(number, times)
                if found.meets_confidence(threshold):
                    return found
                min_run_time = math.fsum(times) + max(times)

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> Any:
        """Instructions that `number` runs take, counted by valgrind's callgrind: the same each time, on any machine.

        Args:
            repeats: give a list of so many `CallgrindStats`
            collect_baseline: count an empty statement too, which `CallgrindStats.counts(denoise=...)` and ``as_standardized`` know
            retain_out_file: keep the text of callgrind's file in the result
        """
        if self._language is not Language.PYTHON:
            raise NotImplementedError(
                "collect_callgrind: statements of C++ are not counted; give them a Python binding"
            )
        stats = [
            collect(self._task_spec, self._globals, number, collect_baseline, retain_out_file)
            for _ in range(repeats or 1)
        ]
        return stats if repeats is not None else stats[0]

    def _block(self, min_run_time: float) -> int:
        """How many runs make reading the clock a thousandth of their time."""
        clock = min(self._run_empty() for _ in range(10))
        number = 1
        while True:
            taken = self._time(number)
            if (clock / taken <= SHARE_OF_CLOCK and taken >= min_run_time / 1000) or taken >= LONGEST_BLOCK:
                return number
            number *= 10

    def _run_empty(self) -> float:
        return self._run(0)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, list(times), self._task_spec)


def _language(given) -> Language:
    if isinstance(given, Language):
        return given
    names = {"py": Language.PYTHON, "python": Language.PYTHON, "c++": Language.CPP, "cpp": Language.CPP}
    if str(given).lower() not in names:
        raise ValueError(f"Timer: language must be 'python' or 'c++', got {given!r}")
    return names[str(given).lower()]


CPP = """
#include <chrono>
#include <exception>
#include <string>
#include "torch/aten.h"
{global_setup}
static std::string text_;
extern "C" __attribute__((visibility("default"))) const char* error() {{ return text_.c_str(); }}
extern "C" __attribute__((visibility("default"))) double measure(long number_) try {{
  {setup};
  auto begin_ = std::chrono::steady_clock::now();
  for (long run_ = 0; run_ < number_; ++run_) {{
    {stmt};
  }}
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}} catch (const std::exception& error_) {{
  text_ = error_.what();
  return -1;
}}
"""


def _compiled(spec: TaskSpec) -> Callable[[int], float]:
    import ctypes

    from torch.utils.cpp_extension import load_inline

    setup, stmt = ("" if text == "pass" else text.rstrip(";\n ") for text in (spec.setup, spec.stmt))
    source = CPP.format(global_setup=spec.global_setup, setup=setup, stmt=stmt)
    library = ctypes.CDLL(load_inline("timed_statement", source, is_python_module=False, no_implicit_headers=True))
    library.measure.restype, library.measure.argtypes = ctypes.c_double, [ctypes.c_long]
    library.error.restype = ctypes.c_char_p

    def measure(number: int) -> float:
        taken = library.measure(number)
        if taken < 0:
            raise RuntimeError(f"Timer: the statement of C++ failed: {library.error().decode()}")
        return taken

    return measure
