"""The names of `torch.utils.data.fetch`."""

from ..fetch import *  # noqa: F403
