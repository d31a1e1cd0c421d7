"""Events of a profile, their sums and tables.

Times are microseconds, sizes bytes. A ``FunctionEvent`` is one call of an operator, one run of a backward node or one
range of the user's; an ``EventList`` holds them in order of their start on each thread.

>>> import torch
>>> with torch.autograd.profiler.profile() as prof:
...     _ = torch.ones(3) + 1
>>> [event.name for event in prof.function_events if event.cpu_parent is None]
['aten::ones', 'aten::add']
"""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections import defaultdict

from ._tables import event_table, format_memory, format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch
    from typing_extensions import Self


__all__ = [
    "DeviceType",
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]


class DeviceType(enum.IntEnum):
    """Where an event ran."""

    CPU = 0
    CUDA = 1


class Interval:
    """From ``start`` to ``end``, in microseconds.

    >>> torch.autograd.profiler_util.Interval(2.0, 5.0).elapsed_us()
    3.0
    """

    __slots__ = ("end", "start")

    def __init__(self, start: Any, end: Any) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> Any:
        """Its length."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start}, end={self.end})"


class Kernel:
    """What a device ran for an event: its name, the device's number and how long, in microseconds.

    ``duration`` may be an ``Interval``, as in 2018.

    >>> torch.autograd.profiler_util.Kernel("saxpy", 0, 3.0).duration
    3.0
    """

    __slots__ = ("device", "duration", "interval", "name")

    def __init__(
        self, name: str, device: torch.device | str | int | None, duration: Any = None, interval: Any = None
    ) -> None:
        self.name, self.device = name, device
        duration = interval if duration is None else duration
        if duration is None:
            raise TypeError("Kernel: duration must be given, in microseconds or as an Interval")
        self.interval = duration if isinstance(duration, Interval) else None
        self.duration = self.interval.elapsed_us() if self.interval else duration

    def __repr__(self) -> str:
        return f"Kernel(name={self.name!r}, device={self.device}, duration={self.duration})"


def _average(total):
    return property(lambda self: getattr(self, total) / self.count if self.count else 0.0)


def _formatted(name):
    return property(lambda self: format_time(getattr(self, name)))


class FormattedTimesMixin:
    """Averages per call, and times as text, of what has totals and a count.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     y = torch.ones(2).exp()
    >>> profile.function_events[0].cpu_time_str.endswith("s")
    True
    """

    __slots__ = ()

    cpu_time = _average("cpu_time_total")
    device_time = _average("device_time_total")
    cuda_time = device_time
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    cuda_memory_usage = property(lambda self: self.device_memory_usage)
    self_cuda_memory_usage = property(lambda self: self.self_device_memory_usage)

    cpu_time_str = _formatted("cpu_time")
    device_time_str = cuda_time_str = _formatted("device_time")
    cpu_time_total_str = _formatted("cpu_time_total")
    device_time_total_str = cuda_time_total_str = _formatted("device_time_total")
    self_cpu_time_total_str = _formatted("self_cpu_time_total")
    self_device_time_total_str = self_cuda_time_total_str = _formatted("self_device_time_total")


class FunctionEvent(FormattedTimesMixin):
    """One call. ``time_range`` is its time, ``cpu_children`` what ran inside, ``sequence_nr`` the number that a forward
    operator shares with the backward node it made, ``fwd_thread`` the thread on which that happened.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     y = torch.ones(2).exp()
    >>> [type(event).__name__ for event in profile.function_events if event.name == "exp"]
    []
    """

    __slots__ = (
        "_self_us", "_structured", "concrete_inputs", "count", "cpu_children", "cpu_memory_usage", "cpu_parent",
        "device_index", "device_memory_usage", "device_resource_id", "device_type", "flops", "forward", "fwd_thread",
        "id", "input_shapes", "is_async", "is_legacy", "is_open", "is_remote", "is_user_annotation", "kernels", "kwinputs", "name",
        "node_id", "overload_name", "scope", "self_cpu_memory", "sequence_nr", "stack", "thread", "time_range",
        "trace_name", "use_device",
    )  # fmt: skip

    def __init__(
        self, id: Any, name: str, thread: Any, start_us: Any=None, end_us: Any=None, overload_name: Any=None, fwd_thread: Any=None, input_shapes: Any=None, stack: Any=None,
        scope: int=0, use_device: Any=None, cpu_memory_usage: int=0, device_memory_usage: int=0, is_async: bool=False, is_remote: bool=False,
        sequence_nr: int=-1, node_id: int=-1, device_type: Any=DeviceType.CPU, device_index: int=0, device_resource_id: Any=None,
        is_legacy: bool=False, flops: Any=None, trace_name: Any=None, concrete_inputs: Any=None, kwinputs: Any=None, is_user_annotation: bool=False,
        *, cpu_start: Any=None, cpu_end: Any=None,
    ) -> None:  # fmt: skip
        if start_us is None:  # the names of 2018
            start_us, end_us = cpu_start, cpu_end
        if start_us is None or end_us is None:
            raise TypeError("FunctionEvent: start_us and end_us, the times of begin and end, must both be given")
        self.id, self.name, self.thread = id, name, thread
        self.time_range = Interval(start_us, end_us)
        self.overload_name = overload_name or ""
        self.trace_name = trace_name or name
        self.fwd_thread = fwd_thread
        self.input_shapes = input_shapes if input_shapes is not None else []
        self.concrete_inputs = concrete_inputs if concrete_inputs is not None else []
        self.kwinputs = kwinputs if kwinputs is not None else {}
        self.stack = stack if stack is not None else []
        self.scope, self.use_device = scope, use_device
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.is_legacy = is_async, is_remote, is_legacy
        self.sequence_nr, self.node_id = sequence_nr, node_id
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.flops = flops if flops is not None else 0
        self.is_user_annotation = is_user_annotation
        self.count = 1
        self.kernels, self.cpu_children = [], []
        self.cpu_parent = self.forward = None
        self.is_open = False
        self._self_us = self.self_cpu_memory = None  # known of what was recorded, else from the children

    @property
    def cpu_interval(self) -> Any:
        """``time_range``, as in 2018."""
        return self.time_range

    @property
    def key(self) -> Any:
        """What events are summed by."""
        return self.name

    def append_kernel(self, name: str, device: torch.device | str | int | None, duration: Any) -> None:
        """Add what a device ran for this event."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: Any) -> None:
        """Make an event a part of this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: Any) -> None:
        """Make this event a part of another one."""
        self.cpu_parent = parent

    @property
    def cpu_time_total(self) -> Any:
        """Its time, with what ran inside."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> Any:
        """Its time without what ran inside."""
        if self._self_us is not None:
            return self._self_us
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> Any:
        """Memory that it took and did not give back, without what ran inside."""
        if self.self_cpu_memory is not None:
            return self.self_cpu_memory
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> Any:
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> Any:
        """Time of its own kernels."""
        return sum(kernel.duration for kernel in self.kernels)

    @property
    def device_time_total(self) -> Any:
        """Time of its kernels, with those of what ran inside."""
        return self.self_device_time_total + sum(child.device_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} is_async={self.is_async} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sums of events of one key; ``count`` says of how many.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     y = torch.ones(2).exp().exp()
    >>> [average.count for average in profile.key_averages() if average.key == "exp"]
    []
    """

    def __init__(self) -> None:
        self.key = None
        self.count = 0
        self.node_id, self.is_async, self.is_remote, self.is_legacy = 0, False, False, False
        self.use_device, self.device_type = None, DeviceType.CPU
        self.overload_name, self.scope, self.is_user_annotation = "", 0, False
        self.input_shapes, self.stack = [], []
        self.cpu_time_total = self.self_cpu_time_total = 0
        self.device_time_total = self.self_device_time_total = 0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.flops = 0
        self.cpu_children, self.cpu_parent = None, None

    _SUMS = (
        "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total", "cpu_memory_usage",
        "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops", "count",
    )  # fmt: skip

    def add(self, other: Any) -> Self:
        """Add an event, or the sums of others with the same key."""
        if self.key is None:
            self.key = other.key
            for name in ("node_id", "is_async", "is_remote", "is_legacy", "use_device", "device_type", "overload_name"):
                setattr(self, name, getattr(other, name))
            self.scope, self.is_user_annotation = other.scope, other.is_user_annotation
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.cpu_parent = other.cpu_parent
        elif other.key != self.key:
            raise ValueError(f"FunctionEventAvg.add: sums of {self.key!r} cannot take an event of {other.key!r}")
        for name in self._SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def __iadd__(self, other: Any) -> Any:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f"self_cuda_time={self.self_device_time_total_str} cuda_time={self.device_time_str} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"cuda_memory_usage={self.device_memory_usage}>"
        )


class EventList(list):
    """Events or sums of events, as ``function_events`` and ``key_averages()`` give them.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     y = torch.ones(2).exp()
    >>> type(profile.function_events).__name__, len(profile.function_events) > 0
    ('EventList', True)
    """

    def __init__(
        self, *args: Any, use_device: Any = None, profile_memory: bool = False, with_flops: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops
        self._recording = None
        self._self_total = None

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> Any:
        """The times that no event shares with one inside it, together."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: Any = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: Any = None,
        top_level_events_only: bool = False,
        time_unit: Any = None,
    ) -> Any:
        """The events as a table, one a row.

        ``sort_by`` names what rows are sorted by, greatest first: ``cpu_time``, ``cpu_time_total``,
        ``self_cpu_time_total``, ``count``, ``cpu_memory_usage``, ``self_cpu_memory_usage``, or the same of a device.
        ``row_limit`` is the most rows (-1: all). ``time_unit`` ("s", "ms", "us") fixes the unit of all times.
        """
        return event_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
            memory=self._profile_memory,
            flops=self._with_flops,
            device=self._use_device,
        )

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> Any:
        """Sums of the events of each name; also of each list of input shapes, or of each ``n`` topmost frames."""
        sums: dict[tuple, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = (event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation)
            if group_by_overload_name:
                key += (event.overload_name,)
            if group_by_input_shapes:
                key += (str(event.input_shapes),)
            if group_by_stack_n > 0:
                key += tuple(event.stack[:group_by_stack_n])
            sums[key].add(event)
        averages = EventList(
            sums.values(), use_device=self._use_device, profile_memory=self._profile_memory, with_flops=self._with_flops
        )
        for average in averages:
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return averages

    def total_average(self) -> Any:
        """One sum of all events, called Total."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = None
        total.key, total.input_shapes, total.stack = "Total", [], []
        return total

    def supported_export_stacks_metrics(self) -> Any:
        """What ``export_stacks`` takes."""
        return ["self_cpu_time_total", "self_cuda_time_total"]

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write one line a stack, "outermost;...;innermost microseconds", as flame graph tools read it.

        ValueError for another metric; RuntimeError when no stacks were recorded (``with_stack=True``).
        """
        if metric not in self.supported_export_stacks_metrics():
            allowed = ", ".join(self.supported_export_stacks_metrics())
            raise ValueError(f"export_stacks: metric must be one of {allowed}, got {metric!r}")
        if self and not any(event.stack for event in self):
            raise RuntimeError("export_stacks: no stacks were recorded; profile with with_stack=True")
        totals: dict[str, float] = defaultdict(float)
        for event in self:
            if event.stack:
                frames = [frame.replace(";", "_").replace(" ", "_") for frame in reversed(event.stack)]
                totals[";".join(frames)] += getattr(event, metric)
        with open(path, "w") as file:
            for stack, value in totals.items():
                if int(value) > 0:
                    file.write(f"{stack} {int(value)}\n")

    def export_chrome_trace(self, path: str, metadata: Any = None) -> None:
        """Write the events as JSON that chrome://tracing and ui.perfetto.dev open; gzipped when ``path`` ends in .gz."""
        from ._trace import write

        write(self, path, metadata or {})

    def _build_tree(self):
        """Find parents and children by time, of events that were not recorded by us."""
        by_thread = defaultdict(list)
        for event in self:
            if not event.is_async and event.device_type == DeviceType.CPU:
                by_thread[event.thread].append(event)
        for events in by_thread.values():
            open_events: list[FunctionEvent] = []
            for event in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end)):
                while open_events and (
                    event.time_range.start >= open_events[-1].time_range.end
                    or event.time_range.end > open_events[-1].time_range.end
                ):
                    open_events.pop()
                if open_events:
                    open_events[-1].append_cpu_child(event)
                    event.set_cpu_parent(open_events[-1])
                open_events.append(event)


