"""Fixtures for pytest that tests of processes need: a hard time limit, and a look at what is left behind.

A package's ``conftest.py`` imports them: ``from torch.multiprocessing._testing import *``.
"""

import faulthandler
import gc
import os
import signal

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
    left = {name for name in os.listdir("/dev/shm") if name.startswith("torch_")} - before
    assert not left


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
