"""``backward`` and ``grad``: the two ways to run the tape."""

from torch import Tensor

from . import _C
from .graph import GradientEdge

__all__ = ["backward", "grad"]


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
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
        inputs = tuple(inputs)
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    _C._backward(
        tensors, _gradients(grad_tensors), create_graph if retain_graph is None else retain_graph, create_graph, inputs
    )


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of the sum of ``outputs`` with respect to each of ``inputs``, without touching any ``.grad``.

    An input that the outputs do not depend on is an error; it gives None with ``allow_unused`` and zeros with
    ``materialize_grads``.

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
    outputs = (outputs,) if isinstance(outputs, (Tensor, GradientEdge)) else tuple(outputs)
    inputs = (inputs,) if isinstance(inputs, (Tensor, GradientEdge)) else tuple(inputs)
    retain = create_graph if retain_graph is None else retain_graph
    allow = materialize_grads if allow_unused is None else allow_unused
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, retain, create_graph, allow, materialize_grads)
    result = _C._grad(outputs, inputs, _gradients(grad_outputs), retain, create_graph, allow)
    if materialize_grads:
        result = tuple(i.new_zeros(i.shape) if g is None else g for g, i in zip(result, inputs))
    return result


def _gradients(given):
    if given is None or isinstance(given, Tensor):
        return given
    return tuple(given)


def _batched(outputs, inputs, grad_outputs, retain, create_graph, allow_unused, materialize):
    """One pass for each entry of the first dim of ``grad_outputs``."""
    from torch import stack

    grads = _gradients(grad_outputs)
    grads = (grads,) if isinstance(grads, Tensor) else grads
    count = next(g.shape[0] for g in grads if g is not None)
    rows = []
    for i in range(count):
        last = i == count - 1
        row = _C._grad(
            outputs,
            inputs,
            tuple(None if g is None else g[i] for g in grads),
            retain or not last,
            create_graph,
            allow_unused,
        )
        if materialize:
            row = tuple(x.new_zeros(x.shape) if g is None else g for g, x in zip(row, inputs))
        rows.append(row)
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))
