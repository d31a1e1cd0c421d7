"""Products of groups of rows, and the names of products of numbers of 8 bits and less, of which there are no tensors."""

import enum

import torch


class ScalingType(enum.Enum):
    """How many numbers share one scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """In which order scales lie."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """A product for each group of rows, of columns or of terms; ``offs`` says where each group ends.

    Shapes: ``(S, K) @ (G, K, N)`` gives (S, N), rows of S in groups; ``(G, M, K) @ (K, S)`` gives (M, S), columns of S in
    groups; ``(M, S) @ (S, N)`` gives (G, M, N), terms of S in groups; ``(G, M, K) @ (G, K, N)`` takes no ``offs``. Rows
    after the last group are zeros. Raises RuntimeError when sizes or offsets do not fit.

    >>> rows, weights = torch.ones(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
    >>> torch.nn.functional.grouped_mm(rows, weights, offs=torch.tensor([1, 3])).tolist()
    [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]]
    """
    a, b = mat_a.dim(), mat_b.dim()
    shapes = f"{tuple(mat_a.shape)} and {tuple(mat_b.shape)}"
    if a not in (2, 3) or b not in (2, 3):
        raise RuntimeError(f"grouped_mm: both operands must have 2 or 3 dims, got {shapes}")
    if bias is not None:
        raise RuntimeError("grouped_mm: a bias is not supported")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(f"grouped_mm: operands must have one dtype, got {mat_a.dtype} and {mat_b.dtype}")
    if (a == 3 and b == 3) != (offs is None):
        raise RuntimeError(
            f"grouped_mm: offs must be given unless both operands have 3 dims, got {shapes} and offs={offs}"
        )
    if a == 3 and b == 3:
        if mat_a.shape[0] != mat_b.shape[0]:
            raise RuntimeError(f"grouped_mm: operands must have as many groups, got {shapes}")
        result = torch.bmm(mat_a, mat_b)
    else:
        result = _by_offsets(mat_a, mat_b, offs, a, b, shapes)
    return result if out_dtype is None else result.to(out_dtype)


def _by_offsets(mat_a, mat_b, offs, a, b, shapes):
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(f"grouped_mm: the last dim of mat_a must be the last but one of mat_b, got {shapes}")
    groups = mat_b.shape[0] if b == 3 else mat_a.shape[0] if a == 3 else offs.numel()
    if offs.dim() != 1 or offs.numel() != groups:
        raise RuntimeError(
            f"grouped_mm: offs must hold the end of each of the {groups} groups, got shape {tuple(offs.shape)}"
        )
    ends = offs.tolist()
    total = mat_a.shape[0] if b == 3 else mat_b.shape[1] if a == 3 else mat_a.shape[1]
    if any(x > y for x, y in zip([0, *ends], [*ends, total], strict=True)):
        raise RuntimeError(f"grouped_mm: offs must rise from 0 to at most {total}, got {ends}")
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    if b == 3:
        parts = [mat_a[i:j] @ m for (i, j), m in zip(spans, mat_b, strict=True)]
        rest = mat_a.new_zeros(total - ends[-1], mat_b.shape[2])
        return torch.cat([*parts, rest])
    if a == 3:
        parts = [m @ mat_b[:, i:j] for (i, j), m in zip(spans, mat_a, strict=True)]
        rest = mat_a.new_zeros(mat_a.shape[1], total - ends[-1])
        return torch.cat([*parts, rest], 1)
    return torch.stack([mat_a[:, i:j] @ mat_b[i:j] for i, j in spans])


def scaled_mm(mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, *args, **kwargs):
    """Raises NotImplementedError: tensors of float8 and float4 are not multiplied."""
    raise NotImplementedError(
        "scaled_mm: products of float8 and float4 are not part of this stack; use torch.mm of bfloat16"
    )


def scaled_grouped_mm(mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, *args, **kwargs):
    """Raises NotImplementedError: tensors of float8 and float4 are not multiplied."""
    raise NotImplementedError(
        "scaled_grouped_mm: products of float8 and float4 are not part of this stack; use grouped_mm"
    )
