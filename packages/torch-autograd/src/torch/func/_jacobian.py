"""Whole Jacobians, by rows or by columns: ``jacrev``, ``jacfwd`` and ``hessian``."""

from __future__ import annotations

import functools

import torch
from torch._pytree import tree_flatten

from ._grad import chosen, tensors_only, vjp
from ._jvp import _linear
from ._vmap import vmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _only(func, args, kwargs, places):
    """The function of the arguments at these places, with the others as they are given."""

    def of_chosen(*values):
        full = list(args)
        for place, value in zip(places, values, strict=True):
            full[place] = value
        return func(*full, **kwargs)

    return of_chosen


def _units(x):
    """The unit vectors of a tensor's space, each of its shape, as a batch."""
    return torch.eye(x.numel(), dtype=x.dtype, device=x.device).reshape(x.numel(), *x.shape)


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function of the Jacobian of ``func``, computed by rows, in reverse mode.

    The Jacobian has the structure of the output, and in it that of the argument ``argnums``; its shape is
    ``(*output, *input)``. With ``has_aux`` the result is ``(jacobian, aux)``. ValueError for a ``chunk_size`` below 1.

    >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0, got {chunk_size}")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        places, single = chosen("jacrev", argnums, args)
        inputs = tuple(args[p] for p in places)
        output, pull_back, *aux = vjp(_only(func, args, kwargs, places), *inputs, has_aux=has_aux)
        flat, spec = tensors_only("jacrev", output)
        zeros = [torch.zeros_like(o) for o in flat]
        rows = []
        for i, one in enumerate(flat):

            def row_of(unit, i=i):
                return tree_flatten(pull_back(spec.unflatten([*zeros[:i], unit, *zeros[i + 1 :]])))[0]

            leaves, shape = tree_flatten(inputs)
            found = vmap(row_of, chunk_size=chunk_size)(_units(one))
            columns = [f.reshape(one.shape + x.shape) for f, x in zip(found, leaves, strict=True)]
            row = shape.unflatten(columns)
            rows.append(row[0] if single else row)
        jacobian = spec.unflatten(rows)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function of the Jacobian of ``func``, computed by columns, in forward mode; see :func:`jacrev`.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        places, single = chosen("jacfwd", argnums, args)
        inputs = tuple(args[p] for p in places)
        output, push, aux = _linear("jacfwd", _only(func, args, kwargs, places), inputs, has_aux)
        flat, spec = tensors_only("jacfwd", output)
        leaves, shape = tree_flatten(inputs)
        zeros = [torch.zeros_like(x) for x in leaves]
        columns = [[] for _ in flat]  # by output, then by input
        for k, x in enumerate(leaves):

            def column_of(unit, k=k):
                return tree_flatten(push(shape.unflatten([*zeros[:k], unit, *zeros[k + 1 :]])))[0]

            found = vmap(column_of, out_dims=-1, randomness=randomness)(_units(x))
            for i, one in enumerate(flat):
                columns[i].append(found[i].reshape(one.shape + x.shape))
        rows = [shape.unflatten(row) for row in columns]
        jacobian = spec.unflatten([row[0] if single else row for row in rows])
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function of the second derivatives of ``func``: the Jacobian of its Jacobian.

    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
