"""Shared memory itself: blocks, fork, room, strategies."""

import gc
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from torch.multiprocessing import SharedMemoryError, _segments
from torch.multiprocessing._arena import Arena
from torch.multiprocessing._segments import files, fork
from torch.multiprocessing._segments.state import state


def tensor(values, dtype=np.float32):
    return torch.from_numpy(np.array(values, dtype))


def new_arena(size=256 << 20):
    return Arena.create(os.memfd_create("test"), 7, size)


def test_blocks_of_any_size_are_separate_and_reused():
    arena, rng = new_arena(), np.random.default_rng(0)
    live = []
    for step in range(3000):
        size = int(2 ** rng.uniform(0, 21))
        block = arena.allocate(size)
        memoryview(block)[:] = bytes([step % 256]) * size
        live.append((block, step % 256))
        while sum(len(memoryview(b)) for b, _ in live) > 8 << 20:
            old, mark = live.pop(int(rng.integers(len(live))))
            data = bytes(old)
            assert data == bytes([mark]) * len(data)
        if step % 300 == 299:
            arena.sweep(1 << 20)
    assert arena.stats()["backed_bytes"] < 64 << 20
    live.clear()
    del block, old
    arena.sweep(0)
    assert arena.stats()["live_blocks"] == 0 and arena.stats()["backed_bytes"] < 24 << 20


def test_a_segment_that_is_full_says_so():
    arena = new_arena(80 << 20)
    with pytest.raises(RuntimeError, match=r"shared memory: 104857600 bytes do not fit behind"):
        arena.allocate(100 << 20)
    arena.allocate(1 << 20)


def test_memory_beyond_the_cache_goes_back_to_the_system():
    arena = new_arena(2 << 30)
    blocks = [arena.allocate(100 << 20) for _ in range(4)]
    blocks.clear()
    arena.allocate(1 << 20)
    assert arena.stats()["backed_bytes"] <= 360 << 20
    arena.sweep(0)
    assert arena.stats()["backed_bytes"] < 2 << 20


def test_what_is_kept_is_bounded_whoever_let_it_go():
    arena = new_arena(2 << 30)
    taken_back = [arena.allocate(96 << 20) for _ in range(2)]
    taken_back.clear()
    arena.allocate(200 << 20)  # does not fit into what the two left, and is let go at once
    kept = os.fstat(arena.fd).st_blocks * 512
    assert 192 << 20 <= kept <= 257 << 20


def test_memory_of_small_blocks_serves_others_and_goes_back():
    arena = new_arena(1 << 30)
    blocks = [arena.allocate(16 << 10) for _ in range(6000)]
    backed = arena.stats()["backed_bytes"]
    assert backed < 100 << 20
    keep = blocks[3000]
    memoryview(keep)[:] = b"k" * (16 << 10)
    blocks.clear()
    smaller = [arena.allocate(3000) for _ in range(20000)]  # of another size: the memory of the first ones is cut anew
    large = arena.allocate(16 << 20)
    assert arena.stats()["backed_bytes"] <= backed
    for i, block in enumerate(smaller):
        memoryview(block)[:] = bytes([i % 256]) * 3000
    memoryview(large)[:] = b"l" * (16 << 20)
    assert all(bytes(block) == bytes([i % 256]) * 3000 for i, block in enumerate(smaller))
    assert bytes(keep) == b"k" * (16 << 10)
    del large, smaller, block
    arena.sweep(0)
    assert arena.stats()["live_blocks"] == 1 and arena.stats()["backed_bytes"] <= 1 << 20
    assert bytes(keep) == b"k" * (16 << 10)


def test_a_message_is_received_once():
    arena = new_arena()
    block = arena.allocate(10)
    handle = block.send()
    again = arena.receive(*handle)
    assert again is block and block.count == 1
    with pytest.raises(RuntimeError, match="received before"):
        arena.receive(*handle)
    with pytest.raises(RuntimeError, match="received before"):
        arena.receive(12345, 0, 10)


def test_what_was_held_for_a_child_can_be_let_go():
    arena = new_arena()
    block = arena.allocate(10)
    numbers = arena.before_fork()
    assert block.count == 2 and block.holders == 1
    arena.undo_fork(numbers)
    assert block.count == 1
    with pytest.raises(TypeError, match="expected the list"):
        arena.undo_fork(3)


