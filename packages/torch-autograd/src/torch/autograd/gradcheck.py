"""Analytical gradients compared with finite differences."""

from __future__ import annotations

from itertools import product

import torch
from torch import Tensor, _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "gradcheck",
    "gradgradcheck",
    "zero_gradients",
]


class GradcheckError(RuntimeError):
    """A gradient differs from finite differences; the message shows both Jacobians."""


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """True when the gradients of ``func(*inputs)`` agree with finite differences; else GradcheckError, or False.

    Inputs that require gradients should be float64 or complex128. ``check_forward_ad`` compares forward mode as well, and
    ``check_batched_grad`` and ``check_batched_forward_grad`` what comes of a batch with what comes of its examples.

    >>> import torch
    >>> torch.autograd.gradcheck(torch.sin, (torch.randn(3, dtype=torch.float64, requires_grad=True),))
    True
    """
    if not (check_backward_ad or check_forward_ad):
        raise ValueError(
            "gradcheck: expected to check at least one of forward and backward mode: check_forward_ad, check_backward_ad"
        )
    if check_batched_grad and not check_backward_ad:
        raise ValueError("gradcheck: check_batched_grad needs check_backward_ad=True")
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueError("gradcheck: check_batched_forward_grad needs check_forward_ad=True")
    try:
        func, inputs = _without_sparse(func, _as_tuple(inputs))
        _check_inputs(inputs)
        if check_backward_ad:
            _check(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes)
        if check_forward_ad or check_batched_grad:
            from . import _gradcheck_modes as modes

            if check_batched_grad:
                modes.check_batched_backward(func, inputs)
            if check_forward_ad:
                modes.check_forward(func, inputs, eps, atol, rtol)
            if check_batched_forward_grad:
                modes.check_batched_forward(func, inputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """As :func:`gradcheck`, for the gradients of the gradients.

    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x**3, x)
    True
    """
    func, inputs = _without_sparse(func, _as_tuple(inputs))
    if grad_outputs is None:
        generator = torch.Generator()
        generator.manual_seed(0)
        outputs = _tensors(func(*inputs))
        grad_outputs = tuple(
            torch.randn(o.shape, dtype=o.dtype, generator=generator).to(o.device).requires_grad_()
            for o in outputs
            if o.is_floating_point() or o.is_complex()
        )
        if gen_non_contig_grad_outputs:
            grad_outputs = tuple(torch.stack((g, g), -1).detach()[..., 0].requires_grad_() for g in grad_outputs)
    else:
        grad_outputs = _as_tuple(grad_outputs)
    count = len(grad_outputs)

    def gradients(*args):
        x, g = args[:-count], args[-count:]
        outputs = tuple(o for o in _tensors(func(*x)) if o.is_floating_point() or o.is_complex())
        pairs = [(o, v) for o, v in zip(outputs, g) if o.requires_grad]
        wanted = tuple(t for t in x if _wanted(t))
        found = torch.autograd.grad(
            [o for o, _ in pairs], wanted, [v for _, v in pairs], create_graph=True, allow_unused=True
        )
        return tuple(f for f in found if f is not None)

    return gradcheck(
        gradients, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=False, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
    )  # fmt: skip


def _wanted(t):
    return isinstance(t, Tensor) and t.requires_grad


def _as_tuple(x):
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _tensors(outputs):
    outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
    return tuple(o.to_dense() if _is_sparse(o) else o for o in outputs if isinstance(o, Tensor))


def _without_sparse(func, inputs):
    """The function of the values of sparse inputs: a gradient exists only at their elements."""
    if not any(_is_sparse(t) for t in inputs):
        return func, inputs

    def of_values(*args):
        return func(*[_with_values(t, a) if _is_sparse(t) else a for t, a in zip(inputs, args)])

    def values(t):
        own = t.detach()
        return (own._values() if t.is_sparse else own.values()).clone().requires_grad_(t.requires_grad)

    return of_values, tuple(values(t) if _is_sparse(t) else t for t in inputs)


def _is_sparse(t):
    return isinstance(t, Tensor) and t.layout != torch.strided


def _with_values(sparse, values):
    if not sparse.is_sparse:
        return _seams.operator("_compressed_with_values")(sparse.detach(), values)
    make = _seams.operator("_sparse_coo_tensor_unsafe")
    return make(sparse._indices(), values, sparse.shape, sparse.is_coalesced())


def _check_inputs(inputs):
    wanted = [t for t in inputs if _wanted(t)]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )
    for i, t in enumerate(inputs):
        if _wanted(t) and t.dtype not in (torch.float64, torch.complex128):
            from warnings import warn

            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely fail.",
                stacklevel=3,
            )
        if _wanted(t) and any(stride == 0 and size > 1 for stride, size in zip(t.stride(), t.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping"
            )


def _check(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes):
    outputs = tuple(o for o in _tensors(func(*inputs)) if o.requires_grad)
    if not outputs:
        for i, _ in enumerate(_tensors(func(*inputs))):
            for j, numerical in enumerate(_numerical(func, inputs, i, eps)):
                if numerical is not None and numerical.numel() and numerical.abs().max().item():
                    raise GradcheckError(f"Numerical gradient for function expected to be zero: output {i}, input {j}")
        return
    every = _tensors(func(*inputs))
    for i, output in enumerate(every):
        if not output.requires_grad:
            continue
        numerical = _numerical(func, inputs, i, eps)
        analytical = _analytical(func, inputs, i)
        again = _analytical(func, inputs, i)
        for j, (a, b, n) in enumerate(zip(analytical, again, numerical)):
            if n is None:
                continue
            if a.numel() and not _close(a, b, rtol=0, atol=nondet_tol, equal_nan=True):
                raise GradcheckError(
                    f"Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values: "
                    f"output {i}, input {j}"
                )
            if not _close(a, n, rtol=rtol, atol=atol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {i} with respect to input {j},\nnumerical:{n}\nanalytical:{a}\n"
                )
    if check_undefined_grad:
        _check_undefined(func, inputs)
    if check_grad_dtypes:
        for t, g in zip(inputs, _gradients_of(func, inputs)):
            if g is not None and g.dtype != t.dtype:
                raise GradcheckError(f"Gradient has dtype {g.dtype}, the input {t.dtype}")


def _gradients_of(func, inputs):
    outputs = [o for o in _tensors(func(*inputs)) if o.requires_grad]
    wanted = [t for t in inputs if _wanted(t)]
    found = iter(torch.autograd.grad(outputs, wanted, [torch.ones_like(o) for o in outputs], allow_unused=True))
    return [next(found) if _wanted(t) else None for t in inputs]


def _check_undefined(func, inputs):
    """A gradient that is missing for one of several outputs counts as zero."""
    outputs = [o for o in _tensors(func(*inputs)) if o.requires_grad]
    if len(outputs) < 2:
        return
    wanted = [t for t in inputs if _wanted(t)]
    for i in range(len(outputs)):
        outputs = [o for o in _tensors(func(*inputs)) if o.requires_grad]
        some = torch.autograd.grad(
            outputs[i], wanted, torch.ones_like(outputs[i]), retain_graph=True, allow_unused=True
        )
        zeros = [torch.ones_like(o) if k == i else torch.zeros_like(o) for k, o in enumerate(outputs)]
        full = torch.autograd.grad(outputs, wanted, zeros, allow_unused=True)
        for a, b in zip(some, full):
            a = torch.zeros_like(b) if a is None and b is not None else a
            if b is not None and not _close(a, b, equal_nan=True):
                raise GradcheckError("Expected backward function to handle undefined output grads as zero")


def _close(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).all())


