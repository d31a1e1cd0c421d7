"""Where PyTorch has ``DistributedDataParallel``; ours is in the distribution torch-distributed."""

from torch import Tensor

__all__ = ["DistributedDataParallel"]  # noqa: F822  (made when asked for)


def _find_tensors(obj):
    """The tensors in a value: in lists, tuples, dicts and dataclasses.

    >>> _find_tensors({"loss": torch.tensor(1.0), "rest": [2, (torch.tensor(3),)]})
    [tensor(1.), tensor(3)]
    """
    if isinstance(obj, Tensor):
        return [obj]
    if isinstance(obj, dict):
        obj = obj.values()
    elif fields := getattr(type(obj), "__dataclass_fields__", None):  # without the import, which takes longer than nn
        obj = [getattr(obj, name) for name in fields]
    elif not isinstance(obj, (list, tuple)):
        return []
    return [tensor for item in obj for tensor in _find_tensors(item)]


def __getattr__(name):
    if name not in ("DistributedDataParallel", "DistributedDataParallelCPU", "_MixedPrecision"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torch import _seams

    distributed = _seams.need("distributed")
    if not distributed.is_available():
        raise AttributeError(f"torch.nn.parallel.{name}: {_seams.missing('distributed')}")
    return distributed._MixedPrecision if name == "_MixedPrecision" else distributed.DistributedDataParallel
