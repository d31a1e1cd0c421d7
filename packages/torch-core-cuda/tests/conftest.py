"""Tests of CUDA run on a plug-in whose kernels an execution layer runs on the CPU: ``python ci/cuda.py`` builds it."""

import os
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "checker")]
if "TORCH_CUDA_HOST_FORM" not in os.environ:
    raise pytest.UsageError("the tests of torch-core-cuda need a plug-in for the CPU: python ci/cuda.py builds it")


@pytest.fixture(autouse=True)
def clean_slate():
    """Errors of a test's kernels and its streams are not the next one's."""
    from torch._cuda import _native

    yield
    _native.reset()
    _native.configure()
