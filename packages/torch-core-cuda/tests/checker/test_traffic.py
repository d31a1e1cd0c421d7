"""How kernels touch memory, held to a table (docs/cuda.md, "Traffic"): what requests of warps cost, the least that the same
requests could cost, and the bytes that move, of those that any kernel has to move.

``python packages/torch-core-cuda/tests/checker/test_traffic.py`` prints the table, with a plug-in of ``ci/cuda.py --checker``.
"""

import os
import re
from pathlib import Path

os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"

import pytest
import torch
from torch._cuda import _native

N = 256
DOCS = Path(__file__).parents[4] / "docs" / "cuda.md"


def numbers(*shape, dtype=torch.float32):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to("cuda", dtype)


def operator(name):
    return torch._C._operator(name)


def cases():
    """What runs; of each: a function, the tensors that it is given, and how many floating-point operations it makes."""
    x, y, row = numbers(N, N), numbers(N, N), numbers(N)
    half = numbers(N, N, dtype=torch.float16)
    at = torch.arange(0, N, 3, device="cuda")
    heads = numbers(1, 1, 128, 64), numbers(1, 1, 128, 64), numbers(1, 1, 128, 64)
    halves = tuple(t.half() for t in heads)
    return {
        "mul": (torch.mul, (x, y), 0),
        "exp": (torch.exp, (x,), 0),
        "add of a row": (torch.add, (x, row), 0),
        "mul of half": (torch.mul, (half, half), 0),
        "foreach_mul": (lambda *t: torch._foreach_mul(list(t), 2.0), (x, y), 0),
        "copy of a transpose": (lambda t: t.t().contiguous(), (x,), 0),
        "sum of all": (torch.sum, (x,), 0),
        "sum of rows": (lambda t: t.sum(1), (x,), 0),
        "sum of columns": (lambda t: t.sum(0), (x,), 0),
        "cumsum of rows": (lambda t: t.cumsum(1), (x,), 0),
        "softmax": (lambda t: operator("softmax")(t, 1), (x,), 0),
        "layer_norm": (lambda t: operator("layer_norm")(t, [N]), (x,), 0),
        "rows by an index": (lambda t, i: t[i], (x, at), 0),
        "product": (torch.mm, (x, y), 2 * N**3),
        "product with a transpose": (lambda a, b: a @ b.t(), (x, y), 2 * N**3),
        "product of half": (torch.mm, (half, half), 2 * N**3),
        "attention": (attend, heads, 4 * 128 * 128 * 64),
        "attention of half": (attend, halves, 4 * 128 * 128 * 64),
    }


def attend(query, key, value):
    return _native.attention(query, key, value, None, False, 0.125, 0.0)


def measure(f, given, flops):
    """The cells of a row."""
    torch.cuda.synchronize()
    _native.take_traffic()
    _native.count_traffic(True)
    try:
        made = f(*given)
        torch.cuda.synchronize()
    finally:
        _native.count_traffic(False)
    sums = {}
    for _, _, store, shared, requests, parts, least in _native.take_traffic():
        key = "shared" if shared else "stores" if store else "loads"
        before = sums.get(key, (0, 0, 0))
        sums[key] = before[0] + requests, before[1] + parts, before[2] + least
    made = made if isinstance(made, (tuple, list)) else (made,)
    must = sum(t.nbytes for t in (*given, *made) if isinstance(t, torch.Tensor))
    moved = 32 * sum(sums[k][1] for k in ("loads", "stores"))
    cells = []
    for key in ("loads", "stores", "shared"):
        requests, parts, least = sums.get(key, (0, 0, 0))
        cells.append(f"{parts / requests:.2f} ({least / requests:.2f})" if requests else "-")
    cells.append(f"{moved / must:.2f}")
    cells.append(f"{128 * sums['shared'][1] / flops:.2f}" if flops else "-")
    return cells


def written():
    """The rows of the table in the documentation."""
    text = DOCS.read_text(encoding="utf-8").partition("\n## Traffic\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    return {row[0]: row[1:] for row in rows[2:]}


@pytest.fixture(scope="module")
def found():
    return {name: measure(*case) for name, case in cases().items()}


def test_every_kernel_costs_what_the_table_says(found):
    assert found == written()


def test_only_kernels_that_say_why_cost_more_than_their_requests_could(found):
    """A warp's request of device memory takes the fewest sectors, but for those that the text under the table explains."""
    explained = re.findall(
        r"`([^`]+)`",
        DOCS.read_text(encoding="utf-8").partition("\n## Traffic\n")[2].partition("\n## ")[0].rpartition("|")[2],
    )
    for name, cells in found.items():
        for cell in cells[:2]:
            parts = re.findall(r"[\d.]+", cell)
            assert name in explained or not parts or float(parts[0]) <= 1.05 * float(parts[1]), f"{name}: {cell}"


def test_what_is_counted_is_what_a_warp_asks_for():
    x = numbers(32 * 128)
    loads, stores, *_ = measure(lambda t: t[::8] * 2, (x,), 0)
    assert loads == "32.00 (4.00)" and stores == "4.00 (4.00)"  # a sector for each of four bytes


if __name__ == "__main__":
    print("| kernel | loads | stores | shared | bytes | shared bytes a FLOP |\n| --- | --- | --- | --- | --- | --- |")
    for name, case in cases().items():
        print(f"| {' | '.join([name, *measure(*case)])} |", flush=True)
