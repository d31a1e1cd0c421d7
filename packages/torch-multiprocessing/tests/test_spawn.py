"""`spawn` reports what went wrong in which process."""

import operator
import os
import signal

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
