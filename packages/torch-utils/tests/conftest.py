"""The fixtures of tests with processes and threads, and of tests that compile; lets tests import the modules beside
them (loaders.py)."""

import faulthandler
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


@pytest.fixture
def time_to_compile():
    """A compiler on a busy machine takes longer than other tests may."""
    faulthandler.dump_traceback_later(280, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
