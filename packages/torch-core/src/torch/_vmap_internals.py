"""The name under which libraries of before :func:`torch.func.vmap` look for it."""

import torch


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through=False):
    """:func:`torch.func.vmap`; with ``allow_none_pass_through`` a result may be None.

    >>> from torch._vmap_internals import _vmap
    >>> _vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if not allow_none_pass_through:
        return torch.vmap(func, in_dims, out_dims)

    def mapped(*args):
        empty = []

        def present(*each):
            results = func(*each)
            several = isinstance(results, tuple)
            results = results if several else (results,)
            empty[:] = several, [r is None for r in results]
            return tuple(r for r in results if r is not None)

        found = iter(torch.vmap(present, in_dims, out_dims)(*args))
        several, missing = empty
        found = tuple(None if none else next(found) for none in missing)
        return found if several else found[0]

    return mapped


vmap = _vmap