def _directions(t):
    return (1.0, 1j) if t.is_complex() else (1.0,)


def _numerical(func, inputs, which, eps):
    """For each input, d(output `which`) / d(element) as a matrix (elements of the input, elements of the output).

    For complex inputs and outputs it is the gradient's convention: conj(d/dx) + i conj(d/dy) summed over the output's
    real and imaginary directions, see _analytical.
    """
    result = []

    def run():
        return _tensors(func(*inputs))[which].detach().clone().reshape(-1)

    for t in inputs:
        if not _wanted(t):
            result.append(None)
            continue
        # In the input's own memory: the function may read it elsewhere too, as the parameter of a module.
        value = t.data
        rows = []
        for index in product(*(range(s) for s in t.shape)):
            row = []
            original = value[index].clone()
            try:
                for direction in _directions(t):
                    value[index] = original + eps * direction
                    up = run()
                    value[index] = original - eps * direction
                    down = run()
                    row.append((up - down) / (2 * eps))
            finally:
                value[index] = original
            rows.append(torch.stack(row))
        at_rest = run()
        columns = at_rest.numel() * (2 if at_rest.is_complex() else 1)
        shape = (t.numel(), len(_directions(t)), at_rest.numel())
        result.append(
            _real_parts(torch.stack(rows).reshape(shape))
            if rows
            else torch.zeros(0, columns, dtype=torch.float64, device=t.device)
        )
    return result


