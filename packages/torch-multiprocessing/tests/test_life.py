"""Processes from their start to their end: what computes in them, what they share, what an interrupt does."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from torch.multiprocessing import _segments

INTERRUPTED = """
import signal, sys, time, torch, torch.multiprocessing as mp
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
ready = mp.get_context("fork").Semaphore(0)
def wait(*args):
    ready.release()
    time.sleep(60)
def tell(n):
    for _ in range(n):
        ready.acquire()
    print("ready", flush=True)
ctx = mp.get_context("fork")
how = sys.argv[1]
if how == "process":
    processes = [ctx.Process(target=wait) for _ in range(3)]
    for p in processes: p.start()
    tell(3)
    for p in processes: p.join()
elif how == "pool":
    with ctx.Pool(2) as pool:
        result = pool.map_async(wait, range(8))
        tell(2)
        result.get()
elif how == "queue":
    queue = ctx.Queue()
    processes = [ctx.Process(target=lambda: (ready.release(), queue.get())) for _ in range(3)]
    for p in processes: p.start()
    tell(3)
    time.sleep(60)
elif how == "spawn":
    running = mp.start_processes(wait, nprocs=2, join=False, start_method="fork")
    tell(2)
    running.join()
"""


@pytest.mark.parametrize("how", ["process", "pool", "queue", "spawn"])
def test_an_interrupt_ends_a_program_and_its_processes_with_one_traceback(how):
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.1)  # into the wait
    begin = time.monotonic()
    os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=20)
    assert time.monotonic() - begin < 10  # a fraction of a second where nothing else runs
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt"), errors
    assert program.returncode == -signal.SIGINT
    assert not subprocess.run(["pgrep", "-g", str(program.pid)], capture_output=True, text=True, check=False).stdout


SLOW_TO_IMPORT = """
import signal, sys, time
if __name__ != "__main__":
    print("importing", flush=True)
    time.sleep(60)
signal.signal(signal.SIGINT, signal.default_int_handler)
import torch.multiprocessing as mp
if __name__ == "__main__":
    if sys.argv[1] == "spawn":
        mp.spawn(time.sleep, nprocs=2)
    else:
        process = mp.get_context("spawn").Process(target=time.sleep, args=(0,))
        process.start()
        process.join()
"""


@pytest.mark.parametrize("how", ["process", "spawn"])
def test_an_interrupt_does_not_wait_for_what_spawned_processes_import(how, tmp_path):
    (tmp_path / "program.py").write_text(SLOW_TO_IMPORT)
    program = subprocess.Popen(
        [sys.executable, "program.py", how],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert program.stdout.readline().startswith("importing")
    os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=20)
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt"), errors
    deadline = time.monotonic() + 10  # the resource tracker ends after its last user
    while subprocess.run(["pgrep", "-g", str(program.pid)], capture_output=True, check=False).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.05)


SLOW = """
import time
print("importing", flush=True)
time.sleep(0.3)
"""
SERVED = """
import signal, sys, time
if __name__ != "__main__" and "process" in sys.argv:
    import slow  # in the new process
signal.signal(signal.SIGINT, signal.default_int_handler)
import torch.multiprocessing as mp
if __name__ == "__main__":
    if "server" in sys.argv:
        mp.set_forkserver_preload(["slow"])  # before the server ignores interrupts itself
    if "spawn" in sys.argv:
        mp.start_processes(time.sleep, (60,), nprocs=2, start_method="forkserver")
    else:
        process = mp.get_context("forkserver").Process(target=time.sleep, args=(60,))
        process.start()
        process.join()
"""


@pytest.mark.parametrize("how", [["server"], ["process"], ["server", "spawn"]])
def test_an_interrupt_is_not_lost_while_a_fork_server_starts(how, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "program.py").write_text(SERVED)
    program = subprocess.Popen(
        [sys.executable, "program.py", *how],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert program.stdout.readline() == "importing\n"
    os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=20)
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt"), errors
    assert program.returncode == -signal.SIGINT
    deadline = time.monotonic() + 10  # the fork server ends after its last user
    while subprocess.run(["pgrep", "-g", str(program.pid)], capture_output=True, check=False).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_processes_of_the_standard_library_can_be_interrupted_beside_ours():
    code = """
import multiprocessing, os, signal, time, torch.multiprocessing as mp
signal.signal(signal.SIGINT, signal.default_int_handler)
ours = mp.get_context("forkserver").Process(target=int)
ours.start()
ours.join()
theirs = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(60,))
theirs.start()
time.sleep(0.5)
os.kill(theirs.pid, signal.SIGINT)
theirs.join(20)
print(ours.exitcode, theirs.exitcode)
theirs.kill()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert done.stdout == "0 1\n", done


