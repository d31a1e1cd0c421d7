"""Models that are averaged over the ranks now and then."""

from abc import ABC, abstractmethod

from ... import _world as world
from .utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Counts the steps in ``step``."""

    def __init__(self, process_group=None):
        self.process_group = world.resolve(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params):
        """Average, if it is time to."""


class PeriodicModelAverager(ModelAverager):
    """Averages after every ``period`` steps, from step ``warmup_steps`` on.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> averager = PeriodicModelAverager(period=2)
    >>> averager.average_parameters(torch.nn.Linear(1, 1).parameters())
    >>> dist.destroy_process_group()
    """

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params):
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
