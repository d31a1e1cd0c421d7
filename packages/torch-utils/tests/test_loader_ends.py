"""Ends of loops and of programs: no worker, descriptor or shared memory is left."""

import gc
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from loaders import PROCESSES, THREADS, WORKERS, Numbers, Raising, Squares, Threads
from torch.utils.data import DataLoader


def test_a_loop_left_early_ends_its_workers():
    iterator = iter(DataLoader(Numbers(1000), num_workers=2))
    next(iterator)
    pids = [w.process.pid for w in iterator._workers]
    del iterator
    gc.collect()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_loop_left_early_leaves_no_descriptor_and_no_segment():
    from torch.multiprocessing import _segments

    for _ in DataLoader(Numbers(2), num_workers=1):
        pass
    _segments.sweep()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        for _ in DataLoader(Numbers(100), num_workers=2):
            break
        gc.collect()
    _segments.sweep()
    assert len(os.listdir("/proc/self/fd")) <= before


@WORKERS
def test_workers_end_with_the_loop_however_it_ends(how):
    def alive(iterator):
        if how is THREADS:
            return bool(Threads.running())
        return any(pid_runs(pid) for pid in pids)

    for way in ("whole", "break", "error", "delete"):
        data = Raising(ValueError("bad")) if way == "error" else Squares(12)
        iterator = iter(DataLoader(data, **how))
        pids = [w.process.pid for w in iterator._workers] if how is PROCESSES else []
        try:
            for i, _ in enumerate(iterator):
                if way != "whole" and way != "error" and i == 3:
                    break
        except ValueError:
            pass
        if way != "whole":
            del iterator
        gc.collect()
        deadline = time.monotonic() + 10
        while alive(None):
            assert time.monotonic() < deadline, way
            time.sleep(0.01)


def pid_runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


INTERRUPTED = """
import os, signal, sys, time, torch
from torch.utils.data import DataLoader, Dataset
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
class Slow(Dataset):
    def __len__(self): return 100
    def __getitem__(self, i):
        if i > 2: time.sleep(30)
        return i
for i, batch in enumerate(DataLoader(Slow(), num_workers=2)):
    if i == 1:
        print("ready", flush=True)
"""


def test_an_interrupt_ends_everything_at_once_with_one_traceback():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)  # into the wait for the third batch
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=25)
    assert time.monotonic() - begin < 20  # and not the 30 seconds that its workers sleep
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt")
    assert subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, text=True, check=False).stdout == ""


def test_workers_end_with_a_parent_that_is_killed():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.replace("if i > 2: time.sleep(30)", "pass").replace("print(", "time.sleep(1); print(")
         .replace('"ready", flush=True)', '"ready", flush=True); signal.pause()')],
        stdout=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait(10)
    process.stdout.close()
    deadline = time.monotonic() + 10
    while subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, check=False).stdout:
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)


@pytest.mark.parametrize("how", [["--pause", "0.02"], ["--kind", "thread"], ["--any-order", "--pause", "0.02"]])
def test_a_short_soak(how):
    script = pathlib.Path(__file__).parent / "soak" / "loader.py"
    done = subprocess.run(
        [sys.executable, str(script), "--batches", "1500", "--slow", "0.02", *how],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_workers_can_be_ended_by_hand_and_asked_afterwards():
    iterator = iter(DataLoader(Numbers(100), num_workers=2))
    next(iterator)
    pids = [worker.pid for worker in iterator._workers]
    assert all(worker.is_alive() for worker in iterator._workers)
    for _ in range(2):
        iterator._shutdown_workers()
        assert list(iterator) == []
        assert [worker.pid for worker in iterator.workers] == pids and not any(w.is_alive() for w in iterator._workers)


FORKED = """
import os, sys
from torch.utils.data import DataLoader
iterator = iter(DataLoader(range(20), num_workers=2))
next(iterator)
child = os.fork()
if child == 0:
    sys.exit(0)  # with all that the interpreter does at its end
assert os.waitpid(child, 0)[1] == 0
print(len(list(iterator)))
"""


def test_the_end_of_a_forked_child_leaves_the_workers_alone():
    program = f"import warnings\nwarnings.filterwarnings('ignore', 'DataLoader: 2 workers on 1 processors')\n{FORKED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("19\n", "")


@WORKERS
def test_a_worker_that_its_iterator_never_knew_ends(how, monkeypatch):
    from torch.multiprocessing import _segments

    def figures():
        gc.collect()
        _segments.sweep()
        return len(os.listdir("/proc/self/fd"))

    iterator = iter(DataLoader(Numbers(2), **how))
    kind, start = type(iterator), type(iterator)._start
    assert len(list(iterator)) == 2
    del iterator
    before = figures()

    def interrupted(*args):
        start(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_start", interrupted)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            iter(DataLoader(Numbers(2), **how))
    deadline = time.monotonic() + 10
    while multiprocessing.active_children() or Threads.running():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert figures() <= before
