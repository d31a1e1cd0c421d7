"""Dual numbers: every operator's tangent against finite differences, changes in place, and what nests in what."""

import numpy as np
import pytest
import torch
from differentiability import DIFFERENTIABILITY
from operator_samples import INFO, Source, calls_of, in_place, name_of
from torch import _C as core
from torch.autograd import forward_ad as fwd
from torch.autograd import gradcheck

ROWS = [s for s in DIFFERENTIABILITY if calls_of(s) and DIFFERENTIABILITY[s] in ("derivative", "composite")]
EPS = 1e-6


def _push(function, x, v):
    with fwd.dual_level():
        return fwd.unpack_dual(function(fwd.make_dual(x, v)))


def close(a, b, **tolerance):
    torch.testing.assert_close(a, b, **tolerance)


def test_a_product_has_the_tangent_of_its_rule():
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0])
    primal, tangent = _push(lambda x: x * x, x, v)
    close(primal, x * x)
    close(tangent, 2 * x * v)
    assert not primal.requires_grad and not tangent.requires_grad


def test_products_with_what_has_no_tangent():
    x, v, w = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3, 3)
    for f in (
        lambda x: x * 2,
        lambda x: 2 * x,
        lambda x: w * x,
        lambda x: x @ w,
        lambda x: w @ x,
        lambda x: x @ w[0],
        lambda x: x.sum(),
    ):
        primal, tangent = _push(f, x, v)
        close(primal, f(x))
        close(tangent, f(v))
    half, one = torch.tensor(0.5, dtype=torch.float64), torch.ones((), dtype=torch.float64)
    assert _push(lambda s: s * x, half, one).tangent.dtype == torch.float32  # a 0-d operand yields
    assert fwd.unpack_dual(_push(lambda x: x.sum(dtype=torch.int64), x, v).primal).tangent is None
    close(_push(lambda x: (x * x).mul_(x), x, v).tangent, 3 * x * x * v)


def test_a_tensor_has_no_tangent():
    x = torch.ones(2)
    primal, tangent = fwd.unpack_dual(x)
    assert primal is x and tangent is None and fwd._current_level == -1


def _cases(schema):
    operator = core._operator(name_of(schema))
    for number, sample in enumerate(calls_of(schema)):
        source = Source(f"{schema} {number}")
        args, kwargs = sample(source)
        kwargs = {k: v for k, v in kwargs.items() if k not in ("nograd", "outputs")}
        if "seed" in kwargs or any(isinstance(v, torch.Tensor) for v in kwargs.values()):
            continue
        floating = [
            i
            for i, a in enumerate(args)
            if isinstance(a, torch.Tensor) and a.dtype in (torch.float64, torch.complex128)
        ]
        if not floating or (in_place(schema) and floating[0] != 0):
            continue

        def function(*tensors, args=args, kwargs=kwargs, floating=floating):
            filled = list(args)
            for i, t in zip(floating, tensors, strict=True):
                filled[i] = t
            if in_place(schema) and isinstance(filled[0], torch.Tensor):
                filled[0] = filled[0].clone()
            result = operator(*filled, **kwargs)
            result = result if isinstance(result, (list, tuple)) else [result]
            return [r for r in result if isinstance(r, torch.Tensor) and (r.is_floating_point() or r.is_complex())]

        inputs = [args[i].detach() for i in floating]
        yield function, inputs, [source(*x.shape, dtype=x.dtype) for x in inputs]


