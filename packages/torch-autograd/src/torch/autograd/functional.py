"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from ._gradients import grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """``func(*inputs)`` and the product of ``v`` with its Jacobian; ``v`` may be left out for a scalar.

    >>> x = torch.ones(2)
    >>> torch.autograd.functional.vjp(lambda x: x * x, x, torch.ones(2))[1]
    tensor([2., 2.])
    """
    with torch.enable_grad():
        inputs, one_in = _prepare(inputs, create_graph)
        outputs, one_out = _outputs(func(*inputs), "vjp")
        v = _vector(v, outputs, "vjp")
        _check_strict(outputs, strict, "vjp")
        found = _gradients(outputs, inputs, v, create_graph, strict, "vjp")
    return _unpack(_finish(outputs, create_graph), one_out), _unpack(_finish(found, create_graph), one_in)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """``func(*inputs)`` and the product of its Jacobian with ``v``, by differentiating backward twice."""
    with torch.enable_grad():
        inputs, one_in = _prepare(inputs, create_graph)
        v = _vector(v, inputs, "jvp", "input")
        outputs, one_out = _outputs(func(*inputs), "jvp")
        _check_strict(outputs, strict, "jvp")
        u = tuple(torch.zeros_like(o, requires_grad=True) for o in outputs)
        back = _gradients(outputs, inputs, u, True, strict, "jvp")
        pairs = [(b, w) for b, w in zip(back, v) if b.requires_grad]
        if pairs:
            found = grad([b for b, _ in pairs], u, [w for _, w in pairs], create_graph=create_graph, allow_unused=True)
        else:
            found = (None,) * len(u)
        found = tuple(torch.zeros_like(o) if f is None else f for f, o in zip(found, outputs))
    return _unpack(_finish(outputs, create_graph), one_out), _unpack(_finish(found, create_graph), one_out)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: shape (*output, *input), a tuple for each of several inputs or outputs.

    ``vectorize=True`` computes all rows at once, as :func:`torch.func.vmap` does, and cannot be ``strict``.

    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    if vectorize and strict:
        raise RuntimeError("jacobian: strict=True and vectorize=True are not supported together; choose one of them")
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict)
    with torch.enable_grad():
        inputs, one_in = _prepare(inputs, create_graph)
        outputs, one_out = _outputs(func(*inputs), "jacobian")
        _check_strict(outputs, strict, "jacobian")
        rows = []
        for o in outputs:
            if vectorize:
                rows.append(_rows_at_once(o, inputs, create_graph))
                continue
            columns = [[] for _ in inputs]
            flat = o.reshape(-1)
            for i in range(flat.numel()):
                for column, g in zip(
                    columns, _gradients((flat[i],), inputs, None, create_graph, strict, "jacobian", keep=True)
                ):
                    column.append(g)
            rows.append(
                tuple(
                    torch.stack(c).reshape(o.shape + x.shape) if c else x.new_zeros(o.shape + x.shape)
                    for c, x in zip(columns, inputs)
                )
            )
        rows = tuple(_finish(row, create_graph) for row in rows)
    rows = tuple(_unpack(row, one_in) for row in rows)
    return _unpack(rows, one_out)


def _rows_at_once(output, inputs, create_graph):
    zeros = [x.new_zeros(output.shape + x.shape) for x in inputs]
    if not output.requires_grad:
        return tuple(zeros)
    units = torch.eye(output.numel(), dtype=output.dtype, device=output.device).reshape(output.numel(), *output.shape)
    found = grad(output, inputs, units, True, create_graph, allow_unused=True, is_grads_batched=True)
    return tuple(z if g is None else g.reshape(z.shape) for g, z in zip(found, zeros, strict=True))


def _forward_jacobian(func, inputs, create_graph, strict):
    if strict:
        raise NotImplementedError(
            "jacobian: strict=True finds outputs that do not depend on the inputs by backward: use strategy='reverse-mode'"
        )
    from torch.func import jacfwd

    one_in = isinstance(inputs, Tensor)
    given = (inputs,) if one_in else tuple(inputs)
    given = given if create_graph else tuple(x.detach() for x in given)
    rows = jacfwd(func, tuple(range(len(given))))(*given)
    one_out = isinstance(rows[0], Tensor)
    rows = [tuple(_finish(row, create_graph)) for row in ([rows] if one_out else rows)]
    return _unpack(tuple(_unpack(row, one_in) for row in rows), one_out)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: shape (*input, *input), a tuple of tuples for several inputs."""
    one_in = isinstance(inputs, Tensor)

    def gradient(*x):
        loss = func(*x)
        _check_scalar(loss, "hessian")
        found = grad(loss, x, create_graph=True, allow_unused=True)
        if strict and any(g is None for g in found):
            raise RuntimeError(
                "The output of the user-provided function is independent of one of the inputs. This is not allowed in strict mode."
            )
        return tuple(x_i.new_zeros(x_i.shape) if g is None else g for g, x_i in zip(found, x))

    rows = jacobian(
        gradient, (inputs,) if one_in else tuple(inputs), create_graph, False, vectorize, outer_jacobian_strategy
    )
    return rows[0][0] if one_in else rows


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """A scalar function's value, and the product of ``v`` with its Hessian."""
    with torch.enable_grad():
        inputs, one_in = _prepare(inputs, create_graph)
        v = _vector(v, inputs, "vhp", "input")
        loss = func(*inputs)
        _check_scalar(loss, "vhp")
        first = _gradients((loss,), inputs, None, True, strict, "vhp")
        pairs = [(f, w) for f, w in zip(first, v) if f.requires_grad]
        found = (
            grad([f for f, _ in pairs], inputs, [w for _, w in pairs], create_graph=create_graph, allow_unused=True)
            if pairs
            else (None,) * len(inputs)
        )
        found = tuple(torch.zeros_like(x) if f is None else f for f, x in zip(found, inputs))
    return _finish((loss,), create_graph)[0], _unpack(_finish(found, create_graph), one_in)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """A scalar function's value, and the product of its Hessian with ``v``: the same as :func:`vhp`, the Hessian being symmetric."""
    return vhp(func, inputs, v, create_graph, strict)


