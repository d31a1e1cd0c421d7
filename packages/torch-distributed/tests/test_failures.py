"""A rank that dies, hangs or asks for something else ends the work of all, with the reason, in time."""

import os
import re
import resource
import runpy
import signal
import subprocess
import sys
import threading
import time
import warnings
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

LONG = 2_000_000  # elements: many messages, so that a rank dies in the middle


CALLS = runpy.run_path(str(Path(__file__).parent / "data" / "calls.py"))["CALLS"]


@pytest.mark.parametrize("name", [*CALLS, "all_reduce over TCP", "send over TCP"])
def test_a_rank_that_is_killed_ends_the_others_with_the_reason(ranks, monkeypatch, name):
    if name.endswith(" over TCP"):
        name = name.removesuffix(" over TCP")
        monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")

    def work(rank):
        dist.barrier()
        if rank == 2:  # killed by a thread while it is in the call, again and again
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        for _ in range(100_000):
            CALLS[name](rank, LONG)
            if name in ("barrier", "monitored_barrier"):
                time.sleep(0.001)

    began = time.monotonic()
    first, second, third = ranks(3, work, errors=True)
    assert third.exitcode == -signal.SIGKILL
    for result in (first, second):
        assert isinstance(result, dist.DistBackendError), result
        assert re.search("rank 2 died|rank 2 has left", str(result)), result
    assert time.monotonic() - began < 15


def test_a_rank_that_hangs_is_named_when_the_time_is_over(ranks):
    def work(rank):
        dist.barrier()
        dist.group.WORLD.set_timeout(timedelta(seconds=1.5))
        if rank == 1:
            time.sleep(6)
            return dist.all_reduce(torch.ones(1))
        return dist.all_reduce(torch.ones(1))

    for result in ranks(3, work, errors=True):
        assert re.search(
            r"all_reduce \(collective 1 of group default\): timed out after 1.5 s: rank [02] still waits for rank 1",
            str(result),
        ), result


def test_a_stopped_process_counts_as_one_that_hangs(ranks):
    def work(rank):
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        if rank == 0:
            with pytest.raises(RuntimeError, match="timed out after 0.5 s: rank 0 still waits for rank 1") as failed:
                dist.all_reduce(torch.ones(LONG), async_op=True).wait(timedelta(seconds=0.5))
            raise failed.value
        return

    first, second = ranks(2, work, errors=True, limit=8)
    assert isinstance(first, dist.DistBackendError)
    assert isinstance(second, TimeoutError)  # and it was killed by the test


def test_a_monitored_barrier_names_all_who_are_missing(ranks):
    def work(rank):
        dist.barrier()
        if rank in (1, 3):
            time.sleep(6)
        dist.monitored_barrier(timeout=timedelta(seconds=2), wait_all_ranks=True)

    for result in ranks(4, work, errors=True):
        assert re.search(r"rank 1, 3 failed to pass monitored_barrier within 2 s", str(result)), result


DISAGREEMENTS = {
    "operation": (
        lambda r: dist.all_reduce(torch.ones(3)) if r else dist.broadcast(torch.ones(3), 0),
        r"collective 0 of group default: rank 0 calls broadcast\(3 elements of torch.float32, rank 0 .*, rank [12] calls all_r",
    ),
    "length": (
        lambda r: dist.all_reduce(torch.ones(3 + r)),
        r"rank [01] calls all_reduce\([34] elements of torch.float32, SUM\), rank [12] calls all_reduce\([45] elements",
    ),
    "dtype": (
        lambda r: dist.all_reduce(torch.ones(3, dtype=torch.float64 if r == 2 else torch.float32)),
        "3 elements of torch.float32.*rank 2 calls all_reduce.3 elements of torch.float64",
    ),
    "reduction": (
        lambda r: dist.all_reduce(torch.ones(3), dist.ReduceOp.MAX if r == 1 else dist.ReduceOp.SUM),
        "rank 1 calls all_reduce.3 elements of torch.float32, MAX",
    ),
    "root": (
        lambda r: dist.broadcast(torch.ones(3), 0 if r else 1),
        "rank 0 calls .*rank 1 of the group at its centre",
    ),
    "root of scatter": (
        lambda r: dist.scatter(torch.ones(1), [torch.ones(1)] * 3 if r else None, src=r or 2),
        "rank [12] of the group at its centre.*rank [12] of the group at its centre",
    ),
    "order": (
        lambda r: [dist.broadcast(torch.ones(n), 0) for n in ((5, 6) if r else (6, 5))],
        "5 elements.*6 elements|6 elements.*5 elements",
    ),
    "pieces": (
        lambda r: dist.all_to_all_single(torch.zeros(6), torch.zeros(6), [2, 2, 2], [1, 3, 2] if r == 2 else None),
        "rank 2 sends (4|12) bytes to rank [01], which has room for 8",
    ),
}