@pytest.mark.parametrize("schema", ROWS)
def test_the_tangent_of_every_operator_is_its_slope(schema):
    if INFO[schema]["random"] or INFO[schema]["hidden"] or "sparse" in schema:
        pytest.skip("drawn anew each time, no function of the user's, or of sparse tensors")
    done = 0
    for function, inputs, tangents in _cases(schema):
        try:
            up = function(*[x + EPS * v for x, v in zip(inputs, tangents, strict=True)])
            down = function(*[x - EPS * v for x, v in zip(inputs, tangents, strict=True)])
        except RuntimeError:
            continue  # positive definite, in the domain: only the point itself
        symmetric = name_of(schema).startswith(
            ("linalg_chol", "cholesky", "linalg_eigh", "linalg_eigvalsh", "linalg_inv_ex")
        )
        with fwd.dual_level():
            try:
                duals = [fwd.make_dual(x, v) for x, v in zip(inputs, tangents, strict=True)]
                found = [fwd.unpack_dual(r) for r in function(*duals)]
            except RuntimeError as error:
                assert "differentiate" in str(error) or "derivative" in str(error) or "gradient" in str(error), error
                continue
        if symmetric:
            continue  # their derivative is that of the symmetric part
        for (primal, tangent), a, b, at in zip(found, up, down, function(*inputs), strict=True):
            close(primal, at, rtol=1e-9, atol=1e-12, equal_nan=True)
            slope = (a - b) / (2 * EPS)
            if tangent is None:
                continue
            assert tangent.dtype == primal.dtype and tangent.shape == primal.shape, schema
            smooth = torch.isfinite(slope) & (slope.abs() < 1e4)
            close(tangent[smooth], slope[smooth], rtol=2e-3, atol=2e-4)
            done += 1
    if not done:
        pytest.skip("no sample with real or complex tensors in positions")


# --- changes in place ---


def test_what_is_written_into_a_tensor_gives_it_a_tangent():
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def f(x):
        y = torch.zeros(3)
        y[:2] = x
        y[2] = 7
        return y * y

    close(_push(f, x, v).tangent, torch.tensor([6.0, 16.0, 0.0]))


def test_a_view_shares_its_tangent_with_its_base():
    x, v = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)

    def f(x):
        y = x.clone()
        y[1:].mul_(10)
        y.view(1, 3).t()[0].zero_()
        return y

    close(_push(f, x, v).tangent, torch.tensor([0.0, 10.0, 10.0]))


def test_the_tangent_that_was_given_is_not_changed_by_what_comes_of_it():
    x, v = torch.ones(2), torch.ones(2)
    _push(lambda x: (x + 1).mul_(5), x, v)
    close(v, torch.ones(2))


@pytest.mark.parametrize("change", ["t_", "unsqueeze_", "squeeze_"])
def test_dims_move_in_place(change):
    x, v = torch.randn(1, 3), torch.randn(1, 3)
    arguments = (0,) if "squeeze" in change else ()
    primal, tangent = _push(lambda x: getattr(x.clone(), change)(*arguments), x, v)
    expected = getattr(v.clone(), change)(*arguments)
    assert primal.shape == expected.shape
    close(tangent, expected)


def test_batch_norm_changes_its_statistics_once():
    x, mean, var = torch.randn(5, 3), torch.zeros(3), torch.ones(3)
    _push(lambda x: torch.native_batch_norm(x, None, None, mean, var, True, 0.5, 1e-5)[0], x, torch.randn(5, 3))  # fmt: skip
    close(mean, x.mean(0) / 2)


# --- what is around ---


def test_tangents_are_computed_where_gradients_are_off():
    with torch.no_grad():
        close(_push(torch.sin, torch.zeros(1), torch.ones(1)).tangent, torch.ones(1))


def test_forward_over_reverse_gives_a_product_with_the_hessian():
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, -1.0])
    with fwd.dual_level():
        d = fwd.make_dual(x, v)
        (g,) = torch.autograd.grad((d**3).sum(), d)
        close(fwd.unpack_dual(g).tangent, 6 * x.detach() * v)


def test_reverse_over_forward_gives_it_too():
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, -1.0])
    tangent = _push(lambda x: (x**3).sum(), x, v).tangent
    (g,) = torch.autograd.grad(tangent, x)
    close(g, 6 * x.detach() * v)


