"""States of optimizers over several ranks: not there."""

from . import load_sharded_optimizer_state_dict  # noqa: F401
