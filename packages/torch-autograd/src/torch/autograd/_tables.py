"""Tables of events, with the columns that users of PyTorch know."""

from __future__ import annotations

_SORTABLE = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "cpu_memory_usage", "self_cpu_memory_usage",
    "device_time", "device_time_total", "self_device_time_total", "device_memory_usage", "self_device_memory_usage",
    "cuda_time", "cuda_time_total", "self_cuda_time_total", "cuda_memory_usage", "self_cuda_memory_usage", "flops",
)  # fmt: skip
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def format_time(us: float, unit: str | None = None) -> str:
    """Microseconds as text, in the unit that fits or in the one that is given.

    >>> format_time(0.5), format_time(1500), format_time(2_500_000), format_time(1500, "us")
    ('0.500us', '1.500ms', '2.500s', '1500.000us')
    """
    if unit is None:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / _UNITS[unit]:.3f}{unit}"


def format_memory(nbytes: int) -> str:
    """Bytes as text.

    >>> format_memory(-96), format_memory(4000), format_memory(3 << 30)
    ('-96 B', '3.91 KB', '3.00 GB')
    """
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def _share(part: float, whole: float) -> str:
    return f"{part * 100 / whole:.2f}%" if whole else ("0.00%" if not part else "NaN")


def _cut(text: str, width: int) -> str:
    return text if width <= 0 or len(text) <= width else text[: width - 3] + "..."


def _chosen_flops(events) -> tuple[str, float]:
    most = max((event.flops for event in events), default=0)
    for size, unit in ((1e12, "TFLOPs"), (1e9, "GFLOPs"), (1e6, "MFLOPs"), (1e3, "KFLOPs")):
        if most >= size:
            return unit, size
    return "FLOPs", 1.0


def event_table(
    events, *, sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
    top_level_events_only, time_unit, memory, flops, device,
):  # fmt: skip
    """See ``EventList.table``."""
    if time_unit is not None and time_unit not in _UNITS:
        raise ValueError(f"table: time_unit must be one of s, ms, us, got {time_unit!r}")
    if not events:
        return ""
    whole = sum(event.self_cpu_time_total for event in events)
    whole_device = sum(event.self_device_time_total for event in events)
    rows = list(events)
    if sort_by is not None:
        if sort_by not in _SORTABLE:
            raise ValueError(f"table: sort_by must be one of {', '.join(_SORTABLE)}, got {sort_by!r}")
        rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
    if top_level_events_only:
        rows = [event for event in rows if event.cpu_parent is None]
    if row_limit >= 0:
        rows = rows[:row_limit]

    def time(us):
        return format_time(us, time_unit)

    name = "Name"
    columns = [
        ("Self CPU %", lambda e: _share(e.self_cpu_time_total, whole)),
        ("Self CPU", lambda e: time(e.self_cpu_time_total)),
        ("CPU total %", lambda e: _share(e.cpu_time_total, whole) if not e.is_async else "0.00%"),
        ("CPU total", lambda e: time(e.cpu_time_total)),
        ("CPU time avg", lambda e: time(e.cpu_time)),
    ]
    if device or whole_device:
        d = (device or "cuda").upper()
        columns += [
            (f"Self {d}", lambda e: time(e.self_device_time_total)),
            (f"Self {d} %", lambda e: _share(e.self_device_time_total, whole_device)),
            (f"{d} total", lambda e: time(e.device_time_total)),
            (f"{d} time avg", lambda e: time(e.device_time)),
        ]
    if memory:
        columns += [
            ("CPU Mem", lambda e: format_memory(e.cpu_memory_usage)),
            ("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage)),
        ]
    columns.append(("# of Calls", lambda e: str(e.count)))
    if any(event.node_id > 0 for event in rows):
        columns.append(("Node ID", lambda e: str(e.node_id)))
    if any(event.overload_name for event in rows):
        columns.append(("Overload Name", lambda e: e.overload_name))
    if any(event.input_shapes for event in rows):
        columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes), max_shapes_column_width)))
    stacks = any(event.stack for event in rows)
    if stacks:
        columns.append(("Source Location", None))
    if flops:
        unit, size = _chosen_flops(rows)
        columns.append((f"Total {unit}", lambda e: f"{e.flops / size:.3f}" if e.flops else "--"))

    names = [_cut(event.key, max_name_column_width) for event in rows]
    cells = [
        [f(e) if f else _cut(e.stack[0] if e.stack else "", max_src_column_width) for _, f in columns] for e in rows
    ]
    # Wide enough for what is in it, and no narrower than tables have been since 2018.
    widths = [max([12, len(title)] + [len(row[i]) for row in cells]) for i, (title, _) in enumerate(columns)]
    name_width = max([20, len(name)] + [len(n) for n in names])
    if stacks:  # a line for each further frame
        source = [title for title, _ in columns].index("Source Location")
        widths[source] = max([widths[source]] + [min(len(f), max_src_column_width) for e in rows for f in e.stack[:5]])

    def line(first, rest):
        return "  ".join([first.rjust(name_width)] + [c.rjust(w) for c, w in zip(rest, widths, strict=True)]) + "  "

    rule = "  ".join(["-" * name_width] + ["-" * w for w in widths]) + "  "
    out = []
    if header is not None:
        out += ["=" * len(rule), header]
    if top_level_events_only:
        out += ["=" * len(rule), "This report only display top-level ops statistics"]
    out += [rule, line(name, [title for title, _ in columns]), rule]
    for event, first, row in zip(rows, names, cells, strict=True):
        out.append(line(first, row))
        if stacks:
            for frame in event.stack[1:5]:
                blank = ["" for _ in columns]
                blank[source] = _cut(frame, max_src_column_width)
                out.append(line("", blank))
    out.append(rule)
    out.append(f"Self CPU time total: {time(whole)}")
    if device or whole_device:
        out.append(f"Self {(device or 'cuda').upper()} time total: {time(whole_device)}")
    return "\n".join(out) + "\n"
