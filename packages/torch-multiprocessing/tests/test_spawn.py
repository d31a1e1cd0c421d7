"""`spawn` reports what went wrong in which process."""

import operator
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch.multiprocessing as mp


def test_all_processes_run_with_their_index():
    assert mp.spawn(operator.add, args=(1,), nprocs=2) is None


def test_an_exception_arrives_with_its_traceback():
    with pytest.raises(mp.ProcessRaisedException, match="ZeroDivisionError") as info:
        mp.spawn(operator.truediv, args=(0,), nprocs=2)
    assert "-- Process" in str(info.value) and "Traceback" in str(info.value) and info.value.error_index in (0, 1)


def _die(i, how):
    if i == 1:
        os.kill(os.getpid(), signal.SIGKILL) if how == "signal" else os._exit(3)
    signal.pause()


def test_a_killed_process_ends_the_others_and_is_named():
    with pytest.raises(mp.ProcessExitedException, match="process 1 terminated with signal SIGKILL") as info:
        mp.start_processes(_die, ("signal",), nprocs=2, start_method="fork")
    assert info.value.exit_code == -9 and info.value.signal_name == "SIGKILL" and info.value.error_index == 1


def test_an_exit_code_is_reported():
    running = mp.start_processes(_die, ("exit",), nprocs=2, join=False, start_method="fork")
    assert len(running.pids()) == 2
    with pytest.raises(mp.ProcessExitedException, match="process 1 terminated with exit code 3"):
        while not running.join(timeout=10, grace_period=5):
            pass


def test_wrong_arguments_are_explained():
    with pytest.raises(ValueError, match="nprocs must be at least 1"):
        mp.spawn(operator.add, nprocs=0)
    with pytest.warns(FutureWarning, match="always uses the start method 'spawn'"):
        mp.spawn(operator.add, args=(1,), start_method="fork")


def test_errors_go_through_pickles():
    for error in (mp.ProcessRaisedException("no", 1, 23), mp.ProcessExitedException("no", 1, 23, -9, "SIGKILL")):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == "no" and again.error_index == 1 and again.error_pid == again.pid == 23
    assert again.exit_code == -9 and again.signal_name == "SIGKILL"


def test_processes_that_ended_stay_joined():
    running = mp.start_processes(operator.add, (1,), nprocs=2, join=False, start_method="fork")
    while not running.join():
        pass
    assert running.join() and running.join(timeout=0)


def test_a_fork_server_may_start_its_processes_at_once(monkeypatch):
    monkeypatch.setenv(mp.ENV_VAR_PARALLEL_START, "1")
    threads = set()
    start = mp.get_context("forkserver").Process.start
    monkeypatch.setattr(
        mp.get_context("forkserver").Process,
        "start",
        lambda self: (threads.add(threading.current_thread()), start(self))[1],
    )
    with pytest.raises(mp.ProcessRaisedException, match="ZeroDivisionError"):
        mp.start_processes(operator.truediv, (0,), nprocs=3, start_method="forkserver")
    assert threads and threading.main_thread() not in threads


def _sleep(i):
    time.sleep(60)


def test_processes_outlive_the_thread_that_started_them():
    running = []
    starter = threading.Thread(
        target=lambda: running.append(mp.start_processes(_sleep, nprocs=2, join=False, start_method="fork"))
    )
    starter.start()
    starter.join()
    assert not running[0].join(timeout=0.3)  # the system would signal them now if it had been asked to
    assert all(process.is_alive() for process in running[0].processes)
    for process in running[0].processes:
        process.terminate()
    with pytest.raises(mp.ProcessExitedException, match="signal SIGTERM"):
        running[0].join()


ORPHANS = """
import orphans, signal, sys, torch.multiprocessing as mp
signal.signal(signal.SIGINT, signal.SIG_IGN if sys.argv[2] == "ignored" else signal.default_int_handler)
if __name__ == "__main__":
    running = mp.start_processes(orphans.sleep, nprocs=2, join=False, start_method=sys.argv[1])
    print(*running.pids(), flush=True)
    signal.pause()
"""


@pytest.mark.parametrize(
    "method, interrupts", [("fork", "handled"), ("fork", "ignored"), ("spawn", "handled"), ("forkserver", "ignored")]
)
def test_processes_end_when_their_parent_is_killed(method, interrupts, tmp_path):
    (tmp_path / "orphans.py").write_text("import time\ndef sleep(i):\n    time.sleep(60)\n")
    (tmp_path / "program.py").write_text(ORPHANS)
    program = subprocess.Popen(
        [sys.executable, "program.py", method, interrupts],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    pids = program.stdout.readline().split()
    assert len(pids) == 2
    program.kill()
    program.wait()
    program.stdout.close()
    deadline = time.monotonic() + 20
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline, pids
        time.sleep(0.02)


def _runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_thread_has_a_name():
    names = []
    thread = threading.Thread(
        target=lambda: (mp._set_thread_name("loads the images"), names.append(mp._get_thread_name()))
    )
    thread.start()
    thread.join()
    assert names == ["loads the image"]  # 15 bytes


def test_a_signal_at_the_end_of_the_parent_is_one_that_exists():
    with pytest.raises(OSError, match="signal 1000 is refused"):
        mp._prctl_pr_set_pdeathsig(1000)
