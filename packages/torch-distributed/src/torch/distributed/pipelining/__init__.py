"""Layers on one rank after the other: not there."""

from .._absent import fill

fill(
    globals(),
    "send and receive between stages with torch.distributed.send, recv and batch_isend_irecv",
    ["Pipe", "PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS",
     "ScheduleInterleavedZeroBubble", "ScheduleZBVZeroBubble", "ScheduleDualPipeV"],
    ["build_stage", "pipe_split", "pipeline"],
    {"SplitPoint": ["BEGINNING", "END"]},
)  # fmt: skip
