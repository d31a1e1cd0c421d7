"""Queues of tensors between processes."""

import concurrent.futures
import gc
import multiprocessing.connection
import os
import queue as standard
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


def tensor(values, dtype=np.float32):
    return torch.from_numpy(np.array(values, dtype))


def echo(ask, answer):
    while (item := ask.get()) is not None:
        answer.put(item)


def test_both_sides_of_a_queue_see_writes(ctx, run):
    ask, answer = ctx.Queue(), ctx.Queue()
    a = tensor(range(6))
    process = run(lambda: (ask.get(timeout=10).numpy().fill(7), answer.put("done")))
    ask.put(a)
    assert answer.get(timeout=10) == "done"
    assert a.numpy().tolist() == [7] * 6 and a.is_shared()
    process.join(10)
    assert process.exitcode == 0


def test_tensors_of_all_kinds_arrive_as_they_were(ctx, run):
    ask, answer = ctx.Queue(), ctx.Queue()
    run(echo, ask, answer)
    base = torch.from_numpy(np.arange(24, dtype=np.float64).reshape(4, 6))
    samples = [base, torch.from_numpy(np.arange(24.0).reshape(4, 6)[1:3, ::2]), tensor(3), tensor([]), tensor([True], bool),
               tensor([1j], np.complex64), tensor(5, np.int8), {"a": [base, 1]}, (), "text", b"x" * 100_000]  # fmt: skip
    for sample in samples:
        ask.put(sample)
        back = answer.get(timeout=10)
        if isinstance(sample, torch.Tensor):
            assert back.dtype == sample.dtype and np.array_equal(back.numpy(), sample.numpy())
            assert tuple(back.stride()) == tuple(sample.stride())
        elif isinstance(sample, dict):
            assert np.array_equal(back["a"][0].numpy(), base.numpy())
        else:
            assert back == sample
    ask.put(None)


def test_a_tensor_that_comes_back_is_the_same_memory(ctx, run):
    ask, answer = ctx.Queue(), ctx.Queue()
    run(echo, ask, answer)
    a = tensor([1, 2, 3])
    ask.put(a)
    back = answer.get(timeout=10)
    assert back.data_ptr() == a.data_ptr()
    ask.put(None)


def test_a_storage_travels_too(ctx, run):
    ask, answer = ctx.Queue(), ctx.Queue()
    run(echo, ask, answer)
    a = tensor([1, 2, 3])
    ask.put(a.untyped_storage())
    assert bytes(answer.get(timeout=10)) == a.numpy().tobytes()
    ask.put(None)


def test_thousands_of_tensors_need_few_descriptors_and_no_more_memory_than_is_held(ctx, run):
    import resource

    ask, answer = ctx.Queue(), ctx.Queue()
    run(echo, ask, answer)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 10, limits[1]))
    try:
        for first in range(0, 10_000, 500):
            for i in range(first, first + 500):
                ask.put(tensor([i] * 100))
            for i in range(first, first + 500):
                assert answer.get(timeout=10).numpy()[0] == i
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    ask.put(None)
    assert _segments.own_arena().arena.stats()["backed_bytes"] < 4 << 20


def test_tensors_can_be_received_after_their_sender_ended(ctx, run):
    results = ctx.Queue()
    process = run(lambda: [results.put(tensor([i] * 1000)) for i in range(20)])
    process.join(20)
    assert process.exitcode == 0
    assert [results.get(timeout=5).numpy()[0] for _ in range(20)] == list(range(20))


def test_tensors_of_a_killed_sender_can_be_received_and_stay(ctx, run):
    results, ready = ctx.Queue(), ctx.Event()

    def send():
        results.put(tensor([4] * 100_000))
        ready.set()
        signal.pause()

    process = run(send)
    assert ready.wait(10)
    os.kill(process.pid, signal.SIGKILL)
    process.join(10)
    a = results.get(timeout=5)
    assert (a.numpy() == 4).all()
    a.numpy()[0] = 5


