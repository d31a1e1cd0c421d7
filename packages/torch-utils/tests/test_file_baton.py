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


def test_those_who_wait_do_not_keep_it_from_others(path):
    path.touch()  # as a process that died leaves it
    done = threading.Event()

    def look():
        while not done.is_set():
            FileBaton(path)._is_held()

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(300):
            ours = FileBaton(path)
            assert ours.try_acquire()
            ours.release()
            path.touch()
    finally:
        done.set()
        for looker in lookers:
            looker.join()


def test_of_many_who_try_at_once_one_holds_it(path):
    batons = [FileBaton(path) for _ in range(8)]
    for _ in range(50):
        got = []
        threads = [threading.Thread(target=lambda b=b: got.append(b.try_acquire())) for b in batons]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(got) == [False] * 7 + [True]
        for baton in batons:
            baton.release()


def test_a_file_that_was_removed_or_replaced_is_not_the_holders_to_remove(path):
    first, second = FileBaton(path), FileBaton(path)
    assert first.try_acquire()
    path.unlink()
    first.release()
    assert first.try_acquire()
    path.unlink()
    assert second.try_acquire()
    first.release()
    assert path.exists()
    assert not first.try_acquire()
    second.release()
    assert not path.exists()


@pytest.mark.parametrize("target", ["there", "not there"])
def test_a_link_is_no_lock(path, tmp_path, target):
    victim = tmp_path / "victim"
    if target == "there":
        victim.write_text("precious")
    path.symlink_to(victim)
    with pytest.raises(OSError, match="baton"):
        FileBaton(path).try_acquire()
    assert victim.exists() == (target == "there")
