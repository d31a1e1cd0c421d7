"""``torch.quantization`` is ``torch.ao.quantization`` under the name that users know; type checkers read files."""

from .ao.quantization import *  # noqa: F403
