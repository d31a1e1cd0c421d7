"""Every row of the core: it has a derivative that agrees with finite differences, to the second order, or is known to
need none."""

import os

import pytest
import torch
from differentiability import DIFFERENTIABILITY
from operator_samples import ELSEWHERE, INFO, Source, calls_of, in_place, name_of
from torch import _C as core
from torch.autograd import gradcheck, gradgradcheck

DEVICE = os.environ.get("TORCH_TEST_DEVICE", "cpu")
if DEVICE != "cpu":  # of values for a place that is named twice the last one stays
    torch.use_deterministic_algorithms(True)
#: no agreement can be asked for: what they compute has jumps or is drawn anew
DIFFERENTIABLE = [s for s, how in DIFFERENTIABILITY.items() if how == "derivative"]
#: at these the second difference is rough, or the first one is exact and the second not defined
NO_SECOND = {
    "angle": "real: no derivative",
    **dict.fromkeys(("igamma", "igamma_", "igammac", "igammac_"), "twice by the first argument: there is no formula"),
}
COMPLEX = {
    "add", "sub", "mul", "true_divide", "exp", "sin", "cos", "tanh", "sigmoid", "sqrt", "log", "reciprocal", "square", "neg", "tan", "sinh", "cosh",
    "expm1", "rsqrt", "asinh", "atan", "mm", "matmul", "linear", "dot", "vdot", "sum", "mean", "cat", "index", "where", "clone", "conj_physical", "abs",
    "sgn", "angle", "var", "std", "prod", "bmm", "mv", "addmm", "view_as_real", "index_add", "index_copy", "index_fill", "index_put", "index_select",
    "gather", "scatter", "scatter_add", "take", "put", "masked_select", "masked_scatter", "cumsum", "cumprod", "logcumsumexp", "_linear_recurrence", "logsumexp",
    "_sparse_matmul", "_sparse_sampled", "_sparse_sparse_matmul", "addcmul", "addcdiv", "lerp", "transpose", "pow", "vector_norm",
}  # fmt: skip


def call_row(schema, args, kwargs):
    """The row as a function of only tensors: what gradcheck takes."""
    args, kwargs = list(args), dict(kwargs)
    nograd, outputs, seed = kwargs.pop("nograd", ()), kwargs.pop("outputs", None), kwargs.pop("seed", None)
    flat, places = [], []
    for i, a in enumerate(args):
        if isinstance(a, torch.Tensor) and (a.is_floating_point() or a.is_complex()) and i not in nograd:
            flat.append(a.requires_grad_())
            places.append((i, None))
        elif (
            isinstance(a, list)
            and a
            and isinstance(a[0], torch.Tensor)
            and (a[0].is_floating_point() or a[0].is_complex())
        ):
            flat += [x.requires_grad_() for x in a]
            places += [(i, k) for k in range(len(a))]
    operator = core._operator(name_of(schema))

    def function(*tensors):
        filled = [list(a) if isinstance(a, list) else a for a in args]
        for (i, k), t in zip(places, tensors):
            if k is None:
                filled[i] = t * 1 if in_place(schema) and i == 0 else t
            else:
                filled[i][k] = t
        if seed is not None:
            torch.manual_seed(seed)
        result = operator(*filled, **kwargs)
        return result[:outputs] if outputs else result

    return function, tuple(flat)


def cases(schemas, dtype):
    return [
        pytest.param(schema, make, dtype, id=f"{schema.partition(') ->')[0]}-{i}")
        for schema in schemas
        for i, make in enumerate(calls_of(schema))
    ]


def moved(x):
    """A sample's arguments on the device of the tests."""
    if isinstance(x, torch.Tensor):
        return x.to(DEVICE)
    return type(x)(map(moved, x)) if isinstance(x, (list, tuple)) else x


def arguments(schema, make, dtype):
    args, kwargs = make(Source(schema, dtype))
    if DEVICE != "cpu":
        args, kwargs = moved(tuple(args)), {k: moved(v) for k, v in kwargs.items()}
    if in_place(schema):
        if not isinstance(args[0], torch.Tensor):
            pytest.skip("a number cannot be changed in place")
        if INFO[schema]["pointwise"]:  # self has the shape of the result
            shape = torch.broadcast_tensors([a for a in args if isinstance(a, torch.Tensor)])[0].shape
            args = (args[0].expand(shape).clone(), *args[1:])
        elif args[0].dim() == 1 and name_of(schema) == "addmm_":
            pytest.skip("self has another shape than the result")
    return args, kwargs


