"""Optimizers over several processes."""

from .._absent import fill
from .zero import ZeroRedundancyOptimizer

fill(
    globals(),
    "use a torch.optim optimizer on each rank, or ZeroRedundancyOptimizer",
    ["DistributedOptimizer", "PostLocalSGDOptimizer"],
    ["as_functional_optim"],
)
__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]
