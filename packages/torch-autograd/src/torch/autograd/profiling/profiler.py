"""Steps of a program, and which of them are recorded."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings

from torch import cuda
from torch._seams import begin_range as _begin_range
from torch._seams import end_range as _end_range

from .. import profiler as events_of
from ..profiler_util import EventList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch
    from typing_extensions import Self


__all__ = [
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What to record."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *, wait: Any, warmup: Any, active: Any, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Any:
    """From a step's number to what is done: ``wait`` steps nothing, ``warmup`` not yet, ``active`` recorded, and again.

    The cycle is repeated ``repeat`` times (0: for ever), after ``skip_first`` steps at the beginning; with
    ``skip_first_wait`` the first cycle does not wait. ValueError for negative numbers and for no active step.

    >>> [schedule(wait=1, warmup=1, active=2, repeat=1)(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    for name, value in given.items():
        if value < (1 if name == "active" else 0):
            raise ValueError(f"schedule: {name} must be {'positive' if name == 'active' else '0 or more'}, got {value}")
    if warmup == 0:
        warnings.warn(
            "schedule: without a warm-up step, the first recorded one may be slower than others", stacklevel=2
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"schedule: the step must be 0 or more, got {step}")
        step -= skip_first
        if skip_first_wait and step >= 0:
            step += wait
        if step < 0 or (repeat > 0 and step >= repeat * length):
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _default_schedule_fn(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def supported_activities() -> Any:
    """What can be recorded here.

    >>> supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA} if cuda.is_available() else {ProfilerActivity.CPU}


def kineto_available() -> Any:
    """False: the recorder is our own."""
    return False


def tensorboard_trace_handler(
    dir_name: Any, worker_name: Any = None, use_gzip: bool = False, use_python_export: bool = False
) -> Any:
    """For ``on_trace_ready``: writes each trace to a file of its own in a folder, named as TensorBoard's plug-in wants."""

    def handler(prof):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class ExecutionTraceObserver:
    """NotImplementedError: graphs of execution in PyTorch's own format are not written."""

    def __init__(self) -> None:
        raise NotImplementedError(
            "ExecutionTraceObserver: execution traces are not written; profile(record_shapes=True) notes operators and "
            "their inputs, and export_chrome_trace() writes them as JSON"
        )


class profile:
    """Records the steps that ``schedule`` picks; call ``step()`` at the end of each.

    After each recorded cycle, ``on_trace_ready(self)`` is called, and the results are those of that cycle (with
    ``acc_events``, of all so far). Without a schedule, everything from ``start()`` to ``stop()`` is recorded. The other
    options are those of ``torch.autograd.profiler.profile``.
    """

    def __init__(
        self, *, activities: Any=None, schedule: Any=None, on_trace_ready: Any=None, record_shapes: bool=False, profile_memory: bool=False,
        with_stack: bool=False, with_flops: bool=False, with_modules: bool=False, experimental_config: Any=None, execution_trace_observer: Any=None,
        acc_events: bool=False, use_cuda: Any=None, custom_trace_id_callback: Any=None, post_processing_timeout_s: float | None=None,
    ) -> None:  # fmt: skip
        events_of._refuse(
            "profile", experimental_config=experimental_config, execution_trace_observer=execution_trace_observer
        )
        activities = set(supported_activities() if activities is None else activities)
        if wrong := [a for a in activities if not isinstance(a, ProfilerActivity)]:
            raise TypeError(f"profile: activities must be of ProfilerActivity, got {wrong[0]!r}")
        if not activities:
            raise ValueError("profile: no activity to record; activities=[ProfilerActivity.CPU] records the CPU")
        if use_cuda is not None:
            warnings.warn("profile: use_cuda is deprecated, give activities instead", FutureWarning, stacklevel=2)
            (activities.add if use_cuda else activities.discard)(ProfilerActivity.CUDA)
        if ProfilerActivity.CUDA in activities and not cuda.is_available():
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
            activities.discard(ProfilerActivity.CUDA)
        for activity in activities - supported_activities():
            raise NotImplementedError(f"profile: {activity} is not recorded, only the CPU and CUDA are")
        self.activities = activities
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._callback = custom_trace_id_callback
        self._started = False
        self._step_range = 0
        self._metadata: dict[str, object] = {}
        self.profiler: events_of.profile | None = None

    # -- steps ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin; RuntimeError when it was begun and not stopped."""
        if self._started:
            raise RuntimeError("profile: it is started already; stop() it first")
        self._started = True
        self.current_action = self.schedule(self.step_num)
        if self.current_action in _RECORDING:
            self.start_trace()
        self._begin_step()

    def step(self) -> None:
        """The end of a step of the program, and the begin of the next."""
        if not self._started:
            raise RuntimeError("profile: step() before start()")
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        recorded, records = before in _RECORDING, self.current_action in _RECORDING
        if recorded and not records and before != ProfilerAction.RECORD_AND_SAVE:
            warnings.warn(
                "profile: incorrect schedule: recording ends without RECORD_AND_SAVE, and what was recorded is not "
                "handed to on_trace_ready",
                stacklevel=2,
            )
            self.stop_trace()
        elif before == ProfilerAction.RECORD_AND_SAVE:
            self.stop_trace()
            self._ready()
        if records and not (recorded and before == ProfilerAction.RECORD):
            self.start_trace()
        self._begin_step()

    def stop(self) -> None:
        """The end; what is being recorded is handed to ``on_trace_ready``."""
        if not self._started:
            return
        self._started = False
        self._end_step()
        before, self.current_action = self.current_action, ProfilerAction.NONE
        if before in _RECORDING:
            self.stop_trace()
            self._ready()

    def _ready(self):
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def _begin_step(self):
        if self.record_steps and self.current_action in _RECORDING:
            self._step_range = _begin_range(f"ProfilerStep#{self.step_num}")

    def _end_step(self):
        handle, self._step_range = self._step_range, 0
        _end_range(handle)

    def prepare_trace(self) -> None:
        """Make a fresh recorder, or go on with the one of the cycle before when events accumulate."""
        if self.profiler is None or not self.acc_events:
            self.profiler = events_of.profile(
                use_device="cuda" if ProfilerActivity.CUDA in self.activities else None,
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_flops=self.with_flops,
                with_modules=self.with_modules,
                acc_events=self.acc_events,
                custom_trace_id_callback=self._callback,
            )

    def start_trace(self) -> None:
        """Begin to record, whatever the schedule says."""
        self.prepare_trace()
        self.profiler.function_events
        self.profiler.entered = False
        self.profiler.__enter__()

    def stop_trace(self) -> None:
        """Record no more."""
        self._results()
        self.profiler.__exit__(None, None, None)

    def toggle_collection_dynamic(self, enable: Any, activities: Any) -> None:
        """NotImplementedError: use a schedule."""
        self._results().toggle_collection_dynamic(enable, activities)

    # -- results -------------------------------------------------------------------------------------------------

    def _results(self) -> events_of.profile:
        if self.profiler is None:
            raise RuntimeError("profile: nothing was recorded yet: start() it, and step() until the schedule records")
        return self.profiler

    def events(self) -> EventList:
        """All events of the last cycle."""
        return self._results()._finished()

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> Any:
        """Sums of events by name; see ``EventList.key_averages``."""
        return self._results().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """See ``EventList.export_chrome_trace``."""
        self._results().export_chrome_trace(path, {"trace_id": self.get_trace_id(), **self._metadata})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """See ``EventList.export_stacks``."""
        self._results().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: torch.device | str | int | None = None) -> Any:
        """NotImplementedError: memory is not broken down by category."""
        raise NotImplementedError(
            "export_memory_timeline: memory is not recorded by category; profile_memory=True puts each block into "
            "export_chrome_trace()"
        )

    def add_metadata(self, key: Any, value: Any) -> None:
        """Text for the trace's head."""
        self._metadata[key] = str(value)

    def add_metadata_json(self, key: Any, value: Any) -> None:
        """JSON for the trace's head."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: Any, value: Any) -> None:
        """As ``add_metadata_json``, before the start."""
        self.add_metadata_json(key, value)

    def set_custom_trace_id_callback(self, callback: Any) -> None:
        """What gives traces their names."""
        self._callback = callback

    def get_trace_id(self) -> Any:
        """The trace's name; None before there is one."""
        return self.profiler.trace_id if self.profiler else None
