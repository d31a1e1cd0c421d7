"""Hooks by which a backward pass also updates the parameters, with a ``ZeroRedundancyOptimizer(overlap_with_ddp=True)``.

While a bucket is averaged, the rank that has a parameter of the bucket before updates it and sends it to the others.
All ranks do so in the order of the buckets, as they do all collectives of a group.
"""

__all__ = ["hook_with_zero_step", "hook_with_zero_step_interleaved"]


class _Step:
    """A hook that averages by ``hook``, and updates parameters; ``early``: sends them on before all buckets are there."""

    def __init__(self, hook, ddp, zero, early):
        if not getattr(zero, "_overlaps", False):
            raise ValueError("hook_with_zero_step: the ZeroRedundancyOptimizer was made without overlap_with_ddp=True")
        if ddp.find_unused_parameters or ddp.static_graph:
            raise NotImplementedError(
                "hook_with_zero_step: parameters that take no part in a step are not known in time; make the "
                "DistributedDataParallel without find_unused_parameters and static_graph"
            )
        if zero.process_group is not ddp.process_group:
            raise ValueError("hook_with_zero_step: model and optimizer have different process groups")
        known = set(zero.owner)
        if strange := [name for name, p in ddp.module.named_parameters() if p.requires_grad and p not in known]:
            raise ValueError(f"hook_with_zero_step: the optimizer does not have {', '.join(strange[:5])}")
        self.hook, self.zero, self.early = hook, zero, early
        self.before, self.sent, self.later = None, [], []

    def __call__(self, state, bucket):
        try:
            future = self.hook(state, bucket)
            if self.before is not None:
                self.update(*self.before)
            self.before = bucket, future
            if bucket.is_last():
                self.update(bucket, future)
                self.zero._take_over([*self.sent, *self.zero._hand_out(self.later)])
                self.forget()
            return future
        except BaseException:
            self.forget()
            raise

    def forget(self):
        self.before, self.sent, self.later = None, [], []

    def update(self, bucket, future):
        """Update our parameters of a bucket when its averages are there."""
        result = future.wait()
        result = result[0] if isinstance(result, (list, tuple)) else result
        if result.data_ptr() != bucket.buffer().data_ptr():
            bucket.buffer().copy_(result.reshape(-1))
        parameters = bucket.parameters()
        self.zero._step_part(parameters, bucket.gradients())
        if self.early:
            self.sent += self.zero._hand_out(parameters)
        else:
            self.later += parameters


def hook_with_zero_step(hook, ddp, zero, shard_buckets=False):
    """``hook``, after which the parameters of a bucket are updated; all are sent to the other ranks at the end of backward.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    >>> from torch.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> zero = ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=1.0)
    >>> ddp.register_comm_hook(None, hook_with_zero_step(allreduce_hook, ddp, zero))
    >>> before = ddp.module.weight.detach().clone()
    >>> ddp(torch.ones(1, 2)).sum().backward()
    >>> before - ddp.module.weight.detach()
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    return _made(hook, ddp, zero, shard_buckets, early=False)


def hook_with_zero_step_interleaved(hook, ddp, zero, shard_buckets=False):
    """As :func:`hook_with_zero_step`; the parameters of a bucket are sent while the next one is averaged."""
    return _made(hook, ddp, zero, shard_buckets, early=True)


def _made(hook, ddp, zero, shard_buckets, early):
    if shard_buckets:
        raise NotImplementedError(
            "hook_with_zero_step: parameters are whole on the rank that has them; there is no shard_buckets"
        )
    return _Step(hook, ddp, zero, early)