@pytest.mark.parametrize("what", DISAGREEMENTS)
def test_ranks_that_disagree_are_told_how(ranks, what):
    call, text = DISAGREEMENTS[what]

    def work(rank):
        call(rank)
        dist.all_reduce(torch.ones(1))  # a rank that only sends finds out at the next call at the latest

    for result in ranks(3, work, errors=True, timeout=10):
        assert isinstance(result, dist.DistBackendError), result
        assert re.search(text, str(result)), result


def test_in_debug_mode_the_shapes_are_compared_and_both_lines_named(ranks):
    def work(rank):
        dist.set_debug_level(dist.DebugLevel.DETAIL)
        dist.all_reduce(torch.ones(2, 3))
        if rank == 0:
            dist.all_reduce(torch.ones(2, 3))
        else:
            dist.all_reduce(torch.ones(3, 2))

    for result in ranks(2, work, errors=True):
        assert re.search(
            r"collective 1 of group default: rank [01] calls all_reduce\(float32, shape \(., .\), op SUM\) at .*test_failures.py:\d+, "
            r"rank [01] calls all_reduce\(float32, shape \(., .\), op SUM\) at .*test_failures.py:\d+",
            str(result),
        ), result
        one, other = re.findall(r"test_failures.py:(\d+)", str(result))
        assert abs(int(one) - int(other)) == 2


def test_send_and_receive_of_different_tensors_are_refused(ranks):
    def work(rank):
        if rank == 0:
            dist.send(torch.ones(3), 1)
            dist.barrier()
        else:
            dist.recv(torch.ones(4), 0)

    for result in ranks(2, work, errors=True):
        text = "recv: rank 0 sent 3 elements of torch.float32 to rank 1, which receives 4 elements of torch.float32"
        assert text in str(result), result


def test_a_receive_that_times_out_harms_nothing_else(ranks):
    def work(rank):
        x = torch.zeros(1)
        if rank == 0:
            with pytest.raises(RuntimeError, match=r"recv from rank 1 \(tag 5, group default\): timed out after 0.1 s"):
                dist.irecv(x, 1, tag=5).wait(timedelta(seconds=0.1))
        dist.all_reduce(x)
        return x.item()

    assert ranks(2, work) == [0, 0]


def test_a_rank_that_leaves_in_good_order_is_told_from_one_that_died(ranks):
    def work(rank):
        if rank == 1:
            dist.destroy_process_group()
            return None
        return dist.all_reduce(torch.ones(1))

    first, second = ranks(2, work, errors=True)
    assert (
        "all_reduce (collective 0 of group default): rank 1 has left the process group (destroy_process_group)"
        in str(first)
    )
    assert second is None


def test_an_exception_in_one_rank_ends_the_wait_of_the_others(ranks):
    def work(rank):
        if rank == 1:
            raise KeyError("a mistake of the program")
        dist.all_reduce(torch.ones(1))

    first, second = ranks(2, work, errors=True)
    assert "rank 1 has left the process group" in str(first)
    assert isinstance(second, KeyError)


def test_an_interrupt_reaches_all_ranks(ranks):
    def work(rank):
        if rank == 1:
            time.sleep(1)
            return dist.all_reduce(torch.ones(1))
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        return dist.all_reduce(torch.ones(1))

    first, second = ranks(2, work, errors=True)
    assert isinstance(first, KeyboardInterrupt)
    assert "rank 0 was interrupted by KeyboardInterrupt" in str(second)


def test_after_a_failure_every_call_repeats_the_reason_and_a_new_group_works(ranks):
    def work(rank):
        with pytest.raises(dist.DistBackendError, match="2 elements.*3 elements"):
            dist.all_reduce(torch.ones(2 + rank))
        with pytest.raises(dist.DistBackendError, match="2 elements.*3 elements"):
            dist.barrier()
        store = dist.distributed_c10d._get_default_store().underlying_store
        dist.destroy_process_group()
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
        x = torch.ones(2)
        dist.all_reduce(x)
        return x.tolist()

    assert ranks(2, work) == [[2.0, 2.0]] * 2


