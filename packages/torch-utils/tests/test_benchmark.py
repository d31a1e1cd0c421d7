import faulthandler
import math
import os
import shutil
import statistics

import pytest
import torch
from torch.utils import benchmark
from torch.utils.benchmark import (
    Compare,
    FuzzedParameter,
    FuzzedTensor,
    Fuzzer,
    Measurement,
    ParameterAlias,
    TaskSpec,
    Timer,
)


@pytest.fixture(autouse=True)
def hard_limit():
    """valgrind and a compiler on a busy machine take longer than other tests may."""
    faulthandler.dump_traceback_later(280, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


class Clock:
    """Runs of the statement take as long as they say."""

    def __init__(self, *steps):
        self.now, self.steps, self.runs = 0.0, list(steps), 0

    def __call__(self):
        return self.now

    def run(self):
        self.runs += 1
        self.now += self.steps[0] if len(self.steps) == 1 else self.steps.pop(0)


def timed(*steps, **options):
    clock = Clock(*steps)
    return Timer("run()", timer=clock, globals={"run": clock.run}, **options), clock


def test_timeit_measures_once_after_warming_up():
    timer, clock = timed(0.5)
    found = timer.timeit(200)
    assert found.raw_times == [100.0]
    assert found.number_per_run == 200
    assert found.median == found.mean == 0.5
    assert clock.runs == 202


def test_blocked_autorange_goes_on_until_the_time_is_over():
    timer, _ = timed(0.001)
    seen = []
    found = timer.blocked_autorange(lambda number, taken: seen.append((number, taken)), min_run_time=0.5)
    assert 0.5 <= sum(found.raw_times) < 0.5 + max(found.raw_times)
    assert found.median == pytest.approx(0.001)
    assert [t for _, t in seen] == found.raw_times


def test_short_statements_are_timed_in_blocks():
    found = Timer("pass").blocked_autorange(min_run_time=0.01)
    assert found.number_per_run >= 1000
    assert 0 < found.median < 1e-5


def test_adaptive_autorange_stops_when_the_times_agree():
    timer, clock = timed(1.0)
    found = timer.adaptive_autorange(max_run_time=100)
    assert len(found.raw_times) == 4
    noisy, clock = timed(*[0.1, 0.3] * 5000)
    found = noisy.adaptive_autorange(threshold=0.01, max_run_time=3.0)
    assert 3.0 <= math.fsum(found.raw_times) <= 3.5


def test_repeat_and_autorange_are_those_of_timeit():
    timer, _ = timed(0.001)
    assert timer.repeat(3, 10) == pytest.approx([0.01] * 3)
    number, taken = timer.autorange()
    assert (number, taken) == (200, pytest.approx(0.2))


def test_the_statement_runs_with_as_many_threads_as_told():
    seen = []
    before = torch.get_num_threads()
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=3).timeit(1)
    assert set(seen) == {3}
    assert torch.get_num_threads() == before


def test_statements_of_several_lines_and_setup_are_run():
    seen = []
    Timer("x += 1\nseen.append(x)", "x = 10", globals={"seen": seen}).timeit(3)
    assert seen[-3:] == [11, 12, 13]


def test_wrong_timers_are_told():
    with pytest.raises(TypeError, match="stmt and setup are text"):
        Timer(print)
    with pytest.raises(ValueError, match="language must be 'python' or 'c\\+\\+', got 'rust'"):
        Timer(language="rust")
    with pytest.raises(ValueError, match="C\\+\\+ sees no globals"):
        Timer("f()", globals={"f": print}, language="c++")
    with pytest.raises(ValueError, match="global_setup is for C\\+\\+"):
        Timer("pass", global_setup="#include <x>")


def test_a_statement_of_cpp_is_compiled_and_timed(tmp_path, monkeypatch):
    pytest.importorskip("pybind11")
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        pytest.skip("needs a C++ compiler")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    timer = Timer("y = x.mm(x).clamp(0, 9)", "auto x = torch::ones({n, n}), y = x", "int64_t n = 2;", language="cpp")
    assert 0 < timer.timeit(1000).median < 1e-3
    with pytest.raises(RuntimeError, match="the statement of C.. failed: .*mm"):
        Timer("torch::mm(torch::ones({2, 3}), torch::ones({2, 3}))", language="cpp").timeit(1)


def test_measurements_are_told_by_their_quartiles():
    times = [1.0, 2.0, 3.0, 4.0, 10.0]
    m = Measurement(2, times, TaskSpec("f()", label="l", num_threads=2))
    assert m.median == 1.5
    assert m.mean == statistics.fmean(times) / 2
    assert m.iqr == (4.0 - 2.0) / 2
    assert m.has_warnings
    assert (m.label, m.num_threads, m.stmt) == ("l", 2, "f()")
    assert "Median: 1.50 seconds" in repr(m)
    assert "5 measurements, 2 runs each" in repr(m)
    assert "the interquartile range is 67% of the median" in repr(m)
    with pytest.raises(ValueError, match="there are no times"):
        Measurement(1, [], TaskSpec("f()")).median
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        m.speed


