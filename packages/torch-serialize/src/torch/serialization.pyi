"""``torch.serialization`` is ``torch.serialize`` under the name that users know; type checkers read files."""

from .serialize import *  # noqa: F403
