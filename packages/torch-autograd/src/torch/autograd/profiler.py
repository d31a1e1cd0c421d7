"""Where a program spends its time: every operator, backward node and range of the user's, on all threads.

>>> import torch
>>> x = torch.ones(4, requires_grad=True)
>>> with torch.autograd.profiler.profile() as prof:
...     with torch.autograd.profiler.record_function("forward"):
...         y = (x * 2).sum()
...     y.backward()
>>> sums = {e.key: e for e in prof.key_averages()}
>>> sums["aten::mul"].count, sums["MulBackward0"].count
(2, 1)
>>> print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=3))  # doctest: +ELLIPSIS
----...
                   Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls...
"""

from __future__ import annotations

import contextlib
import functools
import gc
import warnings
from collections import defaultdict

from torch import _seams, cuda
from torch._seams import begin_range as _begin_range
from torch._seams import end_range as _end_range

from ._flops import of_call
from .profiler_util import (
    DeviceType,
    EventList,
    FormattedTimesMixin,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    MemRecordsAcc,
    StringTable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self


__all__ = [
    "DeviceType",
    "EnforceUnique",
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "StringTable",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]

_BACKWARD, _USER = 1, 7  # scopes


class record_function:
    """A range of the profile under a name of your own: a context manager, or a decorator of functions.

    ``args`` is text to be shown with it. Costs next to nothing while no profiler records.

    >>> @record_function("my step")
    ... def step():
    ...     pass
    >>> with profile() as prof:
    ...     step()
    ...     with record_function("by hand", "batch 3"):
    ...         pass
    >>> [(e.name, e.concrete_inputs) for e in prof.function_events]
    [('my step', []), ('by hand', ['batch 3'])]
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._handles: list[int] = []  # one may be entered again before it is left

    def __enter__(self) -> Self:
        self._handles.append(_begin_range(self.name if self.args is None else f"{self.name}\0{self.args}"))
        return self

    def __exit__(self, *_: Any) -> None:
        _end_range(self._handles.pop())

    def __call__(self, function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def ranged(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return ranged


def _input_shapes(arguments):
    if not arguments:
        return []
    shapes = []
    for argument in arguments:
        if not isinstance(argument, tuple):
            shapes.append([])
        elif argument[0] == "list":
            shapes.append([one[1] if one else [] for one in argument[1]])
        else:
            shapes.append(argument[1])
    return shapes


@contextlib.contextmanager
def _no_collection():
    """The collector would look through a million events again and again: 10 us an event without it, 25 with it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_no_collection()
def _events(recording: dict, memory: bool, flops: bool, shapes: bool) -> EventList:
    """Events of a recording of ``_seams.stop_profile``."""
    rows = recording["events"]
    events = EventList(profile_memory=memory, with_flops=flops)
    events._recording = recording
    for index, row in enumerate(rows):
        name, thread, scope, is_open, is_async, start, end, own, parent, sequence, forward, size, own_size, *more = row
        arguments, stack, _ = more
        event = FunctionEvent(
            index, name, thread, start / 1e3, end / 1e3, stack=stack, scope=scope, cpu_memory_usage=size,
            is_async=is_async, sequence_nr=sequence, is_user_annotation=scope == _USER,
        )  # fmt: skip
        event._self_us, event.self_cpu_memory, event.is_open = own / 1e3, own_size, is_open
        if scope == _USER and "\0" in name:
            event.name, _, text = name.partition("\0")
            event.trace_name, event.concrete_inputs = event.name, [text]
        if arguments and shapes:
            event.input_shapes = _input_shapes(arguments)
            event.concrete_inputs = ["" if isinstance(a, tuple) or a is None else a for a in arguments]
        if parent >= 0:
            event.cpu_parent = events[parent]
            events[parent].cpu_children.append(event)
        events.append(event)
    for event, row in zip(events, rows, strict=True):
        if row[10] >= 0:
            event.forward = events[row[10]]
            event.fwd_thread = event.forward.thread
            if shapes and not event.input_shapes:
                event.input_shapes = []
    if flops:
        counted = [False] * len(events)  # in it or inside it
        for event in reversed(events):
            if not counted[event.id]:
                event.flops = of_call(event.name, rows[event.id][13])
            if (event.flops or counted[event.id]) and event.cpu_parent is not None:
                counted[event.cpu_parent.id] = True
    if "device" in recording:
        events._use_device = "cuda"
        _add_device_times(events, rows, recording["device"], recording["wall_start"] / 1e3)
    recording["events"] = None  # they are as large as the events themselves
    for time, size, _, thread, inside in recording["memory"]:
        if inside < 0:
            at = time / 1e3
            event = FunctionEvent(len(events), "[memory]", thread, at, at, cpu_memory_usage=size)
            event._self_us, event.self_cpu_memory = 0.0, size
            events.append(event)
    return events


def _add_device_times(events, rows, times, wall_start):
    """Give each event the time that devices worked for it, less what they did for events inside it."""
    by_handle = {row[-1]: event for event, row in zip(events, rows, strict=True)}
    times = [(by_handle[handle], *time) for handle, *time in times if handle in by_handle]
    totals = {(event.id, device, stream): duration for event, device, stream, _, duration in times}
    for event, device, stream, start, duration in times:
        inside = sum(totals.get((child.id, device, stream), 0.0) for child in event.cpu_children)
        begin = start - wall_start
        event.use_device = "cuda"
        event.kernels.append(Kernel(event.name, device, Interval(begin, begin + max(0.0, duration - inside))))


_running: list[profile] = []  # profiles that record now, the innermost last


def _profiler_enabled() -> bool:
    """Whether a profile records."""
    return bool(_running)


def _disable_profiler() -> EventList:
    """Ends the innermost profile that records, and gives its events; RuntimeError when none does."""
    if not _running:
        raise RuntimeError("_disable_profiler: no profile records")
    innermost = _running[-1]
    innermost._stop()
    return innermost.function_events


class profile:
    """Records what runs between entering and leaving, on all threads, and sums it up.

    ``record_shapes`` notes the arguments of operators; ``profile_memory`` what they take and give back; ``with_stack``
    where in the program they were called; ``with_flops`` counts products, convolutions and sums from their shapes.
    ``use_cpu=False`` records nothing. With ``use_cuda=True`` (or ``use_device="cuda"``) each event also has the time that
    devices worked for it, by events in their streams; without CUDA a warning says that only the CPU is seen.
    ``with_modules`` is accepted: modules are seen in stacks.

    Profiles may overlap, also on different threads: each gets what ran meanwhile. Records of all that are open may fill
    256 MiB, about five million ranges; what comes after is counted, and a warning tells the number. RuntimeError when one that is still
    open is entered again, and when results are asked of one that is not finished.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     y = torch.ones(2).exp()
    >>> any(event.name == "exp" for event in profile.function_events)
    False
    """

    def __init__(
        self, enabled: bool=True, use_cuda: bool=False, *, use_device: Any=None, record_shapes: bool=False, with_flops: bool=False, profile_memory: bool=False,
        with_stack: bool=False, with_modules: bool=False, use_kineto: bool=False, use_cpu: bool=True, experimental_config: Any=None, acc_events: bool=False,
        custom_trace_id_callback: Any=None, post_processing_timeout_s: float | None=None, activity_filters: Any=None,
    ) -> None:  # fmt: skip
        _refuse("profile", experimental_config=experimental_config, activity_filters=activity_filters)
        if (use_cuda or use_device == "cuda") and not cuda.is_available():
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
            use_cuda, use_device = False, None
        if use_device not in (None, "cpu", "cuda"):
            raise NotImplementedError(
                f"profile: what runs on device {use_device!r} is not recorded, only the CPU and CUDA are"
            )
        self.enabled, self.use_cpu, self.use_cuda, self.use_device = enabled, use_cpu, use_cuda, use_device
        self._times_device = use_cuda or use_device == "cuda"
        self.record_shapes = record_shapes or with_flops
        self._shapes_asked = record_shapes
        self.with_flops, self.profile_memory, self.with_stack = with_flops, profile_memory, with_stack
        self.with_modules, self.acc_events = with_modules, acc_events
        self.entered = False
        self._callback = custom_trace_id_callback
        self.trace_id = ""
        self._session = self._recording = self._list = None
        self._earlier: list[EventList] = []

    # -- recording -----------------------------------------------------------------------------------------------

    def config(self, create_trace_id: bool = False) -> Any:
        """What this profile records, by name."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        names = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "trace_id")
        return {name: getattr(self, name) for name in names}

    def default_trace_id(self) -> Any:
        """A fresh name for a trace."""
        import uuid

        return uuid.uuid4().hex.upper()

    def create_trace_id(self) -> Any:
        """The name that the user's callback gives, else a fresh one."""
        return self._callback() if self._callback else self.default_trace_id()

    def __enter__(self) -> Self:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self.trace_id = self.create_trace_id()
        self._start()
        return self

    def _start(self):
        if self._list is not None and self.acc_events:
            self._earlier.append(self._list)
        self._recording = self._list = None
        if self.use_cpu:
            if self._times_device:
                _seams.start_device_times()
            self._session = _seams.start_profile(
                self.record_shapes, self.profile_memory, self.with_stack, self._times_device
            )
            _running.append(self)

    def __exit__(self, *_: Any) -> None:
        if self.enabled:
            self._stop()
        return False

    def _stop(self):
        if self._session is None:
            self._list = EventList()
            return
        session, self._session = self._session, None
        _running.remove(self)
        self._recording = _seams.stop_profile(session)
        if self._times_device:
            self._recording["device"] = _seams.stop_device_times()
        if dropped := self._recording["dropped"]:
            warnings.warn(
                f"profile: {dropped} ranges were not recorded, because records may fill 256 MiB (about five million "
                "ranges); profile fewer steps at a time, for instance with torch.profiler.schedule()",
                stacklevel=3,
            )

    def toggle_collection_dynamic(self, enabled: bool, activities: Any) -> Any:
        """NotImplementedError: a profile records from its start to its end."""
        raise NotImplementedError(
            "toggle_collection_dynamic: a profile records from its start to its end; open one for each part"
        )

    # -- results -------------------------------------------------------------------------------------------------

    def _finished(self) -> EventList:
        if self._list is None:
            if self._recording is None:
                raise RuntimeError("Profiler didn't finish running")
            self._list = _events(self._recording, self.profile_memory, self.with_flops, self._shapes_asked)
            if self._earlier:
                everything = EventList(profile_memory=self.profile_memory, with_flops=self.with_flops)
                everything.extend(event for part in [*self._earlier, self._list] for event in part)
                everything._recording = self._recording
                self._earlier, self._list = [], everything
        return self._list

    @property
    def function_events(self) -> Any:
        """All events, an ``EventList``; None until the profile is finished."""
        return self._finished() if self._recording is not None or self._list is not None else None

    def table(
        self, sort_by: Any=None, row_limit: int=100, max_src_column_width: int=75, max_name_column_width: int=55, max_shapes_column_width: int=80,
        header: Any=None, top_level_events_only: bool=False,
    ) -> Any:  # fmt: skip
        """See ``EventList.table``.

        >>> with torch.autograd.profiler.profile() as profile:
        ...     y = torch.ones(2).exp()
        >>> "exp" in profile.table()
        True
        """
        return self._finished().table(
            sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
            top_level_events_only,
        )  # fmt: skip

    def export_chrome_trace(self, path: str, metadata: Any = None, use_python_export: bool = False) -> None:
        """See ``EventList.export_chrome_trace``; ``metadata`` is a dict that is put at the file's head.

        >>> import json, os, tempfile
        >>> with torch.autograd.profiler.profile() as profile:
        ...     y = torch.ones(2).exp()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     profile.export_chrome_trace(os.path.join(folder, "trace.json"))
        ...     print(len(json.load(open(os.path.join(folder, "trace.json")))) > 0)
        True
        """
        self._finished().export_chrome_trace(path, metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """See ``EventList.export_stacks``."""
        self._finished().export_stacks(path, metric)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> Any:
        """See ``EventList.key_averages``.

        >>> with torch.autograd.profiler.profile() as profile:
        ...     y = torch.ones(2).exp().exp()
        >>> [average.count for average in profile.key_averages() if average.key.endswith("exp")]
        [2]
        """
        return self._finished().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> Any:
        """See ``EventList.total_average``.

        >>> with torch.autograd.profiler.profile() as profile:
        ...     y = torch.ones(2).exp()
        >>> profile.total_average().count > 0
        True
        """
        return self._finished().total_average()

    @property
    def self_cpu_time_total(self) -> Any:
        """Time during which anything that is recorded ran, summed over threads, in microseconds."""
        return self._finished().self_cpu_time_total

    def __str__(self) -> str:
        return str(self._finished()) if self.function_events is not None else repr(self)

    def __repr__(self) -> str:
        if self.function_events is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self._list)


def _refuse(where, **given):
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(
                f"{where}: {name}= is an option of PyTorch's tracing library Kineto, which is not used"
            )


# -- what needs devices and tools that are not there --------------------------------------------------------------------


class _Emit:
    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> Self:
        if self.enabled:
            raise NotImplementedError(self._why)
        return self

    def __exit__(self, *_: Any) -> None:
        return False


class emit_nvtx(_Emit):
    """Marks operators for NVIDIA's profilers. Entering raises NotImplementedError: their library is not opened.

    >>> with torch.autograd.profiler.emit_nvtx():
    ...     pass
    Traceback (most recent call last):
        ...
    NotImplementedError: emit_nvtx: NVIDIA's library of ranges, NVTX, is not opened; ...
    """

    _why = (
        "emit_nvtx: NVIDIA's library of ranges, NVTX, is not opened; torch.autograd.profiler.profile() records operators, and "
        "torch.cuda.nvtx names ranges in what it records"
    )


class emit_itt(_Emit):
    """Marks operators for Intel's profilers. Entering raises NotImplementedError."""

    _why = (
        "emit_itt: this build has no support for Intel's ITT; torch.autograd.profiler.profile() records the CPU, and "
        "export_chrome_trace() writes a timeline"
    )


def load_nvprof(path: str) -> Any:
    """Events of a file that ``nvprof -o path`` wrote.

    >>> torch.autograd.profiler.load_nvprof("trace.sql")
    Traceback (most recent call last):
        ...
    FileNotFoundError: load_nvprof: no file 'trace.sql'...
    """
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> Any:
    """Events, with their kernels, of a file that ``nvprof -o path`` wrote: an SQLite database.

    >>> torch.autograd.profiler.parse_nvprof_trace("trace.sql")
    Traceback (most recent call last):
        ...
    FileNotFoundError: load_nvprof: no file 'trace.sql'...
    """
    from ._nvprof import parse

    return parse(path)


class EnforceUnique:
    """Raises RuntimeError when it sees a key twice.

    >>> unique = EnforceUnique()
    >>> unique.see("a", 1)
    >>> unique.see("a", 1)
    Traceback (most recent call last):
        ...
    RuntimeError: duplicate key: ('a', 1)
    """

    def __init__(self) -> None:
        self.seen = set()

    def see(self, *key: Any) -> None:
        """Note a key."""
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps of several requesters (optimizers, profilers); the current step is the greatest count.

    >>> KinetoStepTracker.init_step_count("mine")
    >>> KinetoStepTracker.increment_step("mine")
    1
    """

    _counts: dict[str, int] = defaultdict(int)
    _current = 0

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin to count for a requester, from the current step."""
        cls._counts[requester] = cls._current

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a requester; True when it was known."""
        return cls._counts.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count one, and give the current step."""
        if requester not in cls._counts:
            cls.init_step_count(requester)
        cls._counts[requester] += 1
        cls._current = max(cls._current, max(cls._counts.values()))
        return cls._current

    @classmethod
    def current_step(cls) -> int:
        """The greatest count."""
        return cls._current
