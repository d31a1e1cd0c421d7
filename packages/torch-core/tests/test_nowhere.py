"""Every operator on a device that has memory nobody can read and no kernels: it works there or says what it lacks."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from found_calls import ROWS, WRITTEN

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def outcomes():
    """By row, what became of its calls in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "nowhere.py")], capture_output=True, text=True, timeout=300
    )
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    assert done.returncode == 0, f"{last!r} ended the process ({done.returncode}): {done.stderr[-2000:]}"
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        name, _, outcome = line.partition(" ")
        found[name].append(outcome)
    return found


def test_no_operator_touches_the_memory_or_fails_otherwise(outcomes):
    wrong = {
        name: o for name, all_of_it in outcomes.items() for o in all_of_it if o not in ("runs", "lacks", "refuses")
    }
    assert not wrong
    assert {name for name, all_of_it in outcomes.items() if "refuses" in all_of_it} <= {"bucketize", "isin"}


def test_nearly_every_row_was_called(outcomes):
    missing = {r.name for r in ROWS} - set(outcomes)
    assert len(missing) < 30, missing
    assert set(WRITTEN) <= set(outcomes)


def test_views_and_factories_run(outcomes):
    views = {r.name for r in ROWS if r.info["view"]} & set(outcomes)
    assert len(views) > 25
    for name in [
        *views,
        "empty",
        "zeros",
        "ones",
        "full",
        "arange",
        "linspace",
        "zeros_like",
        "empty_like",
        "new_ones",
    ]:
        assert set(outcomes[name]) == {"runs"}, name


def test_what_computes_lacks_its_kernel(outcomes):
    for name in ("add", "exp", "softmax", "sum", "mm", "convolution", "sort", "gather", "cumsum", "where"):
        assert set(outcomes[name]) == {"lacks"}, name