def test_dual_numbers_of_examples_and_examples_of_dual_numbers():
    x, v = torch.randn(4, 3), torch.randn(4, 3)
    expected = torch.stack([a.cos() * b for a, b in zip(x, v, strict=True)])
    close(torch.func.vmap(lambda x, v: _push(torch.sin, x, v).tangent)(x, v), expected)
    close(_push(torch.func.vmap(torch.sin), x, v).tangent, expected)
    tangents = torch.func.vmap(lambda v: _push(torch.sin, x[0], v).tangent)(torch.eye(3))
    close(tangents, torch.diag(x[0].cos()))


def test_the_value_of_a_dual_number_can_be_read():
    with fwd.dual_level():
        d = fwd.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
        assert (
            d.item() == 2.0 and d.tolist() == [2.0] and bool(d > 1) and repr(d) == "tensor([2.], tangent=tensor([1.]))"
        )
        assert np.array_equal(d.numpy(), [2.0]) and not d.requires_grad
        assert fwd.unpack_dual(d.detach()).tangent is None


def test_tangents_are_void_once_their_level_has_ended():
    with fwd.dual_level():
        d = fwd.make_dual(torch.ones(2), torch.ones(2))
    assert fwd.unpack_dual(d).tangent is None and repr(d) == "tensor([1., 1.])"
    with fwd.dual_level():
        assert fwd.unpack_dual(d * 2).tangent is None
        again = fwd.make_dual(d, torch.ones(2))
        close(fwd.unpack_dual(again * 2).tangent, torch.full((2,), 2.0))
    close(d.add_(1), torch.full((2,), 2.0))


def test_a_module_is_pushed_along_its_parameters():
    weight, tangent = torch.randn(2, 3), torch.randn(2, 3)
    x = torch.randn(4, 3)
    found = _push(lambda w: x @ w.t(), weight, tangent)
    close(found.tangent, x @ tangent.t())


# --- Functions ---


class Power(torch.autograd.Function):
    """x**n by NumPy, with all rules."""

    @staticmethod
    def forward(x, n):
        return torch.from_numpy(np.asarray(x.detach().numpy() ** n))

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.n * x ** (ctx.n - 1), None

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return tangent * ctx.n * x ** (ctx.n - 1)


