"""Products with weights of 8 and 4 bits, as language models keep them. For few rows of ``self`` on the CPU a row of the core
makes floats of the integers in registers; else, and where a gradient is asked for, the floats that a weight stands for are made
for some of its rows at a time, which stay in the caches.
"""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


_FEW = 16  # rows of self for which integers become floats again and again
_AT_ONCE = 1 << 19  # numbers of a weight that are floats at one time
_op = _C._operator


def _is_few(x: Tensor, scales: Tensor) -> bool:
    return x.is_cpu and x.shape[0] <= _FEW and not (x.requires_grad or scales.requires_grad)


def _rows_at_once(columns: int) -> int:
    return max(1, _AT_ONCE // max(1, columns))


def _weight_int8pack_mm(self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """``self @ mat2.T * scales``: floats (M, K), int8 values (N, K) with a scale for each row (N,) give (M, N).

    The sums are of float32; RuntimeError for other shapes and dtypes.

    >>> torch._weight_int8pack_mm(torch.ones(1, 2), torch.tensor([[3, 4]], dtype=torch.int8), torch.tensor([0.5]))
    tensor([[3.5000]])
    """
    if self.dtype not in (_C.float32, _C.float16, _C.bfloat16) or mat2.dtype != _C.int8 or scales.dtype != self.dtype:
        raise RuntimeError(
            "_weight_int8pack_mm: expected self of float32, float16 or bfloat16, mat2 of int8 and scales of self's dtype, "
            f"got {self.dtype}, {mat2.dtype} and {scales.dtype}"
        )
    shapes = tuple(self.shape), tuple(mat2.shape), tuple(scales.shape)
    if [len(shape) for shape in shapes] != [2, 2, 1] or shapes[0][1] != shapes[1][1] or shapes[2][0] != shapes[1][0]:
        raise RuntimeError(
            "_weight_int8pack_mm: expected shapes (M, K), (N, K) and (N,), got {}, {} and {}".format(*shapes)
        )
    if _is_few(self, scales):
        return _op("_narrow_linear")(self, mat2, scales, mat2.shape[1]).to(self.dtype)
    x, mm = self.to(_C.float32), _op("mm")
    parts = [mm(x, rows.to(_C.float32).t()) for rows in mat2.split(_rows_at_once(shapes[1][1]))]
    return (_op("cat")(parts, 1) * scales.to(_C.float32)).to(self.dtype)


def _convert_weight_to_int4pack(self: Tensor, innerKTiles: int) -> Tensor:
    """Integers from 0 to 15, of shape (N, K), two to a byte, the first in the low half; ``innerKTiles`` changes nothing.

    >>> torch._convert_weight_to_int4pack_for_cpu(torch.tensor([[1, 2]], dtype=torch.int32), 1)
    tensor([[33]], dtype=torch.uint8)
    """
    if self.dtype is not _C.int32 or self.dim() != 2 or self.shape[1] % 2:
        raise RuntimeError(
            f"_convert_weight_to_int4pack: expected int32 of shape (n, an even k), got {self.dtype} {tuple(self.shape)}"
        )
    return ((self[:, 0::2] & 15) | ((self[:, 1::2] & 15) << 4)).to(_C.uint8)


def _weight_int4pack_mm(self: Tensor, mat2: Tensor, qGroupSize: int, qScaleAndZeros: Tensor) -> Tensor:
    """A linear layer of self (M, K) whose weight ``_convert_weight_to_int4pack`` packed: an integer q of a group of
    ``qGroupSize`` stands for ``(q - 8) * scale + zero``, with both in ``qScaleAndZeros`` (K / group, N, 2).

    The sums are of float32; RuntimeError for other shapes.

    >>> packed = torch._convert_weight_to_int4pack_for_cpu(torch.tensor([[9, 10]], dtype=torch.int32), 1)
    >>> torch._weight_int4pack_mm_for_cpu(torch.ones(1, 2), packed, 2, torch.tensor([[[0.5, 1.0]]]))
    tensor([[3.5000]])
    """
    n, k = mat2.shape[0], mat2.shape[1] * 2
    if (
        mat2.dtype is not _C.uint8
        or self.dim() != 2
        or self.shape[1] != k
        or qGroupSize < 2
        or qGroupSize % 2
        or k % qGroupSize
        or qScaleAndZeros.shape != (k // qGroupSize, n, 2)
    ):
        raise RuntimeError(
            f"_weight_int4pack_mm: expected self (m, {k}), an even qGroupSize that divides {k} and qScaleAndZeros "
            f"({k} / group, {n}, 2), got {tuple(self.shape)}, {qGroupSize} and {tuple(qScaleAndZeros.shape)}"
        )
    if _is_few(self, qScaleAndZeros):
        return _op("_narrow_linear")(self, mat2, qScaleAndZeros, qGroupSize).to(self.dtype)
    mm, x, groups = _op("mm"), self.to(_C.float32), k // qGroupSize
    scale, zero = qScaleAndZeros.to(_C.float32).permute(2, 1, 0)
    # A byte holds two neighbours: the even columns of the weight lie in the low halves, the odd ones in the high.
    even, odd = x[:, 0::2].contiguous(), x[:, 1::2].contiguous()
    parts, rows = [], _rows_at_once(k)
    for bits, by in zip(mat2.split(rows), scale.split(rows), strict=True):

        def floats(half, by=by):
            q = half.view(_C.int8).sub_(8).to(_C.float32)
            return q.view(-1, groups, qGroupSize // 2).mul_(by.unsqueeze(2)).view(-1, k // 2).t()

        parts.append(mm(even, floats(bits & 15)) + mm(odd, floats(bits >> 4)))
    return (_op("cat")(parts, 1) + mm(x.view(-1, groups, qGroupSize).sum(2), zero.t())).to(self.dtype)


_convert_weight_to_int4pack_for_cpu = _convert_weight_to_int4pack
_weight_int4pack_mm_for_cpu = _weight_int4pack_mm
