"""A forked child computes, draws and allocates, whatever its parent's threads did."""

import os
import signal
import threading

import pytest
import torch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def child_returns(f):
    """True when f() is true in a forked child, within 20 seconds."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        status = 1
        try:
            status = 0 if f() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def product():
    a = torch.rand(300, 300)
    return torch.mm(a, a).shape == (300, 300)


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_a_child_computes_after_a_parallel_region_of_the_parent():
    product()
    assert child_returns(product)
    assert child_returns(lambda: product() and child_returns(product))
    assert product()


def test_a_child_computes_while_another_thread_of_the_parent_was_computing():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            product()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert all(child_returns(product) for _ in range(10))
    finally:
        stop.set()
        thread.join()


def test_a_child_goes_on_with_the_random_numbers_of_its_parent():
    torch.manual_seed(5)
    torch.rand(3)
    state = torch.get_rng_state()
    expected = torch.rand(3).tolist()
    torch.set_rng_state(state)
    assert child_returns(lambda: torch.rand(3).tolist() == expected)
