"""The fixtures of tests with processes."""

from torch.multiprocessing._testing import *  # noqa: F403
