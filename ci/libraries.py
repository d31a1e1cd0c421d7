"""Runs libraries of the public registry, unmodified, on our stack and on PyTorch, and compares their numbers.

python ci/libraries.py --oracle /path/to/python                    # installs, runs, writes docs/libraries.md
python ci/libraries.py --oracle /path/to/python --only einops timm # runs these, and writes their rows anew
python ci/libraries.py --oracle /path/to/python --folder FOLDER    # libraries that are installed in FOLDER already
python ci/libraries.py --oracle /path/to/python --wheels PYTHON    # our side is what PYTHON has installed, not this tree

The oracle is an interpreter of the same Python version in which PyTorch is installed. A library comes with pip's
--no-deps, so that it brings no torch along; what it needs beside torch is listed in ci/libraries/beside.txt. The
programs are ci/libraries/programs/<library>.py: each function of one is a step, and what it returns is compared.
"""

import argparse
import datetime
import os
import pickle
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import packages
from packages import ROOT

HERE = ROOT / "ci" / "libraries"
PROGRAMS = HERE / "programs"
PAGE = ROOT / "docs" / "libraries.md"
#: Relative to the largest number of a result; float32 sums in another order differ by this much.
TOLERANCE = 2e-4
SECONDS = 400


@dataclass
class Outcome:
    """One program on both stacks: for each step what went wrong, or how far the numbers lie apart."""

    name: str
    distributions: dict[str, str]
    troubles: dict[str, str] = field(default_factory=dict)
    distances: dict[str, float] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        return len(self.troubles) + len(self.distances)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True, help="the Python that has PyTorch")
    parser.add_argument("--folder", type=Path, help="where the libraries lie, or are to be installed")
    parser.add_argument("--wheels", metavar="PYTHON", help="a Python in which our wheels are installed")
    parser.add_argument("--only", nargs="*", default=[], help="programs to run, by name")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    programs = sorted(PROGRAMS.glob("*.py"))
    if unknown := set(options.only) - {p.stem for p in programs}:
        parser.error(f"no program {', '.join(sorted(unknown))} in {PROGRAMS}")
    if options.only:
        programs = [p for p in programs if p.stem in options.only]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or install(ROOT / ".cache" / "libraries")
        if options.wheels:
            ours = options.wheels, [folder]
        else:
            built = [p for p in packages.read().values() if not p.compiled or any((p.folder / "src").rglob("*.so"))]
            ours = sys.executable, [*(p.folder / "src" for p in built), identity(Path(scratch)), folder]
        both = [ours, (options.oracle, [folder])]
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(partial(compare, both=both, scratch=Path(scratch)), programs))
    for outcome in outcomes:
        print(f"{outcome.name:32}{len(outcome.distances):4} of {outcome.steps}")
        for step, trouble in outcome.troubles.items():
            print(f"    {step}: {trouble}")
    good, total = sum(len(o.distances) for o in outcomes), sum(o.steps for o in outcomes)
    print(f"{good} passed, {total - good} failed")
    before = PAGE.read_text() if options.only else ""
    PAGE.write_text(page(outcomes, datetime.date.today(), before))
    return 0


