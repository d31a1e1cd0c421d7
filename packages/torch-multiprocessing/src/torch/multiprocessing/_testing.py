"""Fixtures for pytest that tests of processes need: a hard time limit, and a look at what is left behind.

A package's ``conftest.py`` imports them: ``from torch.multiprocessing._testing import *``.
"""

import faulthandler
import gc
import os
import signal
import time

import pytest

__all__ = ["ctx", "hard_limit", "nothing_left", "run"]

LIMIT = 60


@pytest.fixture(autouse=True)
def hard_limit():
    """A test that hangs ends with the stacks of all its threads."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def nothing_left():
    """No file in /dev/shm and no child process is left by a test."""
    import multiprocessing

    before = set(os.listdir("/dev/shm"))
    yield
    gc.collect()
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
        raise AssertionError(f"{child} was left running")
    deadline = time.monotonic() + 2
    while left := {name for name in os.listdir("/dev/shm") if _is_ours(name)} - before:
        assert time.monotonic() < deadline, left  # a resource tracker may be about to remove it
        time.sleep(0.05)


def _is_ours(name: str) -> bool:
    """Whether this process or an ended one made the file; a living one belongs to other tests."""
    if not name.startswith("torch_segment_"):
        return False
    pid = name.split("_")[2]
    return pid == str(os.getpid()) or not os.path.exists(f"/proc/{pid}")


@pytest.fixture
def ctx():
    """Processes made by fork."""
    import torch.multiprocessing as mp

    return mp.get_context("fork")


@pytest.fixture
def run(ctx):
    """Starts a forked process; all of them are ended after the test."""
    started = []

    def start(target, *args):
        process = ctx.Process(target=target, args=args)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.join(5)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join(5)
