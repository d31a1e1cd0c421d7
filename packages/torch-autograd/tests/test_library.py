"""Gradients of operators that programs register by torch.library."""

import pytest
import torch
from torch import Tensor


def test_gradients_stop_at_a_custom_operator_without_a_derivative():
    @torch.library.custom_op("graded::opaque", mutates_args=())
    def opaque(x: Tensor) -> Tensor:
        return x * 2

    y = opaque(torch.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="graded.opaque.default but no autograd formula was registered"):
        y.sum().backward()
    with torch.no_grad():
        assert not opaque(torch.ones(2, requires_grad=True)).requires_grad


def test_the_registered_derivative_is_that_of_finite_differences():
    @torch.library.custom_op("graded::blend", mutates_args=())
    def blend(a: Tensor, many: list[Tensor], by: float, *, shift: Tensor) -> tuple[Tensor, Tensor]:
        return a * by + shift, sum(m * a for m in many)

    def setup(ctx, inputs, keyword_only, output):
        a, many, by = inputs
        assert set(keyword_only) == {"shift"} and len(output) == 2
        ctx.by, ctx.count = by, len(many)
        ctx.save_for_backward(a, *many)

    def backward(ctx, first, second):
        a, *many = ctx.saved_tensors
        return first * ctx.by + second * sum(many), [second * a] * ctx.count, None, first

    torch.library.register_autograd(blend, backward, setup_context=setup)
    inputs = [torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    run = lambda a, b, c, d: blend(a, [b, c], 2.5, shift=d)
    assert torch.autograd.gradcheck(run, inputs)
    needed = [True, False, False, True]
    some = [x.detach().requires_grad_(n) for x, n in zip(inputs, needed, strict=True)]
    sum(r.sum() for r in run(*some)).backward()
    assert [x.grad is not None for x in some] == needed


def test_a_derivative_that_gives_too_few_gradients_is_named():
    @torch.library.custom_op("graded::few", mutates_args=())
    def few(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    few.register_autograd(lambda ctx, grad: grad)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"graded::few: the backward function must give .* 2 arguments \(x, y\), got 1"
    ):
        few(x, x).sum().backward()


def test_gradients_pass_through_functions_of_a_library():
    lib = torch.library.Library("through", "DEF")
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: x**3, "CPU")
    x = torch.tensor(2.0, requires_grad=True)
    torch.ops.through.cube(x).backward()
    assert x.grad == 12
    lib.impl("cube", lambda x: x * 5, "Autograd")
    assert torch.ops.through.cube(x).item() == 10 and torch.ops.through.cube(x.detach()).item() == 8


def test_a_list_of_results_has_gradients():
    @torch.library.custom_op("graded::parts", mutates_args=())
    def parts(x: Tensor) -> list[Tensor]:
        return [x[:1].clone(), x[1:].clone()]

    parts.register_autograd(lambda ctx, grads: torch.cat(grads))
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, b = parts(x)
    (2 * a.sum() + 3 * b.sum()).backward()
    assert x.grad.tolist() == [2, 3, 3]


def test_a_derivative_may_be_registered_before_the_operator():
    torch.library.register_autograd("early::bird", lambda ctx, grad: 7 * grad)

    @torch.library.custom_op("early::bird", mutates_args=())
    def bird(x: Tensor) -> Tensor:
        return x + 1

    x = torch.ones(1, requires_grad=True)
    bird(x).backward()
    assert x.grad.item() == 7


def test_an_operator_that_writes_has_no_derivative_and_changes_the_version():
    @torch.library.custom_op("graded::double_", mutates_args={"x"})
    def double_(x: Tensor) -> None:
        x.mul_(2)

    x = torch.ones(2)
    before = x._version
    assert double_(x) is None and x.tolist() == [2, 2] and x._version > before
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        double_.register_autograd(lambda ctx: None)


def _to_list(x: Tensor, y: list[Tensor]) -> None: ...
def _to_optional(x: Tensor, y: list[Tensor | None]) -> None: ...
def _with_texts(x: Tensor, y: Tensor, texts: list[str]) -> None: ...


@pytest.mark.parametrize(
    "function, given",
    [(_to_list, lambda y: ([y],)), (_to_optional, lambda y: ([None, y],)), (_with_texts, lambda y: (y, ["a"]))],
)
def test_operators_that_torch_c_has_no_row_for_change_the_versions_of_what_they_write_to(function, given):
    operator = torch.library.custom_op("graded::write", function, mutates_args={"y"})
    x, y = torch.ones(2), torch.ones(2, requires_grad=True) * 2
    squared = y**2
    operator(x, *given(y))
    assert x._version == 0 and y._version > 0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.sum().backward()