def install(folder: Path) -> Path:
    """Fill the folder with the libraries, none of which brings its dependencies, and with what they need beside torch."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder)]
    if not folder.exists():
        subprocess.run(
            [*pip, "--no-deps", "-r", str(HERE / "beside.txt")], check=True
        )  # it is whole, and pins disagree
        subprocess.run([*pip, "--no-deps", "-r", str(HERE / "libraries.txt")], check=True)
    return folder


def identity(folder: Path) -> Path:
    """A source tree has no metadata, and libraries ask importlib.metadata for the version of torch."""
    version = packages.read()["torch"].version
    info = folder / f"torch-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    return folder


def compare(program: Path, both: list, scratch: Path) -> Outcome:
    """Run the program on both stacks; a step counts when it succeeds on both and the results agree."""
    ours, theirs = (run(program, stack, *one, scratch) for stack, one in zip(("ours", "theirs"), both))
    outcome = Outcome(program.stem, ours["distributions"] or theirs["distributions"])
    for step, (right, expected) in theirs["steps"].items():
        worked, result = ours["steps"].get(step, (False, ours["error"]))
        if not right:
            outcome.troubles[step] = (
                f"fails with PyTorch, too: {expected}" if not worked else f"with PyTorch: {expected}"
            )
        elif not worked:
            outcome.troubles[step] = result
        else:
            try:
                outcome.distances[step] = distance(result, expected, theirs["tolerance"] or TOLERANCE)
            except AssertionError as error:
                outcome.troubles[step] = str(error)
    if not theirs["steps"]:
        outcome.troubles["program"] = f"with PyTorch: {theirs['error']}"
    return outcome


def run(program: Path, stack: str, python: str, path: list, scratch: Path) -> dict:
    """The results of the steps of a program, on the stack that the interpreter finds on the path."""
    file = scratch / f"{program.stem}-{stack}.pickle"
    settings = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [*path, HERE])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "Agg",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }
    empty = {"steps": {}, "distributions": {}, "tolerance": None}
    try:
        command = [python, "-W", "ignore", str(HERE / "steps.py"), str(program), str(file)]
        work = scratch / file.stem
        work.mkdir(exist_ok=True)
        done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=SECONDS, cwd=work)
    except subprocess.TimeoutExpired:
        return empty | {"error": f"ran longer than {SECONDS} s"}
    if not file.exists():
        return empty | {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:300]}
    with file.open("rb") as source:
        return pickle.load(source) | {"error": "the step is missing"}


def distance(result: list, expected: list, tolerance: float) -> float:
    """The largest distance of two results, relative to the size of each number or of the largest beside it."""
    import numpy as np

    assert len(result) == len(expected), f"{len(result)} values, PyTorch {len(expected)}"
    worst = 0.0
    for a, b in zip(result, expected):
        if not isinstance(b, np.ndarray) or b.dtype.kind in "USO":
            assert a == b, f"{a!r:.80}, PyTorch {b!r:.80}"
            continue
        assert isinstance(a, np.ndarray), f"{a!r:.80}, PyTorch an array"
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{a.dtype}{a.shape}, PyTorch {b.dtype}{b.shape}"
        if b.size == 0:
            continue
        kind = np.complex128 if b.dtype.kind == "c" else np.float64
        x, y = a.astype(kind), b.astype(kind)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if same.all():
            continue
        finite = np.isfinite(y) & ~same
        assert (np.isfinite(x) == np.isfinite(y))[~same].all(), "infinite or NaN where PyTorch is not, or the reverse"
        scale = np.maximum(np.abs(y[np.isfinite(y)]).max(), 1e-30)
        far = float((np.abs(x - y)[finite] / scale).max(initial=0.0))
        assert far <= tolerance, f"differs by {far:.1e} of the largest number"
        worst = max(worst, far)
    return worst


def page(outcomes: list[Outcome], today: datetime.date, before: str = "") -> str:
    """docs/libraries.md: a line for each program, and below what does not run; lines of other programs stay as before."""
    known = (re.match(r"\| ([\w-]+) \| .* \d+ of \d+ \|.*", line) for line in before.splitlines())
    rows = {match[1]: match[0] for match in known if match}
    troubles = [line for line in before.splitlines() if re.match(r"- [\w-]+, `", line)]
    for o in outcomes:
        versions = ", ".join(f"{name} {version}" for name, version in o.distributions.items())
        far = f"{max(o.distances.values()):.0e}" if o.distances else ""
        rows[o.name] = f"| {o.name} | {versions} | {len(o.distances)} of {o.steps} | {far} | {today} |"
        troubles = [line for line in troubles if not line.startswith(f"- {o.name}, `")]
        troubles += [f"- {o.name}, `{step}`: {trouble}" for step, trouble in o.troubles.items()]
    steps = [[int(n) for n in re.findall(r" (\d+) of (\d+) \|", row)[0]] for row in rows.values()]
    good, total, whole = sum(g for g, _ in steps), sum(t for _, t in steps), sum(g == t for g, t in steps)
    lines = [
        "# Libraries that run on this stack",
        "",
        "Written by `python ci/libraries.py --oracle PYTHON`: libraries of the public registry, unmodified, installed with",
        "`--no-deps`, run the programs of `ci/libraries/programs` (import, build, forward, backward, optimizer step, save and load)",
        "on this stack and on PyTorch, from the same numbers. A step counts when it succeeds on both and the results agree",
        f"to {TOLERANCE:.0e} of the largest number in them, unless the program says otherwise.",
        "",
        f"**{good} of {total} steps; {whole} of {len(rows)} programs whole.**",
        "",
        "| library | version | steps | largest distance | run |",
        "| --- | --- | ---: | ---: | --- |",
        *(rows[name] for name in sorted(rows)),
    ]
    if troubles:
        lines += ["", "## What does not run", "", *sorted(troubles)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