def _real_parts(jacobian):
    """(inputs, directions, outputs), complex or not, as a real matrix: columns are real and imaginary parts of outputs."""
    flat = torch.view_as_real(jacobian.contiguous()).flatten(-2) if jacobian.is_complex() else jacobian
    return flat.reshape(flat.shape[0] * flat.shape[1], flat.shape[2])


def _analytical(func, inputs, which):
    """The same matrices by backward: one pass for the real and imaginary part of each element of the output."""
    wanted = [t for t in inputs if _wanted(t)]
    output = _tensors(func(*inputs))[which]
    columns = []
    for i in range(output.numel()):
        for direction in _directions(output):
            seed = torch.zeros(output.numel(), dtype=output.dtype, device=output.device)
            seed[i] = direction
            grads = torch.autograd.grad(
                output, wanted, seed.reshape(output.shape), retain_graph=True, allow_unused=True
            )
            columns.append([_as_real(g, t) for g, t in zip(grads, wanted)])
    found = []
    for k, t in enumerate(wanted):
        rows = t.numel() * len(_directions(t))
        empty = torch.zeros(rows, 0, dtype=torch.float64, device=t.device)
        found.append(torch.stack([c[k] for c in columns], -1) if columns else empty)
    found = iter(found)
    return [next(found) if _wanted(t) else None for t in inputs]


def _as_real(g, t):
    g = torch.zeros_like(t) if g is None else g
    g = g.detach().contiguous()
    return (torch.view_as_real(g) if g.is_complex() else g).reshape(-1).clone()


# --- names of 2018 ---


def zero_gradients(x: Any) -> None:
    """Sets the gradients of tensors to zero.

    >>> from torch.autograd.gradcheck import zero_gradients
    >>> x = torch.ones(1, requires_grad=True)
    >>> (2 * x).backward()
    >>> zero_gradients(x)
    >>> x.grad
    tensor([0.])
    """
    for t in _as_tuple(x):
        if t.grad is not None:
            t.grad.detach_()
            t.grad.zero_()


def get_numerical_jacobian(fn: Callable[..., Any], inputs: Any, target: Tensor | None = None, eps: float = 1e-3) -> Any:
    """The finite-difference Jacobian of ``fn(inputs)`` by each input that requires a gradient.

    >>> from torch.autograd.gradcheck import get_numerical_jacobian
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> get_numerical_jacobian(lambda inputs: inputs[0] ** 2, (x,), x, 1e-3)[0].round(decimals=3)
    tensor([[2., 0.],
            [0., 4.]], dtype=torch.float64)
    """
    inputs = _as_tuple(inputs)
    return [j for j in _numerical(lambda *x: fn(x), inputs, 0, eps) if j is not None]


def get_analytical_jacobian(inputs: Any, output: Any) -> Any:
    """The Jacobian of an output by its inputs, by backward; and whether a second run gives the same.

    >>> from torch.autograd.gradcheck import get_analytical_jacobian
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> get_analytical_jacobian((x,), x**2)[0]
    [tensor([[2., 0.],
            [0., 4.]], dtype=torch.float64)]
    """
    inputs = _as_tuple(inputs)
    first = [j for j in _analytical(lambda *x: output, inputs, 0) if j is not None]
    second = [j for j in _analytical(lambda *x: output, inputs, 0) if j is not None]
    return first, all(_close(a, b, rtol=0, atol=0) for a, b in zip(first, second))
