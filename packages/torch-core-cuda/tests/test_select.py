"""The first of long lines: by digits, without sorting the lines; equals stay as they lie."""

import pytest
import torch
from test_elementwise import DTYPES, numbers, same

REAL = [t for t in DTYPES if not t.is_complex]


def lines(dtype, n=3000):
    x = numbers((3, n), dtype)
    return torch.cat([x, x.flip(1)[:1]])


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("k", [1, 7, 1500, 3000])
@pytest.mark.parametrize("largest", [True, False])
def test_the_first_of_long_lines(dtype, k, largest):
    x = lines(dtype)
    here, there = x.topk(k, 1, largest), x.cuda().topk(k, 1, largest)
    same(there.values, here.values)
    stable = x.sort(1, descending=largest, stable=True).indices[:, :k]
    same(there.indices, stable)


@pytest.mark.parametrize("dtype", REAL)
def test_one_of_each_line_by_its_rank(dtype):
    x = lines(dtype)
    for k in (1, 2, 1500, 3000):
        for a, b in zip(x.cuda().kthvalue(k, 1), x.kthvalue(k, 1), strict=True):
            same(a, b)
    for a, b in zip(x.cuda().median(1), x.median(1), strict=True):
        same(a, b)


def test_medians_pass_over_nan_or_tell_of_them():
    x = torch.randn(4, 2001)
    x[1, 7] = x[2] = float("nan")
    for f in (torch.median, torch.nanmedian):
        for a, b in zip(f(x.cuda(), 1), f(x, 1), strict=True):
            same(a, b)


def test_few_lines_of_many_elements():
    x = torch.randn(300_000)
    same(x.cuda().topk(9).values, x.topk(9).values)
    same(x.cuda().t().median(), x.median())
