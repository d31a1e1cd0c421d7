"""Streams and events."""

import ctypes
import threading

import torch
from programs.checks import raises, two_devices
from torch import cuda


def streams_are_compared_by_their_handles():
    default, user = cuda.current_stream(), cuda.Stream()
    assert cuda.current_stream() == default == cuda.default_stream() and default != user
    assert default.cuda_stream == 0 and user.cuda_stream != 0 and default.query()
    with cuda.stream(user):
        assert cuda.current_stream() == user
        cuda._sleep(20_000_000)
        assert not user.query()
    user.synchronize()
    assert user.query() and hash(user) == hash(cuda.Stream(stream_id=user.stream_id, device_index=0, device_type=1))
    assert user != 3 and default == cuda.default_stream("cuda:0")
    for stream in (default, user):
        assert stream.device == torch.device("cuda:0") and isinstance(stream._as_parameter_, ctypes.c_void_p)


def streams_belong_to_devices():
    two_devices()
    s0 = cuda.current_stream()
    with cuda.device(1):
        s1, user = cuda.current_stream(), cuda.Stream()
    assert s1.device.index == user.device.index == 1 and s0 != s1 and cuda.current_stream(1) == s1
    assert cuda.Stream("cuda:1").device.index == cuda.Stream(device=1).device.index == 1
    with cuda.stream(user):  # its device is the current one inside
        assert cuda.current_device() == 1 and cuda.current_stream() == user and cuda.current_stream(0) == s0
        assert torch.ones(1, device="cuda").get_device() == 1
    assert cuda.current_device() == 0 and cuda.current_stream(1) == s1
    cuda.set_stream(user)
    assert cuda.current_stream(1) == user
    cuda.set_stream(s1)
    cuda.set_device(0)


def waiting_for_one_device_does_not_wait_for_another():
    two_devices()
    with cuda.device(1):
        s1 = cuda.Stream()
        with cuda.stream(s1):
            cuda._sleep(300_000_000)
    cuda.synchronize(0)
    cuda.synchronize()
    assert not s1.query()
    cuda.synchronize(1)
    assert s1.query()


def events_are_recorded_waited_for_and_timed():
    stream = cuda.current_stream()
    event = cuda.Event(enable_timing=True)
    assert event.query()
    start = stream.record_event(cuda.Event(enable_timing=True))
    cuda._sleep(20_000_000)
    stream.record_event(event)
    assert not event.query()
    event.synchronize()
    assert event.query() and start.elapsed_time(event) > 0
    assert event.device == torch.device("cuda", 0) and start.cuda_event
    for flags in ({"blocking": True}, {"enable_timing": True, "blocking": True}):
        with cuda.stream(cuda.Stream()):
            done = cuda.Event(**flags)
            done.record()
        done.wait()
        done.synchronize()
        assert done.query()


def events_of_other_devices_are_waited_for():
    two_devices()
    d0, d1 = torch.device("cuda:0"), torch.device("cuda:1")
    with cuda.device(d0):
        s0 = cuda.current_stream()
        cuda._sleep(30_000_000)
        x = torch.full((50,), 3.0, device=d0)
        e0 = s0.record_event(cuda.Event(enable_timing=True))
    with cuda.device(d1):
        s1 = cuda.current_stream()
        s1.wait_event(e0)
        y = torch.ones(50, device=d1) + x.to(d1)
        e1 = s1.record_event(cuda.Event(enable_timing=True))
    s1.synchronize()
    assert e0.query() and e1.query() and y.tolist() == [4] * 50
    raises(RuntimeError, "device", lambda: e0.elapsed_time(e1))
    raises(RuntimeError, "device", lambda: s1.record_event(e0))


def another_stream_reads_what_it_was_told_to_wait_for():
    producer, consumer = cuda.Stream(), cuda.Stream()
    with cuda.stream(producer):
        cuda._sleep(5_000_000)
        x = torch.arange(1000.0, device="cuda")
        event = producer.record_event()
    consumer.wait_event(event)
    with cuda.stream(consumer):
        y = x * 2
        x.record_stream(consumer)
    consumer.synchronize()
    with cuda.stream(consumer):
        assert y.tolist() == [2.0 * i for i in range(1000)]


def streams_have_priorities():
    least, most = cuda.Stream.priority_range()
    assert most <= least == 0
    high, low = cuda.Stream(priority=most), cuda.Stream(priority=least)
    assert high.priority == most and low.priority == least and cuda.current_stream().priority == 0


def threads_compute_the_same():
    x = torch.randn(40, 40, device="cuda")
    wanted, found = (x @ x).cpu(), []

    def work():
        stream = cuda.Stream()
        with cuda.stream(stream):
            stream.wait_stream(cuda.default_stream())
            for _ in range(5):
                y = x @ x
            found.append(y.cpu())

    threads = [threading.Thread(target=work) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(found) == 3 and all(torch.equal(y, wanted) for y in found)