def test_a_forked_child_of_a_rank_is_refused_and_harms_nothing(ranks):
    def work(rank):
        dist.all_reduce(torch.ones(1))
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a process with threads that forks
            child = os.fork()
        if child == 0:
            try:
                dist.all_reduce(torch.ones(1))
            except BaseException as error:
                os.write(writer, str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        dist.barrier()
        return os.getpid(), os.read(reader, 10_000).decode()

    for pid, text in ranks(2, work):
        assert text.startswith(f"torch.distributed: the process group belongs to process {pid}; this is process ")
        assert "start it with spawn" in text


def test_a_forked_child_that_lives_on_does_not_hide_the_death_of_its_parent(ranks):
    def work(rank):
        dist.barrier()
        if rank == 1:
            child = os.fork()
            if child == 0:
                time.sleep(6)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(dist.DistBackendError, match="rank 1 died"):
            dist.all_reduce(torch.ones(1))
        return time.monotonic() - began

    first, _ = ranks(2, work, errors=True)
    assert first < 5


def test_new_groups_that_differ_are_refused(ranks):
    def work(rank):
        dist.new_group([0, 1] if rank < 2 else [0, 2])

    results = ranks(3, work, errors=True)
    failed = [str(r) for r in results if r is not None]
    assert any("all ranks must make the same calls in the same order" in text for text in failed), results


def test_operations_under_way_are_given_up_when_the_group_is_destroyed(ranks):
    def work(rank):
        if rank == 0:
            work = dist.irecv(torch.ones(1), 1)
            dist.destroy_process_group()
            with pytest.raises(dist.DistBackendError, match="the process group was destroyed before this was done"):
                work.wait()
            with pytest.raises(ValueError, match="has not been initialized"):
                dist.barrier()
        else:
            time.sleep(0.5)

    ranks(2, work)


def test_a_rank_that_is_ahead_of_the_others_waits_rather_than_fill_their_memory(ranks):
    def work(rank):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        x = torch.ones(1 << 20)  # 4 MB
        if rank == 0:
            y = torch.zeros(1)
            dist.recv(y, 2)  # while rank 1 sends 400 MB
            for _ in range(100):
                dist.reduce(x.fill_(1), 0)
                assert x[0].item() == 3
        else:
            if rank == 2:
                time.sleep(0.5)
                dist.send(torch.ones(1), 0)
            for _ in range(100):
                dist.reduce(x, 0)
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    grown = ranks(3, work)
    assert grown[0] < 250, grown  # MB: two peers may fill 64 each


def test_a_rank_that_dies_in_the_middle_of_a_message_that_nobody_waits_for_yet(ranks):
    def work(rank):
        if rank == 1:
            dist.isend(torch.ones(8_000_000), 0)
            dist.barrier()
            dist.send(torch.ones(1), 0, tag=1)
            dist.isend(torch.ones(60_000_000), 0, tag=2)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()
        dist.recv(torch.ones(1), 1, tag=1)
        time.sleep(0.5)
        with pytest.raises(dist.DistBackendError, match="recv from rank 1 .*rank 1 died"):
            dist.recv(torch.ones(60_000_000), 1, tag=2)

    first, _ = ranks(2, work, errors=True)
    assert first is None


@pytest.mark.parametrize("name", ["broadcast", "scatter", "send", "gather"])
def test_a_root_that_is_done_may_leave_before_the_others_have_come(ranks, name):
    def work(rank):
        dist.barrier()
        x = torch.full((1000,), float(rank))
        if rank:
            time.sleep(0.3)
        if name == "broadcast":
            dist.broadcast(x, 0)
        elif name == "scatter":
            dist.scatter(x, [torch.zeros(1000)] * 2 if rank == 0 else None, 0)
        elif name == "send":
            dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
        else:
            outputs = [torch.ones(1000), torch.ones(1000)] if rank == 1 else None
            dist.gather(x, outputs, 1)
            x = outputs[0] if rank else x
        return x.unique().tolist()

    assert ranks(2, work) == [[0.0], [0.0]]


def test_a_forked_child_that_ends_says_nothing_and_leaves_the_store_to_its_parent(tmp_path):
    code = f"""
import os, sys
import torch.distributed as dist
store = dist.FileStore({str(tmp_path / "store")!r}, 1)
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
child = os.fork()
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
store.set("a", "1")
dist.destroy_process_group()
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
