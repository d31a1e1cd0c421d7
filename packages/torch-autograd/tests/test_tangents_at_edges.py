"""Tangents and gradients where formulas are easily wrong: at zeros, below them, at what is endless or no number, of every operator.

The reference is the other mode: a tangent is the matrix of slopes, row by row of backward, times the tangents given.
"""

import itertools

import pytest
import torch
from differentiability import DIFFERENTIABILITY
from operator_samples import INFO, Source, calls_of, in_place, name_of
from torch import _C as core
from torch.autograd import forward_ad as fwd

INF, NAN = float("inf"), float("nan")
NO_SAMPLES = {"cat", "stack", "complex", "view_as_complex"}  # tensors in a list, complex results
NO_DERIVATIVE = {("zeta", 0)}  # by which argument
ROWS = [
    s
    for s in DIFFERENTIABILITY
    if calls_of(s)
    and name_of(s) not in NO_SAMPLES
    and DIFFERENTIABILITY[s] == "derivative"
    and not (INFO[s]["random"] or INFO[s]["hidden"] or "sparse" in s)
]
PLACES = {
    "zeros": [0.0],
    "below zero": [-1.5, -0.0, -1.0],
    "far": [INF, 1.0, -INF, 2.0, 0.5],
    "no number": [NAN, 0.75, 0.0, 0.25, -2.0],
    "mixed": [0.0, 1.0, 0.5, -0.5, 0.0, -1.0, 2.0],
}
MOST = 64  # elements of a sample, so that the matrix is small


def _filled(t, values):
    """As ``t``, of these values in turn."""
    numbers = torch.tensor([values[i % len(values)] for i in range(t.numel())], dtype=torch.float64)
    return numbers.to(t.dtype).view(t.shape)


def _cases(schema):
    """Of each sample that fits: its number, a function of its real tensors by an operator's name, and those tensors."""
    for number, sample in enumerate(calls_of(schema)):
        args, kwargs = sample(Source(f"{schema} {number}"))
        kwargs = {k: v for k, v in kwargs.items() if k not in ("nograd", "outputs")}
        if "seed" in kwargs or any(isinstance(v, torch.Tensor) for v in kwargs.values()):
            continue
        real = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.dtype == torch.float64]
        if not real or (in_place(schema) and real[0] != 0) or sum(args[i].numel() for i in real) > MOST:
            continue

        def function(tensors, name=name_of(schema), args=args, kwargs=kwargs, real=real):
            filled = list(args)
            for i, t in zip(real, tensors, strict=True):
                filled[i] = t
            if in_place(schema):
                filled[0] = filled[0].clone()
            results = core._operator(name)(*filled, **kwargs)
            results = results if isinstance(results, (list, tuple)) else [results]
            return [r for r in results if isinstance(r, torch.Tensor) and r.is_floating_point()]

        yield number, function, [args[i].detach() for i in real]


def _is_accepted(function, inputs):
    try:
        function(inputs)
    except (RuntimeError, ValueError):
        return False
    return True


def _slopes_times(function, inputs, which, tangent):
    """The tangents of the results by the reverse mode; None for a result without gradient."""
    leaf = inputs[which].clone().requires_grad_()
    found = []
    for result in function([*inputs[:which], leaf, *inputs[which + 1 :]]):
        numbers = []
        for unit in torch.eye(result.numel(), dtype=result.dtype) if result.requires_grad else ():
            (slopes,) = torch.autograd.grad(
                result, leaf, unit.view(result.shape), retain_graph=True, materialize_grads=True
            )
            numbers.append((slopes * tangent).sum())
        found.append(torch.stack(numbers).view(result.shape) if numbers else torch.zeros_like(result))
    return found


def _pushed(function, inputs, which, tangent):
    with fwd.dual_level():
        dual = fwd.make_dual(inputs[which], tangent)
        return [fwd.unpack_dual(r) for r in function([*inputs[:which], dual, *inputs[which + 1 :]])]


