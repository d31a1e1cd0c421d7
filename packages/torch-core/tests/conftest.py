"""Lets the tests of this folder import the modules beside them, and the samples of calls that stand beside the rows."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(p / "core" / "samples") for p in HERE.parents if (p / "core" / "samples").is_dir())]