def test_what_a_killed_receiver_held_is_taken_back(ctx, run):
    ask, answer = ctx.Queue(), ctx.Queue()

    def hold():
        kept = [ask.get() for _ in range(10)]
        answer.put(len(kept))
        signal.pause()

    process = run(hold)
    for i in range(10):
        ask.put(tensor([i] * 50_000))
    assert answer.get(timeout=10) == 10
    arena = _segments.own_arena().arena
    _segments.sweep()
    before = arena.stats()["live_blocks"]
    os.kill(process.pid, signal.SIGKILL)
    process.join(10)
    _segments.sweep()
    assert arena.stats()["live_blocks"] == before - 10


def test_killed_readers_and_writers_leave_the_queue_usable(ctx, run):
    shared = ctx.Queue()

    def use():
        while True:
            shared.put(b"x" * 200)
            shared.get()

    for _ in range(5):
        ready = ctx.Event()
        process = run(lambda ready=ready: (ready.set(), use()))
        assert ready.wait(10)
        os.kill(process.pid, signal.SIGKILL)
        process.join(10)
    shared.put("still here")
    got = None
    while got != "still here":
        got = shared.get(timeout=5)


def test_a_long_message_goes_through_shared_memory(ctx, run):
    ask, answer = ctx.Queue(), ctx.Queue()
    run(echo, ask, answer)
    text = "ab" * 1_000_000
    ask.put(text)
    assert answer.get(timeout=10) == text
    ask.put(None)


def test_put_does_not_wait_for_a_reader(ctx):
    shared = ctx.Queue()
    for i in range(5000):
        shared.put(i)
    assert shared.qsize() == 5000
    assert [shared.get(timeout=5) for _ in range(5000)] == list(range(5000))


def test_an_object_that_cannot_be_pickled_fails_in_put(ctx):
    shared = ctx.Queue()
    with pytest.raises((AttributeError, TypeError, Exception), match="pickle|local"):
        shared.put(lambda: 0)
    shared.put(1)
    assert shared.get(timeout=5) == 1


def test_a_bounded_queue_is_full_and_an_idle_one_empty(ctx):
    shared = ctx.Queue(2)
    assert shared.empty() and not shared.full()
    shared.put(1)
    shared.put(2)
    assert shared.full() and shared.qsize() == 2
    with pytest.raises(standard.Full):
        shared.put(3, timeout=0.01)
    with pytest.raises(standard.Full):
        shared.put_nowait(3)
    assert shared.get() == 1 and shared.get_nowait() == 2
    with pytest.raises(standard.Empty):
        shared.get(timeout=0.01)
    with pytest.raises(standard.Empty):
        shared.get_nowait()


def test_a_closed_queue_sends_what_was_put_and_takes_no_more(ctx, run):
    shared, ready = ctx.Queue(), ctx.Event()

    def fill():
        for i in range(3000):
            shared.put(i)
        shared.close()
        with pytest.raises(ValueError, match="is closed"):
            shared.put(1)
        ready.set()
        shared.join_thread()

    run(fill)
    assert ready.wait(10)
    assert [shared.get(timeout=5) for _ in range(3000)] == list(range(3000))


def test_a_full_queue_that_nobody_has_any_more_goes(ctx):
    def fill():
        queue = ctx.Queue()
        for i in range(5000):  # more than the socket takes
            queue.put(tensor([i] * 50))

    before = threading.active_count()
    fill()
    deadline = time.monotonic() + 20
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    gc.collect()
    _segments.sweep()
    assert _segments.own_arena().arena.stats()["live_blocks"] < 100


def test_what_a_collected_queue_has_to_send_reaches_another_process(ctx, run):
    answer = ctx.Queue()

    def start():
        queue = ctx.Queue()

        def read():
            time.sleep(0.5)  # the parent's thread finds no room, and a reader
            answer.put(sum(int(queue.get(timeout=20)[0]) for _ in range(5000)))

        run(read)
        for i in range(5000):
            queue.put(tensor([i], np.int64))

    start()
    gc.collect()
    assert answer.get(timeout=40) == sum(range(5000))