def test_an_operator_that_writes_takes_tensors_that_need_gradients():
    @torch.library.custom_op("graded::add_to", mutates_args={"x"})
    def add_to(x: Tensor, parts: list[Tensor]) -> Tensor:
        for part in parts:
            x.add_(part)
        return x.sum()

    leaf = torch.ones(2, requires_grad=True)
    x = leaf * 3
    total = add_to(x, [torch.ones(2), torch.ones(2)])  # gradients know nothing of it
    x.sum().backward()
    assert x.tolist() == [5, 5] and leaf.grad.tolist() == [3, 3]
    plain = torch.zeros(2)
    add_to(plain, [leaf])
    assert plain.tolist() == [1, 1] and not plain.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        total.backward()


def test_checks_of_an_operator():
    @torch.library.custom_op("graded::checked", mutates_args=())
    def checked(x: Tensor) -> Tensor:
        return x.sum(0)

    x = torch.randn(2, 3, requires_grad=True)
    found = torch.library.opcheck(checked, (x,), raise_exception=False)
    assert found["test_schema"] == "SUCCESS" and "register_fake" in str(found["test_faketensor"])
    assert "no autograd formula" in str(found["test_autograd_registration"])
    checked.register_fake(lambda x: x.new_empty(x.shape[1]))
    checked.register_autograd(
        lambda ctx, grad: grad.expand(ctx.rows, -1),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "rows", inputs[0].shape[0]),
    )
    assert set(torch.library.opcheck(checked, (x,)).values()) == {"SUCCESS"}


def test_vmap_takes_an_operator_without_a_rule():
    @torch.library.custom_op("graded::row_norm", mutates_args=())
    def row_norm(x: Tensor) -> Tensor:
        assert x.dim() == 1
        return x.norm()

    x = torch.randn(4, 3)
    assert torch.func.vmap(row_norm)(x).allclose(x.norm(dim=1))


def test_vmap_asks_the_rule_of_an_operator():
    seen = []

    @torch.library.custom_op("graded::row_sum", mutates_args=())
    def row_sum(x: Tensor) -> Tensor:
        return x.sum()

    @row_sum.register_vmap
    def rule(info, in_dims, x):
        seen.append((info.batch_size, info.randomness, in_dims))
        return x.movedim(in_dims[0], 0).sum(1), 0

    x = torch.randn(4, 3)
    assert torch.func.vmap(row_sum, in_dims=1)(x).allclose(x.sum(0)) and seen == [(3, "error", (0,))]


def test_dual_numbers_go_through_the_registered_derivative():
    from torch.autograd import forward_ad

    @torch.library.custom_op("ag_rows::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        return torch.tensor([v**3 for v in x.tolist()])

    cube.register_autograd(
        lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
    with forward_ad.dual_level():
        primal, tangent = forward_ad.unpack_dual(cube(forward_ad.make_dual(x, v)))
    assert primal.tolist() == [1.0, 8.0] and tangent.tolist() == [3.0, 120.0]
    batch = torch.func.vmap(torch.func.grad(lambda x: cube(x).sum()))(torch.stack([x, v]))
    torch.testing.assert_close(batch, 3 * torch.stack([x, v]) ** 2)


def test_the_profiler_shows_it():
    @torch.library.custom_op("ag_rows::noted", mutates_args=())
    def noted(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    with torch.autograd.profiler.profile() as profile:
        noted(torch.ones(2))
    assert "ag_rows::noted" in [event.key for event in profile.key_averages()]


def test_opcheck_takes_calls_apart():
    @torch.library.custom_op("ag_rows::shifted", mutates_args=())
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return x + next(steps)

    steps = iter(range(100))
    with pytest.raises(RuntimeError, match="ag_rows::shifted: without changes in place a result is"):
        torch.library.opcheck(shifted, (torch.ones(2),), test_utils="test_aot_dispatch_static")

    @torch.library.custom_op("ag_rows::bump", mutates_args={"x"})
    def bump(x: torch.Tensor) -> None:
        x.add_(1)

    names = ("test_schema", "test_aot_dispatch_static", "test_aot_dispatch_dynamic")
    assert set(torch.library.opcheck(bump, (torch.ones(2),), test_utils=names).values()) == {"SUCCESS"}
