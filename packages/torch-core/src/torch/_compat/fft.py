"""Fourier transforms as the functions of 2018 gave them: complex numbers are pairs in a last dim of 2."""

from __future__ import annotations

from .. import _C
from .._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _dims(op, input, signal_ndim, last):
    """The trailing dims of the signal, checked as the functions of 2018 did; ``last``: one more dim of size 2."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not 1 <= signal_ndim <= 3:
        raise RuntimeError(f"{op}: expected signal_ndim 1, 2 or 3, got {signal_ndim}")
    if input.dim() < signal_ndim + last:
        raise RuntimeError(
            f"{op}: expected at least {signal_ndim + last} dimensions for signal_ndim={signal_ndim}, got shape {tuple(input.shape)}"
        )
    if last and input.shape[-1] != 2:
        raise RuntimeError(f"{op}: expected a last dim of 2, real and imaginary part, got shape {tuple(input.shape)}")
    return list(range(-signal_ndim, 0))


def _complex(name, input, signal_ndim, normalized, forward):
    dims = _dims(name, input, signal_ndim, 1)
    normalization = 1 if normalized else 0 if forward else 2
    row = _C._operator("_fft_c2c")
    return _C._operator("view_as_real")(
        row(_C._operator("view_as_complex")(input.contiguous()), dims, normalization, forward)
    )


def fft(input: Tensor, signal_ndim: int, normalized: bool = False) -> Tensor:
    """``torch.fft(input, signal_ndim)`` of 2018: (..., 2) to (..., 2) over the last ``signal_ndim`` dims before it.

    >>> torch.fft(torch.tensor([[1.0, 0.0], [3.0, 0.0]]), 1)
    tensor([[ 4.,  0.],
            [-2.,  0.]])
    """
    return _complex("fft", input, signal_ndim, normalized, True)


def ifft(input: Tensor, signal_ndim: int, normalized: bool = False) -> Tensor:
    """``torch.ifft`` of 2018, the inverse of ``torch.fft(input, signal_ndim)``.

    >>> torch.ifft(torch.tensor([[4.0, 0.0], [-2.0, 0.0]]), 1)
    tensor([[1., 0.],
            [3., 0.]])
    """
    return _complex("ifft", input, signal_ndim, normalized, False)


def rfft(input: Tensor, signal_ndim: int, normalized: bool = False, onesided: bool = True) -> Tensor:
    """``torch.rfft`` of 2018: a real tensor to (..., 2) over its last ``signal_ndim`` dims.

    >>> torch.rfft(torch.tensor([1.0, 3.0, 5.0]), 1)
    tensor([[ 9.0000,  0.0000],
            [-3.0000,  1.7321]])
    """
    dims = _dims("rfft", input, signal_ndim, 0)
    return _C._operator("view_as_real")(_C._operator("_fft_r2c")(input, dims, int(normalized), onesided))


def irfft(
    input: Tensor, signal_ndim: int, normalized: bool = False, onesided: bool = True, signal_sizes: Any = None
) -> Tensor:
    """``torch.irfft`` of 2018: (..., 2) to a real tensor; ``signal_sizes`` tells an odd last size from an even one.

    >>> torch.irfft(torch.tensor([[4.0, 0.0], [-2.0, 0.0]]), 1)
    tensor([1., 3.])
    """
    dims = _dims("irfft", input, signal_ndim, 1)
    spectrum = _C._operator("view_as_complex")(input.contiguous())
    normalization = 1 if normalized else 2
    if not onesided:
        return _C._operator("real")(_C._operator("_fft_c2c")(spectrum, dims, normalization, False))
    n = signal_sizes[-1] if signal_sizes else 2 * (spectrum.shape[-1] - 1)
    return _C._operator("_fft_c2r")(spectrum, dims, normalization, n)
