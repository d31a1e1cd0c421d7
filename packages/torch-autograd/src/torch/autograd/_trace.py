"""Profiles in the Trace Event Format, which chrome://tracing and ui.perfetto.dev open."""

from __future__ import annotations

import gzip
import json
import os
import threading

_CATEGORIES = {0: "cpu_op", 1: "cpu_op", 7: "user_annotation"}  # by scope


def write(events, path, metadata: dict) -> None:
    """Write the events, and the memory recorded with them, one JSON object a line; gzipped when ``path`` ends in .gz."""
    path = os.fspath(path)
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
        head = {"schemaVersion": 1, "displayTimeUnit": "ms", "traceName": path, **metadata}
        if events._recording:
            head["baseTimeNanoseconds"] = events._recording["wall_start"]
        file.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        separator = ""
        for one in entries(events):
            file.write(separator + json.dumps(one))
            separator = ",\n"
        file.write("\n]}\n")


def entries(events):
    """The trace's events as dicts."""
    pid = os.getpid()
    yield {"ph": "M", "name": "process_name", "ts": 0, "pid": pid, "tid": 0, "args": {"name": "python"}}
    ids = {}
    if events._recording:
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        for number, system_id, name in events._recording["threads"]:
            ids[number] = system_id
            shown = f"thread {system_id} ({names.get(system_id, name)})"
            yield {"ph": "M", "name": "thread_name", "ts": 0, "pid": pid, "tid": system_id, "args": {"name": shown}}
            yield {
                "ph": "M", "name": "thread_sort_index", "ts": 0, "pid": pid, "tid": system_id, "args": {"sort_index": number},
            }  # fmt: skip
    for index, event in enumerate(events):
        if event.name == "[memory]":
            continue
        place = {"pid": pid, "tid": ids.get(event.thread, event.thread), "ts": event.time_range.start}
        args = {"External id": event.id}
        if event.sequence_nr >= 0:
            args["Sequence number"] = event.sequence_nr
        if event.fwd_thread is not None:
            args["Fwd thread id"] = event.fwd_thread
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
        if event.concrete_inputs:
            args["Concrete Inputs"] = [str(value) for value in event.concrete_inputs]
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        if event.flops:
            args["flops"] = event.flops
        yield {
            "ph": "X", "cat": _CATEGORIES.get(event.scope, "cpu_op"), "name": event.name, **place,
            "dur": event.time_range.elapsed_us(), "args": args,
        }  # fmt: skip
        if event.forward is not None:
            flow = {"id": index, "cat": "fwdbwd", "name": "fwdbwd"}
            forward = event.forward
            yield {
                "ph": "s", **flow, "pid": pid, "tid": ids.get(forward.thread, forward.thread), "ts": forward.time_range.start,
            }  # fmt: skip
            yield {"ph": "f", "bp": "e", **flow, **place}
        for kernel in event.kernels:
            start = kernel.interval.start if kernel.interval else event.time_range.start
            yield {
                "ph": "X", "cat": "kernel", "name": kernel.name, "pid": pid, "tid": f"device {kernel.device}", "ts": start,
                "dur": kernel.duration,
            }  # fmt: skip
    if events._recording:
        total = 0
        for time, size, address, thread, _ in sorted(events._recording["memory"]):
            total += size
            args = {"Addr": address, "Bytes": size, "Device Type": 0, "Device Id": -1, "Total Allocated": total}
            yield {
                "ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": pid, "tid": ids[thread],
                "ts": time / 1e3, "args": args,
            }  # fmt: skip
