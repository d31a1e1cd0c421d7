"""How many calls of a module a process answers when several threads ask at once."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def format_time(time_us: float | None = None, time_ms: float | None = None, time_s: float | None = None) -> str:
    """A time, given in one unit, in the one that reads best.

    >>> format_time(time_us=1500), format_time(time_s=2)
    ('1.500ms', '2.000s')
    """
    given = [x * scale for x, scale in ((time_us, 1.0), (time_ms, 1e3), (time_s, 1e6)) if x is not None]
    if len(given) != 1:
        raise ValueError(f"format_time: one of time_us, time_ms and time_s is needed, got {len(given)}")
    us = given[0]
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


@dataclass
class ExecutionStats:
    """What `ThroughputBenchmark.benchmark` found."""

    latency_avg_ms: float
    num_iters: int
    total_time_seconds: float
    num_calling_threads: int

    @property
    def iters_per_second(self) -> float:
        return self.num_iters / self.total_time_seconds

    def __str__(self) -> str:
        return "\n".join(
            [
                f"Average latency per example: {format_time(time_ms=self.latency_avg_ms)}",
                f"Total number of iterations: {self.num_iters}",
                f"Total number of iterations per second (across all threads): {self.iters_per_second:.2f}",
                f"Total time: {format_time(time_s=self.total_time_seconds)}",
            ]
        )


class ThroughputBenchmark:
    """Calls a module, or any function, from several threads with inputs that were added.

    Example:
        >>> bench = ThroughputBenchmark(torch.sin)
        >>> bench.add_input(torch.ones(3))
        >>> bench.benchmark(num_calling_threads=2, num_warmup_iters=1, num_iters=10).num_iters
        10
    """

    def __init__(self, module: Callable) -> None:
        self._module = module
        self._inputs: list[tuple[tuple, dict]] = []

    def run_once(self, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        return self._module(*args, **kwargs)

    def add_input(self, *args: Any, **kwargs: Any) -> None:
        """Arguments that calls may get; each call draws one of those added."""
        self._inputs.append((args, kwargs))

    def benchmark(
        self,
        num_calling_threads: int = 1,
        num_warmup_iters: int = 10,
        num_iters: int = 100,
        profiler_output_path: str = "",
    ) -> ExecutionStats:
        """Times `num_iters` calls, shared among threads, after some that warm each thread up."""
        if not self._inputs:
            raise RuntimeError("ThroughputBenchmark: add_input first")
        if profiler_output_path:
            raise NotImplementedError("ThroughputBenchmark: no trace is written; profile the program with cProfile")
        if num_calling_threads < 1 or num_iters < 1:
            raise ValueError(
                f"ThroughputBenchmark: needs a thread and an iteration, got {num_calling_threads} and {num_iters}"
            )
        taken: list[float] = []
        failed: list[BaseException] = []
        tickets = itertools.count()
        ready = threading.Barrier(num_calling_threads + 1)

        def work(seed: int) -> None:
            state = random.Random(seed)
            try:
                for _ in range(num_warmup_iters):
                    self._call(state)
                ready.wait()
                while next(tickets) < num_iters and not failed:  # the counter's step is one instruction of Python
                    began = time.perf_counter()
                    self._call(state)
                    taken.append(time.perf_counter() - began)
            except BaseException as error:
                failed.append(error)
                ready.abort()

        threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(num_calling_threads)]
        for thread in threads:
            thread.start()
        try:
            ready.wait()
        except threading.BrokenBarrierError:
            pass
        began = time.perf_counter()
        for thread in threads:
            thread.join()
        total = time.perf_counter() - began
        real = [e for e in failed if not isinstance(e, threading.BrokenBarrierError)]
        if real:
            raise real[0]
        return ExecutionStats(1e3 * sum(taken) / len(taken), len(taken), total, num_calling_threads)

    def _call(self, state: random.Random) -> None:
        args, kwargs = state.choice(self._inputs)
        self._module(*args, **kwargs)