def build(schema, make, dtype):
    return call_row(schema, *arguments(schema, make, dtype))


@pytest.mark.parametrize("schema, make, dtype", cases(DIFFERENTIABLE, torch.float64))
def test_gradient_agrees_with_finite_differences(schema, make, dtype):
    function, inputs = build(schema, make, dtype)
    assert gradcheck(function, inputs)


@pytest.mark.parametrize("schema, make, dtype", cases(DIFFERENTIABLE, torch.float64))
def test_a_recorded_pass_gives_the_same_gradient(schema, make, dtype):
    function, inputs = build(schema, make, dtype)
    results = function(*inputs)
    results = [
        r for r in (results if isinstance(results, (tuple, list)) else [results]) if r is not None and r.requires_grad
    ]
    torch.manual_seed(1)
    weights = [r.detach() * 2 if r.is_sparse else torch.randn_like(r) for r in results]

    def gradients(create_graph):
        return torch.autograd.grad(
            results, inputs, weights, retain_graph=True, create_graph=create_graph, allow_unused=True
        )

    for plain, recorded in zip(gradients(False), gradients(True)):
        assert (plain is None) == (recorded is None)
        if plain is not None:
            if plain.is_sparse:
                plain, recorded = plain.to_dense(), recorded.to_dense()
            torch.testing.assert_close(recorded.detach(), plain, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("schema, make, dtype", cases(DIFFERENTIABLE, torch.float64))
def test_each_input_may_require_a_gradient_without_the_others(schema, make, dtype):
    args, kwargs = arguments(schema, make, dtype)
    kwargs = {k: v for k, v in kwargs.items() if k not in ("nograd", "outputs", "seed")}
    flat = [x for a in args for x in (a if isinstance(a, list) else [a])]
    for x in flat:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.is_sparse:
            continue
        x = x.requires_grad_()
        used = [(x if a is x else a) for a in args]
        if in_place(schema) and isinstance(used[0], torch.Tensor):
            used[0] = used[0].clone()
        try:
            results = core._operator(name_of(schema))(*used, **kwargs)
        except NotImplementedError:  # by the first argument of zeta
            continue
        for result in results if isinstance(results, (tuple, list)) else [results]:
            if isinstance(result, torch.Tensor) and result.requires_grad and not result.is_sparse:
                try:
                    (grad,) = torch.autograd.grad(
                        result, x, torch.ones_like(result), retain_graph=True, allow_unused=True
                    )
                except NotImplementedError:  # by the first argument of igamma
                    continue
                assert grad is None or grad.shape == x.shape
        x.requires_grad_(False)


@pytest.mark.parametrize(
    "schema, make, dtype", cases((s for s in DIFFERENTIABLE if name_of(s) not in NO_SECOND), torch.float64)
)
def test_second_derivative_agrees_with_finite_differences(schema, make, dtype):
    function, inputs = build(schema, make, dtype)
    assert gradgradcheck(function, inputs)


@pytest.mark.parametrize(
    "schema, make, dtype", cases((s for s in DIFFERENTIABLE if name_of(s) in COMPLEX), torch.complex128)
)
def test_complex_gradient_agrees_with_finite_differences(schema, make, dtype):
    function, inputs = build(schema, make, dtype)
    assert gradcheck(function, inputs)


def test_every_row_has_a_derivative_or_needs_none():
    missing = [s for s, how in DIFFERENTIABILITY.items() if how == "missing"]
    assert not missing, (
        "write a derivative (csrc/derivatives/README.md) or list the row as not differentiable:\n" + "\n".join(missing)
    )


def test_every_derivative_is_tested():
    untested = [s for s in DIFFERENTIABLE if not calls_of(s) and name_of(s) not in ELSEWHERE]
    assert not untested, "add calls to core/samples/operator_samples:\n" + "\n".join(untested)


@pytest.mark.parametrize(
    "schema", [s for s, how in DIFFERENTIABILITY.items() if how == "not differentiable" and "(a!)" not in s]
)
def test_what_has_no_gradient_is_not_recorded(schema):
    if not INFO[schema]["pointwise"] or INFO[schema]["dtypes"] in (5, 6, 7):
        pytest.skip("not an operator of only floating tensors")
    count = schema.partition(" -> ")[0].count("Tensor ") + schema.count("Number ")
    args = [torch.ones(2, requires_grad=True) for _ in range(count)]
    assert not core._operator(name_of(schema))(*args).requires_grad
