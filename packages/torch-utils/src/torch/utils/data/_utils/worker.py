"""The names of `torch.utils.data.worker`."""

from ..worker import *  # noqa: F403