def test_digits_mean_something_only_when_times_agree():
    spec = TaskSpec("f()")
    steady = Measurement(1, [1.0 + 1e-4 * (i % 2) for i in range(400)], spec)
    rough = Measurement(1, [1.0 + 0.5 * (i % 2) for i in range(400)], spec)
    # 3 * iqr / 1.349 / sqrt(400): 1.1e-5 and 0.056 of 1 to 1.5
    assert (steady.significant_figures, rough.significant_figures) == (5, 2)


def test_measurements_of_one_task_are_merged():
    a, b = TaskSpec("a"), TaskSpec("b")
    merged = Measurement.merge([Measurement(2, [2.0], a), Measurement(1, [5.0], b), Measurement(1, [3.0], a)])
    assert [(m.task_spec, m.times) for m in merged] == [(a, [1.0, 3.0]), (b, [5.0])]


def row(seconds, sub, text, threads=1, label="sum", env=None):
    return Measurement(
        1, [seconds], TaskSpec("", label=label, sub_label=sub, description=text, num_threads=threads, env=env)
    )


def test_a_table_has_rows_columns_and_sections_of_threads():
    compare = Compare([row(1e-3, "small", "old"), row(2.5e-3, "small", "new"), row(9e-3, "large", "old", 2)])
    lines = str(compare).splitlines()
    assert " sum " in lines[0]
    assert lines[1].split() == ["|", "old", "|", "new"]
    assert lines[2].startswith("1 threads: ---")
    assert lines[3].split() == ["small", "|", "1.0", "|", "2.5"]
    assert lines[4].startswith("2 threads: ---")
    assert lines[5].split() == ["large", "|", "9.0", "|"]
    assert lines[7] == "Times are in milliseconds (ms)."


def test_tables_are_split_by_label_and_rows_by_environment(capsys):
    compare = Compare([row(1.0, "a", "x")])
    compare.extend_results([row(1.0, "a", "x", label="other"), row(2.0, "a", "x", env="new")])
    compare.print()
    out = capsys.readouterr().out
    assert "[" in out and " other " in out and "(new) a" in out
    with pytest.raises(ValueError, match="expected Measurements, got float"):
        Compare([1.0])


def test_colors_show_the_best_of_a_column_or_row():
    compare = Compare([row(1.0, "a", "x"), row(3.0, "b", "x"), row(0.5, "a", "y")])
    compare.colorize()
    best = "\033[92m\033[1m"
    lines = {line.split()[0]: line for line in str(compare).splitlines() if "|" in line and "x" not in line}
    assert lines["a"].count(best) == 1 and best not in lines["b"]
    compare.colorize(rowwise=True)
    lines = {line.split()[0]: line for line in str(compare).splitlines() if "|" in line and "x" not in line}
    assert lines["a"].index(best) > lines["a"].index("1000.0")


def test_units_and_digits():
    assert [benchmark.select_unit(t)[0] for t in (2.0, 0.5, 5e-4, 5e-8, 1e-12)] == ["s", "ms", "us", "ns", "ns"]
    assert benchmark.unit_to_english("us") == "microsecond"
    assert [benchmark.trim_sigfig(12345.0, n) for n in (1, 2, 3)] == [10000, 12000, 12300]
    assert benchmark.ordered_unique([2, 1, 2]) == [2, 1]
    with pytest.raises(ValueError):
        benchmark.trim_sigfig(1.0, 0)


# --- callgrind


EXAMPLE = """
version: 1
events: Ir
ob=(1) /lib/libc.so
fl=(1) a.c
fn=(1) leaf
10 5
+1 7
fn=(2) middle
3 100
cfn=(1)
calls=2 10
* 24
fn=(3) top
cob=(2) /lib/libm.so
cfn=(4) far
calls=1 1
1 50
cfn=(2)
calls=1 3
2 124
4 1
ob=(2)
fn=(4)
1 50
"""


