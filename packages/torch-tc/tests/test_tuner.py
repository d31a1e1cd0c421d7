"""The search for options, its files, and its end by Ctrl+C."""

import json
import subprocess
import sys

import pytest
import torch
import torch.tc as tc
from torch.tc import _tuner

pytest.importorskip("halide")

MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
QUICK = {"generations": 2, "pop_size": 3, "number_elites": 1, "progress": False}


def test_what_is_found_serves_the_next_call_and_the_next_process(tmp_path, capsys):
    file = tmp_path / "matmul.json"
    unit = tc.define(MATMUL, name="matmul")
    best = unit.autotune((8, 20), (20, 24), cache=file, **QUICK | {"progress": True})
    assert unit.forward.chosen == {((8, 20), (20, 24)): best}
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("tc: matmul: generation 2 of 2, ") and lines[-1].endswith(" us")
    program = f"""
import torch, torch.tc as tc
unit = tc.define({MATMUL.replace("  ", " ")!r}, name="matmul")
a, b = torch.rand(8, 20), torch.rand(20, 24)
assert torch.allclose(unit(a, b, cache={str(file)!r}), a @ b, atol=1e-5)
print(*unit.forward.chosen.values())"""
    again = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert again.stdout.strip() == repr(best), again.stderr
    tc.decode(file)
    shown = capsys.readouterr().out
    assert shown.startswith("matmul((8, 20), (20, 24))\n") and repr(best) in shown
    assert tc.MappingOptionsCache(str(file)).load(MATMUL, "matmul", [(8, 20), (20, 24)], 1) == [best]
    assert tc.MappingOptionsCache(str(file)).load(MATMUL, "matmul", [(8, 20), (20, 25)], 1) == []


def test_a_cache_may_be_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_TC_CACHE", str(tmp_path))
    tc.define(MATMUL, name="matmul").autotune((2, 3), (3, 4), cache=True, **QUICK)
    entries = json.loads((tmp_path / "matmul.json").read_text())["entries"].values()
    assert [e["shapes"] for e in entries] == [[[2, 3], [3, 4]]]


def test_several_sizes_are_tuned_together(tmp_path):
    unit, file = tc.define(MATMUL, name="matmul"), tmp_path / "c"
    a = torch.rand(5, 6)
    best = unit.autotune([a, (6, 7)], [(9, 8), (8, 17)], cache=file, **QUICK)
    assert unit.forward.chosen == {((5, 6), (6, 7)): best, ((9, 8), (8, 17)): best}
    assert len(json.loads(file.read_text())["entries"]) == 2


def test_an_interrupt_keeps_the_best(monkeypatch, tmp_path, capsys):
    measure, calls = _tuner.Case.measure, []

    def interrupted(self, options, limit):
        calls.append(options)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measure(self, options, limit)

    monkeypatch.setattr(_tuner.Case, "measure", interrupted)
    best = tc.define(MATMUL, name="matmul").autotune((5, 6), (6, 7), cache=tmp_path / "c", generations=9, pop_size=9)
    assert best in calls[:2] and "tc: matmul: interrupted after 2 candidates" in capsys.readouterr().err
    assert (tmp_path / "c").exists()
    calls[:] = [None, None]
    with pytest.raises(KeyboardInterrupt):  # nothing was measured yet
        tc.define(MATMUL, name="matmul").autotune((5, 6), (6, 7))


def test_a_candidate_that_is_wrong_or_refused_never_wins(monkeypatch, capsys):
    from torch.tc._program import Program

    run = Program.run

    def broken(self, inputs, outputs):
        run(self, inputs, outputs)
        if self.options.values["naive"] is False:
            outputs[0][0] += 1

    monkeypatch.setattr(Program, "run", broken)
    with tc.SetDebugFlags(debug_tuner=True):
        best = tc.define(MATMUL, name="matmul").autotune((5, 6), (6, 7), **QUICK)
    assert best == tc.MappingOptions("naive")
    assert "gives another result" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "torch-tc 1", "entries": 3}', "\x00\xff"])
def test_a_file_that_is_no_cache_is_named(tmp_path, content):
    file = tmp_path / "c"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match="is not a cache of tuned options"):
        tc.define(MATMUL, name="matmul")(torch.rand(2, 3), torch.rand(3, 4), cache=file)


def test_options_of_a_file_are_read_with_care(tmp_path):
    file, unit = tmp_path / "c", tc.define(MATMUL, name="matmul")
    unit.autotune((2, 3), (3, 4), cache=file, **QUICK)
    for wrong in ({"tile": ["x"]}, {"unroll": -3}, {"lanes": 7}, {"name": "?"}, {"more": 1}, 5, None):
        data = json.loads(file.read_text())
        for entry in data["entries"].values():
            entry["found"] = [{"us": 1, "options": wrong}]
        (tmp_path / "d").write_text(json.dumps(data))
        with pytest.raises(ValueError, match="holds options that cannot be read"):
            tc.define(MATMUL, name="matmul")(torch.rand(2, 3), torch.rand(3, 4), cache=tmp_path / "d")


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"generations": 0}, ValueError, "generations expected a whole number from 1, got 0"),
        ({"pop_size": 1.5}, ValueError, "pop_size expected a whole number from 1, got 1.5"),
        ({"crossover_rate": 101}, ValueError, "crossover_rate expected percent, got 101"),
        ({"population": 3}, TypeError, "unknown settings population"),
    ],
)
def test_wrong_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        tc.define(MATMUL, name="matmul").autotune((2, 3), (3, 4), **settings)
    with pytest.raises(TypeError, match="matmul: autotune expected 2 arguments, got 1"):
        tc.define(MATMUL, name="matmul").autotune((2, 3))
