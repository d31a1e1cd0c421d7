"""What an export leaves for people to read: ``report=True`` and ``dump_exported_program=True``."""

from __future__ import annotations

import collections
import contextlib
import datetime
import os
import traceback
from typing import Any

import torch


class Found:
    """What is known of an export so far."""

    def __init__(self) -> None:
        self.program: Any = None
        self.verified: Any = None


@contextlib.contextmanager
def kept(folder: Any, model: Any, report: bool, dump: bool) -> Any:
    """A block that exports; its end, good or bad, writes the files that are asked for."""
    found = Found()
    stem = os.path.join(os.fspath(folder), f"onnx_export_{datetime.datetime.now():%Y-%m-%d_%H-%M-%S-%f}")
    if report or dump:
        os.makedirs(folder, exist_ok=True)
    try:
        yield found
    except Exception as error:
        if report:
            _write(f"{stem}_failed.md", _text(model, found, error))
        raise
    finally:
        exported = found.program.exported_program if found.program is not None else None
        if dump and exported is not None:
            torch.export.save(exported, f"{stem}.pt2")
    if report:
        _write(f"{stem}_success.md", _text(model, found, None))


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _block(text):
    return f"```\n{text}\n```"


def _text(model, found, error):
    import onnx

    parts = ["# Export to ONNX", f"{type(model).__name__} by torch {torch.__version__}, onnx {onnx.__version__}"]
    if error is not None:
        parts += ["## Failed", _block("".join(traceback.format_exception(error)).rstrip())]
    program = found.program
    if program is not None:
        graph = program.model_proto.graph
        counts = collections.Counter(node.op_type for node in graph.node)
        parts += ["## Nodes", "\n".join(f"- {kind}: {count}" for kind, count in counts.most_common())]
        total = sum(torch.Size(t.dims).numel() for t in graph.initializer)
        parts += ["## Tensors", f"{len(graph.initializer)} with {total:,} elements"]
        if program.exported_program is not None:
            parts += ["## Exported program", _block(program.exported_program)]
        parts += ["## Model", _block(program)]
    if found.verified is not None:
        rows = [f"| {i.name} | {i.max_abs_diff:.3g} | {i.max_rel_diff:.3g} |" for i in found.verified]
        table = "\n".join(["| result | greatest difference | of the value |", "| --- | --- | --- |", *rows])
        parts += ["## Beside onnxruntime", table]
    return "\n\n".join(parts) + "\n"
