"""Quantized tensors in programs: operators that meet one are computed as Python computes them.

A program holds a quantized tensor as any other one. Its class stands in Python, so an operator of the program asks here what comes of it: what only looks at
shapes is left to the operator, all else is the function of the same name.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import _seams

from ._script.literals import schema_parameters

__all__ = ["CLASS", "NUMBERS", "compute", "dtype_of"]

CLASS = type(torch.quantize_per_tensor(torch.zeros(1), 1.0, 0, torch.qint8))  #: of quantized tensors
#: the numbers that programs have for dtypes, those of PyTorch
NUMBERS = {torch.qint8: 12, torch.quint8: 13, torch.qint32: 14, torch.quint4x2: 16, torch.quint2x4: 17}
_DTYPES = {number: dtype for dtype, number in NUMBERS.items()} | {
    number: getattr(torch, name)
    for number, name in (
        (0, "uint8"), (1, "int8"), (2, "int16"), (3, "int32"), (4, "int64"), (5, "float16"), (6, "float32"), (7, "float64"), (11, "bool"), (15, "bfloat16"),
    )
}  # fmt: skip
_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)

#: operators that look at shapes, places and devices, which integers have as numbers do
_OF_SHAPES = frozenset(
    f"aten::{name}"
    for name in (
        "size", "dim", "numel", "len", "stride", "storage_offset", "is_contiguous", "is_floating_point", "is_complex", "is_signed", "get_device", "is_same_size", "__is__", "__isnot__",
    )
) | frozenset(f"prim::{name}" for name in ("device", "layout", "requires_grad", "is_cuda", "is_cpu", "is_meta", "is_sparse", "is_mkldnn"))  # fmt: skip

_OWN: dict[str, Any] = {
    "prim::dtype": lambda q: NUMBERS[q.dtype],
    "prim::is_quantized": lambda q: True,
    "aten::alias": lambda q: q.as_subclass(torch.Tensor),  # so traces write that they look at the integers
    "prim::data": lambda q: q.detach(),
    "aten::Int": lambda q: int(q.item()),
    "aten::Float": lambda q: float(q.item()),
    "aten::Bool": lambda q: bool(q.item()),
    "aten::slice": lambda q, dim, start, end, step: q[(*[slice(None)] * range(q.dim())[dim], slice(start, end, step))],
}


def dtype_of(number: Any) -> Any:
    """The dtype that a number stands for in programs; a dtype is itself.

    >>> from torch.jit._quantized import dtype_of
    >>> dtype_of(13)
    torch.quint8
    """
    if not isinstance(number, int):
        return number
    if number not in _DTYPES:
        raise RuntimeError(f"{number} is the number of no dtype of quantized tensors or numbers")
    return _DTYPES[number]


@functools.cache
def _parameters(schema: str) -> list[tuple[str, bool]]:
    return [(name, keyword_only) for name, keyword_only, _ in schema_parameters(schema)] if schema else []


def _converted(name: str, value: Any) -> Any:
    if name == "dtype":
        return dtype_of(value)
    if name == "memory_format" and isinstance(value, int):
        return _FORMATS[value]
    return value


@functools.cache
def _function(name: str) -> Any:
    try:
        return _seams.operator(name)
    except AttributeError:
        pass
    for space in (torch.Tensor, torch, torch.nn.functional):
        if callable(found := getattr(space, name, None)):
            return found
    return getattr(torch.ops.aten, name, None)


def compute(kind: str, schema: str, args: tuple[Any, ...]) -> Any:
    """What an operator gives for quantized tensors among its arguments; NotImplemented where it is the operator's to say."""
    if kind in _OF_SHAPES or (schema and "Tensor" not in schema.partition("->")[0]):  # of lists and other containers
        return NotImplemented
    if (own := _OWN.get(kind)) is not None:
        return own(*args)
    function = None if kind.startswith("prim::") else _function(kind.partition("::")[2])
    if function is None:
        raise NotImplementedError(f"{kind}: not there for quantized tensors; call dequantize() first")
    parameters = _parameters(schema)
    places, named = [], {}
    for (name, keyword_only), value in zip(parameters, args):
        if keyword_only:
            named[name] = _converted(name, value)
        else:
            places.append(_converted(name, value))
    return function(*places, **{name: value for name, value in named.items() if value is not None})
