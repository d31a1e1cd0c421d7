"""What is left of messages that fail, or that nobody reads."""

import ctypes
import gc
import os
import pickle
import platform
import queue as standard
import random
import signal
import socket
import struct
import time

import pytest
import torch
import torch.multiprocessing as mp
from torch.multiprocessing import _messages, _segments
from torch.multiprocessing._segments.state import state


class Unreadable:
    """Can be pickled, and not unpickled."""

    def __reduce__(self):
        return _refuse, ()


def _refuse():
    raise ValueError("cannot be read")


_inner: list = []


def _take_inner():
    return _inner.pop().get(timeout=5)


def live() -> int:
    gc.collect()
    _segments.sweep()
    return _segments.own_arena().arena.stats()["live_blocks"]


def under_way() -> int:
    return _segments.own_arena().arena.stats()["in_transit"]


def test_an_object_that_cannot_be_pickled_leaves_its_tensors_alone(ctx):
    queue = ctx.Queue()
    before = live()
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        queue.put([torch.ones(10), torch.ones(10_000), lambda: 0])
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        queue.put((torch.ones(3), (lambda: 0,)))
    assert live() == before and under_way() == 0


def test_an_object_that_cannot_be_unpickled_gives_its_tensors_back(ctx):
    queue = ctx.Queue()
    before = live()
    queue.put([torch.ones(10), Unreadable(), torch.ones(20)])
    with pytest.raises(ValueError, match="cannot be read"):
        queue.get(timeout=5)
    assert live() == before and under_way() == 0
    queue.put("next")
    assert queue.get(timeout=5) == "next"


def test_a_message_that_a_full_queue_refuses_is_dropped(ctx):
    queue = ctx.Queue(1)
    queue.put(1)
    before = live()
    for item in (torch.ones(10), [torch.ones(3), b"x" * 100_000]):
        with pytest.raises(standard.Full):
            queue.put(item, timeout=0.01)
    del item
    assert live() == before and under_way() == 0


def test_a_block_goes_once_in_a_message(ctx):
    a = torch.arange(6.0)
    queue = ctx.Queue()
    queue.put([a, a[1:3], a.view(2, 3), a.untyped_storage()])
    assert under_way() == 1
    b, part, matrix, storage = queue.get(timeout=5)
    assert under_way() == 0
    assert {x.untyped_storage().data_ptr() for x in (b, part, matrix)} == {storage.data_ptr()} == {a.data_ptr()}
    assert part.tolist() == [1, 2] and matrix.shape == (2, 3)


def test_a_thousand_tensors_go_in_one_message(ctx, run):
    ask, answer = ctx.Queue(), ctx.Queue()
    before = live()
    run(lambda: answer.put([t + 1 for t in ask.get(timeout=20)]))
    ask.put([torch.full((2,), float(i)) for i in range(2000)])
    got = answer.get(timeout=20)
    assert [t[1].item() for t in got] == [i + 1 for i in range(2000)]
    del got
    assert live() <= before


def test_messages_within_messages_keep_their_tensors(ctx):
    outer, inner = ctx.Queue(), ctx.Queue()

    class Nested:
        def __reduce__(self):
            inner.put(torch.full((3,), 7.0))
            _inner.append(inner)
            return _take_inner, ()

    outer.put([torch.zeros(2), Nested(), torch.ones(2)])
    a, b, c = outer.get(timeout=5)
    assert a.tolist() == [0, 0] and b.tolist() == [7, 7, 7] and c.tolist() == [1, 1]
    assert under_way() == 0


def test_a_queue_that_is_let_go_gives_back_what_nobody_took(ctx):
    before = live()
    queue = ctx.Queue()
    for i in range(50):
        queue.put(torch.full((1000,), float(i)))
    queue.put(b"x" * 100_000)
    del queue
    assert live() == before and under_way() == 0
    queue = ctx.Queue()
    queue.put(torch.ones(5))
    queue.close()
    assert live() == before and under_way() == 0