def test_a_signal_that_comes_while_a_process_starts_is_not_lost(ctx, monkeypatch):
    class Interrupt(Exception):
        pass

    def interrupt(number, frame):
        raise Interrupt

    main, fork = threading.get_ident(), os.fork
    monkeypatch.setattr(os, "fork", lambda: (signal.pthread_kill(main, signal.SIGUSR1), fork())[1])
    before = signal.signal(signal.SIGUSR1, interrupt)
    process = ctx.Process(target=time.sleep, args=(30,))
    try:
        with pytest.raises(Interrupt):
            process.start()
        assert process.is_alive()  # it was started before the handler could raise
        os.kill(process.pid, signal.SIGUSR1)
        process.join(10)
        assert process.exitcode == 1  # raised in its function, and nowhere before
    finally:
        signal.signal(signal.SIGUSR1, before)
        process.kill()
        process.join()


def test_an_interrupted_process_has_the_exit_code_that_shells_know(ctx):
    ready = ctx.Event()

    def wait():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ready.set()
        time.sleep(30)

    process = ctx.Process(target=wait)
    process.start()
    assert ready.wait(10)
    os.kill(process.pid, signal.SIGINT)
    process.join(10)
    assert process.exitcode == 130


def test_no_zombies_stay(ctx):
    processes = [ctx.Process(target=int) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(20)
    assert [process.exitcode for process in processes] == [0] * 8
    for process in processes:
        assert not pathlib.Path(f"/proc/{process.pid}").exists()


def compute() -> float:
    """Touches the pool, the allocator, the random streams and the matrix products."""
    a = torch.arange(600_000, dtype=torch.float32).view(600, 1000) / 1e6
    b = a.double()
    return float((a @ a.t()).sum() + (b @ b.t()).sum() + torch.rand(100_000).mean() + a.exp().sum())


@pytest.mark.parametrize("busy", [False, True])
def test_a_process_computes_that_was_forked_in_the_middle_of_parallel_work(ctx, busy):
    torch.manual_seed(0)
    expected = compute()
    over = threading.Event()

    def work():
        while not over.is_set():
            compute()

    threads = [threading.Thread(target=work) for _ in range(2 * busy)]
    for thread in threads:
        thread.start()
    results = ctx.Queue()

    def child(i):
        torch.manual_seed(0)
        results.put((i, compute()))

    processes = [ctx.Process(target=child, args=(i,)) for i in range(4)]
    try:
        for process in processes:
            process.start()
        got = dict(results.get(timeout=50) for _ in processes)
    finally:
        over.set()
        for thread in threads:
            thread.join()
        for process in processes:
            process.join(20)
    assert got == dict.fromkeys(range(4), expected)


def test_processes_train_one_model_without_locks(ctx):
    """Hogwild: each process adds its updates to the shared weights."""
    pytest.importorskip("torch.autograd")
    target = torch.tensor([1.0, -2.0, 3.0])
    weight = torch.zeros(3).share_memory_()

    def train(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(400):
            x = torch.randn(16, 3, generator=generator)
            w = weight.detach().clone().requires_grad_()
            loss = ((x @ w - x @ target) ** 2).mean()
            loss.backward()
            weight.sub_(w.grad, alpha=0.02)

    processes = [ctx.Process(target=train, args=(seed,)) for seed in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(50)
        assert process.exitcode == 0
    assert (weight - target).abs().max() < 0.05


def test_gradients_are_not_shared_and_leaves_arrive_as_leaves(ctx, run):
    pytest.importorskip("torch.autograd")
    a = torch.ones(3, requires_grad=True)
    (a * 2).sum().backward()
    ask, answer = ctx.Queue(), ctx.Queue()

    def look():
        b = ask.get(timeout=20)
        answer.put((b.requires_grad, b.is_leaf, b.grad is None))
        with torch.no_grad():
            b.fill_(5)
        (b * 3).sum().backward()
        answer.put(b.grad.tolist())

    run(look)
    ask.put(a)
    assert answer.get(timeout=20) == (True, True, True)
    assert answer.get(timeout=20) == [3, 3, 3]
    assert a.tolist() == [5, 5, 5] and a.grad.tolist() == [2, 2, 2]
    assert a.is_shared() and not torch.ones(3).is_shared()


def test_tensors_that_a_process_inherits_are_shared_when_they_were_before(ctx):
    shared, own = torch.zeros(4).share_memory_(), torch.zeros(4)
    ready = ctx.Event()

    def write():
        shared.fill_(1)
        own.fill_(1)
        ready.set()

    process = ctx.Process(target=write)
    process.start()
    process.join(20)
    assert ready.is_set() and shared.tolist() == [1] * 4 and own.tolist() == [0] * 4


def test_storages_are_shared_with_every_view_over_them():
    a = torch.arange(6.0)
    view = a[2:]
    assert not view.is_shared()
    view.share_memory_()
    assert a.is_shared() and view.is_shared() and a.untyped_storage().is_shared()
    view[0] = 9
    assert a[2] == 9
    empty = torch.empty(0).share_memory_()
    assert empty.numel() == 0


def test_meta_tensors_travel_without_data(ctx):
    queue = ctx.Queue()
    queue.put(torch.empty(3, 4, device="meta")[1:, ::2])
    got = queue.get(timeout=10)
    assert got.device.type == "meta" and got.shape == (2, 2) and got.stride() == (4, 2) and got.storage_offset() == 4


@pytest.mark.parametrize("size", [0, 1, 1000, 10_000_000])
def test_events_and_queues_agree_on_memory_of_any_size(ctx, run, size):
    a = torch.from_numpy(np.arange(size, dtype=np.int16))
    done, queue = ctx.Event(), ctx.Queue()

    def negate():
        queue.get(timeout=20).neg_()
        done.set()

    run(negate)
    queue.put(a)
    assert done.wait(30)
    assert np.array_equal(a.numpy(), -np.arange(size, dtype=np.int16))


def _fill(i, tensors, barrier):
    barrier.wait(30)
    tensors[i].fill_(i + 1)


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_start_processes_shares_its_arguments(method):
    tensors = [torch.zeros(3).share_memory_() for _ in range(3)]
    barrier = mp.get_context(method).Barrier(3)
    target = _fill if method == "fork" else torch.Tensor.add_
    if method == "fork":
        mp.start_processes(target, (tensors, barrier), nprocs=3, start_method=method)
        assert [t.tolist() for t in tensors] == [[i + 1] * 3 for i in range(3)]
    else:
        process = mp.get_context(method).Process(target=target, args=(tensors[0], 7))
        process.start()
        process.join(50)
        assert process.exitcode == 0 and tensors[0].tolist() == [7] * 3


def test_what_cannot_cross_says_why():
    reductions = mp.reductions
    for call in (
        lambda: reductions.rebuild_storage_cuda(torch.UntypedStorage, (0,)),
        lambda: reductions.rebuild_cuda_tensor(torch.Tensor, (0,), ()),
        lambda: reductions.rebuild_event(0, b""),
    ):
        with pytest.raises(
            RuntimeError, match="torch.cuda.* needs the distribution 'torch-core-cuda', which is not installed"
        ):
            call()


def test_references_to_storages_are_equal_by_their_memory():
    reductions = mp.reductions
    storage = torch.zeros(3).untyped_storage()
    one, other = reductions.StorageWeakRef(storage), reductions.StorageWeakRef(storage)
    assert one == other and hash(one) == hash(other) and not one.expired() and one.storage() is storage
    reductions.shared_cache["key"] = one
    assert reductions.storage_from_cache(None, "key") is storage
    del storage
    assert one.expired() and one.storage() is None
    reductions.shared_cache["other"] = reductions.StorageWeakRef(torch.zeros(2).untyped_storage())
    assert reductions.storage_from_cache(None, "key") is None
    assert reductions.StorageRef(5) == reductions.StorageRef(5) != reductions.StorageRef(6)
    with open(os.devnull) as a, open(os.devnull) as b:
        assert reductions.fd_id(a.fileno()) == reductions.fd_id(b.fileno())


def test_threads_may_start_processes_and_receive_from_them_at_once(ctx):
    wrong = []

    def work():
        for _ in range(6):
            queue = ctx.Queue()
            process = ctx.Process(
                target=lambda queue=queue: [queue.put(torch.full((100,), float(i))) for i in range(5)]
            )
            process.start()
            got = [queue.get(timeout=50)[99].item() for _ in range(5)]
            process.join()
            while process.exitcode is None:  # another thread has just waited for it, and is about to say so
                time.sleep(0.001)
            if got != [0, 1, 2, 3, 4] or process.exitcode:
                wrong.append((got, process.exitcode))

    _segments.sweep()
    before = len(os.listdir("/proc/self/fd"))
    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    gc.collect()
    _segments.sweep()
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # this process's own segment


def test_an_interrupt_while_segments_are_looked_after_does_no_harm(monkeypatch):
    from torch.multiprocessing._segments import fork

    reader, writer = os.pipe()
    os.close(writer)
    fork._inheritances.append(fork._Inheritance(reader, -1, []))
    close = os.close

    def interrupted(fd):
        close(fd)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fork.settle()
    monkeypatch.undo()
    fork.settle()
    assert fork._inheritances == []


def test_a_forked_child_is_no_parent_of_its_parents_processes(ctx, run):
    process = run(time.sleep, 20)
    child = os.fork()
    if child == 0:
        os._exit(len(mp.active_children()))
    assert os.waitpid(child, 0)[1] == 0 and process.is_alive()
    process.kill()
