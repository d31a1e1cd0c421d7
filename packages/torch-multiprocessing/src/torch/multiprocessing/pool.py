"""Pools of worker processes whose arguments and results carry tensors by handle."""

from __future__ import annotations

import gc
import multiprocessing.pool


def clean_worker(*args, **kwargs):
    """The body of a worker: at its end, what it still holds of other processes' memory is let go.

    >>> torch.multiprocessing.pool.clean_worker.__name__
    'clean_worker'
    """
    result = multiprocessing.pool.worker(*args, **kwargs)
    gc.collect()
    return result


class Pool(multiprocessing.pool.Pool):
    """`multiprocessing.pool.Pool`, with processes that share tensors."""