FULL = """
import os, signal, sys, time, torch.multiprocessing as mp
ctx = mp.get_context("fork")
queue, ready = ctx.Queue(), ctx.Event()
if sys.argv[1] == "a killed reader":
    reader = ctx.Process(target=lambda: (queue.get(), ready.set(), time.sleep(60)))
    reader.start()
for i in range(5000):
    queue.put(b"x" * 100)
if sys.argv[1] == "a killed reader":
    ready.wait()
    reader.kill()
"""


@pytest.mark.parametrize("who", ["nobody", "a killed reader"])
def test_a_program_ends_whose_queue_nobody_reads(who):
    done = subprocess.run([sys.executable, "-c", FULL, who], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and not done.stderr, done


def test_a_joinable_queue_waits_for_its_tasks(ctx):
    tasks = ctx.JoinableQueue()
    for i in range(3):
        tasks.put(i)
    worker = threading.Thread(target=lambda: [(tasks.get(), tasks.task_done()) for _ in range(3)])
    worker.start()
    tasks.join()
    worker.join()
    with pytest.raises(ValueError, match="too many times"):
        tasks.task_done()


def test_a_simple_queue_and_a_pipe_carry_tensors(ctx, run):
    simple, (here, there) = ctx.SimpleQueue(), ctx.Pipe()

    def work():
        there.send(simple.get())

    run(work)
    a = tensor([1, 2])
    simple.put(a)
    assert here.recv().data_ptr() == a.data_ptr()
    assert simple.empty()


def test_the_queues_of_the_standard_library_carry_tensors(run):
    import multiprocessing

    ctx = multiprocessing.get_context("fork")
    ask, answer = ctx.Queue(), ctx.Queue()
    run(echo, ask, answer)
    a = tensor([1, 2])
    ask.put(a)
    assert answer.get(timeout=10).data_ptr() == a.data_ptr()
    ask.put(None)


def test_module_level_names_are_those_of_multiprocessing():
    import multiprocessing

    assert set(multiprocessing.__all__) <= set(dir(mp))
    assert mp.Event is multiprocessing.Event and mp.cpu_count() == multiprocessing.cpu_count()


def test_hooks_stay_behind_with_a_warning():
    pytest.importorskip("torch.autograd")
    queue, tensor = mp.get_context("fork").Queue(), torch.ones(3, requires_grad=True)
    tensor.register_hook(lambda grad: grad * 2)
    with pytest.warns(UserWarning, match="hooks of a tensor do not go to another process") as told:
        queue.put([tensor])
    assert told[0].filename == __file__
    (back,) = queue.get(timeout=5)
    back.sum().backward()
    assert back.grad.tolist() == [1, 1, 1]


def test_hooks_whose_author_knows_stay_behind_silently(recwarn):
    pytest.importorskip("torch.autograd")
    queue, tensor = mp.get_context("fork").Queue(), torch.ones(3, requires_grad=True)

    def hook(grad):
        return grad * 2

    hook.__torch_unserializable__ = True  # as torch.utils.hooks.unserializable_hook marks it
    tensor.register_hook(hook)
    queue.put(tensor)
    assert queue.get(timeout=5).tolist() == [1, 1, 1] and not recwarn.list


def test_an_executor_of_the_standard_library_shares_tensors():
    tensor = torch.zeros(3)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=mp.get_context("fork")) as executor:
        assert executor.submit(torch.Tensor.fill_, tensor, 7.0).result(timeout=20).tolist() == [7, 7, 7]
    assert tensor.tolist() == [7, 7, 7]


def test_several_queues_can_be_waited_for(ctx):
    queues = [ctx.Queue() for _ in range(3)]
    queues[1].put(torch.ones(2))
    ready = multiprocessing.connection.wait([queue._reader for queue in queues], 5)
    assert ready == [queues[1]._reader] and queues[1].get(timeout=5).tolist() == [1, 1]