def test_children_that_end_as_they_start_leave_nothing_held(ctx, monkeypatch):
    arena = _segments.own_arena().arena

    def loose():
        gc.collect()
        _segments.sweep()
        stats = arena.stats()
        return stats["live_blocks"] - stats["held_blocks"]

    before = loose()
    shared = [tensor([1] * 1000).share_memory_() for _ in range(50)]
    monkeypatch.setattr(fork, "_announce", lambda writer: os._exit(7))
    for _ in range(5):
        process = ctx.Process(target=signal.pause)
        process.start()
        process.join(10)
        assert process.exitcode == 7
    del shared, process
    assert loose() <= before
    assert not _segments.is_forking()


def test_an_owner_that_ended_is_known_to_have_ended(ctx, run):
    results = ctx.Queue()
    process = run(lambda: results.put(tensor([1])))
    process.join(10)
    a = results.get(timeout=5)
    arena = a.untyped_storage()._owner.arena
    assert not arena.owner_alive and not arena.is_owner
    with pytest.raises(RuntimeError, match="belongs to another"):
        arena.allocate(10)


def test_share_memory_moves_every_tensor_over_the_storage():
    a = tensor(range(12))
    parts = [a.untyped_storage(), torch._C._tensor_over(a.untyped_storage(), torch.float32, 2, (3,), (2,))]
    assert not a.is_shared()
    assert a.share_memory_() is a
    assert a.is_shared() and parts[1].is_shared()
    a.numpy()[2] = 100
    assert parts[1].numpy()[0] == 100
    address = a.data_ptr()
    assert a.share_memory_().data_ptr() == address


def test_a_child_keeps_what_it_inherited_when_the_parent_lets_go(ctx, run):
    a = tensor([3] * 50_000)
    a.share_memory_()
    go, result = ctx.Event(), ctx.Queue()

    def child(a=a):
        go.wait(10)
        result.put(bool((a.numpy() == 3).all()))

    run(child)
    del a
    child.__defaults__ = None
    del child
    gc.collect()
    fresh = [tensor([9] * 50_000).share_memory_() for _ in range(5)]
    go.set()
    assert result.get(timeout=10) is True
    assert (fresh[0].numpy() == 9).all()


def test_children_that_share_see_each_others_writes(ctx, run):
    total = tensor([0] * 4, np.int64).share_memory_()
    processes = [run(lambda i=i: total.numpy().__setitem__(i, i + 1)) for i in range(4)]
    for process in processes:
        process.join(10)
    assert total.numpy().tolist() == [1, 2, 3, 4]


def test_a_tensor_reaches_a_third_process_after_the_second_ended(ctx, run):
    first, second, done = ctx.Queue(), ctx.Queue(), ctx.Queue()
    relay = run(lambda: second.put(first.get()))
    a = tensor([1, 2])
    first.put(a)
    relay.join(10)
    run(lambda: (second.get().numpy().fill(8), done.put(1)))
    assert done.get(timeout=10) == 1
    assert a.numpy().tolist() == [8, 8]


def test_gradients_stay_on_their_side_and_histories_do_not_travel(ctx):
    pytest.importorskip("torch.autograd")
    a = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires_grad=True that is no leaf.*send tensor.detach"):
        ctx.Queue().put(a * 2)


def relay(ask, answer):
    answer.put(ask.get())


def test_strategies_can_be_chosen(ctx, run):
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    with pytest.raises(ValueError, match="expected one of"):
        mp.set_sharing_strategy("telepathy")
    before = set(os.listdir("/dev/shm"))
    mp.set_sharing_strategy("file_system")
    try:
        ask, answer = ctx.Queue(), ctx.Queue()
        process = run(relay, ask, answer)
        a = tensor([1, 2, 3])
        ask.put(a)
        assert answer.get(timeout=10).data_ptr() == a.data_ptr()
        made = [n for n in set(os.listdir("/dev/shm")) - before if n.startswith(f"torch_segment_{os.getpid()}_")]
        assert len(made) == 1
    finally:
        mp.set_sharing_strategy("file_descriptor")
    process.join(10)
    del a, ask, answer, process
    gc.collect()
    _segments.prune()
    assert not any(os.path.exists("/dev/shm/" + name) for name in made)


