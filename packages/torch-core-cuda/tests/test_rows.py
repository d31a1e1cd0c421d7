"""Every operator runs on CUDA with the CPU's results."""

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module", params=["guard", "guard,order=7,lazy"])
def outcomes(request):
    """By row, what became of its calls in a process of their own, where host code that touches device memory ends it."""
    settings = os.environ | {"TORCH_CUDA_HOST": request.param}
    command = [sys.executable, "-W", "ignore", str(HERE / "every_row.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=settings)
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    assert done.returncode == 0, f"{last!r} ended the process ({done.returncode}): {done.stderr[-2000:]}"
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        name, _, what = line.partition(" ")
        found[name].append(what)
    return found


def test_results_are_those_of_the_cpu(outcomes):
    wrong = {name: [w for w in what if w not in ("runs", "lacks")] for name, what in outcomes.items()}
    wrong = {name: what for name, what in wrong.items() if what}
    assert not wrong


def test_every_row_has_a_kernel(outcomes):
    assert len(outcomes) > 750 and not [name for name, what in outcomes.items() if set(what) != {"runs"}]
