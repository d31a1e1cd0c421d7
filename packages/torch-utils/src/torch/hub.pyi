"""``torch.hub`` is ``torch.utils.hub`` under the name that users know; type checkers read files."""

from .utils.hub import *  # noqa: F403
