"""Optimizers over several processes."""

from .._absent import fill
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero import ZeroRedundancyOptimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    DistributedOptimizer: Any
    as_functional_optim: Any

fill(
    globals(),
    "use a torch.optim optimizer on each rank, or ZeroRedundancyOptimizer",
    ["DistributedOptimizer"],
    ["as_functional_optim"],
)
__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]
