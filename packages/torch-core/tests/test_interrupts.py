"""A signal ends an operator that runs for long, and the pool goes on afterwards."""

import signal
import time

import pytest
import torch


class Stop(BaseException):
    """What a handler of the program raises, as Python's own raises KeyboardInterrupt."""


def stop(*_):
    raise Stop


ONE = torch.ones(1)
LONG = {
    "any": lambda: torch.zeros(1, dtype=torch.bool).expand(2**44).any(),
    "mean": lambda: ONE.expand(2**44).mean(),
    "sum of half": lambda: ONE.half().expand(2**44).sum(),
    "argmax": lambda: ONE.expand(2**44).argmax(0),
    "sum over rows": lambda: torch.ones(1, 1000).expand(2**38, 1000).sum(0),
    "sum over outer dims": lambda: torch.ones(1, 1, 100).expand(2**20, 2**20, 100).transpose(1, 2).sum((0, 2)),
    "many sums": lambda: torch.ones(100, 1).expand(100, 2**42).sum(1),
    "norm": lambda: ONE.expand(2**44).norm(),
    "matmul": lambda: torch.mm(
        torch.ones(6000, 6000, dtype=torch.float64), torch.ones(6000, 6000, dtype=torch.float64)
    ),
    "one long line": lambda: torch.arange(20_000_000, 0, -1).sort(),
    "search": lambda: torch.isin(torch.zeros(1).expand(2**26), torch.arange(100000.0)),
    "recurrences": lambda: torch.special.laguerre_polynomial_l(torch.full((2_000_000,), 400.0), 9999.0),
    "one recurrence": lambda: torch.special.chebyshev_polynomial_t(
        torch.tensor(1.0 + 2**-52, dtype=torch.float64), 8e18
    ),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that raises a signal")
@pytest.mark.parametrize("name", LONG)
def test_a_signal_ends_what_runs_for_long(name):
    before = signal.signal(signal.SIGALRM, stop)
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.25)
    try:
        with pytest.raises(Stop):
            LONG[name]()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 10
    assert torch.ones(300000).sum().item() == 300000


def test_other_errors_of_tasks_are_told_as_before():
    index = torch.zeros(400000, dtype=torch.long)
    index[300000] = 7
    with pytest.raises(IndexError):
        torch.ones(3).index_select(0, index)
