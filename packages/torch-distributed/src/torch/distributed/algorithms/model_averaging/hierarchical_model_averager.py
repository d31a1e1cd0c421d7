"""Models that are averaged within small groups often, and within larger ones less often."""

from itertools import pairwise

from ... import _world as world
from .averagers import ModelAverager
from .utils import average_parameters_or_parameter_groups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Averages over groups of ``period_group_size_dict[period]`` ranks after every ``period`` steps, from ``warmup_steps`` on.

    Both periods and sizes rise, and the last group is all of ``process_group``; of several periods that end with one step
    the longest counts. Every rank makes it with the same arguments, as groups are made (Lin et al. 2020).

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> averager = HierarchicalModelAverager(period_group_size_dict={4: 1})
    >>> averager.average_parameters(torch.nn.Linear(1, 1).parameters())
    >>> averager.step
    1
    >>> dist.destroy_process_group()
    """

    def __init__(self, period_group_size_dict=None, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        sizes = dict(period_group_size_dict or {})
        if not sizes:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        for name, numbers in (("periods", list(sizes)), ("sizes of groups", list(sizes.values()))):
            if numbers[0] < 1 or any(a >= b for a, b in pairwise(numbers)):
                raise ValueError(f"HierarchicalModelAverager: {name} must be positive and rise, got {numbers}")
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        *_, largest = sizes.values()
        if largest != self.process_group.size():
            raise ValueError(
                f"HierarchicalModelAverager: the last group has {largest} ranks, and must be the process group of "
                f"{self.process_group.size()}"
            )
        self.warmup_steps = warmup_steps
        self.period_process_group_dict = {
            period: self.process_group if size == largest else world.new_subgroups(size, self.process_group)[0]
            for period, size in sizes.items()
        }

    def average_parameters(self, params):
        if self.step >= self.warmup_steps:
            ended = [p for p in self.period_process_group_dict if self.step % p == 0]
            if ended:
                average_parameters_or_parameter_groups(params, self.period_process_group_dict[ended[-1]])
        self.step += 1
