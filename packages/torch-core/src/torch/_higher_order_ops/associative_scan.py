"""All results of combining the first elements of a sequence (Hillis and Steele 1986, "Data parallel algorithms")."""

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """For every place along ``dim`` what ``combine_fn`` makes of all elements up to there; with ``reverse`` from the end.

    ``combine_fn(a, b)`` must be associative and act on whole slices of the tensors of ``xs``, of which ``a`` has the earlier
    ones; it is called about log2(n) times. Raises RuntimeError when ``xs`` has no tensor or their sizes along ``dim``
    differ.

    >>> from torch._higher_order_ops.associative_scan import associative_scan
    >>> associative_scan(lambda a, b: a * b, torch.arange(1, 6), 0)
    tensor([  1,   2,   6,  24, 120])
    """
    import torch
    from torch._pytree import tree_flatten, tree_leaves, tree_unflatten

    if not callable(combine_fn):
        raise RuntimeError(f"associative_scan: combine_fn must be a function, got {type(combine_fn).__name__}")
    if combine_mode not in ("pointwise", "generic"):
        raise RuntimeError(f"associative_scan: combine_mode must be 'pointwise' or 'generic', got {combine_mode!r}")
    leaves, spec = tree_flatten(xs)
    if not leaves or not all(isinstance(x, torch.Tensor) for x in leaves):
        raise RuntimeError("associative_scan: xs must be a tensor, or a tree of at least one")
    sizes = [x.shape[dim] for x in leaves]
    if len(set(sizes)) > 1:
        raise RuntimeError(f"associative_scan: sizes along dim {dim} differ: {sizes}")
    if reverse:
        leaves = [x.flip(dim) for x in leaves]
    reach = 1
    while reach < sizes[0]:
        rest = sizes[0] - reach
        before = tree_unflatten([x.narrow(dim, 0, rest) for x in leaves], spec)
        after = tree_unflatten([x.narrow(dim, reach, rest) for x in leaves], spec)
        combined = tree_leaves(combine_fn(before, after))
        if [c.shape for c in combined] != [x.narrow(dim, 0, rest).shape for x in leaves]:
            raise RuntimeError("associative_scan: combine_fn must give tensors of the shapes that it takes")
        leaves = [torch.cat([x.narrow(dim, 0, reach), c], dim) for x, c in zip(leaves, combined, strict=True)]
        reach *= 2
    return tree_unflatten([x.flip(dim) for x in leaves] if reverse else leaves, spec)