class OldPower(torch.autograd.Function):
    """The same with a forward that takes ctx, and without a rule for tangents."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.n * x ** (ctx.n - 1), None


@pytest.mark.parametrize("function", [Power, OldPower])
def test_a_function_has_the_tangent_of_its_rule_or_of_its_backward(function):
    x, v = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([1.0, 10.0], dtype=torch.float64)
    primal, tangent = _push(lambda x: function.apply(x, 3), x, v)
    close(primal, x**3)
    close(tangent, 3 * x**2 * v)
    assert gradcheck(lambda x: function.apply(x, 3), x.requires_grad_(), check_forward_ad=True)


def test_the_rule_of_a_function_is_called_with_its_primals():
    seen = []

    class Twice(Power):
        @staticmethod
        def jvp(ctx, tangent, n):
            seen.append((ctx.saved_tensors[0].tolist(), tangent.tolist(), n, ctx.n))
            return 100 * tangent

    close(_push(lambda x: Twice.apply(x, 2), torch.tensor([3.0]), torch.tensor([1.0])).tangent, torch.tensor([100.0]))
    assert seen == [([3.0], [1.0], None, 2)]


def test_a_function_that_changes_its_input_changes_the_tangent():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    def f(x):
        y = x * 1
        z = Scale.apply(y)
        assert z is y
        return y

    close(_push(f, torch.ones(2), torch.ones(2)).tangent, torch.full((2,), 3.0))


def test_both_modes_through_a_function():
    x, v = torch.tensor([2.0], dtype=torch.float64, requires_grad=True), torch.ones(1, dtype=torch.float64)
    tangent = _push(lambda x: Power.apply(x, 3), x, v).tangent
    close(torch.autograd.grad(tangent.sum(), x)[0], torch.tensor([12.0], dtype=torch.float64))


def test_a_rule_with_too_few_tangents_is_refused():
    class Two(Power):
        @staticmethod
        def jvp(ctx, *tangents):
            return tangents[0], tangents[0]

    with pytest.raises(RuntimeError, match=r"expected 1 got 2"):
        _push(lambda x: Two.apply(x, 2), torch.ones(1), torch.ones(1))


# --- gradcheck ---


def test_gradcheck_finds_a_wrong_rule_for_tangents():
    class Wrong(Power):
        @staticmethod
        def jvp(ctx, tangent, _):
            return tangent * 2

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: Wrong.apply(x, 3), x)
    with pytest.raises(RuntimeError, match="forward mode mismatch for output 0 with respect to input 0"):
        gradcheck(lambda x: Wrong.apply(x, 3), x, check_forward_ad=True)


def test_gradcheck_looks_at_batches():
    x = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(
        lambda x: (x * x, x.sum().abs()),
        x,
        check_batched_grad=True,
        check_forward_ad=True,
        check_batched_forward_grad=True,
    )
    assert torch.autograd.gradgradcheck(torch.sin, x, check_fwd_over_rev=True, check_batched_grad=True)
    with pytest.raises(ValueError, match="needs check_forward_ad"):
        gradcheck(torch.sin, x, check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="at least one of"):
        gradcheck(torch.sin, x, check_backward_ad=False)


def test_functional_and_func_agree():
    x = torch.randn(3)
    rows = [
        torch.autograd.functional.jacobian(torch.sin, x, vectorize=True, strategy=s)
        for s in ("forward-mode", "reverse-mode")
    ]
    close(rows[0], rows[1])
    hessians = [
        torch.autograd.functional.hessian(lambda x: (x**3).sum(), x, vectorize=True, outer_jacobian_strategy=s)
        for s in ("forward-mode", "reverse-mode")
    ]
    close(hessians[0], torch.diag(6 * x))
    close(hessians[0], hessians[1])


# --- bad input ---


def test_levels_are_entered_and_left_in_order():
    with pytest.raises(RuntimeError, match="no level exists"):
        fwd.make_dual(torch.ones(1), torch.ones(1))
    with pytest.raises(RuntimeError, match="not the last one"):
        fwd.exit_dual_level()
    with fwd.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode"):
            fwd.enter_dual_level()
        with pytest.raises(RuntimeError, match="not the last one"):
            fwd.exit_dual_level(level=3)
    with pytest.raises(ValueError, match="boom"), fwd.dual_level():
        raise ValueError("boom")
    assert fwd._current_level == -1


def test_a_tangent_is_like_its_tensor():
    one = torch.ones(2)
    with fwd.dual_level():
        with pytest.raises(
            RuntimeError, match=r"Tensor is of size \[2\] while the given forward gradient is of size \[3\]"
        ):
            fwd.make_dual(one, torch.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point"):
            fwd.make_dual(one.long(), one)
        with pytest.raises(TypeError, match="argument 'tensor' must be Tensor, not int"):
            fwd.make_dual(2, one)
        d = fwd.make_dual(one, one)
        for again in (lambda: fwd.make_dual(d, one), lambda: fwd.make_dual(one, d)):
            with pytest.raises(RuntimeError, match="at the same level 0 is not supported"):
                again()
        with pytest.raises(NotImplementedError, match="keeps its memory"):
            d.resize_(5)
        with fwd._set_fwd_grad_enabled(False):
            assert fwd.unpack_dual(fwd.make_dual(one, one)).tangent is None


def test_reductions_and_elements_take_the_derivative_once():
    x, v = torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([[1.0, 2.0], [5.0, 5.0]])
    close(_push(lambda x: torch.linalg.vector_norm(x, dim=1), x, v).tangent, torch.tensor([11 / 5, 0]))  # no NaN at 0
    close(_push(lambda x: x.amax(1, keepdim=True), x, v).tangent, torch.tensor([[2.0], [5.0]]))
    close(_push(lambda x: x.prod(), x[:1], v[:1]).tangent, torch.tensor(10.0))
    values = _push(lambda x: x.max(1)[0], x[:1], v[:1])
    close(values.tangent, torch.tensor([2.0]))
    wide, narrow = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([[0.5], [1.5]])
    pushed = _push(lambda n: torch.atan2(wide, n), narrow, torch.ones(2, 1))
    assert pushed.primal.dtype == pushed.tangent.dtype == torch.float64 and pushed.tangent.shape == (2, 2)
    close(pushed.tangent, -wide / (wide**2 + narrow**2))
    half = torch.tensor(0.5, dtype=torch.float64)
    assert _push(lambda h: torch.atan2(x, h), half, torch.ones_like(half)).tangent.dtype == torch.float32
    z = _push(lambda x: torch.complex(x, x), x, v)
    close(z.tangent, torch.complex(v, v))


INF, NAN = float("inf"), float("nan")
ENDLESS = torch.tensor([INF, -INF, NAN, 1.0])


@pytest.mark.parametrize(
    "function, passes",
    [
        (lambda x: torch.where(x > 0, x, 0.0), [0, 0, 0, 1, 1]),
        (lambda x: torch.where(x > 0, 0.0, x), [1, 1, 1, 0, 0]),
        (lambda x: x.masked_fill(x > 0, 1.0), [1, 1, 1, 0, 0]),
        (lambda x: x.clone().masked_fill_(x > 0, 1.0), [1, 1, 1, 0, 0]),
        (lambda x: x.clamp(-1, 1), [0, 1, 1, 1, 0]),
        (lambda x: x.clamp(torch.tensor(-1.0), torch.tensor(1.0)), [0, 1, 1, 1, 0]),
        (torch.relu, [0, 0, 0, 1, 1]),
        (lambda x: x.clone().relu_(), [0, 0, 0, 1, 1]),
        (lambda x: torch.threshold(x, 0.3, 2.0), [0, 0, 0, 1, 1]),
        (lambda x: torch.maximum(x, torch.tensor(0.2)), [0, 0, 0, 1, 1]),
        (lambda x: torch.fmin(torch.tensor(0.2), x), [1, 1, 1, 0, 0]),
        (torch.sinc, [None, None, 0, None, None]),
        (lambda x: x ** torch.tensor([2.0, 0.0, 0.0, 0.0, 2.0])[:, None], [None, 0, 0, 0, None]),
        (torch.floor, [0, 0, 0, 0, 0]),
        (lambda x: torch.div(x, 2, rounding_mode="trunc"), [0, 0, 0, 0, 0]),
    ],
)
def test_an_infinite_tangent_does_not_come_through_a_branch_that_is_not_taken(function, passes):
    x = torch.tensor([-3.0, -0.5, 0.0, 0.5, 3.0])[:, None].expand(5, 4).contiguous()
    found = _push(function, x, ENDLESS.expand(5, 4).contiguous()).tangent
    for row, factor in zip(found, passes, strict=True):
        if factor == 0:
            close(row, torch.zeros(4))
        elif factor:
            close(row, ENDLESS * factor, equal_nan=True)


def test_two_tangents_meet_only_where_both_are_taken():
    where = torch.tensor([True, True, False, False])
    x, y = torch.ones(4), torch.full((4,), 2.0)
    v, w = torch.tensor([INF, 1.0, NAN, -INF]), torch.tensor([NAN, -INF, 3.0, INF])
    with fwd.dual_level():
        a, b = fwd.make_dual(x, v), fwd.make_dual(y, w)
        close(fwd.unpack_dual(torch.where(where, a, b)).tangent, torch.where(where, v, w))
        close(fwd.unpack_dual(torch.maximum(a, b)).tangent, w, equal_nan=True)
        tangent = torch.special.xlogy(a * 0, b * 0)
        close(fwd.unpack_dual(torch.where(where, tangent, a)).tangent[2:], v[2:], equal_nan=True)
    zeros, below = torch.zeros(2), torch.tensor([-2.0, -1.0])
    for function in torch.xlogy, torch.special.xlog1py:  # 0 log y and its tangent are 0 also where the logarithm is NaN
        with fwd.dual_level():
            pushed = fwd.unpack_dual(function(fwd.make_dual(torch.ones(2), zeros), below * 2))
        close(pushed.tangent, zeros)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.max(),
        lambda x: x.amax(0),
        lambda x: x.max(0)[0],
        lambda x: x.max(0, keepdim=True)[0],
        lambda x: x.kthvalue(3)[0],
        lambda x: x.sort()[0][2],
        lambda x: (-x).min(0)[0].neg(),
        lambda x: torch.stack([x, x]).amax(1),
        lambda x: torch.stack([x[2], x[0], x[2] + 1]).median(),
        lambda x: torch.stack([x, x], 1).max(0)[0],
        lambda x: x[2].max(0)[0],
    ],
)
def test_what_is_not_the_largest_has_no_part_in_its_tangent(function):
    x = torch.tensor([1.0, -2.0, 3.0])
    for own in 5.0, INF, -INF:
        tangent = _push(function, x, torch.tensor([INF, NAN, own])).tangent
        close(tangent, torch.full_like(tangent, own))
    tie = _push(lambda x: x.amax(), torch.tensor([3.0, 1.0, 3.0]), torch.tensor([1.0, INF, 2.0])).tangent
    close(tie, torch.tensor(1.5))


def test_gradients_are_shared_by_more_than_half_precision_counts():
    x = torch.zeros(70000, dtype=torch.float16, requires_grad=True)
    x.amax().backward(torch.tensor(4096.0, dtype=torch.float16))
    close(x.grad, torch.full_like(x, 4096 / 70000))


def test_a_tangent_that_comes_through_is_no_alias():
    x, v = torch.ones(3), torch.ones(3)
    for function in (lambda x: x + 1, lambda x: torch.relu(x), lambda x: x + torch.zeros(2, 3), lambda x: x.max(0)[0]):
        with fwd.dual_level():
            d = fwd.make_dual(x, v)
            function(d).mul_(5)
            close(fwd.unpack_dual(d).tangent, torch.ones(3))


def test_fake_quantization_pushes_within_its_range():
    x, v = torch.tensor([-5.0, -1.0, 0.2, 9.0]), torch.tensor([1.0, 2.0, INF, NAN])
    passed = torch.tensor([0.0, 2.0, INF, 0.0])
    zero = torch.tensor(0, dtype=torch.int32)

    def by_tensor(x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -20, 20)

    def by_channel(x):
        return torch.fake_quantize_per_channel_affine(x, torch.full((4,), 0.1), zero.expand(4), 0, -20, 20)

    for function in by_tensor, by_channel:
        pushed = _push(function, x, v)
        close(pushed.primal, function(x))
        close(pushed.tangent, passed)
    for pushed in (
        torch.func.jvp(by_tensor, (x,), (v,)),
        torch.func.jvp(torch.vmap(by_tensor), (x,), (v,)),
        torch.vmap(lambda x, v: torch.func.jvp(by_tensor, (x,), (v,)))(x, v),
    ):
        close(pushed, (by_tensor(x), passed))


def test_tangents_of_elements_have_gradients():
    x, v = (
        torch.rand(3, dtype=torch.float64, requires_grad=True),
        torch.rand(3, dtype=torch.float64, requires_grad=True),
    )

    def along(x, v):
        with fwd.dual_level():
            return fwd.unpack_dual(torch.exp(fwd.make_dual(x, v)).norm()).tangent

    assert gradcheck(along, (x, v))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize(
    "function",
    [lambda x: x + 1.5, lambda x: 2.0 - x, lambda x: x**2.5, lambda x: torch.add(x, 1.0, alpha=2), lambda x: x + 1],
)
def test_a_number_of_python_leaves_a_dual_number_its_dtype(function, dtype):
    with fwd.dual_level():
        result = function(fwd.make_dual(torch.tensor(3.0, dtype=dtype), torch.tensor(1.0, dtype=dtype)))
        assert result.dtype == dtype and fwd.unpack_dual(result).tangent.dtype == dtype


def test_values_for_one_place_leave_the_tangent_of_the_last():
    places = torch.tensor([[[0, 0, 5, 5]]])
    value, tangent = _push(
        lambda x: torch.max_unpool1d(x, places, [8]),
        torch.tensor([[[1.0, 2, 3, 4]]]),
        torch.tensor([[[10.0, 20, 30, 40]]]),
    )
    assert torch.equal(tangent, value * 10) and tangent.sum() == 60


def _into_rows(x):
    grid = x.new_zeros(2 * len(x)).view(2, -1)
    grid[1] = x * x
    return grid


def _through_the_base(x):
    base = x.new_zeros(2, len(x))
    row = base[0]
    base.copy_(x * x)
    return row


def _into_another_view(x):
    base = x.new_zeros(len(x), 2)
    rows = base.t()
    base.select(1, 1).add_(x * x)
    return rows


def _into_parts(x):
    z = torch.complex(x.new_zeros(2), x.new_zeros(2))
    torch.view_as_real(z)[:, 1].copy_(x[:2] * x[:2])
    return torch.view_as_real(z)


def _into_places(x):
    squares = x * x
    places = squares.as_strided((2,), (2,))
    same = squares.view(squares.dtype)
    squares[1] = 0
    places[1] = 0
    same[2] = same[0]
    return torch.stack([squares.as_strided((2,), (2,)), places, same[::2]])


@pytest.mark.parametrize("function", [_into_rows, _through_the_base, _into_another_view, _into_parts, _into_places])
def test_views_share_the_tangent_that_is_written_into_one_of_them(function):
    x, v = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -1.0, 2.0])
    # every element is zero or the square of one of x: its tangent is 2 x v there
    tangents = {0.0: 0.0, 1.0: 2.0, 4.0: -4.0, 9.0: 12.0}
    value, tangent = torch.func.jvp(function, (x,), (v,))
    expected = torch.tensor([tangents[y] for y in value.flatten().tolist()]).view(value.shape)
    assert value.any() and torch.equal(tangent, expected)
    with fwd.dual_level():
        result = function(fwd.make_dual(x, v))
        assert torch.equal(fwd.unpack_dual(result * 1).tangent, expected)
    scales = torch.tensor([1.0, 3.0])
    batch = torch.func.vmap(lambda s: torch.func.jvp(function, (x,), (v * s,))[1])(scales)
    assert torch.equal(batch, torch.stack([expected, expected * 3]))
    batch = torch.func.vmap(lambda x, v: torch.func.jvp(function, (x,), (v,))[1])(
        torch.stack([x, x]), torch.stack([v, v])
    )
    assert torch.equal(batch, torch.stack([expected, expected]))


def test_a_view_that_no_tangent_has_refuses_one():
    with fwd.dual_level():
        x = fwd.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match=r"into \(2,\) torch.float32, a view of \(1,\) torch.float64"):
            torch.zeros(1, dtype=torch.float64).view(torch.float32).copy_(x)


def test_detach_in_place_drops_the_tangent():
    x, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with fwd.dual_level():
        dual = fwd.make_dual(x, v).clone()
        assert dual.detach_() is dual
        for one in (dual, dual * 2):
            primal, tangent = fwd.unpack_dual(one)
            assert tangent is None and not primal.requires_grad
    inner = torch.func.vmap(lambda x, v: torch.func.jvp(lambda x: x.clone().detach_() * x, (x,), (v,))[1])
    assert torch.equal(inner(torch.eye(2), torch.ones(2, 2)), torch.eye(2))
