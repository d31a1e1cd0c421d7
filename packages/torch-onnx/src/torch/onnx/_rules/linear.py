"""Products of matrices."""

from __future__ import annotations

import torch

from .._program import Value
from .._types import number
from . import common, operands, rule


@rule("mm", "bmm", "matmul", "mv", "dot", "vecdot", "linalg_matmul")
def matmul(w, a, out):
    names = [v for v in vars(a).values() if isinstance(v, Value)]
    if w.step.name == "vecdot":  # products are of the tensors' type, sums of the result's
        dtype = common(*names[:2])
        product = w.op("Mul", *operands(w, dtype, *names[:2]))
        return w.reduce("ReduceSum", w.cast(product, out[0].dtype, dtype), [a.dim], False)
    x, y = operands(w, out[0].dtype, *names[:2])
    return w.op("MatMul", x, y)


@rule("linear")
def linear(w, a, out):
    dtype = out[0].dtype
    if a.weight.rank == 2 and a.input.rank == 2 and a.bias is not None:
        return w.op("Gemm", a.input, a.weight, a.bias, transB=1)
    weight = w.permute(a.weight, [1, 0]) if a.weight.rank == 2 else a.weight
    found = w.op("MatMul", a.input, weight)
    return found if a.bias is None else w.op("Add", found, w.cast(a.bias, dtype))


def _scaled_sum(w, out, self, product, beta, alpha):
    dtype = out[0].dtype
    product = product if alpha == 1 else w.op("Mul", product, w.const(alpha, dtype))
    if beta == 0:
        return product
    return w.op("Add", w.name(self) if beta == 1 else w.op("Mul", self, w.const(beta, dtype)), product)


@rule("addmm")
def addmm(w, a, out):
    if out[0].dtype.is_floating_point:
        return w.op("Gemm", a.mat1, a.mat2, a.self, alpha=float(a.alpha), beta=float(a.beta))
    return _scaled_sum(w, out, a.self, w.op("MatMul", a.mat1, a.mat2), a.beta, a.alpha)


@rule("addmv")
def addmv(w, a, out):
    return _scaled_sum(w, out, a.self, w.op("MatMul", a.mat, a.vec), a.beta, a.alpha)


@rule("addr")
def addr(w, a, out):
    product = w.op("Mul", w.unsqueeze(a.vec1, 1), w.unsqueeze(a.vec2, 0))
    return _scaled_sum(w, out, a.self, product, a.beta, a.alpha)


@rule("baddbmm")
def baddbmm(w, a, out):
    return _scaled_sum(w, out, a.self, w.op("MatMul", a.batch1, a.batch2), a.beta, a.alpha)


@rule("addbmm")
def addbmm(w, a, out):
    product = w.reduce("ReduceSum", w.op("MatMul", a.batch1, a.batch2), [0], False)
    return _scaled_sum(w, out, a.self, product, a.beta, a.alpha)


@rule("outer", "ger")
def outer(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.vec2)
    return w.op("Mul", w.unsqueeze(x, 1), w.unsqueeze(y, 0))


@rule("_einsum", "einsum")
def einsum(w, a, out):
    equation = a.equation.replace(" ", "")
    return w.op("Einsum", *operands(w, out[0].dtype, *a.operands), equation=equation)


@rule("inner")
def inner(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.other)
    if a.self.rank == 0 or a.other.rank == 0:
        return w.op("Mul", x, y)
    if a.other.rank == 1:
        return w.op("MatMul", x, y)
    letters = "abcdefghijklmnop"
    one, two = letters[: a.self.rank - 1] + "z", letters[a.self.rank : a.self.rank + a.other.rank - 1] + "z"
    return w.op("Einsum", x, y, equation=f"{one},{two}->{one[:-1]}{two[:-1]}")


@rule("_tensordot")
def tensordot(w, a, out):
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    one = [next(letters) for _ in range(a.self.rank)]
    two = [next(letters) for _ in range(a.other.rank)]
    for i, j in zip(a.dims_self, a.dims_other, strict=True):
        two[j % len(two)] = one[i % len(one)]
    kept = [c for c in one if c not in two] + [c for c in two if c not in one]
    equation = f"{''.join(one)},{''.join(two)}->{''.join(kept)}"
    return w.op("Einsum", *operands(w, out[0].dtype, a.self, a.other), equation=equation)


