"""Tensors that are made on CUDA: triangles, identities, windows, pads, repeats and permutations are the CPU's."""

import pytest
import torch
from test_elementwise import DTYPES, numbers, same


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles_and_identities(dtype):
    x = numbers((2, 5, 7), dtype)
    for diagonal in (-9, -1, 0, 2, 9):
        same(x.cuda().tril(diagonal), x.tril(diagonal))
        same(x.cuda().triu(diagonal), x.triu(diagonal))
        same(x.cuda().mT.triu_(diagonal), x.mT.triu(diagonal))
    same(torch.eye(4, 6, dtype=dtype, device="cuda"), torch.eye(4, 6, dtype=dtype))
    same(torch.eye(0, dtype=dtype, device="cuda"), torch.eye(0, dtype=dtype))


def test_places_of_triangles_and_windows():
    same(torch.tril_indices(4, 5, 1, device="cuda"), torch.tril_indices(4, 5, 1))
    same(
        torch.triu_indices(4, 5, -1, dtype=torch.int32, device="cuda"), torch.triu_indices(4, 5, -1, dtype=torch.int32)
    )
    for name in ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"):
        same(getattr(torch, name)(9, device="cuda"), getattr(torch, name)(9))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_and_lines_are_made_on_the_device(dtype):
    made = [
        lambda d: torch.arange(2, 90, 7, dtype=dtype, device=d),
        lambda d: torch.arange(0.5, 9, 0.3, device=d).to(dtype),
        lambda d: torch.linspace(-3, 11, 40, dtype=dtype, device=d),
    ]
    if dtype != torch.bool:
        made.append(lambda d: torch.logspace(0, 2, 9, dtype=dtype, device=d))
    for f in made:
        same(f("cuda"), f("cpu"))


def test_making_them_does_not_wait():
    from torch._cuda import _native

    _native.configure(lazy=True)
    before = _native.counts()["waits"]
    torch.arange(9, device="cuda"), torch.linspace(0, 1, 5, device="cuda"), torch.hann_window(9, device="cuda")
    assert _native.counts()["waits"] == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_pads_keep_what_is_there(dtype):
    x = numbers((3, 4), dtype)
    for pad in ([1, 2], [0, 0, 2, 1], [-1, 3, 1, -2]):
        same(torch.constant_pad_nd(x.cuda(), pad, 1), torch.constant_pad_nd(x, pad, 1))


def test_complex_numbers_of_their_parts():
    re, im = numbers((3, 4), torch.float32), numbers((4,), torch.float32, 1)
    same(torch.complex(re.cuda(), im.cuda()), torch.complex(re, im))


def test_repeats_by_counts():
    counts = torch.tensor([2, 0, 3, 1])
    same(torch.repeat_interleave(counts.cuda()), torch.repeat_interleave(counts))
    same(torch.repeat_interleave(counts.int().cuda()), torch.repeat_interleave(counts.int()))
    x = numbers((4, 2), torch.float32)
    same(x.cuda().repeat_interleave(counts.cuda(), 0), x.repeat_interleave(counts, 0))
    same(torch.repeat_interleave(counts[:0].cuda()), torch.repeat_interleave(counts[:0]))
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        torch.repeat_interleave(counts.cuda() - 1)


@pytest.mark.parametrize("n", [0, 1, 100, 40_000])
def test_permutations(n):
    torch.manual_seed(4)
    here = torch.randperm(n)
    torch.manual_seed(4)
    same(torch.randperm(n, device="cuda"), here)
    g = torch.Generator("cuda").manual_seed(2)
    assert torch.randperm(n, device="cuda", generator=g, dtype=torch.int32).dtype == torch.int32
