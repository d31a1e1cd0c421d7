"""Floating point operations of a call, from the shapes of its inputs: products and convolutions by the formulas of torch-core,
sums and products of elements one each."""

from __future__ import annotations

from math import prod

from torch import _seams


def _broadcast(*shapes):
    dims = max(map(len, shapes))
    padded = [(1,) * (dims - len(s)) + tuple(s) for s in shapes]
    return [max(sizes, key=lambda n: (n == 0, n)) for sizes in zip(*padded, strict=True)]


def _of_matmul(a, b):
    """The shape of the product."""
    return [*_broadcast(a[:-2] or [1], b[:-2] or [1]), a[-2] if len(a) > 1 else 1, b[-1] if len(b) > 1 else 1]


def _of_convolution(image, weight, _, stride, padding, dilation, transposed, *rest):
    """The shape of the result, as far as it counts: batch, channels, places."""
    dims = len(weight) - 2
    stride, padding, dilation = (v * dims if len(v) == 1 else v for v in (stride, padding, dilation))
    sides = image[-dims:]
    if not transposed:
        reach = zip(sides, padding, dilation, weight[2:], stride, strict=True)
        sides = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in reach]
    return [image[0] if len(image) == dims + 2 else 1, weight[0], *sides]


def _is_tensor(argument):
    return isinstance(argument, tuple) and argument[0] != "list"


def of_call(name: str, arguments: list | None) -> int:
    """0 for what is not counted.

    >>> of_call("aten::mm", [("float32", [2, 3]), ("float32", [3, 4])])
    48
    >>> of_call("aten::add", [("float32", [2, 1]), ("float32", [3]), 1])
    6
    """
    if not arguments:
        return 0
    op = name.removeprefix("aten::").removesuffix("_")
    shapes = [argument[1] for argument in arguments if _is_tensor(argument)]
    if op in ("add", "mul") and shapes:
        return prod(_broadcast(*shapes))
    formula = _seams.flop_formulas().get(op)
    given = [argument[1] if _is_tensor(argument) else argument for argument in arguments]
    if formula is None or op == "convolution_backward":
        return 0
    if op == "linear":
        x, weight = shapes[:2]
        return formula(x, weight, out_shape=[*x[:-1], *weight[:-1]])
    if op == "matmul":
        return formula(*shapes, out_shape=_of_matmul(*shapes)) if all(shapes) else 0
    if op == "convolution":
        out, (image, weight) = _of_convolution(*given), given[:2]
        image = image if len(image) == len(weight) else [1, *image]
        return formula(image, weight, *given[2:], out_shape=out)
    return formula(*shapes)
