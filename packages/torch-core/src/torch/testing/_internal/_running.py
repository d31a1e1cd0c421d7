"""Running a file of tests by itself."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import unittest

from torch.testing._internal import _flags, _state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def parse_cmd_line_args() -> None:
    """Takes ``--seed N`` and ``--accept`` from the command line of a file of tests, and leaves the rest to unittest."""
    sys.argv[1:] = _taken(sys.argv[1:])


def load_tests(loader: Any, tests: Any, pattern: Any) -> Any:
    """What a file of tests gives to unittest that asks it which tests to run: all of them."""
    return tests


def raise_on_run_directly(file_to_call: str) -> None:
    """RuntimeError that names the file which runs these tests."""
    raise RuntimeError(f"this file of tests is run by {file_to_call}: python {file_to_call}")


def shell(
    command: Sequence[str], cwd: str | None = None, env: dict[str, str] | None = None, timeout: float | None = None
) -> int:
    """The exit status of a command that is given as a list."""
    if isinstance(command, str):
        raise TypeError("shell: the command is a list of words, not one text")
    return subprocess.run(command, cwd=cwd, env=env, timeout=timeout, check=False).returncode


def _taken(words: list[str]) -> list[str]:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=_flags.SEED)
    parser.add_argument("--accept", action="store_true")
    given, rest = parser.parse_known_args(words)
    _flags.SEED = given.seed
    if given.accept:
        os.environ["EXPECTTEST_ACCEPT"] = "1"
    return rest


def run_tests(argv: Sequence[str] | None = None) -> None:
    """Runs the tests of ``__main__`` as ``unittest.main`` does, after ``--seed N`` and ``--accept`` (assertExpected writes)."""
    rest = _taken(list(sys.argv if argv is None else argv))
    _state.set_rng_seed()
    unittest.main(argv=rest)
