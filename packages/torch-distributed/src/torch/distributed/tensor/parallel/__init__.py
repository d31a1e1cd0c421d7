"""Layers whose weights are spread over the ranks of a mesh, so that each computes a part of the layer's outputs."""

from ..._absent import fill
from .styles import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    parallelize_module,
)

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip
fill(
    globals(),
    "sequences are whole on each rank; ColwiseParallel and RowwiseParallel spread linear layers and embeddings",
    ["SequenceParallel", "PrepareModuleInputOutput"],
    ["loss_parallel"],
)