def _at_places(samples, place):
    """Each tensor in turn of special values, beside the others of usual ones, and which of them has a tangent."""
    for special, which in itertools.product(range(len(samples)), repeat=2):
        yield [_filled(x, PLACES[place]) if i == special else x for i, x in enumerate(samples)], which


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("schema", ROWS)
def test_both_modes_agree_at_special_values(schema, place):
    done = 0
    for number, function, samples in _cases(schema):
        for inputs, which in _at_places(samples, place):
            tangent = Source(f"{number}")(*inputs[which].shape)
            if not _is_accepted(function, inputs):
                continue
            if (name_of(schema), which) in NO_DERIVATIVE:
                with pytest.raises(NotImplementedError, match="is not implemented"):
                    _pushed(function, inputs, which, tangent)
                continue
            expected = _slopes_times(function, inputs, which, tangent)
            found = _pushed(function, inputs, which, tangent)
            for (primal, pushed), product in zip(found, expected, strict=True):
                pushed = torch.zeros_like(product) if pushed is None else pushed
                told = ~product.isnan()
                if name_of(schema).startswith("scatter_reduce"):
                    told &= ~primal.isnan()  # of a largest that is no number nothing has a share
                message = f"sample {number} of {schema} at {inputs}: {pushed} instead of {product}"
                assert torch.allclose(pushed[told], product[told], rtol=1e-6, atol=1e-9), message
                done += 1
    assert done


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("schema", [s for s in ROWS if in_place(s) and hasattr(torch.Tensor, name_of(s)[:-1])])
def test_endless_tangents_go_the_same_way_in_place(schema, place):
    done = 0
    for number, function, samples in _cases(schema):
        for inputs, which in _at_places(samples, place):
            tangent = _filled(inputs[which], [INF, 0.0, -INF, 1.0, NAN])
            if not _is_accepted(function, inputs):
                continue
            found = _pushed(function, inputs, which, tangent)
            expected = _pushed(lambda t, f=function: f(t, name_of(schema)[:-1]), inputs, which, tangent)
            for (_, one), (_, other) in zip(found, expected, strict=True):
                message = f"sample {number} of {schema} at {inputs}: {one} instead of {other}"
                assert torch.allclose(one, other, equal_nan=True), message
                done += 1
    assert done


@pytest.mark.parametrize("wild", [float("nan"), float("inf")])
def test_what_is_no_number_in_one_product_leaves_the_gradients_of_others(wild):
    x = torch.tensor([2.0, 1.0, 3.0], requires_grad=True)
    source = torch.tensor([wild, 4.0, 0.0, 2.0, 5.0], requires_grad=True)
    x.scatter_reduce(0, torch.tensor([0, 0, 1, 2, 2]), source, "prod").sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([4 * wild, 0.0, 10.0]), equal_nan=True)
    torch.testing.assert_close(source.grad, torch.tensor([8.0, 2 * wild, 1.0, 15.0, 6.0]), equal_nan=True)
    of_self = torch.tensor([wild, 2.0])
    source = torch.tensor([4.0, -wild, 3.0], requires_grad=True)
    of_self.scatter_reduce(0, torch.tensor([0, 0, 1]), source, "prod").sum().backward()
    torch.testing.assert_close(source.grad, torch.tensor([-wild * wild, 4 * wild, 2.0]), equal_nan=True)


@pytest.mark.parametrize("p", [0, 2, 3])
@pytest.mark.parametrize("endless", [INF, NAN])
def test_through_a_line_without_slope_comes_no_tangent(p, endless):
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    with fwd.dual_level():
        norm = torch.linalg.vector_norm(fwd.make_dual(x, torch.tensor([[endless, 1.0], [1.0, 1.0]])), p, 1)
        tangent = fwd.unpack_dual(norm).tangent
    slope = (3 ** (p - 1) + 4 ** (p - 1)) / norm[1].item() ** (p - 1) if p else 0.0
    torch.testing.assert_close(tangent, torch.tensor([0.0, slope]))


def test_a_slice_that_renorm_leaves_as_it_is_has_its_own_gradient():
    x = torch.tensor([[1.0, NAN], [0.3, 0.4], [0.0, 0.0]], requires_grad=True)
    for p in 0.5, 1, 2:
        (gradient,) = torch.autograd.grad(torch.renorm(x, p, 0, 2.0).sum(), x)
        assert torch.equal(gradient, torch.ones(3, 2))


def test_weights_of_counts_have_gradients():
    weights = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    numbers = torch.tensor([2, 0, 2])
    counts = torch.bincount(numbers, weights, minlength=4)
    counts.backward(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert counts.tolist() == [2, 0, 4, 0] and weights.grad.tolist() == [3, 1, 3]
    points, each = torch.tensor([0.1, 0.9, 0.2]), torch.tensor([5.0, 7.0])
    for counted in (
        torch.histogram(points, 2, range=(0.0, 1.0), weight=weights),
        torch.histogramdd(points[:, None], [2], range=(0.0, 1.0), weight=weights),
    ):
        (gradient,) = torch.autograd.grad(counted.hist, weights, each)
        assert gradient.tolist() == [5, 7, 5]
