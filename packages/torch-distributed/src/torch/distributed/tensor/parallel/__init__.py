"""Layers spread over ranks: not there."""

from ..._absent import fill
from .. import REASON

fill(
    globals(),
    REASON,
    ["ParallelStyle", "ColwiseParallel", "RowwiseParallel", "SequenceParallel", "PrepareModuleInput", "PrepareModuleOutput",
     "PrepareModuleInputOutput"],
    ["parallelize_module", "loss_parallel"],
)  # fmt: skip