class StringTable(defaultdict):
    """Names of functions of C++, readable: the key is the mangled name.

    >>> StringTable()["_ZN5torch4initEv"]
    'torch::init()'
    """

    def __missing__(self, key: Any) -> Any:
        self[key] = name = _demangle(key) if len(key) > 1 else key
        return name


def _demangle(name: str) -> str:
    import ctypes

    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return name
    library.__cxa_demangle.restype = ctypes.c_void_p
    library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    text = library.__cxa_demangle(name.encode(), None, None, None)
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode()
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(text)


class MemRecordsAcc:
    """Finds records of memory, which have ``start_ns()``, by time."""

    def __init__(self, mem_records: Any) -> None:
        self._records = sorted(mem_records, key=lambda r: r[0].start_ns())
        self._starts = [r[0].start_ns() for r in self._records]

    def in_interval(self, start_us: Any, end_us: Any) -> Any:
        """Those from ``start_us`` to ``end_us``, in order."""
        first = bisect_left(self._starts, start_us * 1000)
        yield from self._records[first : bisect_right(self._starts, end_us * 1000)]


def _format_time(time_us):
    """A time as tables show it.

    >>> _format_time(1234.5)
    '1.234ms'
    """
    return format_time(time_us)


def _format_memory(nbytes):
    """A size as tables show it.

    >>> _format_memory(4000)
    '3.91 KB'
    """
    return format_memory(nbytes)
