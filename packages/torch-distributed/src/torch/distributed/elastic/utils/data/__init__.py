"""A sampler that begins where a job that was started again had stopped."""

import math

import torch
from torch.utils.data.distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler):
    """As ``DistributedSampler``, without what comes before ``start_index``.

    >>> halves = [ElasticDistributedSampler(range(10), num_replicas=2, rank=r, start_index=4) for r in range(2)]
    >>> sorted(i for half in halves for i in half)
    [4, 5, 6, 7, 8, 9]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, start_index=0):
        super().__init__(dataset=dataset, num_replicas=num_replicas, rank=rank)
        if not 0 <= start_index < len(dataset):
            raise ValueError(f"Start index {start_index} should be less than dataset size {len(dataset)}")
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        pick = torch.Generator().manual_seed(self.epoch)
        left = len(self.dataset) - self.start_index
        order = (torch.randperm(left, generator=pick) + self.start_index).tolist()
        order += [order[i % left] for i in range(self.total_size - left)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples
