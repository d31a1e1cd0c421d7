"""``backward`` and ``grad``: the two ways to run the tape."""

from __future__ import annotations

from collections.abc import Mapping
from sys import modules

from torch import Tensor

from . import _C
from .graph import GradientEdge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    Tensors: TypeAlias = Tensor | GradientEdge | Iterable[Tensor | GradientEdge | None]

__all__ = ["backward", "grad"]


def backward(
    tensors: Tensors,
    grad_tensors: Tensors | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensors | None = None,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of ``tensors`` to the ``.grad`` of the leaves they were computed from.

    ``grad_tensors`` holds the gradient of each tensor; for scalars it may be None. With ``retain_graph`` the graph can
    be used again, with ``create_graph`` the gradients are themselves recorded. With ``inputs`` only their ``.grad`` changes.

    >>> import torch
    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.backward([w * w, 2 * w])
    >>> w.grad
    tensor(8.)
    """
    if grad_variables is not None:
        from warnings import warn

        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to backward(). Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None and not isinstance(inputs, Tensor):
        inputs = (inputs,) if isinstance(inputs, GradientEdge) else tuple(inputs)
    tensors = _tuple("backward: tensors", tensors)
    if _is_overridden(tensors):
        return _answer(backward, tensors, tensors, grad_tensors=grad_tensors, retain_graph=retain_graph,
                       create_graph=create_graph, inputs=inputs)  # fmt: skip
    return _C._backward(
        tensors, _gradients(grad_tensors), create_graph if retain_graph is None else retain_graph, create_graph, inputs
    )


def grad(
    outputs: Tensors,
    inputs: Tensors | dict[Any, Tensor],
    grad_outputs: Tensors | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of ``outputs`` with respect to each of ``inputs``, without touching any ``.grad``.

    A tuple, or of a dict of inputs a dict. An input that the outputs do not depend on is an error; it gives None with
    ``allow_unused`` and zeros with ``materialize_grads``, which can themselves be differentiated where ``create_graph`` asks
    for that.

    >>> import torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    >>> (second,) = torch.autograd.grad(first, x)
    >>> first.item(), second.item()
    (12.0, 12.0)
    """
    if not only_inputs:
        from warnings import warn

        warn("only_inputs argument is deprecated and is ignored now (defaults to True).", FutureWarning, stacklevel=2)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if type(inputs) is dict:
        found = grad(outputs, inputs.values(), grad_outputs, retain_graph, create_graph, True, allow_unused, is_grads_batched,
                     materialize_grads)  # fmt: skip
        return dict(zip(inputs, found))
    if isinstance(inputs, Mapping):
        raise TypeError(f"grad: inputs must be tensors or a dict of them, not a {type(inputs).__name__}")
    outputs, inputs = _tuple("grad: outputs", outputs), _tuple("grad: inputs", inputs)
    if _is_overridden(outputs + inputs):
        return _answer(grad, outputs + inputs, outputs, inputs, grad_outputs=grad_outputs, retain_graph=retain_graph,
                       create_graph=create_graph, only_inputs=only_inputs, allow_unused=allow_unused,
                       is_grads_batched=is_grads_batched, materialize_grads=materialize_grads)  # fmt: skip
    retain = create_graph if retain_graph is None else retain_graph
    allow = materialize_grads if allow_unused is None else allow_unused
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, retain, create_graph, allow, materialize_grads)
    result = _C._grad(outputs, inputs, _gradients(grad_outputs), retain, create_graph, allow)
    if materialize_grads:
        result = tuple(_zeros(i, create_graph) if g is None else g for g, i in zip(result, inputs))
    return result


def _tuple(name, given):
    if isinstance(given, (Tensor, GradientEdge)) or _overrides(given):
        return (given,)
    try:
        return tuple(given)
    except TypeError:
        raise TypeError(f"{name} must be a tensor or several, got {type(given).__name__}: {given!r:.60}") from None


def _overrides(value):
    return not isinstance(value, Tensor) and hasattr(type(value), "__torch_function__")


def _is_overridden(tensors):
    """Whether one is of a class with ``__torch_function__`` of its own, or a mode is there to see the call."""
    if "torch.overrides" not in modules and all(type(t) is Tensor for t in tensors):
        return False
    from torch.overrides import has_torch_function

    return has_torch_function(tensors)


def _answer(function, tensors, *args, **kwargs):
    from torch.overrides import handle_torch_function

    return handle_torch_function(function, tensors, *args, **kwargs)


def _zeros(unused, create_graph, *batch):
    """The gradient of an input that nothing depends on: a leaf that requires gradients if it is to be differentiated."""
    if isinstance(unused, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return unused.new_zeros((*batch, *unused.shape), requires_grad=create_graph)


def _gradients(given):
    if given is None or isinstance(given, Tensor):
        return given
    return tuple(given)


def _batched(outputs, inputs, grad_outputs, retain, create_graph, allow_unused, materialize):
    """One pass for all entries of the first dim of ``grad_outputs``."""
    from torch.func import vmap

    grads = _gradients(grad_outputs)
    grads = (grads,) if isinstance(grads, Tensor) else grads
    given = [g for g in grads if g is not None]
    reached = []  # which inputs have a gradient

    def once(*batch):
        rest = iter(batch)
        full = tuple(None if g is None else next(rest) for g in grads)
        found = _C._grad(outputs, inputs, full, retain, create_graph, allow_unused)
        reached[:] = [g is not None for g in found]
        return tuple(g for g in found if g is not None)

    found = iter(vmap(once)(*given))
    size = given[0].shape[0]
    return tuple(
        next(found) if is_there else _zeros(x, create_graph, size) if materialize else None
        for is_there, x in zip(reached, inputs, strict=True)
    )