# --- parts ---


def _prepare(inputs, create_graph):
    one = isinstance(inputs, Tensor)
    inputs = (inputs,) if one else tuple(inputs)
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor):
            raise TypeError(f"inputs must be Tensors, but input {i} is of type {type(x).__name__}")
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs), one
    return tuple(x.detach().requires_grad_() for x in inputs), one


def _outputs(outputs, name):
    one = isinstance(outputs, Tensor)
    outputs = (outputs,) if one else tuple(outputs)
    for i, o in enumerate(outputs):
        if not isinstance(o, Tensor):
            raise TypeError(
                f"The outputs of the user-provided function given to {name} must be Tensors, but output {i} is of type {type(o).__name__}"
            )
    return outputs, one


def _vector(v, like, name, what="output"):
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the user-provided function's {what} is a single Tensor with a single element: {name}"
            )
        return (torch.ones_like(like[0]),)
    v = (v,) if isinstance(v, Tensor) else tuple(v)
    if len(v) != len(like):
        raise RuntimeError(f"{name}: v has {len(v)} tensors, the function has {len(like)} {what}s")
    for i, (a, b) in enumerate(zip(v, like)):
        if a.shape != b.shape:
            raise RuntimeError(
                f"{name}: entry {i} of v has shape {tuple(a.shape)}, the function's {what} {tuple(b.shape)}"
            )
    return v


def _check_scalar(loss, name):
    if not isinstance(loss, Tensor):
        raise TypeError(
            f"The outputs of the user-provided function given to {name} must be a Tensor, not {type(loss).__name__}"
        )
    if loss.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element, it has shape {tuple(loss.shape)}"
        )


def _check_strict(outputs, strict, name):
    for i, o in enumerate(outputs):
        if strict and not o.requires_grad:
            raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner "
                               f"from the input when running in strict mode: {name}")  # fmt: skip


def _gradients(outputs, inputs, v, create_graph, strict, name, keep=None):
    v = (None,) * len(outputs) if v is None else v
    pairs = [(o, w) for o, w in zip(outputs, v) if o.requires_grad]
    if pairs:
        keep = create_graph if keep is None else keep
        found = grad(
            [o for o, _ in pairs],
            inputs,
            [w for _, w in pairs],
            retain_graph=keep,
            create_graph=create_graph,
            allow_unused=True,
        )
    else:
        found = (None,) * len(inputs)
    if strict and any(f is None for f in found):
        i = next(i for i, f in enumerate(found) if f is None)
        raise RuntimeError(
            f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode: {name}"
        )
    return tuple(torch.zeros_like(x) if f is None else f for f, x in zip(found, inputs))


def _finish(tensors, create_graph):
    return tensors if create_graph else tuple(t.detach() for t in tensors)


def _unpack(tensors, one):
    return tensors[0] if one else tensors


# --- pieces by the names under which libraries of Jacobians of their own import them ---


def _as_tuple(inp, arg_name=None, fn_name=None):
    """Whether tensors were given as a tuple, and the tuple of them."""
    several = isinstance(inp, tuple)
    found = inp if several else (inp,)
    for i, x in enumerate(found):
        if not isinstance(x, Tensor):
            where = f"{arg_name}[{i}]" if several else arg_name
            raise TypeError(f"{fn_name}: {where} must be a Tensor, got {type(x).__name__}")
    return several, found


def _tuple_postprocess(res, to_unpack):
    """Results as those who asked gave their tensors: alone, or in tuples, level by level."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        res = tuple(each if inner else each[0] for each in res)
        return res if outer else res[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs, create_graph):
    """Gradients, in tuples of tuples, without the graph unless it was asked for."""
    if isinstance(inputs[0], Tensor):
        return _finish(inputs, create_graph)
    return tuple(_grad_postprocess(each, create_graph) for each in inputs)


def _construct_standard_basis_for(tensors, tensor_numels):
    """The rows of an identity for all entries of all tensors, split by tensor: ``(sum of numels, numel)`` each.

    >>> [b.shape for b in _construct_standard_basis_for((torch.ones(2), torch.ones(1)), (2, 1))]
    [torch.Size([3, 2]), torch.Size([3, 1])]
    """
    if len(tensors) != len(tensor_numels) or not tensors:
        raise ValueError(f"a standard basis: {len(tensors)} tensors and {len(tensor_numels)} numbers of entries")
    total, at, found = sum(tensor_numels), 0, []
    for x, n in zip(tensors, tensor_numels):
        part = torch.zeros(total, n, dtype=x.dtype, device=x.device)
        part[at : at + n] = torch.eye(n, dtype=x.dtype, device=x.device)
        found.append(part)
        at += n
    return tuple(found)
