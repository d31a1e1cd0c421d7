"""Layers on one rank after the other, with parts of a batch on their way through them at the same time."""

from .._absent import fill
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .schedules import Schedule1F1B, ScheduleGPipe
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "merge_chunks", "split_args_kwargs_into_chunks"]
fill(
    globals(),
    "models are cut by hand: each rank makes a PipelineStage of its layers, for ScheduleGPipe or Schedule1F1B",
    ["Pipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS", "ScheduleInterleavedZeroBubble", "ScheduleZBVZeroBubble",
     "ScheduleDualPipeV"],
    ["build_stage", "pipe_split", "pipeline"],
    {"SplitPoint": ["BEGINNING", "END"]},
)  # fmt: skip
