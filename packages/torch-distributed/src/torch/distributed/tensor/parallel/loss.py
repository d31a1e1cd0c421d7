"""The loss of scores whose classes lie on several ranks."""

from contextlib import contextmanager

from .._losses import targets_may_be_plain

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel():
    """A block in which ``cross_entropy`` leaves classes where they are, and takes targets that are plain tensors, whole on
    every rank.

    Ours leaves classes where they are outside, too: of scores in pieces along the classes, ranks tell each other only the
    largest score of a sample, the sum of its exponentials and the score of its target.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    >>> from torch.distributed.tensor.parallel import loss_parallel
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> scores = distribute_tensor(torch.zeros(2, 4), mesh, [Shard(1)])
    >>> with loss_parallel():
    ...     loss = torch.nn.functional.cross_entropy(scores, torch.tensor([0, 3]))
    >>> loss.full_tensor()
    tensor(1.3863)
    >>> dist.destroy_process_group()
    """
    before = targets_may_be_plain.set(True)
    try:
        yield
    finally:
        targets_may_be_plain.reset(before)
