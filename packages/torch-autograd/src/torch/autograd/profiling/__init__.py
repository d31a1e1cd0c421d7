"""``torch.profiler``: profiles by steps, with a schedule of which ones to record.

>>> import torch
>>> from torch.profiler import ProfilerActivity, profile, schedule
>>> shown = []
>>> with profile(
...     activities=[ProfilerActivity.CPU],
...     schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
...     on_trace_ready=lambda p: shown.append(p.key_averages()),
... ) as prof:
...     for _ in range(5):
...         _ = torch.ones(2) + 1
...         prof.step()
>>> {e.key: e.count for e in shown[0]}["aten::add"]
2
"""

import sys as _sys

from ..profiler import KinetoStepTracker, record_function
from ..profiler_util import DeviceType
from . import itt, profiler
from .profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "KinetoStepTracker",
    "ProfilerAction",
    "ProfilerActivity",
    "itt",
    "kineto_available",
    "profile",
    "profiler",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

# The folder has two names; what is in it is loaded once.
for _module in (itt, profiler):
    _sys.modules.setdefault(f"torch.profiler.{_module.__name__.rpartition('.')[2]}", _module)
