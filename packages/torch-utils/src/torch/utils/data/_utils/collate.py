"""The names of `torch.utils.data.collate`."""

from ..collate import *  # noqa: F403
