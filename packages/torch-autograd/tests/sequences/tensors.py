"""Tensors that programs begin with: every dtype and layout, empty, 0-d, overlapping, bools of odd bytes."""

import torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
OTHERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128]
SHAPES = [(), (0,), (1,), (2,), (3,), (4,), (6,), (2, 3), (3, 2), (3, 3), (4, 4), (1, 3), (2, 0), (0, 3), (2, 3, 4), (2, 2, 2), (1, 1, 1), (1, 2, 4, 4)]  # fmt: skip
LARGEST = 600  # elements; a larger result is cut


def dtype_of(r):
    x = r.random()
    return torch.float64 if x < 0.35 else r.choice(FLOATS if x < 0.65 else OTHERS)


def numbers(r, count, dtype):
    """``count`` values of a 1-d tensor; bools get bytes other than 0 and 1 now and then."""
    if dtype == torch.bool and r.random() < 0.5:
        return torch.tensor([r.choice((0, 0, 1, 2, 128, 255)) for _ in range(count)], dtype=torch.uint8).view(dtype)
    if dtype in (torch.bool, torch.uint8) or r.random() < 0.3:
        return torch.tensor([r.randrange(4) for _ in range(count)], dtype=torch.int64).to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.tensor([r.uniform(-2, 2) for _ in range(count)], dtype=torch.float64).to(dtype)
    return torch.tensor([r.randrange(-3, 4) for _ in range(count)], dtype=torch.int64).to(dtype)


def shaped(r, shape, dtype):
    """A tensor of that shape, laid out in one of many ways."""
    count = 1
    for s in shape:
        count *= s
    layout = r.randrange(8)
    if layout == 0:  # every second place of a larger memory
        return numbers(r, 2 * count, dtype)[::2].view(shape) if len(shape) < 2 else strided(r, shape, dtype)
    if layout == 1 and len(shape) > 1:
        return numbers(r, count, dtype).view(shape[::-1]).permute(*reversed(range(len(shape))))
    if layout == 2:  # one number everywhere
        return numbers(r, 1, dtype).view([1] * len(shape)).expand(shape)
    if layout == 3:  # behind something else
        return numbers(r, count + 3, dtype)[3:].view(shape)
    if layout == 4:
        return strided(r, shape, dtype)
    return numbers(r, count, dtype).view(shape)


def strided(r, shape, dtype):
    """Any strides, of which some overlap."""
    strides = [r.randrange(0, 5) for _ in shape]
    reach = 1 + sum((s - 1) * t for s, t in zip(shape, strides) if s > 0)
    offset = r.randrange(3)
    return numbers(r, max(reach, 1) + offset, dtype).as_strided(shape, strides, offset)


def fresh(r):
    t = shaped(r, r.choice(SHAPES), dtype_of(r))
    if r.random() < 0.5 and (t.is_floating_point() or t.is_complex()):
        t = t.detach().requires_grad_()
    return t


def small(t):
    """The tensor, or a piece of it when it has grown too large."""
    if t.is_sparse or t.numel() <= LARGEST:
        return t
    return t[(0,) * (t.dim() - 1)][:16].clone() if t.dim() else t.clone()
