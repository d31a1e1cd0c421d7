"""Other forms of saved states: not there."""

from .._absent import fill
from . import REASON

fill(globals(), REASON, ["_EmptyStateDictLoadPlanner"], ["dcp_to_torch_save", "torch_save_to_dcp"])
