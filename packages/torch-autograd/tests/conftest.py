"""Lets the tests of this folder import the modules beside them, and the samples of calls that stand beside the rows.

``pytest packages/torch-autograd/tests/test_rows.py --device cuda`` takes the samples of rows there (python ci/cuda.py --rows).
"""

import contextlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(p / "core" / "samples") for p in HERE.parents if (p / "core" / "samples").is_dir())]


def pytest_addoption(parser):
    with contextlib.suppress(ValueError):  # torch-core's tests, in the same run, have it too
        parser.addoption("--device", default="cpu", help="where the samples of rows are")


def pytest_configure(config):
    os.environ["TORCH_TEST_DEVICE"] = config.getoption("--device")
