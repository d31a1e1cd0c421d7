"""The fixtures of tests with processes and threads; lets tests import the modules beside them (loaders.py)."""

import sys
from pathlib import Path

import pytest
from torch.multiprocessing._testing import *  # noqa: F403

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_threads_left():
    """No worker thread of a loader is left by a test."""
    import loaders

    yield
    loaders.Threads.end()
