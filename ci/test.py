"""Builds the stack and runs every test: each tox environment of env_list, and one summary.

python3 ci/test.py                 # all
python3 ci/test.py nn optim        # some environments
python3 ci/test.py core -- -k add  # with arguments for pytest
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import bootstrap
from bootstrap import ROOT

RESULTS = ROOT / ".tox" / "results"
BUILD = "wheels"  # everything waits for it, except:
LIMIT = 75 * 60  # seconds for all environments together
AGAIN = 3  # an environment in which at most so many tests failed runs once more, with nothing beside it
WITHOUT_WHEELS = {"lint", "asan", "tsan", "generic", "clang"}


def counted(file: Path) -> dict[str, int]:
    """The numbers of one JUnit file, as pytest and ctest write them."""
    root = ElementTree.parse(file).getroot()
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for suite in [root] if root.tag == "testsuite" else root:
        tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        total["passed"] += tests - failed - skipped
        total["failed"] += failed
        total["skipped"] += skipped
    return total


def failures(file: Path) -> list[str]:
    """The tests of one JUnit file that failed."""
    if not file.exists():
        return []
    cases = ElementTree.parse(file).getroot().iter("testcase")
    return [f"{c.get('classname')}::{c.get('name')}" for c in cases if {"failure", "error"} & {part.tag for part in c}]


def tox(python: Path, *arguments: str) -> dict[str, bool]:
    """Run tox; whether each of the environments succeeded, as far as it ended."""
    report = RESULTS / "tox.json"
    report.unlink(missing_ok=True)
    command = [python, "-m", "tox", *arguments[:1], "--result-json", str(report), *arguments[1:]]
    settings = bootstrap.environment() | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=settings, start_new_session=True) as process:
        try:
            process.wait(LIMIT)
        except BaseException as reason:
            if isinstance(reason, subprocess.TimeoutExpired):
                print(f"no end after {LIMIT} s; what still runs:", flush=True)
                subprocess.run(["ps", "-s", str(process.pid), "-o", "pid,etimes,stat,wchan,args"])
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(reason, subprocess.TimeoutExpired):
                raise
    if not report.exists():  # it was cut short: what had ended by then left its counts
        return {file.stem: not counted(file)["failed"] for file in RESULTS.glob("*.xml")}
    return outcomes(json.loads(report.read_text()))


def outcomes(report: dict) -> dict[str, bool]:
    """Which environments of tox's report succeeded; it names those that did not run, too, without a result.

    >>> outcomes({"testenvs": {"nn": {"result": {"success": True}}, "optim": {}}})
    {'nn': True}
    """
    found = report.get("testenvs", {})
    return {name: env["result"].get("success", False) for name, env in found.items() if "result" in env}


def main() -> None:
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, rest = arguments[:split], arguments[split:]
    if {"-h", "--help"} & {*names}:
        return print(__doc__)
    if unknown := [name for name in names if name.startswith("-")]:
        sys.exit(f"test: {unknown[0]} is no environment; arguments for pytest come after --")
    started = time.time()
    python = bootstrap.tools()
    if not names:
        command = [python, "-m", "tox", "list", "-d", "--no-desc", "-q"]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    build = BUILD in names or not WITHOUT_WHEELS.issuperset(names)
    names = [name for name in names if name != BUILD]
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)

    success = tox(python, "run", "-q", "-e", BUILD) if build else {}
    built = time.time()
    if names and (success.get(BUILD) or not build):
        cores = str(len(os.sched_getaffinity(0)))
        ran = tox(python, "run-parallel", "-p", cores, "--parallel-no-spinner", "-e", ",".join(names), *rest)
        success |= ran
        if unended := [name for name in names if name not in ran]:
            print(f"without an end, and counted as failed: {', '.join(unended)}", flush=True)

    unsteady = {}
    for name in names:  # what fails only beside other tests is told from what fails, and told all the same
        failed = failures(RESULTS / f"{name}.xml")
        if not success.get(name) and 0 < len(failed) <= AGAIN:
            print(f"\n{name}: {', '.join(failed)} failed; once more, with nothing beside it", flush=True)
            success |= tox(python, "run", "-e", name, *rest)
            if success.get(name):
                unsteady[name] = failed

    total = {"passed": 0, "failed": 0, "skipped": 0}
    print(f"\n{'environment':18}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name in [BUILD] * build + names:
        file = RESULTS / f"{name}.xml"
        # An environment without counts of its own, or one that fell outside its tests, counts as one test.
        counts = (
            counted(file) if file.exists() else {"passed": int(success.get(name, False)), "failed": 0, "skipped": 0}
        )
        if not success.get(name) and not counts["failed"]:
            counts["failed"] = 1
        print(f"{name:18}" + "".join(f"{n:8}" for n in counts.values()))
        total = {k: n + counts[k] for k, n in total.items()}
    for name, failed in unsteady.items():
        print(f"unsteady, passed the second time: {name}: {', '.join(failed)}")
    print(f"build {built - started:.0f} s, tests {time.time() - built:.0f} s")
    print(", ".join(f"{n} {k}" for k, n in total.items()), flush=True)
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
