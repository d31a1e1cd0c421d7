"""``torch.nn.summary``: the layers of a module as a table, with what flows through them."""

from __future__ import annotations

import html
from dataclasses import dataclass
from math import prod

import torch

from .modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor

__all__ = ["Summary", "summary"]

_HEAD = ("Layer", "Output shape", "Parameters", "Multiply-adds")


@dataclass(frozen=True)
class Row:
    """One call of one module; ``multiply_adds`` is None where nothing is counted."""

    name: str
    kind: str
    shape: str
    parameters: int
    multiply_adds: int | None


class Summary:
    """The rows of a summary, with the totals; prints as a table, in a notebook as one of HTML."""

    def __init__(self, rows: list[Row], parameters: int, trainable: int, size: int) -> None:
        self.rows = rows
        self.parameters, self.trainable, self.bytes = parameters, trainable, size
        self.multiply_adds = sum(row.multiply_adds or 0 for row in rows)

    def _table(self):
        for row in self.rows:
            label = "  " * row.name.count(".") + (f"{row.name}: {row.kind}" if row.name else row.kind)
            yield label, row.shape, f"{row.parameters:,}", "" if row.multiply_adds is None else f"{row.multiply_adds:,}"

    def _totals(self):
        return (
            f"{self.parameters:,} parameters ({self.trainable:,} trainable) in {self.bytes:,} bytes, "
            f"{self.multiply_adds:,} multiply-adds"
        )

    def __repr__(self) -> str:
        table = [_HEAD, *self._table()]
        widths = [max(len(line[i]) for line in table) for i in range(4)]
        lines = [
            "  ".join((f"{c:<{w}}" if i < 2 else f"{c:>{w}}") for i, (c, w) in enumerate(zip(line, widths))).rstrip()
            for line in table
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, self._totals()])

    def _repr_html_(self) -> str:
        def cells(tag, line):
            style = ("text-align:left;white-space:pre", "text-align:left", "", "")
            return "".join(f'<{tag} style="{s}">{html.escape(c)}</{tag}>' for c, s in zip(line, style))

        body = "".join(f"<tr>{cells('td', line)}</tr>" for line in self._table())
        return f"<table><tr>{cells('th', _HEAD)}</tr>{body}</table><p>{self._totals()}</p>"


def summary(
    module: Module,
    input_size: Sequence[int] | Sequence[Sequence[int]] | None = None,
    *,
    inputs: Any = None,
) -> Summary:
    """The layers of ``module`` in the order of their calls, with output shapes, parameters and multiply-adds.

    The module runs once in evaluation mode and without gradients, on zeros of ``input_size`` (a shape, or a list of
    shapes for several inputs) or on ``inputs``, a tensor or a tuple of them; its mode is put back. Multiply-adds are counted
    for linear, bilinear, convolutional, recurrent and attention layers; what forward computes beside its layers is not.
    Without either the table has no shapes. TypeError when both are given.

    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> torch.nn.summary(net, (16, 4))
    Layer       Output shape  Parameters  Multiply-adds
    ---------------------------------------------------
    Sequential  (16, 2)               58
    0: Linear   (16, 8)               40            512
    1: ReLU     (16, 8)                0
    2: Linear   (16, 2)               18            256
    ---------------------------------------------------
    58 parameters (58 trainable) in 232 bytes, 768 multiply-adds
    """
    if not isinstance(module, Module):
        raise TypeError(f"summary: expected a torch.nn.Module, got {type(module).__name__}")
    if input_size is not None and inputs is not None:
        raise TypeError("summary: give input_size or inputs, not both")
    if isinstance(input_size, torch.Tensor) or any(isinstance(n, torch.Tensor) for n in input_size or ()):
        raise TypeError("summary: input_size is a shape, and was given tensors: summary(module, inputs=x)")
    if input_size is not None:
        shapes = [input_size] if all(isinstance(n, int) for n in input_size) else list(input_size)
        first = next((p for p in module.parameters() if p.is_floating_point()), None)
        options = {} if first is None else {"dtype": first.dtype, "device": first.device}
        inputs = tuple(torch.zeros(tuple(shape), **options) for shape in shapes)
    held = list(module.parameters())
    rows = (
        _called(module, inputs if isinstance(inputs, tuple) else (inputs,)) if inputs is not None else _listed(module)
    )
    sizes = [p.numel() * p.element_size() for p in held if not _is_lazy(p)]
    return Summary(rows, _count(held), _count(p for p in held if p.requires_grad), sum(sizes))


def _is_lazy(parameter):
    from .parameter import is_lazy

    return is_lazy(parameter)


def _count(parameters):
    return sum(p.numel() for p in parameters if not _is_lazy(p))


def _listed(module):
    return [Row(name, m._get_name(), "", _count(m.parameters()), None) for name, m in module.named_modules()]


def _called(module, inputs):
    rows: list = []
    places: list[int] = []
    handles = []

    def before(m, args):
        places.append(len(rows))
        rows.append(None)

    def after(name):
        def hook(m, args, output):
            shape = _shapes(output)
            rows[places.pop()] = Row(
                name, m._get_name(), shape, _count(m.parameters()), _multiply_adds(m, args, output)
            )

        return hook

    modes = [(m, m.training) for m in module.modules()]
    try:
        for name, m in module.named_modules():
            handles += [m.register_forward_pre_hook(before), m.register_forward_hook(after(name))]
        module.eval()
        with torch.no_grad():
            module(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for m, mode in modes:
            m.training = mode
    return rows


def _shapes(output):
    if isinstance(output, torch.Tensor):
        return str(tuple(output.shape))
    if isinstance(output, dict):
        return "{" + ", ".join(f"{k}: {_shapes(v)}" for k, v in output.items()) + "}"
    if isinstance(output, (tuple, list)):
        return "[" + ", ".join(_shapes(v) for v in output) + "]"
    return "-" if output is None else type(output).__name__


def _multiply_adds(m, args, output) -> int | None:
    """Of one call, from the shapes of its weights and of what goes in and out; None for what is not counted."""
    from . import modules as kinds

    if isinstance(m, kinds.Linear):
        return output.numel() * m.in_features
    if isinstance(m, kinds.Bilinear):
        return output.numel() * m.in1_features * (m.in2_features + 1)
    if isinstance(m, kinds.conv._ConvTransposeNd):  # each weight is used once for each element of the input
        return args[0].numel() * prod(m.weight.shape[1:])
    if isinstance(m, kinds.conv._ConvNd):
        return output.numel() * prod(m.weight.shape[1:])
    if hasattr(m, "weight_hh_l0"):
        data = getattr(args[0], "data", args[0])  # of a packed sequence: (steps of all, features)
        return data.numel() // m.input_size * _matrices(m)
    if hasattr(m, "weight_hh"):
        return args[0].numel() // m.input_size * _matrices(m)
    if hasattr(m, "in_proj_weight") and hasattr(m, "num_heads"):
        return _of_attention(m, *args[:3])
    return None


def _matrices(m):
    return sum(p.numel() for p in m.parameters() if p.dim() > 1)


def _of_attention(m, query: Tensor, key: Tensor, value: Tensor) -> int:
    """Projections of the three inputs and of the result, and the two products that meet in each pair of positions."""
    rows = query.numel() // query.shape[-1]
    others = key.numel() // key.shape[-1]
    e = m.embed_dim
    batch = 1 if query.dim() < 3 else query.shape[0 if m.batch_first else 1]
    projections = rows * e * query.shape[-1] + others * e * key.shape[-1] + others * e * value.shape[-1] + rows * e * e
    return projections + 2 * rows * (others // max(batch, 1)) * e
