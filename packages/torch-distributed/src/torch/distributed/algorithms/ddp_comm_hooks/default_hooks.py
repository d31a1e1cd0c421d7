"""Hooks that average gradients, as they are or in 16 bits."""

import torch

from ... import _collectives as collectives
from ... import _world as world

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip


def _average(group, tensor):
    group = world.resolve(group)
    work = collectives.all_reduce(tensor.div_(group.size()), group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group, bucket):
    """What ``DistributedDataParallel`` does without a hook: the average of all ranks."""
    return _average(process_group, bucket.buffer())


def _compressed(dtype, process_group, bucket):
    buffer = bucket.buffer()
    return _average(process_group, buffer.to(dtype)).then(lambda future: buffer.copy_(future.value()))


def fp16_compress_hook(process_group, bucket):
    """The average, sent as float16: half the bytes of float32, 11 bits, and nothing beyond 65504."""
    return _compressed(torch.float16, process_group, bucket)


def bf16_compress_hook(process_group, bucket):
    """The average, sent as bfloat16: half the bytes of float32, 8 bits, and its whole range."""
    return _compressed(torch.bfloat16, process_group, bucket)


def _wrapper(dtype, hook):
    def wrapped(state, bucket):
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))

        def widen(future):
            bucket.set_buffer(buffer)
            return buffer.copy_(future.value())

        return hook(state, bucket).then(widen)

    return wrapped


def fp16_compress_wrapper(hook):
    """A hook that hands ``hook`` the bucket as float16, and widens what comes back."""
    return _wrapper(torch.float16, hook)


def bf16_compress_wrapper(hook):
    """A hook that hands ``hook`` the bucket as bfloat16, and widens what comes back."""
    return _wrapper(torch.bfloat16, hook)
