"""Makes batches of samples: tensors are stacked, containers are collated item by item."""

from __future__ import annotations

import collections.abc
import copy
import sys

import torch
from torch import Tensor

# In a worker process: gives the tensor in shared memory that a batch is stacked into. Set by worker.py.
allocate_batch = None


def default_collate(batch):
    """One batch of a list of samples.

    Tensors and arrays are stacked along a new first dimension, numbers become a tensor, strings stay a list, and
    mappings, tuples and sequences are collated item by item.

    Example:
        >>> default_collate([(1, "a"), (2, "b")])
        [tensor([1, 2]), ('a', 'b')]
        >>> default_collate([{"x": 0.5}, {"x": 1.5}])
        {'x': tensor([0.5000, 1.5000], dtype=torch.float64)}
    """
    first = batch[0]
    kind = type(first)
    if kind is tuple or kind is list:
        _check_lengths(batch)
        columns = [default_collate(column) for column in zip(*batch)]
        return columns if kind is tuple or kind is list else kind(columns)
    function = collate_functions.get(kind)
    if function is not None:
        return function(batch)
    for known, function in collate_functions.items():
        if isinstance(first, known):
            return function(batch)
    if kind.__module__ == "numpy":
        return _collate_numpy(batch)
    if isinstance(first, collections.abc.Mapping):
        return _collate_mapping(batch)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*[default_collate(column) for column in zip(*batch)])
    if isinstance(first, collections.abc.Sequence):
        return _collate_sequence(batch)
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


def _collate_tensors(batch):
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


def gather_rows(tensors, indices: list):
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
        return _collate_tensors([torch.as_tensor(array) for array in batch])
    return torch.as_tensor(numpy.array(batch))


def _collate_mapping(batch):
    first = batch[0]
    collated = {key: default_collate([sample[key] for sample in batch]) for key in first}
    return _same_kind(first, collated, lambda made: made.update(collated))


def _collate_sequence(batch):
    first = batch[0]
    _check_lengths(batch)
    columns = [default_collate(column) for column in zip(*batch)]
    if isinstance(first, tuple):
        return columns

    def fill(made):
        for i, column in enumerate(columns):
            made[i] = column

    return _same_kind(first, columns, fill)


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


def _collate_floats(batch):
    return torch.tensor(batch, dtype=torch.float64)


def _collate_ints(batch):
    return torch.tensor(batch)


def _as_is(batch):
    return batch


collate_functions = {
    Tensor: _collate_tensors,
    float: _collate_floats,
    int: _collate_ints,
    bool: _collate_ints,
    str: _as_is,
    bytes: _as_is,
}


def default_convert(data):
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
        return [default_convert(value) for value in data]
    return data


def pin_memory_batch(batch, device=None):
    """A batch with its tensors in page-locked memory; objects with a method ``pin_memory`` pin themselves."""
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
