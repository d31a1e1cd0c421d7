"""The executors that tests of scripts choose from. Programs run as they were compiled here: the choice changes no result."""

from __future__ import annotations

import contextlib
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class ProfilingMode(Enum):
    """PyTorch's executors."""

    LEGACY = 1
    SIMPLE = 2
    PROFILING = 3


GRAPH_EXECUTOR = ProfilingMode.SIMPLE


def cppProfilingFlagsToProfilingMode() -> ProfilingMode:
    """The executor that runs programs: SIMPLE, as nothing is profiled."""
    return GRAPH_EXECUTOR


@contextlib.contextmanager
def enable_profiling_mode() -> Iterator[None]:
    """A context in which PyTorch would profile programs; results are the same here."""
    yield


enable_profiling_mode_for_profiling_tests = enable_profiling_mode


@contextlib.contextmanager
def num_profiled_runs(num_runs: int) -> Iterator[None]:
    """A context with so many profiled runs in PyTorch; results are the same here."""
    if isinstance(num_runs, bool) or not isinstance(num_runs, int) or num_runs < 0:
        raise ValueError(f"num_profiled_runs: expected a number of runs, got {num_runs!r}")
    yield
