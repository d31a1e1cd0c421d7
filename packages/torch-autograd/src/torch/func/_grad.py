"""Reverse mode: ``grad``, ``grad_and_value`` and ``vjp``."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch._pytree import tree_flatten, tree_map
from torch.autograd import grad as backward

from . import _levels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def chosen(name: str, argnums: Any, args: Any) -> Any:
    """The positions that ``argnums`` names, each counted from the front, and whether it is a single one."""
    single = isinstance(argnums, int)
    if not single and not (isinstance(argnums, tuple) and all(isinstance(n, int) for n in argnums)):
        raise RuntimeError(f"{name}: argnums must be an int or a tuple of ints, got {argnums!r}")
    wanted = (argnums,) if single else argnums
    if not wanted:
        raise RuntimeError(f"{name}: argnums must be non-empty")
    for n in wanted:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"{name}: got argnum={n}, but only {len(args)} positional inputs")
    places = tuple(n % len(args) for n in wanted)
    if len(set(places)) != len(places):
        raise RuntimeError(f"{name}: argnums elements must be unique, got {argnums}")
    return places, single


def with_fresh(name: str, args: Any, places: Any, recording: Any) -> Any:
    """The arguments with fresh tensors at these places; the fresh trees and all fresh tensors."""
    args, leaves, trees = list(args), [], []
    for place in places:
        flat, spec = tree_flatten(args[place])
        flat = [_levels.fresh(name, x, recording) for x in flat]
        leaves += flat
        args[place] = spec.unflatten(flat)
        trees.append(args[place])
    return args, trees, leaves


def split_aux(name: str, result: Any, has_aux: Any) -> Any:
    """The output of a function, and what it returned beside it."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function of the gradient and the value of ``func``, whose result must be a scalar.

    The gradient has the structure of the argument ``argnums``, or is a tuple for a tuple of them. With ``has_aux`` the
    function returns ``(output, aux)``, and the new one ``(gradient, (output, aux))``. RuntimeError for outputs that are
    no scalar, or arguments that cannot be differentiated.

    >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        name = f"grad_and_value({_levels.name_of(func)})"
        places, single = chosen(name, argnums, args)
        recording = torch.is_grad_enabled()
        with torch.enable_grad():
            args, trees, leaves = with_fresh(name, args, places, recording)
            output, aux = split_aux(name, func(*args, **kwargs), has_aux)
            if not isinstance(output, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.dim() != 0:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe "
                    "you wanted to use the vjp or jacrev APIs instead?"
                )
            if output.is_complex():
                raise RuntimeError(f"{name}: only real scalars have a gradient, got {output.dtype}")
            found = [None] * len(leaves)
            if output.requires_grad:
                again = recording and _levels.has_history([output], leaves)
                found = backward(output, leaves, retain_graph=True, create_graph=again, allow_unused=True)
        found = iter(_levels.without_own(_levels.zeros_where_absent(found, leaves), leaves, recording))
        gradients = tuple(tree_map(lambda _: next(found), tree) for tree in trees)
        gradients = gradients[0] if single else gradients
        output, aux = _levels.without_own((output, aux), leaves, recording)
        return gradients, (output, aux) if has_aux else output

    return wrapper


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function of the gradient of ``func``, whose result must be a scalar; see :func:`grad_and_value`.

    >>> torch.func.grad(torch.func.grad(lambda x: x**3))(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def tensors_only(name: str, output: Any) -> Any:
    """The tensors of a function's output, and its structure; RuntimeError for anything else in it."""
    flat, spec = tree_flatten(output)
    for one in flat:
        if not isinstance(one, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(one)}")
    if not flat:
        raise RuntimeError(f"{name}: expected f(*primals) to return at least one tensor")
    return flat, spec


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """``func(*primals)``, and the function that gives the product of a vector with the Jacobian there.

    That function takes cotangents of the structure of the output, and returns a tuple of gradients, one for each primal.
    RuntimeError for outputs that are no tensors and cotangents of other shapes.

    >>> output, pull_back = torch.func.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]))
    >>> pull_back(torch.ones(2))
    (tensor([2., 4.]),)
    """
    name = "vjp(f, *primals)"
    recording = torch.is_grad_enabled()
    with torch.enable_grad():
        args, trees, leaves = with_fresh(name, primals, range(len(primals)), True)  # pull_back's result depends on them
        output, aux = split_aux(name, func(*args), has_aux)
        flat, spec = tensors_only(name, output)

    def pull_back(cotangents, retain_graph=True, create_graph=None):
        given, shape = tree_flatten(cotangents)
        if shape != spec:
            raise RuntimeError(f"{name}: expected cotangents of the structure of the output, {spec}, got {shape}")
        pairs = [(o, c) for o, c in zip(flat, given, strict=True) if o.requires_grad]
        for o, c in zip(flat, given, strict=True):
            if not isinstance(c, Tensor) or c.shape != o.shape:
                got = tuple(c.shape) if isinstance(c, Tensor) else type(c).__name__
                raise RuntimeError(f"{name}: expected a cotangent of shape {tuple(o.shape)}, got {got}")
        now = torch.is_grad_enabled() if create_graph is None else create_graph
        again = now and _levels.has_history([*flat, *given], leaves)
        with torch.enable_grad():
            found = [None] * len(leaves)
            if pairs and leaves:
                found = backward(
                    [o for o, _ in pairs], leaves, [c for _, c in pairs], retain_graph=retain_graph or again,
                    create_graph=again, allow_unused=True,
                )  # fmt: skip
        found = iter(_levels.without_own(_levels.zeros_where_absent(found, leaves), leaves, now))
        return tuple(tree_map(lambda _: next(found), tree) for tree in trees)

    output, aux = _levels.without_own((output, aux), leaves, recording)
    return (output, pull_back, aux) if has_aux else (output, pull_back)
