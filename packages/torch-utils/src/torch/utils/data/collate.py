"""Makes batches of samples: tensors are stacked, containers are collated item by item."""

from __future__ import annotations

import collections.abc
import copy
import sys

import torch
from torch import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# In a worker process: gives the tensor in shared memory that a batch is stacked into. Set by worker.py.
allocate_batch = None


def default_collate(batch: Any) -> Any:
    """One batch of a list of samples.

    Tensors and arrays are stacked along a new first dimension, numbers become a tensor, strings stay a list, and
    mappings, tuples and sequences are collated item by item. `default_collate_fn_map` takes further classes.

    Example:
        >>> default_collate([(1, "a"), (2, "b")])
        [tensor([1, 2]), ('a', 'b')]
        >>> default_collate([{"x": 0.5}, {"x": 1.5}])
        {'x': tensor([0.5000, 1.5000], dtype=torch.float64)}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(
    batch: Any, *, collate_fn_map: dict[type[Any] | tuple[type[Any], ...], Callable[..., Any]] | None = None
) -> Any:
    """One batch of a list of samples, whose parts are collated by the functions of a map.

    Args:
        collate_fn_map: ``function(batch, *, collate_fn_map)`` by the class, or the tuple of classes, of what it collates

    Example:
        >>> def longest(batch, *, collate_fn_map=None):
        ...     return max(batch, key=len)
        >>> collate([{"name": "a"}, {"name": "bcd"}], collate_fn_map={str: longest})
        {'name': 'bcd'}
    """
    first = batch[0]
    kind = type(first)
    functions = collate_fn_map or {}
    function = functions.get(kind)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if kind is tuple or kind is list:
        _check_lengths(batch)
        return [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
    for known, function in functions.items():
        if isinstance(first, known):
            return function(batch, collate_fn_map=collate_fn_map)
    if kind.__module__ == "numpy" and Tensor in functions:
        return _collate_numpy(batch)
    if isinstance(first, collections.abc.Mapping):
        return _collate_mapping(batch, collate_fn_map)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*[collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)])
    if isinstance(first, collections.abc.Sequence):
        return _collate_sequence(batch, collate_fn_map)
    raise TypeError(
        f"default_collate: a sample holds {kind.__module__}.{kind.__qualname__}; batches are made of tensors, arrays, "
        "numbers, strings, mappings and sequences. Give the loader a collate_fn for anything else"
    )


def _check_lengths(batch) -> None:
    count = len(batch[0])
    for i, sample in enumerate(batch):
        if len(sample) != count:
            raise RuntimeError(
                f"default_collate: sample 0 of the batch has {count} items and sample {i} has {len(sample)}; "
                "each sample must have as many"
            )


def collate_tensor_fn(
    batch: Any, *, collate_fn_map: dict[type[Any] | tuple[type[Any], ...], Callable[..., Any]] | None = None
) -> Any:
    first = batch[0]
    try:
        if allocate_batch is not None and first.device.type == "cpu":
            out = allocate_batch((len(batch), *first.shape), first.dtype)
            return torch.stack(list(batch), 0, out=out)
        return torch.stack(list(batch), 0)
    except RuntimeError as e:
        shape = tuple(first.shape)
        for i, tensor in enumerate(batch):
            if tuple(tensor.shape) != shape:
                raise RuntimeError(
                    f"default_collate: stack needs tensors of equal size, but sample 0 of the batch has {shape} "
                    f"and sample {i} has {tuple(tensor.shape)}; pad them, or give the loader a collate_fn"
                ) from e
            if tensor.requires_grad and allocate_batch is not None:
                raise RuntimeError(
                    f"default_collate: sample {i} of the batch requires grad, and gradients do not cross processes; "
                    "detach() it in the data set, or use num_workers=0"
                ) from e
        raise


def gather_rows(tensors: Any, indices: list) -> Any:
    """The given rows of each tensor; negative indices count from the end."""
    count = len(tensors[0])
    if min(indices) < 0:
        indices = [i + count if i < 0 else i for i in indices]
    index = torch.tensor(indices)
    if allocate_batch is None:
        return [tensor.index_select(0, index) for tensor in tensors]
    return [
        torch.index_select(tensor, 0, index, out=allocate_batch((len(indices), *tensor.shape[1:]), tensor.dtype))
        for tensor in tensors
    ]


def _collate_numpy(batch):
    import numpy

    first = batch[0]
    if isinstance(first, numpy.ndarray):
        if first.dtype.kind not in "biufc":
            raise TypeError(f"default_collate: a sample holds an array of {first.dtype}; only numbers become tensors")
        return collate_tensor_fn([torch.as_tensor(array) for array in batch])
    return torch.as_tensor(numpy.array(batch))


def _of_key(batch, key):
    try:
        return [sample[key] for sample in batch]
    except KeyError:
        lacking = [i for i, sample in enumerate(batch) if key not in sample]
        raise KeyError(
            f"default_collate: sample 0 of the batch has the key {key!r}, and sample {lacking[0] if lacking else '?'} has not"
        ) from None


def _collate_mapping(batch, functions):
    first = batch[0]
    collated = {key: collate(_of_key(batch, key), collate_fn_map=functions) for key in first}
    return _same_kind(first, collated, lambda made: made.update(collated))


def _collate_sequence(batch, functions):
    first = batch[0]
    _check_lengths(batch)
    columns = [collate(column, collate_fn_map=functions) for column in zip(*batch)]
    return columns if isinstance(first, tuple) else _same_sequence(first, columns)


def _same_sequence(first, items):
    def fill(made):
        for i, item in enumerate(items):
            made[i] = item

    return _same_kind(first, items, fill)


def _same_kind(first, collated, fill):
    # A subclass may keep more than its items, so a copy is filled where that is possible.
    kind = type(first)
    if kind in (dict, list):
        return collated
    if isinstance(first, (collections.abc.MutableMapping, collections.abc.MutableSequence)):
        try:
            made = copy.copy(first)
            fill(made)
        except TypeError:
            pass
        else:
            return made
    try:
        return kind(collated)
    except TypeError:
        return collated


def collate_float_fn(
    batch: Any, *, collate_fn_map: dict[type[Any] | tuple[type[Any], ...], Callable[..., Any]] | None = None
) -> Any:
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(
    batch: Any, *, collate_fn_map: dict[type[Any] | tuple[type[Any], ...], Callable[..., Any]] | None = None
) -> Any:
    return torch.tensor(batch)


def collate_str_fn(
    batch: Any, *, collate_fn_map: dict[type[Any] | tuple[type[Any], ...], Callable[..., Any]] | None = None
) -> Any:
    return batch


# What `default_collate` collates with; programs add their classes. NumPy's are not here, which need not be there.
default_collate_fn_map: dict = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    bool: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_convert(data: Any) -> Any:
    """A sample with its arrays as tensors, for loaders that do not make batches.

    >>> import numpy
    >>> default_convert({"x": numpy.zeros(2), "y": "text"})
    {'x': tensor([0., 0.], dtype=torch.float64), 'y': 'text'}
    """
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_", "bytes_"):
        numpy = sys.modules["numpy"]
        if isinstance(data, numpy.ndarray) and data.dtype.kind not in "biufc":
            return data
        return torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        converted = {key: default_convert(value) for key, value in data.items()}
        return _same_kind(data, converted, lambda made: made.update(converted))
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*[default_convert(value) for value in data])
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _same_sequence(data, [default_convert(value) for value in data])
    return data


def pin_memory_batch(batch: Any, device: torch.device | str | int | None = None) -> Any:
    """A batch with its tensors in page-locked memory; objects with a method ``pin_memory`` pin themselves.

    >>> torch.utils.data.dataloader.pin_memory_batch("text")
    'text'
    """
    if isinstance(batch, Tensor) or hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, (str, bytes)):
        return batch
    if isinstance(batch, collections.abc.Mapping):
        pinned = {key: pin_memory_batch(value, device) for key, value in batch.items()}
        return _same_kind(batch, pinned, lambda made: made.update(pinned))
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[pin_memory_batch(value, device) for value in batch])
    if isinstance(batch, (tuple, list)):
        return type(batch)([pin_memory_batch(value, device) for value in batch])
    return batch
