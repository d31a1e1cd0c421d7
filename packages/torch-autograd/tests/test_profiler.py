"""torch.autograd.profiler: what is noted of operators, nodes, ranges, memory and threads, and how it is shown."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import threading
import warnings

import pytest
import torch
from torch import _cold
from torch.autograd import profiler
from torch.autograd.profiler import EventList, FunctionEvent, Interval, Kernel, profile, record_function


def tree(events):
    """Names as nested lists: ["outer", ["inner"]]."""

    def shown(event):
        return [event.name, *map(shown, event.cpu_children)] if event.cpu_children else event.name

    return [shown(event) for event in events if event.cpu_parent is None]


def total(events):
    return sum(event.cpu_time_total for event in events if event.cpu_parent is None)


def test_a_small_model_is_the_list_made_by_hand():
    x = torch.ones(2, 3, requires_grad=True)
    with profile() as prof:
        with record_function("forward"):
            y = (x * 2).exp().sum()
        y.backward()
    assert tree(prof.function_events) == [
        ["forward", "aten::mul", "aten::exp", "aten::sum"],
        "aten::ones",
        ["SumBackward0", ["aten::reshape", "aten::view"], "aten::expand"],  # the gradient of a number, as large as x
        ["ExpBackward0", "aten::mul"],
        ["MulBackward0", "aten::mul"],
        "torch::autograd::AccumulateGrad",  # the first gradient becomes .grad itself
    ]


def test_a_composite_contains_its_parts():
    x = torch.ones(2, 3)
    with profile() as prof:
        x.reshape(6)
    reshape, view = prof.function_events
    assert (reshape.name, view.name, view.cpu_parent, reshape.cpu_children) == (
        "aten::reshape", "aten::view", reshape, [view],
    )  # fmt: skip
    assert reshape.self_cpu_time_total == pytest.approx(reshape.cpu_time_total - view.cpu_time_total, abs=0.002)
    assert view.self_cpu_time_total == pytest.approx(view.cpu_time_total, abs=0.002)


def test_times_of_their_own_add_up_to_the_whole():
    x = torch.ones(50, 50, requires_grad=True)
    with profile() as prof:
        for _ in range(20):
            with record_function("step"):
                torch.relu(x @ x).sum().backward()
    events = prof.function_events
    assert prof.self_cpu_time_total == pytest.approx(total(events), rel=1e-6)
    assert all(event.self_cpu_time_total >= 0 for event in events)
    for event in events:
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start <= child.time_range.end <= event.time_range.end
    averages = {average.key: average for average in prof.key_averages()}
    assert averages["step"].count == 20
    assert averages["step"].cpu_time == pytest.approx(averages["step"].cpu_time_total / 20)
    assert sum(average.self_cpu_time_total for average in averages.values()) == pytest.approx(total(events), rel=1e-6)
    assert prof.total_average().count == len(events)


def test_backward_events_name_the_forward_events_that_made_them():
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, 3, requires_grad=True)
    with profile() as prof:
        torch.sigmoid(x @ w).sum().backward()
    pairs = {e.name: e.forward for e in prof.function_events if e.forward}
    names = {back: forward.name for back, forward in pairs.items()}
    assert names["SigmoidBackward0"] == "aten::sigmoid" and names["SumBackward0"] == "aten::sum"
    assert {e.name for e in prof.function_events if e.scope == 1} - set(names) == {"torch::autograd::AccumulateGrad"}
    for event in prof.function_events:
        if event.forward:
            assert event.sequence_nr == event.forward.sequence_nr >= 0
            assert event.fwd_thread == event.forward.thread == event.thread
    with profile() as prof:
        (x.detach() @ w.detach()).sum()
    assert {event.sequence_nr for event in prof.function_events} == {-1}


def test_a_function_of_the_users_appears_forward_and_backward():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g + g

    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        y = Twice.apply(x)
        y.backward(torch.ones(3))
    shown = tree(prof.function_events)
    assert shown[0] == ["Twice", "aten::mul"]
    assert ["TwiceBackward", "aten::add"] in shown
    back = next(event for event in prof.function_events if event.name == "TwiceBackward")
    assert back.forward.name == "Twice"


def test_a_decorated_function_is_a_range_at_every_depth():
    @record_function("fib")
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib.__name__ == "fib"
    with profile() as prof:
        assert fib(4) == 3
    assert tree(prof.function_events) == [
        ["fib", ["fib", ["fib", "fib", "fib"], "fib"], ["fib", "fib", "fib"]],
    ]
    with pytest.raises(TypeError, match="name of a range must be a str, got int"), record_function(3):
        pass


def test_a_range_ends_when_an_exception_leaves_it():
    prof = profile()
    with pytest.raises(ValueError, match="could not be broadcast|broadcast|size"), prof, record_function("failing"):
        try:
            torch.ones(2) + torch.ones(3)
        except RuntimeError as error:
            raise ValueError(str(error)) from None
    shown = tree(prof.function_events)
    assert shown[0][0] == "failing" and shown[0][-1] == "aten::add"
    assert not any(event.is_open for event in prof.function_events)


def test_generators_that_take_turns_keep_times_apart():
    def generator(name):
        with record_function(name):
            for _ in range(3):
                torch.ones(2)
                yield

    with profile() as prof:
        a, b = generator("a"), generator("b")
        for _ in range(3):
            next(a), next(b)
        list(a), list(b)
    events = prof.function_events
    a, b = (next(e for e in events if e.name == name) for name in "ab")
    assert b.cpu_parent is None and b.time_range.end > a.time_range.end > b.time_range.start
    assert all(event.self_cpu_time_total >= 0 for event in events)
    covered = b.time_range.end - a.time_range.start
    assert prof.self_cpu_time_total == pytest.approx(covered, rel=1e-6)


def test_profiles_nest_and_overlap():
    with profile() as outer:
        torch.ones(2)
        with profile() as inner:
            torch.zeros(2)
        torch.ones(2)
    assert [e.name for e in outer.function_events if not e.cpu_parent] == ["aten::ones", "aten::zeros", "aten::ones"]
    assert [e.name for e in inner.function_events if not e.cpu_parent] == ["aten::zeros"]
    with outer.__class__() as prof, pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()


def test_threads_have_events_of_their_own():
    x = torch.ones(3, requires_grad=True)
    ys = [(x * i).sum() for i in range(3)]

    def run(y):
        with record_function("worker"):
            y.backward()

    with profile() as prof:
        threads = [threading.Thread(target=run, args=(y,)) for y in ys]
        [t.start() for t in threads]
        [t.join() for t in threads]
        torch.ones(2)
    events = prof.function_events
    workers = [event for event in events if event.name == "worker"]
    assert len({event.thread for event in workers}) == 3
    for event in events:
        assert not event.cpu_parent or event.cpu_parent.thread == event.thread
    assert sum(event.name == "MulBackward0" for event in events) == 3
    assert {event.thread for event in events if event.name == "MulBackward0"} == {w.thread for w in workers}


def test_an_unfinished_profile_says_so():
    prof = profile()
    assert prof.function_events is None and repr(prof) == str(prof) == "<unfinished torch.autograd.profile>"
    for ask in (prof.table, prof.key_averages, prof.total_average, lambda: prof.export_chrome_trace("x")):
        with pytest.raises(RuntimeError, match="didn't finish running"):
            ask()


def test_a_disabled_profile_records_nothing():
    with profile(enabled=False) as prof:
        assert not torch._C._profiling()
        torch.ones(2)
    assert prof.function_events is None
    with profile(use_cpu=False) as prof:
        torch.ones(2)
    assert list(prof.function_events) == [] and prof.table() == ""


def test_shapes_and_values_of_arguments():
    a, b = torch.ones(2, 3), torch.ones(3)
    with profile(record_shapes=True) as prof:
        torch.add(a, b, alpha=2)
        torch.cat([a, a], 1)
        torch.sum(a, 0)
    add, cat, sums = (e for e in prof.function_events if e.cpu_parent is None)
    assert add.input_shapes == [[2, 3], [3], []] and add.concrete_inputs == ["", "", 2]
    assert cat.input_shapes == [[[2, 3], [2, 3]], []] and cat.concrete_inputs == ["", 1]
    assert sums.concrete_inputs[1] == [0]
    for n in (2, 2, 5):
        with profile(record_shapes=True) as prof:
            torch.ones(n).neg(), torch.ones(2).neg()
        shapes = {
            str(e.input_shapes): e.count for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::neg"
        }
        assert shapes == ({"[[2]]": 2} if n == 2 else {"[[5]]": 1, "[[2]]": 1})
    assert [e.count for e in prof.key_averages() if e.key == "aten::neg"] == [2]


def test_memory_is_exact():
    torch.ones(3)
    with profile(profile_memory=True) as prof:
        with record_function("keeps"):
            kept = torch.empty(1000)
            torch.empty(500, dtype=torch.float64)
        with record_function("frees"):
            del kept
        torch.empty(100_000)
    keeps, _, _, frees, last = (e for e in prof.function_events if e.name != "[memory]")
    assert (keeps.cpu_memory_usage, keeps.self_cpu_memory_usage) == (4000, -4000)
    assert [child.cpu_memory_usage for child in keeps.cpu_children] == [4000, 4000]
    assert frees.cpu_memory_usage == -4000
    assert last.cpu_memory_usage == 400_000
    assert [e.cpu_memory_usage for e in prof.function_events if e.name == "[memory]"] == [-400_000]
    table = prof.key_averages().table(sort_by="self_cpu_memory_usage")
    assert "CPU Mem" in table and "390.62 KB" in table
    assert "CPU Mem" not in profile_of(torch.ones, 2).table()


def profile_of(f, *args, **options):
    with profile(**options) as prof:
        f(*args)
    return prof


def test_memory_of_a_storage_that_moves_is_exact():
    def work():
        t = torch.empty(10)
        t.resize_(1000)
        t.resize_(100_000)

    prof = profile_of(work, profile_memory=True)
    records = prof.function_events._recording["memory"]
    assert sorted(size for _, size, *_ in records) == [-400_000, -4000, -40, 40, 4000, 400_000]
    assert sum(e.self_cpu_memory_usage for e in prof.function_events) == 0


def test_stacks_name_the_lines_that_called():
    def inner():
        return torch.ones(4).exp()

    prof = profile_of(inner, with_stack=True)
    event = next(e for e in prof.function_events if e.name == "aten::exp")
    assert event.stack[0].startswith(__file__) and event.stack[0].endswith(": inner")
    assert event.stack[0].split("(")[-1].split(")")[0] == str(inner.__code__.co_firstlineno + 1)
    assert event.stack[1].endswith(": profile_of")
    assert "Source Location" in prof.key_averages(group_by_stack_n=2).table()
    assert "Source Location" not in prof.key_averages().table()


def test_stacks_are_written_for_flame_graphs(tmp_path):
    def burn():
        x = torch.ones(200, 200)
        for _ in range(5):
            x = x @ x

    prof = profile_of(burn, with_stack=True)
    prof.export_stacks(tmp_path / "stacks")
    lines = (tmp_path / "stacks").read_text().splitlines()
    stack, _, value = max(lines, key=lambda line: int(line.split()[-1])).rpartition(" ")
    assert stack.split(";")[-1].endswith(":_burn") and int(value) > 0
    with pytest.raises(ValueError, match="must be one of self_cpu_time_total, self_cuda_time_total, got 'x'"):
        prof.export_stacks(tmp_path / "stacks", "x")
    with pytest.raises(RuntimeError, match="with_stack=True"):
        profile_of(burn).export_stacks(tmp_path / "stacks")


def test_flops_of_products_and_convolutions():
    def work():
        torch.mm(torch.ones(4, 5), torch.ones(5, 6))
        torch.conv2d(torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3), padding=1, stride=2)
        torch.ones(7) * 2

    prof = profile_of(work, with_flops=True)
    flops = {}
    for event in prof.function_events:
        flops[event.name] = flops.get(event.name, 0) + event.flops
    assert sum(flops.values()) == 2 * 4 * 5 * 6 + 2 * (2 * 4 * 4 * 4) * (3 * 3 * 3) + 7
    assert flops["aten::mm"] == 240 and flops["aten::mul"] == 7
    assert "Total KFLOPs" in prof.key_averages().table()
    assert all(event.input_shapes == [] for event in prof.function_events)


def test_the_table_has_the_columns_that_users_know():
    prof = profile_of(lambda: [torch.ones(3).exp() for _ in range(3)])
    lines = prof.key_averages().table(sort_by="count", row_limit=1, header="mine").splitlines()
    assert set(lines[0]) == {"="} and lines[1] == "mine"
    assert lines[3].split("  ")[-2].strip() == "# of Calls"
    assert [c for c in map(str.strip, lines[3].split("  ")) if c] == [
        "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls",
    ]  # fmt: skip
    assert len(lines) == 8 and lines[-1].startswith("Self CPU time total: ")
    assert lines[5].split()[0] in ("aten::ones", "aten::exp") and lines[5].split()[-1] == "3"
    assert len({len(line) for line in lines[2:7]}) == 1
    with pytest.raises(ValueError, match="sort_by must be one of cpu_time, .* got 'speed'"):
        prof.table(sort_by="speed")
    assert str(prof) == prof.table() == str(prof.function_events)


def test_a_table_sorts_limits_and_cuts():
    events = EventList([FunctionEvent(i, "x" * 70 if i == 3 else f"e{i}", 0, 0, 1000 * i) for i in range(5)])
    lines = events.table(sort_by="cpu_time_total", row_limit=2).splitlines()[3:5]
    assert lines[0].split()[0] == "e4" and lines[1].split()[0] == "x" * 52 + "..."
    assert "4.000ms" in lines[0] and "40.00%" in lines[0]
    events._build_tree()
    assert len(events.table(top_level_events_only=True).splitlines()) < len(events.table().splitlines())
    assert "4000.000us" in events.table(time_unit="us")


def test_a_chrome_trace_reads_back(tmp_path):
    x = torch.ones(3, requires_grad=True)

    def work():
        with record_function("part", "batch 1"):
            y = (x * 2).sum()
        thread = threading.Thread(target=torch.ones, args=(3,), name="helper")
        thread.start()
        thread.join()
        y.backward()

    prof = profile_of(work, profile_memory=True, record_shapes=True)
    for name in ("trace.json", "trace.json.gz"):
        prof.export_chrome_trace(tmp_path / name)
    trace = json.loads((tmp_path / "trace.json").read_text())
    with gzip.open(tmp_path / "trace.json.gz") as file:
        assert json.load(file)["traceEvents"] == trace["traceEvents"]
    rows = trace["traceEvents"]
    ranges = [row for row in rows if row["ph"] == "X"]
    events = [event for event in prof.function_events if event.name != "[memory]"]
    assert [(r["name"], r["ts"], r["dur"]) for r in ranges] == [
        (e.name, e.time_range.start, e.time_range.elapsed_us()) for e in events
    ]
    assert {r["tid"] for r in ranges} == {r["tid"] for r in rows if r["name"] == "thread_name"}
    assert threading.get_native_id() in {r["tid"] for r in ranges} and {r["pid"] for r in rows} == {os.getpid()}
    part = next(r for r in ranges if r["name"] == "part")
    assert part["cat"] == "user_annotation" and part["args"]["Concrete Inputs"] == ["batch 1"]
    assert next(r for r in ranges if r["name"] == "aten::mul")["args"]["Input Dims"][0] == [3]
    starts, ends = ({r["id"]: r for r in rows if r["ph"] == ph} for ph in "sf")
    assert len(starts) == len(ends) == 2 and starts.keys() == ends.keys()
    assert all(starts[i]["ts"] < ends[i]["ts"] for i in starts)
    memory = [r for r in rows if r["name"] == "[memory]"]
    assert [m["args"]["Total Allocated"] for m in memory][0] == memory[0]["args"]["Bytes"] > 0


def test_a_child_process_does_not_record():
    with profile() as prof:
        torch.ones(2)
        child = os.fork()
        if child == 0:
            torch.zeros(2)
            os._exit(3 if torch._C._profiling() else 0)
        assert os.waitpid(child, 0)[1] == 0
        torch.ones(2)
    assert [e.name for e in prof.function_events if not e.cpu_parent] == ["aten::ones", "aten::ones"]


def test_many_events_stay_within_the_limit_and_the_rest_is_counted():
    _cold.limit_profile(1 << 20)
    try:
        with pytest.warns(UserWarning, match=r"profile: \d+ ranges were not recorded"):
            prof = profile_of(lambda: [torch._C._end_range(torch._C._begin_range("x")) for _ in range(100_000)])
    finally:
        _cold.limit_profile(256 << 20)
    assert 10_000 < len(prof.function_events) < 100_000
    assert not any(event.is_open for event in prof.function_events)


def test_a_range_that_is_left_open_ends_with_the_profile():
    handle = []
    prof = profile_of(lambda: handle.append(torch._C._begin_range("open")))
    torch._C._end_range(handle[0])
    (event,) = prof.function_events
    assert event.is_open and event.cpu_time_total > 0
    assert profile_of(lambda: torch._C._end_range(handle[0])).function_events == []


def test_cuda_and_other_tools_say_what_is_missing():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        profile(use_cuda=True)
    with pytest.raises(NotImplementedError, match="device 'xpu' is not recorded"):
        profile(use_device="xpu")
    with pytest.raises(NotImplementedError, match="experimental_config= is an option of PyTorch's tracing library"):
        profile(experimental_config=object())
    for emit, why in ((profiler.emit_nvtx, "NVTX, is not opened"), (profiler.emit_itt, "Intel's ITT")):
        with pytest.raises(NotImplementedError, match=why), emit():
            pass
        with emit(enabled=False):
            pass
    with pytest.raises(NotImplementedError, match="open one for each part"):
        profile().toggle_collection_dynamic(True, [])


def nvprof_file(path):
    base = sqlite3.connect(path)
    base.executescript("""
        CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT, name INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, correlationId INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, name INT, deviceId INT, start INT,
            end INT, correlationId INT);
        INSERT INTO StringTable VALUES (1, 'outer'), (2, 'inner'), (3, '_ZN5torch4initEv');
        INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 2, 1000, 7, 1), (2, 2, 3000, 8, 2), (3, 4, 5000, 8, 0),
            (4, 4, 9000, 7, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 13, 3500, 4000, 1), (2, 13, 6000, 6500, 2), (3, 13, 9500, 9600, 3);
        INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 3, 0, 20000, 22000, 1), (2, 3, 0, 22000, 23000, 2),
            (3, 3, 0, 30000, 31000, 3);
    """)
    base.commit()
    base.close()


def test_a_trace_of_nvprof_is_read(tmp_path):
    nvprof_file(tmp_path / "trace")
    events = profiler.load_nvprof(tmp_path / "trace")
    assert [(e.name, e.time_range.start, e.time_range.end) for e in events] == [("outer", 1, 9), ("inner", 3, 5)]
    outer, inner = events
    assert [(k.name, k.duration) for k in inner.kernels] == [("torch::init()", 2.0)]
    assert [k.duration for k in outer.kernels] == [2.0, 1.0]
    assert "CUDA total" in events.table() and outer.cuda_time_total == 3.0
    with pytest.raises(FileNotFoundError, match="no file"):
        profiler.load_nvprof(tmp_path / "absent")
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(ValueError, match="not a trace of nvprof"):
        profiler.parse_nvprof_trace(tmp_path / "text")
    sqlite3.connect(tmp_path / "empty").close()
    with pytest.raises(ValueError, match="no table StringTable"):
        profiler.load_nvprof(tmp_path / "empty")


def test_events_of_ones_own_find_their_parents_by_time():
    events = EventList([
        FunctionEvent(0, "a", 1, 0, 100), FunctionEvent(1, "b", 1, 10, 40), FunctionEvent(2, "c", 1, 20, 30),
        FunctionEvent(3, "d", 1, 40, 120), FunctionEvent(4, "e", 2, 15, 20),
    ])  # fmt: skip
    events._build_tree()
    a, b, c, d, e = events
    assert (b.cpu_parent, c.cpu_parent, d.cpu_parent, e.cpu_parent, a.cpu_parent) == (a, b, None, None, None)
    assert (a.self_cpu_time_total, b.self_cpu_time_total) == (70, 20)
    assert Kernel("k", 0, Interval(3, 5)).duration == 2
    assert Kernel("k", 0, interval=Interval(3, 5)).interval.start == 3
    assert FunctionEvent(0, "f", 0, cpu_start=1, cpu_end=4).cpu_interval.elapsed_us() == 3
    for wrong in (lambda: FunctionEvent(0, "f", 0, 1), lambda: Kernel("k", 0)):
        with pytest.raises(TypeError, match="must (both )?be given"):
            wrong()
    a.append_kernel("k", 0, 5)
    b.append_kernel("k", 0, 2)
    assert (a.cuda_time_total, a.self_cuda_time_total) == (7, 5)
    with pytest.raises(ValueError, match="sums of 'a' cannot take an event of 'b'"):
        profiler.FunctionEventAvg().add(a).add(b)


def test_a_profile_that_is_never_stopped_is_no_trouble():
    program = """
import threading, torch
from torch.autograd.profiler import profile, record_function
prof = profile(with_stack=True, profile_memory=True).__enter__()
record_function("open").__enter__()
thread = threading.Thread(target=lambda: [torch.ones(2) for _ in range(1000)], daemon=True)
thread.start()
torch.ones(3).exp()
print("fine")
"""
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_nothing_is_imported_or_noted_while_no_profiler_runs():
    assert not torch._C._profiling() and torch._C._begin_range("x") == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with record_function("nobody looks"):
            torch.ones(2)
