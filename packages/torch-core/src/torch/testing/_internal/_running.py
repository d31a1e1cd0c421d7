"""Running a file of tests by itself."""

from __future__ import annotations

import argparse
import os
import sys
import unittest

from torch.testing._internal import _flags, _state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run_tests(argv: Sequence[str] | None = None) -> None:
    """Runs the tests of ``__main__`` as ``unittest.main`` does, after ``--seed N`` and ``--accept`` (assertExpected writes)."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=_flags.SEED)
    parser.add_argument("--accept", action="store_true")
    given, rest = parser.parse_known_args(list(sys.argv if argv is None else argv))
    _flags.SEED = given.seed
    _state.set_rng_seed()
    if given.accept:
        os.environ["EXPECTTEST_ACCEPT"] = "1"
    unittest.main(argv=rest)
