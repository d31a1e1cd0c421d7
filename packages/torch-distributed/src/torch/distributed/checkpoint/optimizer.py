"""States of optimizers over several ranks."""

from .._absent import fill

fill(
    globals(),
    "get_optimizer_state_dict, load and set_optimizer_state_dict",
    functions=["load_sharded_optimizer_state_dict"],
)
