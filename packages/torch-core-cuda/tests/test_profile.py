"""Profiles with the times of a device: events before the first work of a range, and at its end."""

import json

import pytest
import torch
from torch._cuda import _native

pytest.importorskip("torch.autograd")
from torch.autograd import profiler


def test_operators_on_the_device_have_times_and_others_have_none():
    x = torch.ones(100, 100, device="cuda")
    with profiler.profile(use_cuda=True) as profile:
        y = torch.exp(x)
        torch.ones(3) + 1
    events = {e.name: e for e in profile.function_events}
    assert events["aten::exp"].device_time_total > 0 and events["aten::exp"].use_device == "cuda"
    assert events["aten::add"].device_time_total == 0 and not events["aten::add"].kernels
    assert y.sum() > 0


@pytest.mark.parametrize("lazy", [False, True])
def test_a_range_has_the_time_of_what_is_within(lazy):
    x = torch.ones(200, 200, device="cuda")
    _native.configure(lazy=lazy)
    with profiler.profile(use_device="cuda") as profile:
        with profiler.record_function("step"):
            x.exp().sin()
    events = {e.name: e for e in profile.function_events}
    step, parts = events["step"], [events["aten::exp"], events["aten::sin"]]
    assert step.device_time_total >= sum(p.device_time_total for p in parts) - 1e-3
    assert all(p.self_device_time_total > 0 for p in parts)
    assert "CUDA total" in profile.table() and "step" in profile.table()


def test_backward_and_copies_have_times():
    x = torch.ones(50, 50, device="cuda", requires_grad=True)
    with profiler.profile(use_cuda=True) as profile:
        (x * x).sum().backward()
        x.detach().cpu()
    names = {e.name for e in profile.function_events if e.device_time_total > 0}
    assert {"MulBackward0", "aten::mul", "aten::sum", "aten::_to_copy"} <= names


def test_streams_of_a_range_are_apart():
    x, s = torch.ones(100, device="cuda"), torch.cuda.Stream()
    with profiler.profile(use_cuda=True) as profile:
        with profiler.record_function("both"):
            x + 1
            with torch.cuda.stream(s):
                x * 2
    (both,) = (e for e in profile.function_events if e.name == "both")
    assert len(both.kernels) == 2


def test_the_trace_shows_kernels_of_the_device(tmp_path):
    x = torch.ones(100, device="cuda")
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    ) as profile:
        x + 1
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [e for e in trace if e.get("cat") == "kernel"]
    (operator,) = (e for e in trace if e["name"] == "aten::add" and e.get("cat") == "cpu_op")
    assert [k["name"] for k in kernels] == ["aten::add"] and kernels[0]["tid"] == "device 0"
    assert operator["ts"] - 1e3 < kernels[0]["ts"] < operator["ts"] + operator["dur"] + 1e3
    assert torch.profiler.ProfilerActivity.CUDA in torch.profiler.supported_activities()


def test_a_graph_is_timed_when_it_is_replayed():
    x = torch.ones(10, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with profiler.profile(use_cuda=True) as profile:
        with profiler.record_function("capture"), torch.cuda.graph(graph):
            x + 1
        with profiler.record_function("replay"):
            graph.replay()
    events = {e.name: e for e in profile.function_events}
    assert events["replay"].device_time_total > 0 and events["capture"].device_time_total == 0


def test_profiles_without_the_device_record_no_events():
    before = torch.cuda.Event(enable_timing=True)
    x = torch.ones(10, device="cuda")
    with profiler.profile() as profile:
        x + 1
    assert all(e.device_time_total == 0 for e in profile.function_events) and before is not None