def test_a_queue_that_a_child_still_has_keeps_its_messages(ctx, run):
    before, go, answer = live(), ctx.Event(), ctx.Queue()
    queue = ctx.Queue()

    def read(queue=queue):
        go.wait(20)
        answer.put(sum(queue.get(timeout=10).sum().item() for _ in range(3)))

    process = run(read)
    for _ in range(5):
        queue.put(torch.ones(1000))
    read.__defaults__ = None
    del queue
    gc.collect()
    _segments.sweep()
    assert under_way() == 5
    go.set()
    assert answer.get(timeout=20) == 3000
    process.join(10)
    process = answer = None
    assert live() <= before and under_way() == 0  # two that nobody took


def test_what_an_ended_child_left_in_a_queue_does_not_stay(ctx):
    descriptors = []
    for _ in range(6):
        queue = ctx.Queue()
        process = ctx.Process(target=lambda queue=queue: [queue.put(torch.ones(100_000)) for _ in range(5)])
        process.start()
        assert queue.get(timeout=10).sum() == 100_000
        process.join(10)
        assert process.exitcode == 0
        del queue, process
        gc.collect()
        _segments.sweep()
        descriptors.append(len(os.listdir("/proc/self/fd")))
    assert descriptors[-1] == descriptors[1], descriptors


