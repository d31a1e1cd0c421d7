"""Files of several ranks made one: not there."""

from .._absent import fill
from . import REASON

fill(globals(), REASON, functions=["consolidate_safetensors_files"])
