"""A lock that processes hand to each other."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from torch.utils.file_baton import FileBaton

HOLDER = """
import sys, time
from torch.utils.file_baton import FileBaton
print(FileBaton(sys.argv[1]).try_acquire(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "baton"


def test_one_holds_it_at_a_time(path):
    first, second = FileBaton(path), FileBaton(path)
    assert first.try_acquire()
    assert path.exists()
    assert not second.try_acquire()
    assert not first.try_acquire()
    first.release()
    assert not path.exists()
    assert second.try_acquire()
    second.release()
    second.release()


def test_waiting_ends_when_it_is_released(path):
    holder, waiter = FileBaton(path), FileBaton(path, wait_seconds=0.005, warn_after_seconds=0.01)
    waiter.wait()  # nobody holds it
    assert holder.try_acquire()
    threading.Timer(0.1, holder.release).start()
    began = time.monotonic()
    with pytest.warns(UserWarning, match="FileBaton: waiting for .*baton since"):
        waiter.wait()
    assert time.monotonic() - began > 0.05
    assert waiter.try_acquire()
    waiter.release()


def test_a_holder_that_is_killed_holds_nothing_up(path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as holder:
        assert holder.stdout.readline() == "True\n"
        ours = FileBaton(path, wait_seconds=0.005)
        assert not ours.try_acquire()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert path.exists()
        ours.wait()
        assert ours.try_acquire()
        ours.release()
