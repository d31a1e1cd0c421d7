"""A definition compiled for shapes and options."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch.tc import _flags, _halide
from torch.tc._lower import lower
from torch.tc._options import MappingOptions
from torch.tc._schedule import Scheduler
from torch.tc._source import Source
from torch.tc._syntax import Definition

LOCK = threading.RLock()  #: Halide names its functions by counters


class Program:
    """Runs on tensors whose shapes, types and layout were checked."""

    def __init__(self, source: Source, one: Definition, shapes: Sequence[tuple[int, ...]], options: MappingOptions):
        hl = _halide.load()
        self.source, self.name, self.shapes, self.options = source, one.name, tuple(shapes), options
        target = hl.get_jit_target_from_environment()
        with LOCK:
            self.pipeline = lower(hl, source, one, shapes)
            Scheduler(hl, target, options, torch.get_num_threads()).run(self.pipeline)
            self.results = [(n, getattr(torch, d), s) for n, d, s, _ in self.pipeline.results]
            self.made = [s is not None for *_, s in self.pipeline.results]
            for *_, shape, stage in self.pipeline.results:
                if stage is not None:
                    stride = 1
                    for d, n in enumerate(reversed(shape)):
                        stage.func.output_buffer().dim(d).set_bounds(0, n).set_stride(stride)
                        stride *= n
            funcs = [s.func for *_, s in self.pipeline.results if s is not None]
            funcs += [f for _, low, high in self.pipeline.checks for f in (low, high)]
            for stage in self.pipeline.stages:
                if stage.result and _flags.FLAGS["debug_halide"]:
                    stage.func.print_loop_nest()
            self.call = hl.Pipeline(funcs).compile_to_callable(self.pipeline.inputs, target) if funcs else None

        if _flags.FLAGS["dump_ptx"] or _flags.FLAGS["dump_cuda"]:
            from torch.tc import _text

            print(_text.text(source, one, shapes, options, "ptx", 80), file=sys.stderr)

    @property
    def checked(self) -> bool:
        """Whether the data decide if a run is valid, so that its results are only good once it ended."""
        return bool(self.pipeline.checks)

    def empty(self) -> list[Any]:
        return [torch.empty(shape, dtype=dtype) for _, dtype, shape in self.results]

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Write the results into contiguous tensors."""
        if self.call is None:
            return
        ends = [torch.zeros((), dtype=torch.int32) for _ in range(2 * len(self.pipeline.checks))]
        written = [o for o, made in zip(outputs, self.made, strict=True) if made]
        self.call(*(t.numpy() for t in (*inputs, *written, *ends)))
        for k, (check, *_) in enumerate(self.pipeline.checks):
            low, high = ends[2 * k].item(), ends[2 * k + 1].item()
            if low < 0 or high >= check.extent:
                text = f"{self.name}: index {low if low < 0 else high} is outside of dim {check.dim} of {check.tensor}"
                raise IndexError(self.source.shown(check.index.at, f"{text}: 0 to {check.extent - 1}"))
