"""Writes the zip of `save`: small records joined into one write, big ones by threads, checked while they are in the cache."""

from __future__ import annotations

from collections.abc import Callable

from .._arrays.adapters import Adapter
from .._options import options, thread_options
from .._storage.progress import Progress, progress
from .._storage.threads import PARALLEL_FROM, executor
from .._storage.write import CHUNK, FileSink, Sink
from . import crc as crc
from .zip_writer import ZipLayout

_JOIN = 1 << 18  # records up to this size are copied into one write


def write_zip(sink: Sink, body: bytes, adapter: Adapter, byteorder: bool, told) -> None:
    """The archive of an object: its pickle `body` and the storages of `adapter`; `told` is the user's ``progress=``."""
    layout, crc32 = ZipLayout(), crc.function() if options.compute_crc32 else _no_crc
    header, name = layout.header, sink.name
    pending: list = []

    def record(title: str, data) -> None:
        pending.append(header(f"{name}/{title}", len(data), crc32(data)))
        pending.append(data)

    record("data.pkl", body)
    record(".format_version", b"1")
    record(".storage_alignment", b"64")
    if byteorder:
        record("byteorder", b"little")
    payloads = list(map(adapter.payload, adapter.storages))
    total = sum(map(len, payloads))
    if total <= _JOIN and told in (None, False) and not thread_options.skip_data:
        for key, data in enumerate(payloads):
            pending.append(header(f"{name}/data/{key}", len(data), crc32(data)))
            pending.append(data)
    else:
        sink.write(b"".join(pending))
        pending.clear()
        with progress(told, total, "save") as telling:
            store = _skipped if thread_options.skip_data else _at_once if isinstance(sink, FileSink) else _in_order
            store(sink, layout, f"{name}/data/", payloads, crc32, telling)
    record("version", b"3\n")
    pending.append(layout.end())
    sink.write(b"".join(pending))


def write_parts(sink: Sink, parts: list, told: Progress) -> None:
    """Pieces of a file one after another."""
    for part in parts:
        for begin in range(0, len(part), 16 * CHUNK):
            piece = part if len(part) <= 16 * CHUNK else memoryview(part)[begin : begin + 16 * CHUNK]
            sink.write(piece)
            told.advance(len(piece))


def _no_crc(data, value: int = 0) -> int:
    return 0


def _at_once(sink: FileSink, layout: ZipLayout, prefix: str, payloads: list, crc32: Callable, told: Progress) -> None:
    # Sizes say where everything goes, so threads write the records while the headers wait for the checksums.
    plan = ZipLayout()
    plan.position = layout.position

    def store(offset: int, data) -> int:
        value = 0
        for begin in range(0, len(data), CHUNK):
            part = data[begin : begin + CHUNK]
            value = crc32(part, value)
            sink.write_at(offset + begin, part)
            told.advance(len(part))
        return value

    pool = executor()
    try:
        jobs = []
        for key, data in enumerate(payloads):
            offset = plan.position + len(plan.header(f"{prefix}{key}", len(data), 0))
            jobs.append(pool.submit(store, offset, data) if len(data) >= PARALLEL_FROM else None)
        for key, (data, job) in enumerate(zip(payloads, jobs)):
            if job is None:
                sink.write(layout.header(f"{prefix}{key}", len(data), crc32(data)))
                sink.write(data)
                told.advance(len(data))
            else:
                sink.write(layout.header(f"{prefix}{key}", len(data), job.result()))
                sink.pass_over(len(data))
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(sink: Sink, layout: ZipLayout, prefix: str, payloads: list, crc32: Callable, told: Progress) -> None:
    # A header tells the checksum of what follows it: one thread runs ahead with the checksums while this one writes.
    pool = executor()
    try:
        sums = [pool.submit(crc32, data) if len(data) >= PARALLEL_FROM else None for data in payloads]
        for key, (data, crc_job) in enumerate(zip(payloads, sums)):
            head = layout.header(f"{prefix}{key}", len(data), crc_job.result() if crc_job else crc32(data))
            sink.write(head)
            write_parts(sink, [data], told)
    finally:
        pool.shutdown(cancel_futures=True)


def _skipped(sink: Sink, layout: ZipLayout, prefix: str, payloads: list, crc32: Callable, told: Progress) -> None:
    for key, data in enumerate(payloads):
        sink.write(layout.header(f"{prefix}{key}", len(data), 0))
        if isinstance(sink, FileSink):
            sink.pass_over(len(data))
        else:
            write_parts(sink, [bytes(len(data))], told)
