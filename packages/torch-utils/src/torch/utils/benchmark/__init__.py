"""How long does it take? Measurements that repeat enough, tables that compare them, and instructions counted by valgrind.

>>> timer = Timer("x + 1", globals={"x": torch.ones(4)}, label="add")
>>> result = timer.blocked_autorange(min_run_time=0.01)
>>> result.median < 0.001
True
"""

from .callgrind import CallgrindStats, CopyIfCallgrind, FunctionCount, FunctionCounts
from .compare import Colorize, Compare
from .fuzzer import FuzzedParameter, FuzzedSparseTensor, FuzzedTensor, Fuzzer, ParameterAlias
from .measurement import (
    Measurement,
    Number,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .timer import Language, Timer, timer

__all__ = [
    "CallgrindStats",
    "Colorize",
    "Compare",
    "CopyIfCallgrind",
    "FunctionCount",
    "FunctionCounts",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "Number",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
