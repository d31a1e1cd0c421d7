"""Backward through calls with nothing in them: every sample of every row with empty and with 0-d operands."""

import pytest
import torch
from differentiability import DIFFERENTIABILITY
from operator_samples import INFO, Source, calls_of, in_place, name_of
from torch import _C as core

ROWS = [s for s, how in DIFFERENTIABILITY.items() if how in ("derivative", "zero") and calls_of(s)]
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)


def tensors_in(args):
    """Places of the tensors, also of those in a list: (argument, None or place in the list)."""
    for i, a in enumerate(args):
        if isinstance(a, torch.Tensor):
            yield i, None
        elif isinstance(a, (list, tuple)):
            yield from ((i, k) for k, x in enumerate(a) if isinstance(x, torch.Tensor))


def at(args, place):
    i, k = place
    return args[i] if k is None else args[i][k]


def with_changed(args, places, change):
    filled = [list(a) if isinstance(a, (list, tuple)) else a for a in args]
    for i, k in places:
        if k is None:
            filled[i] = change(filled[i])
        else:
            filled[i][k] = change(filled[i][k])
    return filled


def emptied(dim):
    return lambda x: x.narrow(dim, 0, 0).clone() if -x.dim() <= dim < x.dim() else x


def without_dims(x):
    return x.reshape(-1)[0].clone() if x.numel() else x.sum()


def variants(args):
    """The arguments with one tensor, all of one size, or all at all, made empty along one dim or 0-d."""
    places = [p for p in tensors_in(args) if not at(args, p).is_sparse]
    for group in [[p] for p in places] + [places]:
        for dim in range(max((at(args, p).dim() for p in group), default=0)):
            yield with_changed(args, group, emptied(dim))
            yield with_changed(args, group, emptied(dim - at(args, group[0]).dim()))
        yield with_changed(args, group, without_dims)
    for size in {s for p in places for s in at(args, p).shape}:

        def change(x, size=size):
            for d, s in enumerate(x.shape):
                x = x.narrow(d, 0, 0) if s == size else x
            return x.clone()

        yield with_changed(args, places, change)


def differentiated(args, kwargs, schema):
    """The leaves and the call's differentiable results; None where the call is refused."""
    kwargs = dict(kwargs)
    kwargs.pop("outputs", None), kwargs.pop("seed", None)
    nograd = kwargs.pop("nograd", ())
    leaves = []

    def leaf(x):
        if not (x.is_floating_point() or x.is_complex()):
            return x
        leaves.append(x.detach().requires_grad_())
        return leaves[-1]

    places = [p for p in tensors_in(args) if p[0] not in nograd]
    args = with_changed(args, places, leaf)
    if in_place(schema) and isinstance(args[0], torch.Tensor):
        args[0] = args[0] * 1
    try:
        results = core._operator(name_of(schema))(*args, **kwargs)
    except REFUSALS:
        return None
    results = [results] if isinstance(results, torch.Tensor) else [r for r in results if isinstance(r, torch.Tensor)]
    return leaves, [r for r in results if r.requires_grad and not r.is_sparse]


@pytest.mark.parametrize("source", [(), (2,), (0,)])
@pytest.mark.parametrize("index", [(), (2,), (1,), (0,)])
@pytest.mark.parametrize("size", [(), (3,)])
@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_an_index_reads_no_more_than_its_source_has(name, size, index, source):
    x, src = torch.zeros(size), torch.ones(source, requires_grad=True)
    at = torch.zeros(index, dtype=torch.int64)
    if at.numel() > src.numel():
        with pytest.raises(RuntimeError, match="to be no larger than src"):
            getattr(x, name)(0, at, src)
        return
    try:
        y = getattr(x, name)(0, at, src)
    except RuntimeError as error:
        assert "same number of dimensions" in str(error)
        return
    y.sum().backward()
    assert src.grad.shape == src.shape and src.grad.sum() == y.sum()


@pytest.mark.parametrize("schema", ROWS)
def test_gradients_of_empty_and_0d_operands_have_their_shapes(schema):
    for make in calls_of(schema):
        args, kwargs = make(Source(schema))
        for filled in variants(list(args)):
            call = differentiated(filled, kwargs, schema)
            if not call:
                continue
            leaves, results = call
            for _ in range(2):  # once and twice
                if not results:
                    break
                seeds = [torch.ones_like(r) for r in results]
                try:
                    grads = torch.autograd.grad(results, leaves, seeds, create_graph=True, allow_unused=True)
                except NotImplementedError:  # twice by the first argument of igamma
                    break
                except RuntimeError:
                    if not INFO[schema]["hidden"]:  # those are called with operands that fit each other
                        raise
                    break
                for leaf, grad in zip(leaves, grads):
                    assert grad is None or (grad.shape, grad.dtype) == (leaf.shape, leaf.dtype)
                results = [g for g in grads if g is not None and g.requires_grad and not g.is_sparse]


@pytest.mark.parametrize("dim", [0, 1, -3])
def test_tensors_of_nothing_are_joined_along_any_dim(dim):
    x = torch.ones(0, requires_grad=True)
    torch.cat([x, x], dim).sum().backward()
    assert x.grad.shape == (0,)
