import importlib

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
