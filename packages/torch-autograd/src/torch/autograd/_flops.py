"""Floating point operations of a call, from the shapes of its inputs: products, convolutions, sums and products of
elements. A product of an (m, k) and a (k, n) matrix counts 2 m k n."""

from __future__ import annotations

from math import prod


def _product(a, b):
    return 2 * prod(a) * (b[-1] if len(b) > 1 else 1)


def _elements(*shapes):
    dims = max(map(len, shapes))
    padded = [(1,) * (dims - len(s)) + tuple(s) for s in shapes]
    return prod(max(sizes, key=lambda n: (n == 0, n)) for sizes in zip(*padded, strict=True))


def _convolution(arguments):
    """Arguments as those of ``torch.convolution``: input, weight, bias, stride, padding, dilation, transposed, ..."""
    (_, image), (_, weight), _, stride, padding, dilation, transposed = arguments[:7]
    dims = len(weight) - 2
    stride, padding, dilation = (v * dims if len(v) == 1 else v for v in (stride, padding, dilation))
    batch = image[0] if len(image) == dims + 2 else 1
    sides = image[-dims:]
    if not transposed:  # a transposed one uses each weight once for each element of its input
        reach = zip(sides, padding, dilation, weight[2:], stride, strict=True)
        sides = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in reach]
    return 2 * batch * prod(sides) * prod(weight)


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
    if op in ("mm", "bmm", "mv", "dot", "vdot"):
        return _product(shapes[0], shapes[1])
    if op in ("addmm", "baddbmm", "addmv", "addbmm"):
        return _product(shapes[1], shapes[2])
    if op == "linear":
        return 2 * prod(shapes[0]) * (shapes[1][0] if len(shapes[1]) > 1 else 1)
    if op == "matmul" and shapes[0] and shapes[1]:
        a, b = shapes
        batch = _elements(a[:-2] or [1], b[:-2] or [1])
        rows, columns = (a[-2] if len(a) > 1 else 1), (b[-1] if len(b) > 1 else 1)
        return 2 * batch * rows * columns * a[-1]
    if op == "convolution":
        return _convolution(arguments)
    if op in ("add", "mul") and shapes:
        return _elements(*shapes)
    return 0
