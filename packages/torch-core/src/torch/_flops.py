"""Floating point operations of products and convolutions, from the shapes of the arguments and of the result. The profiler and
``torch.utils.flop_counter`` take them from here.

A product of matrices (m, k) and (k, n) is 2 m k n: a multiplication and an addition count one each.
"""

from __future__ import annotations

from math import prod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

FORMULAS: dict[str, Callable[..., int]] = {}


def formulas() -> dict[str, Callable[..., int]]:
    """Functions by operator; each takes what the operator takes, shapes in place of tensors, and ``out_shape``.

    >>> formulas()["mm"]([2, 3], [3, 4], out_shape=[2, 4])
    48
    """
    return FORMULAS


def of(*names: str) -> Callable:
    def put(formula: Callable[..., int]) -> Callable[..., int]:
        FORMULAS.update(dict.fromkeys(names, formula))
        return formula

    return put


@of("mm", "bmm")
def mm_flop(a: Any, b: Any, *args: Any, out_shape: Any = None) -> int:
    return 2 * prod(a) * b[-1]


@of("mv", "dot", "vdot")
def mv_flop(a: Any, b: Any, *args: Any, out_shape: Any = None) -> int:
    return 2 * prod(a)


@of("matmul")
def matmul_flop(a: Any, b: Any, *args: Any, out_shape: Any = None) -> int:
    return 2 * prod(out_shape) * a[-1]


@of("linear")
def linear_flop(x: Any, weight: Any, *args: Any, out_shape: Any = None) -> int:
    return 2 * prod(out_shape) * weight[-1]


@of("addmm", "addmm_", "baddbmm", "baddbmm_", "addbmm", "addbmm_")
def addmm_flop(c: Any, a: Any, b: Any, *args: Any, out_shape: Any = None) -> int:
    return 2 * prod(a) * b[-1]


@of("addmv", "addmv_")
def addmv_flop(c: Any, a: Any, b: Any, *args: Any, out_shape: Any = None) -> int:
    return 2 * prod(a)


@of("addr", "addr_")
def addr_flop(c: Any, a: Any, b: Any, *args: Any, out_shape: Any = None) -> int:
    return 2 * prod(a) * prod(b)


def conv_flop_count(
    x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False
) -> int:
    """Of one convolution: each place of the output, or of the input if transposed, meets the whole weight once."""
    places = x_shape if transposed else out_shape
    return 2 * places[0] * prod(places[2:]) * prod(w_shape)


@of("convolution")
def conv_flop(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, *args: Any, out_shape: Any = None
) -> int:  # fmt: skip
    return conv_flop_count(x, weight, out_shape, transposed)


@of("convolution_backward")
def conv_backward_flop(
    grad: Any, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, output_padding: Any, groups: int,
    for_input: Any, for_weight: Any, *args: Any, out_shape: Any = None,
) -> int:  # fmt: skip
    return (for_input + for_weight) * conv_flop_count(x, weight, grad, transposed)
