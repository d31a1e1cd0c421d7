"""Layers whose weights are spread over the ranks of a mesh, so that each computes a part of the layer's outputs."""

from .loss import loss_parallel
from .prepare import PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput
from .styles import ColwiseParallel, ParallelStyle, RowwiseParallel, SequenceParallel, parallelize_module

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip
