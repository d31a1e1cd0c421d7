import importlib
import subprocess
import sys

import pytest

summary = importlib.import_module("test")  # ci/test.py

PYTEST = '<testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10"/></testsuites>'
CTEST = '<testsuite name="ctest" tests="7" failures="1" disabled="0" skipped="2"/>'


def test_pytests_report_is_counted(tmp_path):
    (tmp_path / "a.xml").write_text(PYTEST)
    assert summary.counted(tmp_path / "a.xml") == {"passed": 4, "failed": 3, "skipped": 3}


def test_ctests_report_is_counted(tmp_path):
    (tmp_path / "a.xml").write_text(CTEST)
    assert summary.counted(tmp_path / "a.xml") == {"passed": 4, "failed": 1, "skipped": 2}


def test_environments_that_did_not_run_are_not_counted_as_failed():
    ran = {"result": {"success": True, "exit_code": 0}}
    assert summary.outcomes({"testenvs": {"lint": ran, "nn": {}, "optim": {"result": {"success": False}}}}) == {
        "lint": True,
        "optim": False,
    }


def test_of_a_run_that_is_cut_short_what_ended_counts(tmp_path, monkeypatch):
    passed = '<testsuite name="pytest" errors="0" failures="0" skipped="0" tests="2"/>'
    stops = [sys.executable, "-c", "import time; time.sleep(60)"]
    started = subprocess.Popen
    monkeypatch.setattr(summary, "RESULTS", tmp_path)
    monkeypatch.setattr(summary, "LIMIT", 0.1)
    monkeypatch.setattr(summary.subprocess, "Popen", lambda command, **settings: started(stops, **settings))
    monkeypatch.setattr(summary.subprocess, "run", lambda *command, **settings: None)
    (tmp_path / "core.xml").write_text(passed)
    (tmp_path / "nn.xml").write_text(PYTEST)
    assert summary.tox(sys.executable, "run-parallel") == {"core": True, "nn": False}


def test_a_question_for_help_runs_nothing(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["test.py", "--help"])
    monkeypatch.setattr(summary, "tox", lambda *arguments: pytest.fail("it ran"))
    summary.main()
    assert "ci/test.py nn optim" in capsys.readouterr().out


def test_an_option_in_place_of_an_environment_is_named(monkeypatch):
    monkeypatch.setattr("sys.argv", ["test.py", "-k", "add"])
    with pytest.raises(SystemExit, match="-k is no environment; arguments for pytest come after --"):
        summary.main()