def test_a_change_of_the_strategy_leaves_no_segment_behind(ctx):
    kept = tensor([1, 2]).share_memory_()
    descriptors, before = len(os.listdir("/proc/self/fd")), len(state.attached)
    for _ in range(5):
        for strategy in ("file_system", "file_descriptor"):
            mp.set_sharing_strategy(strategy)
            assert tensor([1]).share_memory_().is_shared()
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2 and len(state.attached) <= before + 1
    queue = ctx.Queue()
    queue.put(kept)
    assert queue.get(timeout=5).data_ptr() == kept.data_ptr()


CROWDED = """
import fcntl, os, torch, torch.multiprocessing as mp
ctx = mp.get_context("fork")
a, queue, ready, go = torch.ones(3).share_memory_(), ctx.Queue(), ctx.Event(), ctx.Event()
arena = a.untyped_storage()._owner.arena
def occupy():
    with open(f"/proc/{os.getppid()}/fd/{arena.fd}", "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 255, 1)  # as 255 processes do
        ready.set()
        go.wait()
first, second = ctx.Process(target=occupy), ctx.Process(target=lambda: (a.add_(1), queue.put(torch.ones(2))))
first.start()
ready.wait()
second.start()
print(queue.get(timeout=20).tolist(), a.tolist())
second.join()
try:
    mp.get_context("fork").Queue().put(a)
finally:
    go.set()
    first.join()
print(second.exitcode, first.exitcode)
"""


def test_a_forked_child_beyond_those_that_can_be_counted_runs_all_the_same():
    done = subprocess.run([sys.executable, "-c", CROWDED], capture_output=True, text=True, timeout=50)
    assert done.stdout == "[1.0, 1.0] [2.0, 2.0, 2.0]\n0 0\n" and not done.stderr, done


def test_memory_of_a_file_is_not_sent(ctx, tmp_path):
    (tmp_path / "file").write_bytes(bytes(16))
    mapped = torch.from_file(str(tmp_path / "file"), shared=True, size=4)
    with pytest.raises(RuntimeError, match="from a file.*has no handle; send tensor.clone"):
        ctx.Queue().put(mapped)
    queue = ctx.Queue()
    queue.put(mapped.clone())
    assert queue.get(timeout=5).tolist() == [0] * 4


CHOSEN = """
import sys, torch.multiprocessing as mp
def tell(queue):
    queue.put(mp.get_sharing_strategy())
if __name__ == "__main__":
    mp.set_sharing_strategy("file_system")
    ctx = mp.get_context(sys.argv[1])
    queue = ctx.SimpleQueue()
    process = ctx.Process(target=tell, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_new_processes_share_in_the_way_of_those_who_start_them(method, tmp_path):
    (tmp_path / "program.py").write_text(CHOSEN)
    done = subprocess.run(
        [sys.executable, "program.py", method], cwd=tmp_path, capture_output=True, text=True, timeout=50
    )
    assert done.stdout == "file_system\n" and not done.stderr, done


def test_a_folder_that_cannot_be_written_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "FOLDER", str(tmp_path / "none"))
    mp.set_sharing_strategy("file_system")
    try:
        with pytest.raises(
            SharedMemoryError, match="cannot make .*none/torch_.*: No such file or directory.*--shm-size"
        ):
            tensor([1]).share_memory_()
    finally:
        mp.set_sharing_strategy("file_descriptor")


KILLED = """
import os, signal, sys, numpy as np, torch, torch.multiprocessing as mp
mp.set_sharing_strategy(sys.argv[1])
ctx = mp.get_context("fork")
queue, ready = ctx.Queue(), ctx.Event()
def child():
    kept = queue.get()
    mine = torch.from_numpy(np.zeros(100000)).share_memory_()
    ready.set()
    signal.pause()
