"""Layers on one rank after the other, with parts of a batch on their way through them at the same time."""

from .cutting import Pipe, SplitPoint, build_stage, pipe_split, pipeline
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .schedules import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from .stage import PipelineStage

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "SplitPoint", "build_stage", "merge_chunks",
    "pipe_split", "pipeline", "split_args_kwargs_into_chunks",
]  # fmt: skip
