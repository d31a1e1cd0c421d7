"""Streams and events: order within a stream, none between streams but what is asked for."""

import pytest
import torch
from torch import cuda
from torch._cuda import _native


def test_work_goes_to_the_current_stream():
    _native.configure(lazy=True)
    s = cuda.Stream()
    x = torch.zeros(4, device="cuda")
    cuda.synchronize()
    with cuda.stream(s):
        assert cuda.current_stream() == s != cuda.default_stream()
        x.add_(1)
    assert cuda.current_stream() == cuda.default_stream()
    assert not s.query()
    assert x.tolist() == [0, 0, 0, 0]  # the default stream has not waited
    cuda.default_stream().wait_stream(s)
    assert x.tolist() == [1, 1, 1, 1] and s.query()


def test_events_mark_places():
    _native.configure(lazy=True)
    begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    assert begin.query() and repr(begin) == "<torch.cuda.Event uninitialized>"
    begin.record()
    x = torch.ones(1000, device="cuda") * 2
    end.record()
    assert not end.query()
    with pytest.raises(RuntimeError, match=r"an event is not done yet; call synchronize\(\)"):
        begin.elapsed_time(end)
    end.synchronize()
    assert end.query() and begin.elapsed_time(end) >= 0 and x.numel() == 1000
    with pytest.raises(ValueError, match="enable_timing=True"):
        begin.elapsed_time(cuda.Event())
    with pytest.raises(ValueError, match="must be recorded first"):
        begin.elapsed_time(cuda.Event(enable_timing=True))
    with pytest.raises(TypeError, match="expected a torch.cuda.Stream, got str"):
        begin.record("stream")


def test_a_stream_waits_for_an_event():
    _native.configure(lazy=True)
    a, b = cuda.Stream(), cuda.Stream(priority=-1)
    assert (a.priority, b.priority) == (0, -1) and cuda.Stream.priority_range() == (0, -1)
    x = torch.zeros(3, device="cuda")
    cuda.synchronize()
    with cuda.stream(a):
        x += 5
    event = a.record_event()
    b.wait_event(event)
    with cuda.stream(b):
        y = x * 2
    b.synchronize()
    assert event.query()
    cuda.default_stream().wait_stream(b)
    assert y.tolist() == [10, 10, 10]


def test_blocks_nest_and_threads_have_streams_of_their_own():
    import threading

    s, seen = cuda.Stream(), []
    with cuda.stream(s):
        thread = threading.Thread(target=lambda: seen.append(cuda.current_stream()))
        thread.start()
        thread.join()
        with cuda.stream(None), cuda.stream(cuda.default_stream()):
            assert cuda.current_stream() == cuda.default_stream()
        assert cuda.current_stream() == s
    assert seen == [cuda.default_stream()]
    external = cuda.ExternalStream(s.cuda_stream)
    assert external == s and hash(external) == hash(s) and "cuda:0" in repr(s)


def test_only_reading_values_waits():
    x = torch.ones(1000, device="cuda")
    _native.configure(lazy=True)
    before = _native.counts()["waits"]
    y = (x * 2).reshape(10, 100).t().contiguous().to(torch.float16) + 1
    z = torch.where(y > 2, y, 0)
    assert _native.counts()["waits"] == before
    assert z[0, 0].item() == 3 and _native.counts()["waits"] > before


def test_a_stream_of_another_kind_is_refused_by_name():
    for wrong in (
        lambda: cuda.set_stream(3),
        lambda: cuda.stream("s"),
        lambda: cuda.current_stream().wait_stream(None),
        lambda: cuda.current_stream().wait_event(cuda.current_stream()),
        lambda: cuda.current_stream().record_event(5),
        lambda: cuda.Stream(priority="high"),
    ):
        with pytest.raises(TypeError, match=r"expected a torch.cuda.(Stream|Event), got|priority must be an int"):
            wrong()


def test_a_stream_is_made_of_its_numbers_and_is_a_block():
    s = cuda.Stream(priority=-1)
    same = cuda.Stream(stream_id=s.stream_id, device_index=s.device_index, device_type=s.device_type)
    assert same == s and s.device_index == 0 and not s.is_capturing()
    with s, cuda.default_stream():
        assert cuda.current_stream() == cuda.default_stream()
    with s:
        assert cuda.current_stream() == s
        with s:
            pass
        assert cuda.current_stream() == s
    assert cuda.current_stream() == cuda.default_stream()


def test_backward_comes_after_what_other_streams_compute_and_before_what_they_get_next():
    pytest.importorskip("torch.autograd")
    _native.configure(lazy=True)
    side, x = cuda.Stream(), torch.full((1000,), 3.0, device="cuda", requires_grad=True)
    cuda.synchronize()
    with cuda.stream(side):
        loss = (x * x).sum()
    loss.backward()  # on the default stream, which nobody told to wait
    with cuda.stream(side):
        twice = x.grad * 2
    assert x.grad.tolist() == [6.0] * 1000
    side.synchronize()
    assert twice.cpu().tolist() == [12.0] * 1000


