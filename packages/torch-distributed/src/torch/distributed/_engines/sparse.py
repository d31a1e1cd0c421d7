"""Sums of sparse tensors: every rank tells all others which places it has, and what is in them."""

import torch


def all_reduce(x, tensor, op):
    """Fill a tensor in coordinates with the sum of those of all ranks, or their mean; a generator as in ``collectives``."""
    mine = tensor.detach().coalesce()
    indices, values = mine.indices(), mine.values()
    abouts = yield from _from_all(x, torch.tensor([indices.shape[1], indices.shape[0], mine.dim()]), [3] * x.size)
    counts = [int(count) for count, *_ in abouts]
    # A shape and the places in one line.
    places = torch.cat([torch.tensor(mine.shape), indices.reshape(-1)])
    lengths = [int(dims) + int(count * sparse_dims) for count, sparse_dims, dims in abouts]
    places = yield from _from_all(x, places, lengths)
    shapes = [
        (tuple(line[:dims].tolist()), int(sparse)) for line, (_, sparse, dims) in zip(places, abouts, strict=True)
    ]
    for rank, (shape, sparse) in enumerate(shapes):
        if (shape, sparse) != shapes[0]:
            raise ValueError(
                f"sparse tensors of rank 0 and {rank} differ: shape {shapes[0][0]} with {shapes[0][1]} sparse dims, "
                f"{shape} with {sparse}"
            )
    row = values[:0].shape[1:]
    found = yield from _from_all(x, values.reshape(-1), [count * row.numel() for count in counts])
    indices = [line[mine.dim() :].view(len(indices), count) for line, count in zip(places, counts, strict=True)]
    total = torch.cat(found).view(-1, *row)
    if op.name == "AVG":
        total = total / x.size
    tensor.detach().copy_(torch.sparse_coo_tensor(torch.cat(indices, 1), total, mine.shape).coalesce())


def _from_all(x, line, lengths):
    """The lines of all ranks, of so many elements."""
    line = line.contiguous()
    lines = [line.new_empty(length) for length in lengths]
    yield from x.collectives.all_gather(x, line, lines)
    return lines
