"""Copies between the devices of one process, and sums over them."""

from __future__ import annotations

import warnings

import torch

from .devices import index_of

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _place(device, name: str) -> torch.device:
    return torch.device("cuda", index_of(device, f"torch.cuda.comm.{name}"))


def _places(devices, name: str) -> list[torch.device]:
    places = [_place(device, name) for device in devices]
    if not places:
        raise ValueError(f"{name}: devices must name at least one device, got none")
    return places


def _on_cuda(tensors, name: str) -> list[torch.Tensor]:
    """The tensors as a list: at least one, all on CUDA, all of one shape."""
    tensors = list(tensors)
    if not tensors:
        raise ValueError(f"{name}: expected at least one tensor, got none")
    for i, x in enumerate(tensors):
        if not x.is_cuda:
            raise ValueError(f"{name}: expected all inputs to be on GPUs, and input {i} is on {x.device}")
        if x.shape != tensors[0].shape:
            raise ValueError(
                f"{name}: input {i} has invalid size: got {tuple(x.shape)}, but expected {tuple(tensors[0].shape)}"
            )
    return tensors


def broadcast(tensor, devices=None, *, out=None) -> tuple:
    """A tensor on each of the devices, or copied into each tensor of ``out``; on its own device it is itself.

    >>> [x.device for x in torch.cuda.comm.broadcast(torch.ones(2), [0])]
    [device(type='cuda', index=0)]
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"broadcast: exactly one of 'devices' and 'out' must be given, got devices={devices} and out={out}"
        )
    if devices is not None:
        return tuple(tensor.to(place) for place in _places(devices, "broadcast"))
    for i, x in enumerate(out):
        if not x.is_cuda or x.shape != tensor.shape:
            raise RuntimeError(
                f"broadcast: expected out[{i}] of shape {tuple(tensor.shape)} on a CUDA device, "
                f"got {tuple(x.shape)} on {x.device}"
            )
    return tuple(x.copy_(tensor) for x in out)


def broadcast_coalesced(tensors, devices, buffer_size=10485760) -> list[tuple]:
    """For each device, the tensors on it; small ones of one dtype travel together, ``buffer_size`` bytes at a time.

    >>> torch.cuda.comm.broadcast_coalesced([torch.ones(2, device="cuda")], [0])
    [(tensor([1., 1.], device='cuda:0'),)]
    """
    tensors, places = list(tensors), _places(devices, "broadcast_coalesced")
    for i, x in enumerate(tensors):
        if x.device != places[0]:
            raise RuntimeError(
                f"broadcast_coalesced: all tensors must be on {places[0]}, the first device, and tensor {i} is on {x.device}"
            )
    dense = [part for x in tensors for part in _dense_parts(x)]
    rows = [[None] * len(dense) for _ in places[1:]]
    for group in _groups(dense, buffer_size):
        flat = _flat([dense[i] for i in group])
        for place, row in zip(places[1:], rows):
            for i, x in zip(group, _split(flat.to(place), [dense[i] for i in group])):
                row[i] = x
    return [tuple(tensors), *(_of_dense_parts(row, tensors) for row in rows)]


def reduce_add(inputs, destination=None) -> torch.Tensor:
    """The sum of tensors of several devices, on one: the current one by default.

    >>> x = torch.ones(2, device="cuda")
    >>> torch.cuda.comm.reduce_add([x, x])
    tensor([2., 2.], device='cuda:0')
    """
    place, inputs = _place(destination, "reduce_add"), _on_cuda(inputs, "reduce_add")
    total = inputs[0].to(place, copy=True)
    for x in inputs[1:]:
        total += x.to(place)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760) -> tuple:
    """The sums over devices of each of their tensors: ``inputs`` holds a list of them for each device.

    >>> x = torch.ones(2, device="cuda")
    >>> torch.cuda.comm.reduce_add_coalesced([[x], [x]])
    (tensor([2., 2.], device='cuda:0'),)
    """
    inputs = [list(tensors) for tensors in inputs]
    if not inputs:
        raise ValueError("reduce_add_coalesced: expected tensors of at least one device, got none")
    if len({len(tensors) for tensors in inputs}) != 1:
        raise ValueError(
            f"reduce_add_coalesced: expected as many tensors of each device, got {[len(t) for t in inputs]}"
        )
    for same in zip(*inputs):
        _on_cuda(same, "reduce_add_coalesced")
    first, results = inputs[0], [None] * len(inputs[0])
    for i, x in enumerate(first):
        if x.is_sparse:  # each device has places of its own
            results[i] = reduce_add([tensors[i] for tensors in inputs], destination)
    dense = [i for i, x in enumerate(first) if not x.is_sparse]
    for group in _groups([first[i] for i in dense], buffer_size):
        group = [dense[i] for i in group]
        total = reduce_add([_flat([tensors[i] for i in group]) for tensors in inputs], destination)
        for i, x in zip(group, _split(total, [first[i] for i in group])):
            results[i] = x
    return tuple(results)


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None) -> tuple:
    """A tensor cut along ``dim``, one part for each device, or into the tensors of ``out``.

    ``chunk_sizes`` are the parts' sizes; without, they are those of ``chunk``. ``streams`` is one for each part, in
    which it is copied.

    >>> torch.cuda.comm.scatter(torch.arange(4), [0, 0], [1, 3])
    (tensor([0], device='cuda:0'), tensor([1, 2, 3], device='cuda:0'))
    """
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError(
                f"scatter: 'devices' and 'chunk_sizes' must not be given with 'out', got devices={devices} and "
                f"chunk_sizes={chunk_sizes}"
            )
        places, out = [x.device for x in out], list(out)
        for i, x in enumerate(out):
            _check_part("scatter", f"out[{i}]", x, tensor.shape, dim)
        chunk_sizes = [x.size(dim) for x in out]
    else:
        places = _places(() if devices is None else devices, "scatter")
    if chunk_sizes is None:
        parts = tensor.chunk(len(places), dim)
    else:
        if len(chunk_sizes) != len(places) or sum(chunk_sizes) != tensor.size(dim):
            raise RuntimeError(
                f"scatter: chunk_sizes={list(chunk_sizes)} must be a size for each of {len(places)} devices, and add up "
                f"to {tensor.size(dim)}, the tensor's size in dim {dim}"
            )
        parts = tensor.split(list(chunk_sizes), dim)
    if streams is not None and len(streams) < len(parts):
        raise ValueError(f"scatter: expected a stream for each of {len(parts)} parts, got {len(streams)}")
    results = []
    for i, (part, place) in enumerate(zip(parts, places)):
        with torch.cuda.stream(None if streams is None else streams[i]):
            results.append(part.to(place) if out is None else out[i].copy_(part))
    return tuple(results)


def gather(tensors, dim=0, destination=None, *, out=None) -> torch.Tensor:
    """Tensors of several devices, joined along ``dim`` on one: the current one by default; "cpu" is another.

    >>> torch.cuda.comm.gather([torch.ones(1, device="cuda"), torch.zeros(2, device="cuda")], destination="cpu")
    tensor([1., 0., 0.])
    """
    tensors = list(tensors)
    if not tensors or not all(x.is_cuda for x in tensors):
        raise RuntimeError(
            f"gather: expected all inputs to be on GPUs, and at least one, got {[str(x.device) for x in tensors]}"
        )
    if out is not None:
        if destination is not None:
            raise RuntimeError(f"gather: 'destination' must not be given with 'out', got {destination}")
        _check_part("gather", "out", out, tensors[0].shape, dim)
        if out.size(dim) != (size := sum(x.size(dim) for x in tensors)):
            raise RuntimeError(f"gather: expected out of size {size} in dim {dim}, got shape {tuple(out.shape)}")
        return torch.cat([x.to(out.device) for x in tensors], dim, out=out)
    if destination == -1:
        warnings.warn('gather: -1 for the CPU is deprecated; use "cpu"', FutureWarning, stacklevel=2)
        destination = "cpu"
    on_cpu = not isinstance(destination, (int, type(None))) and torch.device(destination).type == "cpu"
    place = torch.device("cpu") if on_cpu else _place(destination, "gather")
    return torch.cat([x.to(place) for x in tensors], dim)


def _check_part(name: str, what: str, x, whole, dim: int) -> None:
    """RuntimeError where a tensor to write to is not on CUDA, or differs from ``whole`` in another dim than the one that is cut."""
    others = [n for n in range(len(whole)) if n != dim % len(whole)]
    if not x.is_cuda or x.dim() != len(whole) or any(x.size(n) != whole[n] for n in others):
        sizes = ", ".join(str(n) if i in others else "*" for i, n in enumerate(whole))
        raise RuntimeError(
            f"{name}: expected {what} of shape ({sizes}) on a CUDA device, got {tuple(x.shape)} on {x.device}"
        )


def _dense_parts(x) -> list[torch.Tensor]:
    return [x._indices(), x._values()] if x.is_sparse else [x]


def _of_dense_parts(parts, like) -> tuple:
    """Tensors as those of ``like``, of the dense parts of all."""
    parts, made = iter(parts), []
    for x in like:
        part = next(parts)
        if x.is_sparse:
            part = torch.sparse_coo_tensor(part, next(parts), x.shape)._coalesced_(x.is_coalesced())
        made.append(part)
    return tuple(made)


def _groups(tensors, buffer_size) -> list[list[int]]:
    """Places of tensors of one dtype that together have at most ``buffer_size`` bytes."""
    groups, filling, room = [], {}, {}
    for i, x in enumerate(tensors):
        size = x.numel() * x.element_size()
        if x.dtype not in filling or room[x.dtype] < size:
            filling[x.dtype], room[x.dtype] = [], buffer_size
            groups.append(filling[x.dtype])
        filling[x.dtype].append(i)
        room[x.dtype] -= size
    return groups


def _flat(tensors) -> torch.Tensor:
    return torch.cat([x.reshape(-1) for x in tensors])


def _split(flat, like) -> list[torch.Tensor]:
    parts = flat.split([x.numel() for x in like])
    return [part.view(x.shape) for part, x in zip(parts, like)]
