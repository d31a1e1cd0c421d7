"""torch.profiler: steps, schedules and what is handed over after each cycle."""

import json

import pytest
import torch
from torch.autograd import profiling
from torch.profiler import ProfilerAction, ProfilerActivity, itt, profile, record_function, schedule

NONE, WARMUP, RECORD, SAVE = ProfilerAction


def test_it_is_one_module_under_two_names():
    import torch.profiler.itt as again
    import torch.profiler.profiler as inside

    assert torch.profiler is profiling and again is itt is profiling.itt
    assert inside.profile is profile and inside is profiling.profiler
    assert torch.autograd.profiler.record_function is record_function


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, [NONE, WARMUP, RECORD, SAVE, NONE, WARMUP, RECORD, SAVE]),
        ({"wait": 0, "warmup": 1, "active": 1, "repeat": 1}, [WARMUP, SAVE, NONE, NONE]),
        ({"wait": 1, "warmup": 1, "active": 1, "skip_first": 2}, [NONE, NONE, NONE, WARMUP, SAVE, NONE]),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first_wait": 1}, [WARMUP, SAVE, NONE, NONE, WARMUP, SAVE]),
    ],
)
def test_a_schedule_names_each_step(options, expected):
    assert [schedule(**options)(step) for step in range(len(expected))] == expected


def test_a_schedule_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="active must be positive, got 0"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(ValueError, match="wait must be 0 or more, got -1"):
        schedule(wait=-1, warmup=1, active=1)
    with pytest.warns(UserWarning, match="without a warm-up step"):
        action = schedule(wait=1, warmup=0, active=1)
    with pytest.raises(ValueError, match="step must be 0 or more"):
        action(-1)


def counts(prof):
    return {e.key: e.count for e in prof.key_averages() if e.key.startswith(("Profiler", "aten::exp"))}


@pytest.mark.parametrize("accumulate", [False, True])
def test_each_cycle_is_handed_over(accumulate):
    seen = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda p: seen.append((p.step_num, counts(p))),
        acc_events=accumulate,
    ) as prof:
        x = torch.ones(3)
        for step in range(10):
            for _ in range(step + 1):
                x.exp()
            prof.step()
    first = {"ProfilerStep#2": 1, "ProfilerStep#3": 1, "aten::exp": 3 + 4}
    second = {"ProfilerStep#6": 1, "ProfilerStep#7": 1, "aten::exp": 7 + 8}
    if accumulate:
        second = {**first, **second, "aten::exp": 3 + 4 + 7 + 8}
    assert seen == [(4, first), (8, second)]
    assert counts(prof) == second
    assert not torch._C._profiling()


def test_cycles_without_a_pause_are_apart():
    seen = []
    with pytest.warns(UserWarning, match="without a warm-up"):
        every = schedule(wait=0, warmup=0, active=1)
    with profile(schedule=every, on_trace_ready=lambda p: seen.append(counts(p))) as prof:
        for _ in range(3):
            torch.ones(2).exp()
            prof.step()
    assert seen[:3] == [{f"ProfilerStep#{i}": 1, "aten::exp": 1} for i in range(3)]


def test_without_a_schedule_everything_is_recorded():
    handed = []
    prof = profile(activities=[ProfilerActivity.CPU], record_shapes=True, on_trace_ready=handed.append)
    with pytest.raises(RuntimeError, match=r"step\(\) before start\(\)"):
        prof.step()
    with pytest.raises(RuntimeError, match="nothing was recorded yet"):
        prof.events()
    prof.start()
    with pytest.raises(RuntimeError, match="started already"):
        prof.start()
    torch.ones(2).exp()
    prof.step()
    torch.ones(2).exp()
    prof.stop()
    prof.stop()
    assert handed == [prof] and counts(prof) == {"aten::exp": 2}
    assert [e.input_shapes for e in prof.events() if e.name == "aten::exp"] == [[[2]], [[2]]]
    assert "aten::exp" in prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=10)


def test_a_schedule_that_stops_without_saving_warns():
    with profile(schedule=lambda step: RECORD if step == 0 else NONE, on_trace_ready=pytest.fail) as prof:
        with pytest.warns(UserWarning, match="recording ends without RECORD_AND_SAVE"):
            prof.step()
        assert not torch._C._profiling()


def test_a_failing_handler_leaves_nothing_recording():
    def fail(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), profile(on_trace_ready=fail):
        torch.ones(2)
    assert not torch._C._profiling()


def test_traces_are_written_for_tensorboard(tmp_path):
    handler = torch.profiler.tensorboard_trace_handler(tmp_path / "logs", worker_name="me", use_gzip=False)
    with profile(on_trace_ready=handler) as prof:
        prof.add_metadata("model", "small")
        prof.add_metadata_json("sizes", "[1, 2]")
        with record_function("mine"):
            torch.ones(2)
    (file,) = (tmp_path / "logs").iterdir()
    assert file.name.startswith("me.") and file.name.endswith(".pt.trace.json")
    trace = json.loads(file.read_text())
    assert trace["model"] == "small" and trace["sizes"] == [1, 2] and trace["trace_id"] == prof.get_trace_id()
    assert [e["name"] for e in trace["traceEvents"] if e["ph"] == "X"][0] == "mine"


def test_what_is_not_there_says_so():
    with pytest.raises(RuntimeError, match="ITT functions are not available"):
        itt.range_push("x")
    assert not itt.is_available() and not torch.profiler.kineto_available()
    assert torch.profiler.supported_activities() == {ProfilerActivity.CPU}
    with pytest.warns(UserWarning, match="CUDA is not available"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.raises(NotImplementedError, match=r"ProfilerActivity\.XPU is not recorded"):
        profile(activities=[ProfilerActivity.XPU])
    with pytest.raises(ValueError, match="no activity to record"):
        profile(activities=[])
    with pytest.raises(TypeError, match="must be of ProfilerActivity, got 'cpu'"):
        profile(activities=["cpu"])
    with pytest.raises(NotImplementedError, match="execution traces are not written"):
        torch.profiler.ExecutionTraceObserver()
    with profile() as prof:
        pass
    with pytest.raises(NotImplementedError, match="not recorded by category"):
        prof.export_memory_timeline("x")


def test_what_memory_is_for_is_not_told():
    from torch.profiler import _memory_profiler as names

    assert (
        list(names._CATEGORY_TO_INDEX.values()) == list(range(8))
        and names._CATEGORY_TO_COLORS.keys() == names._CATEGORY_TO_INDEX.keys()
    )
    with pytest.raises(NotImplementedError, match="profiles do not tell what memory is for; profile"):
        names.MemoryProfileTimeline(None)
