"""Where PyTorch has ``DistributedDataParallel``; ours is in the distribution torch-distributed."""

__all__ = ["DistributedDataParallel"]  # noqa: F822  (made when asked for)


def __getattr__(name):
    if name not in ("DistributedDataParallel", "DistributedDataParallelCPU", "_MixedPrecision"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torch import _seams

    distributed = _seams.need("distributed")
    if not distributed.is_available():
        raise AttributeError(f"torch.nn.parallel.{name}: {_seams.missing('distributed')}")
    return distributed._MixedPrecision if name == "_MixedPrecision" else distributed.DistributedDataParallel
