"""The sampler for training in several processes, each of which sees a part of the data."""

from __future__ import annotations

import math

import torch

from .sampler import Sampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)  # what programs name here, by custom: items of the data set
else:
    from .sampler import T_co


class DistributedSampler(Sampler[T_co]):
    """Every `num_replicas`-th index from `rank` on; all parts have one length.

    Call `set_epoch` before each epoch, or every epoch has the same order.

    Args:
        num_replicas: number of processes; of the process group unless given
        rank: of this process; of the process group unless given
        drop_last: leave indices out to make the parts equal; repeat some otherwise

    Example:
        >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            import torch.distributed as dist

            num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
            rank = dist.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"DistributedSampler: rank must be from 0 to {num_replicas - 1}, got {rank}")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        count = len(dataset)
        short = drop_last and count % num_replicas
        self.num_samples = count // num_replicas if short else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Any:
        count = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if len(indices) < self.total_size:
            repeats = math.ceil(self.total_size / max(count, 1))
            indices = (indices * repeats)[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Changes the order of the next iteration, equally in all processes."""
        self.epoch = epoch
