"""mypy and pyright on the examples and on ci/types, against the stubs and annotations that the wheels carry.

The files of ci/types use what programs use. In all but refused.py nothing may be reported; there each line that says
`# wrong` must be, and no other.
"""

import json
import re
import subprocess
import sys

from packages import ROOT

SETTINGS = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
REFUSED = ROOT / "ci" / "types" / "refused.py"


def main() -> None:
    programs = sorted(str(p) for p in ROOT.glob("examples/*/*.py"))
    if not programs:
        sys.exit("types: no examples found")
    failed = [p for p in programs if subprocess.run([*mypy("--ignore-missing-imports"), p]).returncode]  # one by one
    accepted = sorted(str(p) for p in (ROOT / "ci" / "types").glob("*.py") if p != REFUSED)
    failed += [c for c, found in both(accepted).items() for line in found if not print(c, *line)]
    source = REFUSED.read_text().splitlines()
    wrong = {n for n, line in enumerate(source, 1) if line.endswith("# wrong")}
    for checker, found in both([str(REFUSED)]).items():
        lines = {line for _, line, _ in found}
        for n in sorted(wrong ^ lines):
            print(f"{checker}: {REFUSED}:{n}: {'not reported' if n in wrong else 'reported'}: {source[n - 1]}")
            failed.append(checker)
    if failed:
        sys.exit(f"types: {len(failed)} programs or lines are not judged as they should be")


def mypy(*options: str) -> list[str]:
    return [sys.executable, "-m", "mypy", *SETTINGS, *options, *sys.argv[1:]]


def both(files: list[str]) -> dict[str, list[tuple[str, int, str]]]:
    """What each checker reports: file, line, message."""
    strict = subprocess.run([*mypy("--strict"), *files], capture_output=True, text=True)
    said = re.findall(r"^(.+?):(\d+): error: (.*)$", strict.stdout, re.M)
    if strict.returncode and not said:
        sys.exit(strict.stdout + strict.stderr)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *files]
    output = subprocess.run(command, capture_output=True, text=True)
    try:
        diagnostics = json.loads(output.stdout)["generalDiagnostics"]
    except ValueError:
        sys.exit(f"types: pyright did not run:\n{output.stdout}{output.stderr}")
    errors = [d for d in diagnostics if d["severity"] == "error"]
    return {
        "mypy": [(path, int(line), text) for path, line, text in said],
        "pyright": [(d["file"], d["range"]["start"]["line"] + 1, d["message"]) for d in errors],
    }


if __name__ == "__main__":
    main()