@rule("bilinear")
def bilinear(w, a, out):
    found = w.op("Einsum", a.input1, a.weight, a.input2, equation="...i,oij,...j->...o")
    return found if a.bias is None else w.op("Add", found, a.bias)


@rule("scaled_dot_product_attention")
def attention(w, a, out):
    q, k, v = a.query, a.key, a.value
    dtype, rank = out[0].dtype, a.query.rank
    if w.opset >= 23 and _is_plain(a):
        mask = None if a.attn_mask is None else w.cast(a.attn_mask, dtype)
        scale = None if a.scale is None else float(a.scale)
        return w.op("Attention", q, k, v, mask, is_causal=int(bool(a.is_causal)), scale=scale)
    key, value = (_for_heads(w, a, x) for x in (k, v))
    turned = w.op("Transpose", key, perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = w.op("MatMul", w.op("Mul", q, _scale(w, a, dtype)), turned)
    mask = a.attn_mask
    if a.is_causal:
        rows, columns = (
            w.op("Range", w.const(0), w.op("Squeeze", w.ints([w.size(x, -2)])), w.const(1)) for x in (q, k)
        )
        allowed = w.op("LessOrEqual", w.unsqueeze(columns, 0), w.unsqueeze(rows, 1))
        scores = w.op("Where", allowed, scores, w.const(-float("inf"), dtype))
    if mask is not None and mask.dtype != torch.bool:
        scores = w.op("Add", scores, w.cast(mask, dtype))
    elif mask is not None:
        scores = w.op("Where", mask, scores, w.const(-float("inf"), dtype))
    weights = w.op("Softmax", scores, axis=-1)
    if mask is not None and mask.dtype == torch.bool:  # a place that may see nothing gets nothing
        weights = w.op("Where", w.op("IsNaN", weights), w.const(0, dtype), weights)
    if a.dropout_p:
        weights = w.op("Dropout", weights, w.const(float(a.dropout_p), torch.float32), w.const(True))
    return w.op("MatMul", weights, value)


def _scale(w, a, dtype):
    """What scores are multiplied by: given, or one over the root of a query's size."""
    size = w.size(a.query, -1)
    if a.scale is not None or isinstance(size, int):
        return w.cast(size**-0.5 if a.scale is None else a.scale, dtype)
    return w.op("Reciprocal", w.op("Sqrt", w.op("Cast", size, to=number(dtype))))


def _is_plain(a):
    """Whether Attention of ONNX means the same: nothing is broadcast, and no mask of bools, whose empty rows are NaN there."""
    q, k, v, mask = (x and x.shape for x in (a.query, a.key, a.value, a.attn_mask))
    if a.dropout_p or not len(q) == len(k) == len(v) == 4 or not q[0] == k[0] == v[0] or k[1] != v[1]:
        return False
    if q[1] != k[1] and not a.enable_gqa:
        return False
    return mask is None or (a.attn_mask.dtype != torch.bool and tuple(mask[-2:]) == (q[2], k[2]))


def _for_heads(w, a, x):
    """Keys or values with each head (dim -3) beside as many copies as heads of the query share it."""
    name = w.name(x)
    if not a.enable_gqa or x.shape[-3] == a.query.shape[-3]:
        return name
    sizes = w.size(a.query, -3), w.size(x, -3)
    fixed = all(isinstance(n, int) for n in sizes)
    times = sizes[0] // sizes[1] if fixed else w.op("Div", *(w.ints([n]) for n in sizes))
    rank = x.rank
    wide = w.op("Tile", w.unsqueeze(name, rank - 2), w.ints([1] * (rank - 2) + [times, 1, 1]))
    shape = [w.size(x, i) for i in range(rank)]
    heads = w.size(x, -3)
    both = isinstance(heads, int) and isinstance(times, int)
    shape[rank - 3] = heads * times if both else w.op("Mul", w.ints([heads]), w.ints([times]))
    return w.reshape(wide, shape)
