"""Which modules are to be spread: not there."""

from .._absent import fill
from . import REASON

fill(
    globals(),
    REASON,
    ["ModuleWrapPolicy", "CustomPolicy"],
    ["transformer_auto_wrap_policy", "size_based_auto_wrap_policy", "always_wrap_policy", "lambda_auto_wrap_policy",
     "enable_wrap", "wrap", "_module_wrap_policy", "_or_policy"],
)  # fmt: skip