ctx.Process(target=child).start()
queue.put(torch.from_numpy(np.zeros(100000)))
ready.wait()
print("ready", flush=True)
signal.pause()
"""


def _runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_nothing_is_left_in_shared_memory_when_all_are_killed(strategy):
    leader = subprocess.Popen([sys.executable, "-c", KILLED, strategy], stdout=subprocess.PIPE, start_new_session=True)
    assert leader.stdout.readline() == b"ready\n"
    found = subprocess.run(["pgrep", "-s", str(leader.pid)], capture_output=True, text=True, check=True).stdout
    pids = [int(p) for p in found.split()]
    trackers = [p for p in pids if b"resource_tracker" in pathlib.Path(f"/proc/{p}/cmdline").read_bytes()]
    for pid in set(pids) - set(trackers):
        os.kill(pid, signal.SIGKILL)
    leader.wait(10)
    leader.stdout.close()
    for tracker in trackers:  # removes what is left, and ends by itself
        while _runs(tracker):
            os.sched_yield()
    assert not [n for n in os.listdir("/dev/shm") if n.startswith("torch_segment_") and int(n.split("_")[2]) in pids]


def test_a_full_file_system_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    if os.system(f"mount -t tmpfs -o size=1m none {tmp_path} 2>/dev/null") != 0:
        pytest.skip("mounting needs privileges")
    try:
        monkeypatch.setattr(files, "FOLDER", str(tmp_path))
        mp.set_sharing_strategy("file_system")
        a = tensor(np.zeros(1_000_000))
        with pytest.raises(SharedMemoryError, match=r"no room for \d+ bytes; \d+ bytes are free there") as info:
            a.share_memory_()
        text = str(info.value)
        assert "--shm-size" in text and "--ipc=host" in text and "'file_descriptor'" in text
        assert not a.is_shared() and (a.numpy() == 0).all()
        small = tensor(np.ones(1000)).share_memory_()
        assert small.is_shared()
        del small
    finally:
        mp.set_sharing_strategy("file_descriptor")
        gc.collect()
        _segments.prune()
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)
        os.system(f"umount -l {tmp_path}")


CHILDREN_KILLED = """
import os, time, torch, torch.multiprocessing as mp
mp.set_sharing_strategy("file_system")
queue = mp.get_context("fork").Queue()
def send():
    queue.put(torch.ones(3))
    queue.put(torch.ones(3))
    time.sleep(60)
def files(pid):
    return [name for name in os.listdir("/dev/shm") if name.startswith(f"torch_segment_{pid}_")]
first, second, third = (mp.Process(target=send, daemon=True) for _ in range(3))
for process in (first, second):
    process.start()
    queue.get(), queue.get()
    assert files(process.pid)
    process.kill()
    process.join()
mp._segments.prune()
assert not files(first.pid) and not files(second.pid)
third.start()
queue.get()  # the other one is not received, and the process is ended at exit
print(third.pid)
"""


def test_a_limit_on_files_is_one_on_shared_memory():
    code = """
import resource, torch
resource.setrlimit(resource.RLIMIT_FSIZE, (128 << 20, 128 << 20))
assert torch.ones(1000).share_memory_().is_shared()
try:
    torch.ones(100 << 20, dtype=torch.uint8).share_memory_()
except torch.multiprocessing.SharedMemoryError as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0 and "104857600 bytes do not fit behind" in done.stdout, done


FEW_ADDRESSES = """
import resource, torch, torch.multiprocessing as mp
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
def send(queue):
    queue.put(torch.ones(1 << 20))
queue = mp.get_context("fork").Queue()
senders = [mp.get_context("fork").Process(target=send, args=(queue,)) for _ in range(6)]
for sender in senders:
    sender.start()
received = [queue.get() for _ in senders]
for sender in senders:
    sender.join()
print(int(sum(map(torch.sum, received))))
try:
    torch.ones(1 << 29, dtype=torch.uint8).share_memory_()
except mp.SharedMemoryError as e:
    print(e)
"""


def test_a_limit_on_addresses_leaves_room_for_the_segments_of_others():
    done = subprocess.run([sys.executable, "-c", FEW_ADDRESSES], capture_output=True, text=True, timeout=50)
    total, full = done.stdout.splitlines()
    assert int(total) == 6 << 20, done.stderr
    assert "536870912 bytes do not fit" in full and "the limit of 4096 MB of addresses (ulimit -v)" in full


def test_files_of_killed_processes_are_removed_without_a_complaint():
    done = subprocess.run([sys.executable, "-c", CHILDREN_KILLED], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert not [name for name in os.listdir("/dev/shm") if name.startswith(f"torch_segment_{int(done.stdout)}_")]
