"""Recurrent layers in traces: one node each, which takes sequences of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ._nodes import is_plain, operator, unseen

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["standing_in"]


def _weights(layer: Any) -> list[Tensor]:
    """What the layer computes with: its parameters, or what it makes of them at each call."""
    return [each for suffix, _ in layer._places() for each in layer._matrices(suffix) if each is not None]


def _is_quantized(layer: Any) -> bool:
    """Whether the matrices of a layer are small integers or halves, which inputs are rounded for."""
    return hasattr(layer, "packed_cells")


def _fits(tracer: Any, layer: Any, x: Tensor, first: Any) -> bool:
    tensors = (x, *first)
    if not _is_quantized(layer):
        tensors += tuple(held for name in layer._flat_weights_names if (held := getattr(layer, name)) is not None)
        if len({t.dtype for t in tensors}) > 1:
            return False
    return is_plain(tracer, *tensors)


def standing_in(owns: dict[str, Callable[..., Any]], tracer_of: Callable[[], Any], sizes_of: Callable[..., Any]) -> Any:
    """What stands for ``forward``, ``_run`` and ``_first_state`` of layers while a trace is recorded; their own functions
    serve packed sequences and lower precision.
    """

    def layers(layer: Any, x: Tensor, first: Any, batch_first: bool, compute: Callable[[], Any]) -> Any:
        if _is_quantized(layer):
            return quantized_layers(layer, x, first, batch_first, compute)
        given = [
            x, list(first) if layer.mode == "LSTM" else first[0], _weights(layer), bool(layer.bias), layer.num_layers,
            float(layer.dropout), layer.training, layer.bidirectional, batch_first,
        ]  # fmt: skip
        output, *state = operator(tracer_of(), f"aten::{layer.mode.lower()}", given, compute)
        return output, tuple(state)

    def quantized_layers(layer: Any, x: Tensor, first: Any, batch_first: bool, compute: Callable[[], Any]) -> Any:
        with unseen():
            cells = layer.packed_cells()
        given = [
            x, list(first) if layer.mode == "LSTM" else first[0], cells, bool(layer.bias), layer.num_layers, float(layer.dropout), layer.training,
            layer.bidirectional, batch_first,
        ]  # fmt: skip
        called, named = getattr(torch.ops.quantized, f"quantized_{layer.mode.lower()}"), ()
        if layer.mode == "LSTM":
            given += [torch.float16 if cells[0].kind == "quantized_fp16" else torch.qint8, True]
            named = ("dtype", "use_dynamic")
        call = lambda *args: called(*args[: len(args) - len(named)])
        name = f"aten::quantized_{layer.mode.lower()}"
        output, *state = operator(tracer_of(), name, given, compute, call, named)
        return output, tuple(state)

    def run(layer: Any, x: Tensor, batch_sizes: Any, first: Any) -> Any:
        if batch_sizes is not None or not _fits(tracer_of(), layer, x, first):
            return owns["_run"](layer, x, batch_sizes, first)

        def compute() -> tuple[Tensor, ...]:
            output, state = owns["_run"](layer, x, None, first)
            return output, *state

        return layers(layer, x, first, False, compute)

    def forward(layer: Any, input: Any, hx: Any = None) -> Any:
        """Of batches whose first dim counts the examples; the node takes them so."""
        batched = isinstance(input, Tensor) and input.dim() == 3 and layer.batch_first
        if not batched or not is_plain(tracer_of(), input) or input.shape[1] == 0:
            return owns["forward"](layer, input, hx)
        layer._check_input(input)
        first = first_state(layer, hx, input, input.shape[0], 0)
        if not _fits(tracer_of(), layer, input, first):
            return owns["forward"](layer, input, hx)

        def compute() -> tuple[Tensor, ...]:
            output, state = owns["_run"](layer, input.transpose(0, 1), None, first)
            return output.transpose(0, 1), *state

        output, state = layers(layer, input, first, True, compute)
        return output, layer._last_state(state)

    def first_state(layer: Any, hx: Any, x: Tensor, batch: int, dim: int = 1) -> Any:
        """The state that a layer starts with: for as many examples as there are in the next call."""
        tracer = tracer_of()
        if hx is not None or x.dim() != 3 or not is_plain(tracer, x) or not tracer.has_value(x):
            return owns["_first_state"](layer, hx, x, batch)
        batch = sizes_of(x, tracer)[dim]
        with unseen():  # a constant: converters know it, whatever they make of the device of zeros
            states = owns["_first_state"](layer, None, x, 1)
        return tuple(zeros.expand(-1, batch, -1) for zeros in states)

    return {"forward": forward, "_run": run, "_first_state": first_state}
