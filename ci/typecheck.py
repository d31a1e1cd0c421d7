"""mypy on the examples, against the stubs that the wheels carry."""

import subprocess
import sys

from packages import ROOT


def main() -> None:
    programs = sorted(str(p) for p in ROOT.glob("examples/*/*.py"))
    if not programs:
        sys.exit("types: no examples found")
    failed = [p for p in programs if subprocess.run([*mypy(), p]).returncode]  # each is a program of its own
    if failed:
        sys.exit(f"types: {len(failed)} of {len(programs)} examples have errors")


def mypy() -> list[str]:
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--ignore-missing-imports"]
    return [sys.executable, "-m", "mypy", *settings, "--cache-dir", str(ROOT / ".mypy_cache"), *sys.argv[1:]]


if __name__ == "__main__":
    main()