def test_a_file_of_callgrind_is_understood():
    inclusive, exclusive = benchmark.callgrind.parse(EXAMPLE)
    libc, libm = "[/lib/libc.so]", "[/lib/libm.so]"
    assert {r.function: r.count for r in exclusive} == {
        f"leaf {libc}": 12,
        f"middle {libc}": 100,
        f"far {libm}": 50,
        f"top {libc}": 1,
    }
    assert {r.function: r.count for r in inclusive} == {
        f"leaf {libc}": 12, f"middle {libc}": 124, f"far {libm}": 50, f"top {libc}": 175
    }  # fmt: skip
    assert [r.count for r in exclusive] == [100, 50, 12, 1]
    assert exclusive.sum() == 163
    assert [r.function for r in exclusive[1:3]] == [f"far {libm}", f"leaf {libc}"]
    twice = exclusive + exclusive
    assert twice.sum() == 326
    assert len(twice - exclusive - exclusive) == 0
    assert exclusive.transform(lambda name: "all").sum() == 163
    assert exclusive.filter(lambda name: "far" in name)[0].count == 50
    assert "Total: 163" in repr(exclusive)
    with pytest.raises(ValueError, match="inclusive and exclusive"):
        exclusive - inclusive


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_instructions_are_counted_and_grow_with_the_runs():
    timer = Timer(
        "x.add(x)", "y = 'it''s'", globals={"x": benchmark.CopyIfCallgrind(torch.ones(4), setup="import math")}
    )
    few = timer.collect_callgrind(20, collect_baseline=False)
    many = timer.collect_callgrind(40, collect_baseline=False, retain_out_file=True)
    each = (many.counts() - few.counts()) / 20
    assert 100 < each < 20000
    assert many.counts() == pytest.approx(40 * each, rel=0.5)
    assert any("libtorch_core" in r.function for r in many.stats())
    assert "events: Ir" in many.stmt_callgrind_out and few.stmt_callgrind_out is None
    assert many.delta(few).sum() == many.counts() - few.counts()
    assert "Instructions:" in repr(many)


def test_without_valgrind_the_way_out_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="apt install valgrind"):
        Timer("pass").collect_callgrind()


def test_globals_that_cannot_be_copied_are_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: name)
    with pytest.raises(TypeError, match=r"the global 'f' \(function\) cannot be copied .*; make it in setup"):
        Timer("f()", globals={"f": lambda: 1}).collect_callgrind()


# --- fuzzer


def test_tasks_are_the_same_for_the_same_seed_and_keep_to_their_bounds():
    make = lambda: Fuzzer(
        [FuzzedParameter("n", 1, 64, "loguniform"), FuzzedParameter("k", distribution={1: 0.5, 2: 0.5})],
        [FuzzedTensor("x", ("n", 3), steps=("k", 1), min_elements=6, max_elements=90)],
        constraints=[lambda n, k: n % 2 == 0],
        seed=3,
    )
    first, second = list(make().take(20)), list(make().take(20))
    for (a, about, params), (b, _, _) in zip(first, second):
        assert torch.equal(a["x"], b["x"])
        assert a["x"].shape == (params["n"], 3)
        assert params["n"] % 2 == 0 and 6 <= a["x"].numel() <= 90
        assert about["x"]["steps"][0] == params["k"]
        assert about["x"]["is_contiguous"] == a["x"].is_contiguous()
    assert len({a["x"].shape for a, _, _ in first}) > 3
    assert {about["x"]["is_contiguous"] for _, about, _ in first} == {True, False}


def test_aliases_take_another_parameters_value():
    fuzzer = Fuzzer(
        [
            FuzzedParameter("a", 1, 100, "uniform"),
            FuzzedParameter("b", distribution={ParameterAlias("a"): 0.5, 1: 0.5}),
        ],
        [],
        seed=0,
    )
    draws = [params for _, _, params in fuzzer.take(50)]
    assert {p["b"] == p["a"] for p in draws} == {True, False}
    assert all(p["b"] in (1, p["a"]) for p in draws)


def test_tasks_that_cannot_be_are_told():
    with pytest.raises(RuntimeError, match="no task in 1000 draws meets the constraints"):
        next(Fuzzer([FuzzedParameter("a", 1, 2, "uniform")], [], [lambda a: a > 2]).take(1))
    with pytest.raises(ValueError, match="names are used twice: a"):
        Fuzzer([FuzzedParameter("a", 1, 2, "uniform")] * 2, [])
    with pytest.raises(ValueError, match="sum to 1"):
        FuzzedParameter("a", distribution={1: 0.5})
    with pytest.raises(ValueError, match="unknown distribution 'normal'"):
        FuzzedParameter("a", 1, 2, "normal")
    with pytest.raises(NotImplementedError, match="FuzzedTensor makes dense ones"):
        benchmark.FuzzedSparseTensor("x", ("n",))
    alias = FuzzedParameter("a", distribution={ParameterAlias("a"): 1.0})
    with pytest.raises(ValueError, match="alias of itself"):
        next(Fuzzer([alias], []).take(1))


@pytest.mark.parametrize("number", [0, -3, 1.5, "3"])
def test_runs_are_counted_from_one(number):
    with pytest.raises(ValueError, match=f"number of runs is an int from 1 on, got {number!r}"):
        Timer("1").timeit(number)
