"""Windows of M points: symmetric, or with ``sym=False`` one period of them, for spectral analysis.

They are computed in double precision and rounded to ``dtype``, which is float32 or float64.
"""

from __future__ import annotations

import math
import operator

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import torch
    from torch import Tensor


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip

_op = _C._operator


def _window(name, formula, M, sym, dtype=None, layout=None, device=None, requires_grad=False):
    """formula(n, length) for n = 0, 1, ..., M - 1, where a period has ``length`` steps."""
    dtype = dtype or _C.get_default_dtype()
    try:
        M = operator.index(M)
    except TypeError:
        if isinstance(M, (float, _C.Tensor)) and M in (0, 1):
            return _window(name, formula, int(M), sym, dtype, layout, device, requires_grad)
        raise TypeError(f"{name}: the window length M must be an int, got {type(M).__name__} ({M!r})") from None
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, _C.strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (_C.float32, _C.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M < 2:
        window = _op("ones")((M,), dtype=dtype, device=device)
    else:
        n = _op("arange")(M, dtype=_C.float64)
        window = formula(n, M - 1 if sym else M).to(device=device, dtype=dtype)
    return window.requires_grad_() if requires_grad else window


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The triangle ``1 - abs(2 n / (M - 1) - 1)``.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window(
        "bartlett", lambda n, length: 1 - (2 * n / length - 1).abs(), M, sym, dtype, layout, device, requires_grad
    )


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``sin(pi (n + 1/2) / M)``."""

    def formula(n, length):
        return (math.pi * (n + 0.5) / (length + 1)).sin()

    return _window("cosine", formula, M, sym, dtype, layout, device, requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-abs(n - center) / tau)``; a centre of one's own needs ``sym=False``."""
    if tau <= 0:
        raise ValueError(f"exponential: tau must be positive, got {tau}")
    if sym and center is not None:
        raise ValueError(f"exponential: center must be None for symmetric windows, got {center}; give sym=False")

    def formula(n, length):
        return (-(n - (length / 2 if center is None else center)).abs() / tau).exp()

    return _window("exponential", formula, M, sym, dtype, layout, device, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-((n - (M - 1) / 2) / std) ** 2 / 2)``."""
    if std <= 0:
        raise ValueError(f"gaussian: the standard deviation std must be positive, got {std}")

    def formula(n, length):
        return (-(((n - length / 2) / std) ** 2) / 2).exp()

    return _window("gaussian", formula, M, sym, dtype, layout, device, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``i0(beta sqrt(1 - (2 n / (M - 1) - 1) ** 2)) / i0(beta)``."""
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got {beta}")

    def formula(n, length):
        inside = (1 - (2 * n / length - 1) ** 2).clamp(min=0)
        return (beta * inside.sqrt()).i0() / n.new_full((), float(beta)).i0()

    return _window("kaiser", formula, M, sym, dtype, layout, device, requires_grad)


def _cosines(name, M, a, sym, dtype, layout, device, requires_grad):
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"{name}: the coefficients a must be a list or tuple, got {type(a).__name__}")
    if not a:
        raise ValueError(f"{name}: the coefficients a cannot be empty")

    def formula(n, length):
        return sum((-1) ** k * c * (2 * math.pi * k / length * n).cos() for k, c in enumerate(a))

    return _window(name, formula, M, sym, dtype, layout, device, requires_grad)


def general_cosine(
    M: Any,
    *,
    a: Iterable,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``a[0] - a[1] cos(2 pi n / (M - 1)) + a[2] cos(4 pi n / (M - 1)) - ...``"""
    return _cosines("general_cosine", M, a, sym, dtype, layout, device, requires_grad)


def general_hamming(
    M: Any,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / (M - 1))``."""
    return _cosines("general_hamming", M, [alpha, 1 - alpha], sym, dtype, layout, device, requires_grad)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``0.54 - 0.46 cos(2 pi n / (M - 1))``."""
    return _cosines("hamming", M, [0.54, 0.46], sym, dtype, layout, device, requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``(1 - cos(2 pi n / (M - 1))) / 2``.

    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _cosines("hann", M, [0.5, 0.5], sym, dtype, layout, device, requires_grad)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))``."""
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, dtype, layout, device, requires_grad)


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Four cosines whose side lobes are lowest (A. Nuttall, IEEE Trans. ASSP 29 (1981) 84)."""
    return _cosines(
        "nuttall", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym, dtype, layout, device, requires_grad
    )
