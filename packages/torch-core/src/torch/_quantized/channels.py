"""Parts of tensors with a scale for each channel."""

from __future__ import annotations

from .tensor import is_quantized, plain, rebuilt


def _indexed_channels(q, index):
    """Whole numbers and slices of a tensor with a scale for each channel; one channel has one scale."""
    index = index if isinstance(index, tuple) else (index,)
    if (
        not all(i is ... or (isinstance(i, (int, slice)) and not isinstance(i, bool)) for i in index)
        or index.count(...) > 1
    ):
        raise NotImplementedError("__getitem__: tensors with a scale for each channel take whole numbers and slices")
    found = plain(q)[index]
    used = len(index) - index.count(...)
    if ... in index:
        place = index.index(...)
        index = (*index[:place], *[slice(None)] * (q.dim() - used), *index[place + 1 :])
    index = (*index, *[slice(None)] * (q.dim() - len(index)))
    own = index[q._axis]
    scale, zero = q._scale[own], q._zero[own]
    if isinstance(own, int):
        return rebuilt(found, scale.item(), zero.item(), None, q._dtype)
    axis = sum(isinstance(i, slice) for i in index[: q._axis])
    return rebuilt(found, scale, zero, axis, q._dtype)


def _piece(size, start, length):
    start += size if start < 0 else 0
    return slice(start, start + length)


def moved_channels(name, func, args, kwargs):
    """What a tensor with a scale for each channel has of functions that move elements."""
    q = args[0] if args else None
    if name == "__getitem__":
        return _indexed_channels(q, args[1])
    if name in ("select", "narrow") and is_quantized(q):
        taken = dict(zip(("dim", "index") if name == "select" else ("dim", "start", "length"), args[1:])) | kwargs
        dim = range(q.dim())[taken["dim"]]
        func(plain(q), *args[1:], **kwargs)  # says what is wrong with these
        own = taken["index"] if name == "select" else _piece(q.shape[dim], int(taken["start"]), taken["length"])
        return _indexed_channels(q, (*[slice(None)] * dim, own))
    if (
        name in ("squeeze", "unsqueeze")
        and is_quantized(q)
        and isinstance(dim := (*args[1:], kwargs.get("dim"))[0], int)
    ):
        found = func(plain(q), dim)
        step = found.dim() - q.dim()
        dim = range(max(found.dim(), q.dim()))[dim]
        if step >= 0 or dim != q._axis:
            axis = q._axis + step * (dim <= q._axis)
            return rebuilt(found, q._scale, q._zero, axis, q._dtype)
    raise NotImplementedError(f"{name}: not there for tensors with a scale for each channel; call dequantize() first")