def test_a_function_of_ones_own_has_the_stream_of_its_forward_in_backward():
    pytest.importorskip("torch.autograd")
    _native.configure(lazy=True)
    seen = []

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, by):
            ctx.by = by
            return x * by

        @staticmethod
        def backward(ctx, grad):
            seen.append(cuda.current_stream())
            return grad * ctx.by, None

    a, b = cuda.Stream(), cuda.Stream()
    x = torch.full((1000,), 3.0, device="cuda", requires_grad=True)
    for s, by in ((a, 2), (b, 5)):
        with cuda.stream(s):
            s.wait_stream(cuda.default_stream())
            y = Times.apply(x, by)
        cuda.current_stream().wait_stream(s)
        (y * y).sum().backward()  # its gradients are made, and added up, on the default stream
        assert cuda.current_stream() == cuda.default_stream()
    assert seen == [a, b]
    assert x.grad.tolist() == [2 * 3.0 * (4 + 25)] * 1000
    with cuda.stream(a):
        Times.apply(x, 1).sum().backward()  # within the stream: nothing to change
    assert seen[-1] == a


def test_memory_that_a_function_made_in_its_stream_is_kept_for_the_callers():
    pytest.importorskip("torch.autograd")
    _native.configure(lazy=True)
    side, made = cuda.Stream(), []

    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            result = grad * 2
            made.append(result.data_ptr())
            return result

    x = torch.ones(1 << 10, device="cuda", requires_grad=True)
    with cuda.stream(side):
        y = Doubles.apply(x)
    (g,) = torch.autograd.grad(y, x, torch.ones_like(y))
    tripled = g * 3  # the default stream has not read g when its memory is free again
    del g
    with cuda.stream(side):
        other = torch.full((1 << 10,), 7.0, device="cuda")
        side.synchronize()
    assert other.data_ptr() != made[0]
    assert tripled.tolist() == [6.0] * (1 << 10)


def test_what_comes_after_a_sleep_is_not_done_before_it():
    stream, event, begin = cuda.Stream(), cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    x = torch.zeros(3, device="cuda")
    with cuda.stream(stream):
        begin.record()
        cuda._sleep(30_000_000)
        x.fill_(7)
        event.record()
    assert begin.query() and not event.query() and not stream.query() and cuda.current_stream().query()
    assert x.tolist() == [0] * 3  # the other stream does not wait
    cuda.current_stream().wait_event(event)
    y = x + 1
    assert not cuda.current_stream().query()
    assert y.tolist() == [8] * 3 and event.query() and stream.query()
    assert begin.elapsed_time(event) >= 30


def test_a_stream_that_is_busy_may_wait_for_itself():
    stream = cuda.Stream()
    x = torch.zeros(3, device="cuda")
    with cuda.stream(stream):
        cuda._sleep(30_000_000)
        x.fill_(7)
        stream.record_event().wait()
        stream.wait_stream(stream)
        x += 1
    assert not stream.query()
    stream.synchronize()
    assert x.tolist() == [8] * 3


def test_memory_that_another_stream_uses_is_given_out_when_that_one_is_done():
    source, stream, at = torch.tensor([1.0, 2, 3, 4]).pin_memory(), cuda.Stream(), []
    result = torch.zeros(4, device="cuda")
    cuda.empty_cache()

    def perform():
        with cuda.stream(stream):
            given = source.cuda(non_blocking=True)
            at.append(given.data_ptr())
        cuda.current_stream().wait_stream(stream)
        given.record_stream(cuda.current_stream())
        cuda._sleep(20_000_000)
        result.copy_(given)

    perform()
    with cuda.stream(stream):
        other = torch.cuda.FloatTensor(source.size()).zero_()
    assert other.data_ptr() != at[0] and result.tolist() == [1, 2, 3, 4]
    with cuda.stream(stream):
        assert torch.cuda.FloatTensor(source.size()).data_ptr() == at[0]


def test_what_is_asked_of_the_accelerator_is_asked_of_cuda():
    accelerator = torch.accelerator
    assert accelerator.is_available() and accelerator.device_count() == cuda.device_count()
    assert accelerator.current_accelerator() == torch.device("cuda")
    stream = torch.Stream(priority=0)
    assert type(stream) is cuda.Stream and isinstance(stream, torch.Stream)
    with stream:
        assert accelerator.current_stream() == stream
    assert type(torch.Stream("cpu")) is torch.Stream and type(torch.Event("cpu")) is torch.Event
    assert torch.Stream("cuda:0", 0).device == torch.device("cuda", 0) and torch.Stream(stream_id=0).stream_id == 0
    begin, end = torch.Event("cuda", enable_timing=True), torch.Event(enable_timing=True)
    assert type(begin) is type(end) is cuda.Event
    begin.record()
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 0
    begin, end = torch.Event("cuda"), torch.Event("cuda")  # a device is no wish for times
    begin.record()
    end.record()
    with pytest.raises(ValueError, match="enable_timing"):
        begin.elapsed_time(end)
    with accelerator.device_index(0):
        x = torch.ones(3, device="cuda")
        assert accelerator.current_device_index() == 0 and accelerator.memory_allocated() >= 12
    accelerator.synchronize()
    assert (x + 1).sum().item() == 6
