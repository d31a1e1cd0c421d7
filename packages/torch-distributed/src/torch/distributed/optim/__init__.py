"""Optimizers over several processes."""

from .._absent import fill
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero import ZeroRedundancyOptimizer

fill(
    globals(),
    "use a torch.optim optimizer on each rank, or ZeroRedundancyOptimizer",
    ["DistributedOptimizer"],
    ["as_functional_optim"],
)
__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]