def test_readers_killed_at_random_leave_nothing(ctx):
    queue, before = ctx.Queue(), live()

    def read():
        while True:
            queue.get()

    readers = []
    for round_ in range(20):
        readers = [ctx.Process(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        deadline = time.monotonic() + 0.01 * (round_ % 4)
        while time.monotonic() < deadline:
            queue.put([torch.ones(10), torch.ones(2)])
        for reader in readers:
            os.kill(reader.pid, signal.SIGKILL)
            reader.join()
    deadline = time.monotonic() + 1  # the queue's own thread may still be sending
    while live() - before > 0 and time.monotonic() < deadline:
        while not queue.empty():
            queue.get()
        time.sleep(0.01)
    assert live() == before and under_way() == 0


MUTEX = 40  # bytes of a mutex, ahead of what readers note


def die_in(step: str, queue, held: int):
    """What a reader does that is killed in the middle: it has the lock, has noted the packet that is next, has taken it
    and `held` of its blocks."""
    packets = queue._packets
    record, end = memoryview(packets._holders), packets._reader
    lock = ctypes.CDLL(None).pthread_mutex_lock
    assert lock(ctypes.c_void_p(packets._holders.address)) == 0
    data = end.recv(1 << 15, socket.MSG_PEEK)
    record[MUTEX + 8 : MUTEX + 8 + min(len(data), 4000)] = data[:4000]
    kind, noted = data[0], len(data)
    if kind:
        _, count, length, *_ = _messages._HEAD.unpack_from(data)
        noted = _messages._HEAD.size + count * _messages._HANDLE.size + length
    record[MUTEX : MUTEX + 8] = struct.pack("=II", noted, held)
    if step == "taken":
        end.recv(1 << 15)
        handles = [_messages._handles(data)[1][0]] if kind == 1 else []
        for handle in handles[:held]:
            _segments.receive(handle)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the size of a mutex")
@pytest.mark.parametrize("step, held", [("noted", 0), ("taken", 0), ("taken", 1)])
@pytest.mark.parametrize("count", [2, 1000])
def test_the_next_reader_lets_go_what_a_killed_one_took(ctx, step, held, count):
    queue, before = ctx.Queue(), live()
    if count == 1000:  # they go in a carrier
        held = 0
    queue.put([torch.full((2,), float(i)) for i in range(count)])
    queue.put("next")
    assert live() >= before + count
    reader = ctx.Process(target=die_in, args=(step, queue, held))
    reader.start()
    reader.join(20)
    assert reader.exitcode == -signal.SIGKILL
    if step == "noted":
        assert [t[1].item() for t in queue.get(timeout=5)] == list(range(count))
    assert queue.get(timeout=5) == "next"
    assert live() == before and under_way() == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the size of a mutex")
@pytest.mark.parametrize("step", ["noted", "taken"])
@pytest.mark.parametrize("message", ["text", torch.ones(3)])
def test_a_killed_reader_takes_no_room_of_a_bounded_queue_along(ctx, step, message):
    queue = ctx.Queue(2)
    queue.put(message)
    queue.put(message)  # not taken for the one that the reader took
    assert queue.full()
    reader = ctx.Process(target=die_in, args=(step, queue, 0))
    reader.start()
    reader.join(20)
    for _ in range(2 if step == "noted" else 1):
        assert len(queue.get(timeout=5)) == len(message)
    with pytest.raises(standard.Empty):
        queue.get(timeout=0.01)
    assert queue.qsize() == 0
    for i in range(2):
        queue.put(i, timeout=5)
    assert queue.full() and [queue.get(timeout=5) for _ in range(2)] == [0, 1]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the size of a mutex")
def test_what_the_last_reader_took_is_let_go_by_who_has_the_queue(ctx):
    queue, before = ctx.Queue(), live()
    queue.put([torch.ones(2), torch.ones(3)])
    reader = ctx.Process(target=die_in, args=("taken", queue, 1))
    reader.start()
    reader.join(20)
    assert live() == before and under_way() == 0


def test_a_reader_that_is_stopped_with_the_lock_stops_no_one(ctx, run):
    queue, ready = ctx.Queue(), ctx.Event()

    def stop():
        assert ctypes.CDLL(None).pthread_mutex_lock(ctypes.c_void_p(queue._packets._holders.address)) == 0
        ready.set()
        signal.pause()

    run(stop)
    assert ready.wait(20)
    _segments.prune()
    for i in range(3):
        queue.put(torch.full((2,), float(i)))
        assert queue.get(timeout=5).tolist() == [i, i]
    assert under_way() == 0


def test_readers_that_are_stopped_at_any_moment_lose_and_double_nothing(ctx):
    queue, answers, count = ctx.Queue(), ctx.Queue(), 3000

    def read():
        while (item := queue.get()) is not None:
            answers.put(int(item[0]))

    readers = [ctx.Process(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    rng, got = random.Random(0), []
    for i in range(count):
        queue.put(torch.full((2,), float(i)))
        if i % 100 == 0:
            stopped = rng.choice(readers)
            os.kill(stopped.pid, signal.SIGSTOP)
            time.sleep(0.002)
            os.kill(stopped.pid, signal.SIGCONT)
        while not answers.empty():
            got.append(answers.get())
    for _ in readers:
        queue.put(None)
    while len(got) < count:
        got.append(answers.get(timeout=20))
    for reader in readers:
        reader.join(20)
        assert reader.exitcode == 0
    assert sorted(got) == list(range(count)) and under_way() == 0


def test_what_a_killed_producer_had_yet_to_send_goes_with_it(ctx):
    queue, ready = ctx.Queue(), ctx.Event()

    def produce():
        for i in range(5000):  # far more than the socket takes
            queue.put(torch.full((1000,), float(i)))
        ready.set()
        time.sleep(60)

    producer = ctx.Process(target=produce)
    producer.start()
    assert ready.wait(30)
    producer.kill()
    producer.join()
    came = 0
    with pytest.raises(standard.Empty):
        while True:
            assert queue.get(timeout=0.2).tolist() == [came] * 1000
            came += 1
    assert 10 < came < 5000
    segment = producer._provision.identity
    gc.collect()
    _segments.sweep()
    assert segment not in state.attached
    assert segment not in [provision.identity for provision in state.kept]


def test_places_mean_nothing_outside_their_message():
    with pytest.raises(RuntimeError, match="can be unpickled only with its message"):
        _messages.attached(0)


def test_queues_for_spawned_processes_count_their_holders():
    ctx = mp.get_context("spawn")
    queue, before = ctx.Queue(), live()
    process = ctx.Process(target=queue.put, args=(torch.ones(3),))
    process.start()
    process.join(40)
    assert process.exitcode == 0 and queue.get(timeout=10).tolist() == [1, 1, 1]
    assert live() == before
    queue.put(torch.ones(3))
    del queue, process
    assert live() == before - 1  # the queue's own block
