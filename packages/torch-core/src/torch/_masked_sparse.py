"""Reductions of `torch.masked` over sparse tensors: by coordinates, so that their memory goes with the elements that are there."""

from __future__ import annotations

from . import _C

_op = _C._operator


def reduced(op, input, mask, dims, keepdim):
    """The sum, product, extreme or mean over dims of the elements that are there and that the mask keeps, in the layout of the
    input; of rows without their dim in coordinates. Where there is none, the result has no element."""
    places, values = _elements(input)
    if mask is not None:
        kept = _kept(places, input.shape, mask)
        places, values = places[:, kept], values[kept]
    shape = [1 if d in dims else n for d, n in enumerate(input.shape)]
    lines, at = _op("_unique")(
        _numbers(places, [d for d in range(len(shape)) if d not in dims], input.shape), True, True
    )[:2]
    if op in ("sum", "prod", "mean") and not (values.dtype.is_floating_point or values.dtype.is_complex):
        values = values.to(_C.int64)
    made = values.new_zeros(lines.numel())
    made = made.scatter_reduce(0, at, values, "sum" if op == "mean" else op, include_self=False)
    if op == "mean":
        made = made / _op("zeros_like")(made).scatter_add(0, at, _op("ones_like")(values))
    found = _at_numbers(lines, [d for d in range(len(shape)) if d not in dims], shape)
    if not keepdim:
        left = [d for d in range(len(shape)) if d not in dims]
        found, shape = found[left], [shape[d] for d in left]
    made = _op("sparse_coo_tensor")(found, made, shape, is_coalesced=True)
    return made.to_sparse_csr() if keepdim and input.layout == _C.sparse_csr else made


def _elements(input):
    """Where the elements of a sparse tensor are, one column each, and what they are."""
    held = (input if input.layout == _C.sparse_coo else input.to_sparse_coo()).coalesce()
    places, values = held.indices(), held.values()
    dense = values.shape[1:]
    if dense:
        count = values[:1].numel() if values.shape[0] else dense.numel()
        within = _op("ones")(list(dense), dtype=_C.bool).nonzero().t()
        places = _op("cat")([places.repeat_interleave(count, 1), within.repeat(1, places.shape[1])])
    return places, values.reshape(-1)


def _numbers(places, dims, shape):
    """One number for each column of places, in the order of their dims."""
    found = places.new_zeros(places.shape[1])
    for d in dims:
        found = found * max(shape[d], 1) + places[d]
    return found


def _at_numbers(numbers, dims, shape):
    """The places that have these numbers; 0 in other dims."""
    found = [_op("zeros_like")(numbers) for _ in shape]
    for d in reversed(dims):
        found[d] = numbers % max(shape[d], 1)
        numbers = numbers.div(max(shape[d], 1), rounding_mode="floor")
    return _op("stack")(found) if found else numbers.new_zeros(0, numbers.numel())


def _kept(places, shape, mask):
    """Which columns of places a mask keeps."""
    dims = list(range(len(shape)))
    if mask.dim() > len(shape):
        raise IndexError(
            f"masked: a mask of shape {tuple(mask.shape)} does not broadcast to an input of shape {tuple(shape)}"
        )
    if mask.layout == _C.strided:
        mask = mask.bool().expand(shape)
        return mask[tuple(places)] if dims else mask.reshape(1).expand(places.shape[1])
    if mask.shape != shape:
        raise ValueError(f"masked: a sparse mask must have the input's shape {tuple(shape)}, got {tuple(mask.shape)}")
    held, kept = _elements(mask)
    return _op("isin")(_numbers(places, dims, shape), _numbers(held[:, kept.bool()], dims, shape))
