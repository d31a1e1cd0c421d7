"""torch.func: transforms against closed forms, against each other, and nested in every order."""

import itertools

import pytest
import torch
from torch import func
from torch.autograd import forward_ad


def f64(*shape):
    torch.manual_seed(sum(shape) + len(shape))
    return torch.rand(*shape, dtype=torch.float64) + 0.5


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def wave(x):
    return (torch.sin(x) * x).sum() + x.prod()


def field(x):
    return torch.stack([x[0] * x[1], torch.exp(x[1]), x.sum() ** 2])


def field_jacobian(x):
    a, b = x
    s = 2 * (a + b)
    return torch.stack([torch.stack([b, a]), torch.stack([torch.zeros_like(a), b.exp()]), torch.stack([s, s])])


# --- gradients ---


def test_grad_of_a_function_has_the_structure_of_its_argument():
    tree = {"w": f64(3), "b": [f64(2), f64(1)]}
    found = func.grad(lambda p, k: k * (p["w"] ** 2).sum() + p["b"][0].sum() * p["b"][1].sum())(tree, 3.0)
    close(found["w"], 6 * tree["w"])
    close(found["b"][0], tree["b"][1].expand(2))
    close(found["b"][1], tree["b"][0].sum().reshape(1))
    assert not found["w"].requires_grad and not found["b"][0].requires_grad


def test_several_arguments_aux_and_value():
    x, y = f64(3), f64(3)
    (gx, gy), (value, aux) = func.grad_and_value(lambda x, y: ((x * y).sum(), x.sum()), (0, -1), has_aux=True)(x, y)
    close(gx, y)
    close(gy, x)
    close(value, x @ y)
    close(aux, x.sum())
    assert not value.requires_grad and not aux.requires_grad


@pytest.mark.parametrize(
    "transforms", list(itertools.product([func.grad, lambda f: func.jacrev(f), lambda f: func.jacfwd(f)], repeat=3))
)
def test_derivatives_of_derivatives_nest_in_every_order(transforms):
    f = lambda x: x**5
    for transform in transforms:
        f = transform(f)
    close(f(torch.tensor(2.0, dtype=torch.float64)), torch.tensor(240.0, dtype=torch.float64))


@pytest.mark.parametrize("outer, inner", list(itertools.product([func.jacrev, func.jacfwd], repeat=2)))
def test_hessians_of_all_four_kinds_agree_with_autograd(outer, inner):
    x = f64(4)
    close(outer(inner(wave))(x), torch.autograd.functional.hessian(wave, x))
    close(func.hessian(wave)(x), torch.autograd.functional.hessian(wave, x))


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd])
def test_jacobians_are_the_closed_form_in_the_structure_of_outputs_and_inputs(transform):
    x = f64(2)
    close(transform(field)(x), field_jacobian(x))
    found = transform(lambda a, b: {"y": a * b, "z": (b,)}, argnums=(0, 1))(x, x + 1)
    close(found["y"][0], torch.diag(x + 1))
    close(found["y"][1], torch.diag(x))
    close(found["z"][0][0], torch.zeros(2, 2, dtype=x.dtype))
    close(found["z"][0][1], torch.eye(2, dtype=x.dtype))
    jacobian, aux = transform(lambda x: (x * 2, x.sum()), has_aux=True)(x)
    close(jacobian, 2 * torch.eye(2, dtype=x.dtype))
    close(aux, x.sum())
    assert transform(lambda x: x * 2)(f64(0)).shape == (0, 0)
    assert transform(lambda x: x.reshape(1, 2, 1))(x).shape == (1, 2, 1, 2)


def test_pushing_forward_and_pulling_back_are_transposes():
    x, v, u = f64(2), f64(2), f64(3)
    output, pushed = func.jvp(field, (x,), (v,))
    same, pull_back = func.vjp(field, x)
    close(output, field(x))
    close(same, field(x))
    close(pushed, field_jacobian(x) @ v)
    close(pull_back(u)[0], u @ field_jacobian(x))
    close(u @ pushed, pull_back(u)[0] @ v)
    output, push = func.linearize(field, x)
    for _ in range(2):
        close(push(v), pushed)
    _, tangent, aux = func.jvp(lambda x: (x * x, "aux"), (x,), (v,), has_aux=True)
    close(tangent, 2 * x * v)
    assert aux == "aux"


def test_outputs_that_do_not_depend_on_the_input_have_zero_derivatives():
    x = f64(2)
    constant = f64(3)
    close(func.jvp(lambda x: (x, constant), (x,), (x,))[1][1], torch.zeros_like(constant))
    close(func.vjp(lambda x: constant, x)[1](constant)[0], torch.zeros_like(x))
    close(func.grad(lambda x: constant.sum())(x), torch.zeros_like(x))
    close(func.jacrev(lambda x: x.detach())(x), torch.zeros(2, 2, dtype=x.dtype))


def test_results_belong_to_the_callers_tape_only_where_he_records():
    x = f64(3).requires_grad_()
    w = f64(3).requires_grad_()
    found = func.grad(lambda x: (w * x**3).sum())(x)
    found.sum().backward()
    close(x.grad, 6 * w.detach() * x.detach())
    close(w.grad, 3 * x.detach() ** 2)
    assert not func.grad(wave)(x.detach()).requires_grad
    with torch.no_grad():
        assert not func.grad(wave)(x).requires_grad
        assert not func.jvp(torch.sin, (x,), (x,))[1].requires_grad
        assert not func.vjp(torch.sin, x)[1](x)[0].requires_grad
    assert func.jvp(torch.sin, (x,), (x.detach(),))[1].requires_grad
    assert x.is_leaf and x.grad_fn is None


@pytest.mark.parametrize("transform", [func.vjp, func.linearize])
def test_a_function_made_without_recording_gives_results_that_are_recorded(transform):
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)
    with torch.no_grad():
        output, product = transform(lambda x: x**3, x)
        within = product(v)
    found = product(v)
    found, within = (found[0], within[0]) if transform is func.vjp else (found, within)
    assert not output.requires_grad and not within.requires_grad
    assert torch.autograd.grad(found.sum(), x)[0].tolist() == [6.0, 12.0]  # 6 x


def test_no_grad_inside_a_transform_cuts_only_its_own_level():
    def inner(x):
        with torch.no_grad():
            y = func.grad(lambda z: (z**2).sum())(x)
        return (y * x).sum()

    x = f64(2)
    close(func.grad(inner)(x), 2 * x)


@pytest.mark.parametrize("create_graph", [False, True])
def test_autograds_own_jacobians_take_either_direction(create_graph):
    x, y = f64(2).requires_grad_(), f64(2)
    f = lambda x, y: (field(x), x * y)
    forward = torch.autograd.functional.jacobian(
        f, (x, y), create_graph=create_graph, strategy="forward-mode", vectorize=True
    )
    close(forward, torch.autograd.functional.jacobian(f, (x, y), create_graph=create_graph))
    assert forward[0][0].requires_grad == create_graph
    close(
        torch.autograd.functional.jacobian(field, x, strategy="forward-mode", vectorize=True),
        field_jacobian(x.detach()),
    )
    second = torch.autograd.functional.hessian(wave, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    close(second, torch.autograd.functional.hessian(wave, x))
    with pytest.raises(NotImplementedError, match="strict"):
        torch.autograd.functional.jacobian(field, x, strategy="forward-mode", strict=True)


# --- vmap ---


def test_vmap_stacks_what_the_function_gives_for_each_example():
    x, m = f64(5, 3), f64(3, 4)
    close(func.vmap(torch.mv, in_dims=(None, 0))(m.T, x), x @ m)
    close(func.vmap(lambda row: row.sum(), in_dims=1)(x), x.sum(0))
    close(func.vmap(lambda row: row * 2, in_dims=-1, out_dims=-1)(x), x * 2)
    both = func.vmap(
        lambda d, k: {"a": d["x"] * k, "b": [d["y"]]}, in_dims=({"x": 0, "y": None}, None), out_dims={"a": 1, "b": 0}
    )
    found = both({"x": x, "y": m}, 2.0)
    close(found["a"], (2 * x).T)
    assert found["b"][0].shape == (5, 3, 4)
    close(func.vmap(lambda r, s=0: r + s)(x, s=torch.ones(3, dtype=x.dtype)), x + 1)
    close(
        func.vmap(func.vmap(lambda a, b: a * b, (None, 0)), (0, None))(x[:, 0], x[:, 1]), torch.outer(x[:, 0], x[:, 1])
    )


def test_an_empty_batch_has_results_of_the_right_shape():
    assert func.vmap(lambda r: (r[:2], r.sum()), out_dims=(1, 0))(f64(0, 3))[0].shape == (2, 0)


def test_examples_cannot_decide_in_python():
    x = torch.tensor([1.0, -2.0, 3.0])
    for asks in (
        lambda v: v * 10 if v > 0 else -v,
        lambda v: torch.tensor(v.item()),
        lambda v: v.numpy(),
        lambda v: torch.ones(int(v)),
        lambda v: v.tolist(),
    ):
        with pytest.raises(RuntimeError, match="all examples are computed at once"):
            func.vmap(asks)(x)
    assert func.vmap(lambda v: torch.where(v > 0, v * 10, -v))(x).tolist() == [10.0, 2.0, 30.0]


def test_what_all_examples_share_cannot_take_the_value_of_each():
    total = torch.zeros(())
    with pytest.raises(RuntimeError, match=r"add_: argument 'self' .* cannot take a value of each"):
        func.vmap(lambda v: total.add_(v))(torch.ones(3))
    assert total == 0
    own = func.vmap(lambda v: v.new_zeros(2).add_(v).mul_(2))(torch.arange(3.0))
    assert own.tolist() == [[0, 0], [2, 2], [4, 4]]


def test_changes_of_views_reach_the_example_that_they_are_views_of():
    def changed(row):
        row = row.clone()
        row[1:].mul_(10)
        row[0] += 5
        return row

    x = torch.arange(6.0).view(2, 3)
    assert func.vmap(changed)(x).tolist() == [[5, 10, 20], [8, 40, 50]]
    y = f64(4, 3)
    wanted = 2 * torch.stack([y[:, 0] + 5, 100 * y[:, 1], 100 * y[:, 2]], 1)
    close(func.vmap(func.grad(lambda r: (changed(r) ** 2).sum()))(y), wanted)


def test_checks_of_values_look_at_all_examples():
    a = f64(4, 3, 3) + 3 * torch.eye(3, dtype=torch.float64)
    close(func.vmap(torch.linalg.inv)(a), torch.linalg.inv(a))
    close(func.vmap(torch.linalg.solve)(a, a[:, 0]), torch.linalg.solve(a, a[:, 0]))
    a[2] = 0
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        func.vmap(torch.linalg.inv)(a)
    for one_way in (
        lambda r: torch.equal(r, r),
        lambda r: torch.allclose(r, r),
        lambda r: torch.narrow(r, 0, r[0].long() * 0, 1),
        lambda r: r.tensor_split(r[:1].long()),
    ):
        with pytest.raises(RuntimeError, match="only one way|all examples"):
            func.vmap(one_way)(f64(4, 3))


def test_an_example_that_outlives_its_batch_is_refused():
    kept = []
    func.vmap(lambda v: kept.append(v) or v)(torch.ones(3))
    with pytest.raises(RuntimeError, match="a vmap that has ended"):
        kept[0] + 1


def test_an_example_prints_the_batch():
    said = []
    func.vmap(lambda v: said.append(repr(v)) or v)(torch.ones(2))
    assert said[0].startswith("BatchedTensor(lvl=1, bdim=0, value=") and "tensor([1., 1.])" in said[0]


def test_chunks_give_what_the_whole_gives():
    x = f64(7, 3)
    for size in (1, 2, 7, 9):
        close(func.vmap(lambda r: (r.sum(), r * 2), out_dims=(0, 1), chunk_size=size)(x)[1], (2 * x).T)
    same = func.vmap(lambda r: torch.rand(2), randomness="same", chunk_size=2)(x)
    assert (same == same[0]).all()


def test_gradients_of_each_example_and_of_the_batch():
    w, x, y = f64(3), f64(5, 3), f64(5)
    loss = lambda w, x, y: (w @ x - y) ** 2
    close(func.vmap(func.grad(loss), (None, 0, 0))(w, x, y), 2 * (x @ w - y)[:, None] * x)
    close(func.grad(lambda w: func.vmap(loss, (None, 0, 0))(w, x, y).sum())(w), (2 * (x @ w - y)[:, None] * x).sum(0))
    close(func.vmap(func.jacrev(field))(x[:, :2]), torch.stack([field_jacobian(r) for r in x[:, :2]]))
    close(func.jacfwd(func.vmap(wave))(x), func.jacrev(func.vmap(wave))(x))
    close(func.vmap(lambda v: func.jvp(field, (w[:2],), (v,))[1])(x[:, :2]), x[:, :2] @ field_jacobian(w[:2]).T)


def test_random_numbers_need_a_word():
    x = torch.zeros(4)
    draw = lambda v: v + torch.rand(())
    with pytest.raises(RuntimeError, match="randomness error mode"):
        func.vmap(draw)(x)
    assert len(set(func.vmap(draw, randomness="same")(x).tolist())) == 1
    assert len(set(func.vmap(draw, randomness="different")(x).tolist())) == 4


@pytest.mark.parametrize(
    "draw", [lambda v, w: torch.rand(()), lambda v, w: torch.rand_like(v), lambda v, w: torch.rand_like(w)]
)
def test_what_is_drawn_within_two_batches_differs_along_those_that_say_so(draw):
    def drawn(outer, inner):
        inside = lambda v: func.vmap(lambda w: draw(v, w), randomness=inner)(torch.zeros(3))
        return func.vmap(inside, randomness=outer)(torch.zeros(2))

    differ = {"same": 1, "different": None}
    for outer in differ:
        for inner in differ:
            x = drawn(outer, inner)
            assert x.shape == (2, 3)
            assert len(set(x[:, 0].tolist())) == (differ[outer] or 2) and len(set(x[0].tolist())) == (
                differ[inner] or 3
            )
    for outer, inner in (("error", "same"), ("same", "error"), ("different", "error")):
        with pytest.raises(RuntimeError, match="randomness error mode"):
            drawn(outer, inner)


@pytest.mark.parametrize("change", [lambda x: x.resize_(2, 2), lambda x: x.resize_(9), lambda x: x.set_(torch.ones(2))])
def test_examples_of_a_batch_keep_their_memory(change):
    x = torch.arange(8.0).view(2, 4)
    with pytest.raises(NotImplementedError, match="vmap: (resize|set)_: an example keeps its memory"):
        func.vmap(change)(x)
    assert x.shape == (2, 4) and x.tolist()[1] == [4, 5, 6, 7]


def test_results_without_a_batch_dim_are_shared_by_all_examples():
    shared = f64(2)
    close(func.vmap(lambda v: (v, shared * 2), out_dims=(0, None))(f64(3))[1], shared * 2)


@pytest.mark.parametrize(
    "wrong, error, words",
    [
        (lambda x: func.grad(torch.sin)(x), RuntimeError, "scalar Tensor, got tensor with 1 dims"),
        (lambda x: func.grad(lambda x: 3)(x), RuntimeError, "return a Tensor, got <class 'int'>"),
        (lambda x: func.grad(wave)(x.long()), RuntimeError, "floating point"),
        (lambda x: func.grad(wave)(3.0), RuntimeError, "expected all inputs .* Tensors, got float"),
        (lambda x: func.grad(wave, 1)(x), RuntimeError, "got argnum=1, but only 1 positional inputs"),
        (lambda x: func.grad(wave, (0, -1))(x), RuntimeError, "must be unique"),
        (lambda x: func.grad(wave, ())(x), RuntimeError, "non-empty"),
        (lambda x: func.grad(wave, "x")(x), RuntimeError, "int or a tuple of ints"),
        (lambda x: func.grad(wave, has_aux=True)(x), RuntimeError, "should be a tuple"),
        (lambda x: func.grad(lambda x: torch.complex(x, x).sum())(x), RuntimeError, "real scalars"),
        (lambda x: func.jvp(wave, x, x), RuntimeError, "Expected primals to be a tuple"),
        (lambda x: func.jvp(wave, (x,), (x, x)), RuntimeError, "same python structure"),
        (lambda x: func.jvp(wave, (x,), (x[:1],)), RuntimeError, r"tangent of the primal's shape \(2,\), got \(1,\)"),
        (lambda x: func.jvp(wave, (), ()), RuntimeError, "at least one Tensor"),
        (lambda x: func.jvp(lambda x: 3, (x,), (x,)), RuntimeError, "return only tensors"),
        (lambda x: func.vjp(wave, x)[1](x), RuntimeError, r"cotangent of shape \(\), got \(2,\)"),
        (lambda x: func.vjp(field, x)[1]((x,)), RuntimeError, "structure of the output"),
        (lambda x: func.jacrev(wave, chunk_size=0)(x), ValueError, "greater than 0"),
        (lambda x: func.vmap(wave, in_dims=1)(x), ValueError, "in_dim=1 .* dimensionality 1"),
        (lambda x: func.vmap(wave, in_dims=(0, 0))(x), ValueError, "not compatible with the structure of `inputs`"),
        (lambda x: func.vmap(wave, in_dims=None)(x), ValueError, "expected `in_dims` to be int"),
        (lambda x: func.vmap(wave, in_dims=(None,))(x), ValueError, "all in_dims are None"),
        (lambda x: func.vmap(wave, in_dims=("a",))(x), ValueError, "integer dimension or None"),
        (lambda x: func.vmap(wave)(3), ValueError, "cannot vmap over non-Tensor"),
        (lambda x: func.vmap(wave)(), ValueError, "got no inputs"),
        (lambda x: func.vmap(torch.add)(x, x[:1]), ValueError, r"got sizes \[2, 1\]"),
        (lambda x: func.vmap(lambda v: 3)(x), ValueError, "must only return Tensors, got type <class 'int'>"),
        (lambda x: func.vmap(lambda v: v, out_dims=3)(x), IndexError, "but got 3"),
        (lambda x: func.vmap(lambda v: v, out_dims=(0, 0))(x), ValueError, "out_dims is not compatible"),
        (lambda x: func.vmap(lambda v: v, out_dims=None)(x), ValueError, "when out_dim is None"),
        (
            lambda x: func.vmap(lambda v: torch.arange(3)[v > 0.6])(x),
            RuntimeError,
            "results of all examples must agree",
        ),
        (lambda x: func.vmap(wave, randomness="some"), RuntimeError, "got 'some'"),
        (lambda x: func.vmap(wave, chunk_size=0), ValueError, "chunk_size"),
        (lambda x: func.functionalize(wave, remove="x"), RuntimeError, "got 'x'"),
        (lambda x: func.nothing, AttributeError, "no attribute 'nothing'"),
    ],
)
def test_what_does_not_fit_is_said(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong(torch.tensor([0.5, 0.75], dtype=torch.float64))


def test_an_error_inside_a_function_leaves_the_modes_as_they_were():
    def broken(x):
        raise KeyError("mine")

    for transform in (func.grad, func.jacrev, func.jacfwd, func.vmap):
        with torch.no_grad():
            with pytest.raises(KeyError, match="mine"):
                transform(broken)(f64(2))
            assert not torch.is_grad_enabled()


@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr])
def test_a_sparse_output_has_no_tangent_and_says_so(convert):
    with pytest.raises(NotImplementedError, match=r"layout torch.sparse.* to_dense\(\)"):
        torch.func.linearize(convert, torch.eye(3))
    for transform in (lambda f, x: func.jvp(f, (x,), (x,)), lambda f, x: func.vmap(f)(x[None]), _under_dual_level):
        with pytest.raises(
            NotImplementedError, match="to_sparse: not implemented within vmap, jvp, .*linearize pushes"
        ):
            transform(convert, torch.eye(3))
    _, push = torch.func.linearize(lambda x: convert(x).to_dense() ** 2, torch.eye(2))
    assert push(torch.ones(2, 2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]


def _under_dual_level(f, x):
    with forward_ad.dual_level():
        return f(forward_ad.make_dual(x, x))


@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr])
def test_a_sparse_primal_has_a_sparse_tangent(convert):
    matrix, y = convert(torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])), torch.randn(3, 2)
    for f in (lambda a: (a @ y) ** 2, lambda a: a.to_dense() ** 2):
        _, tangent = func.jvp(f, (matrix,), (matrix,))
        torch.testing.assert_close(tangent, 2 * f(matrix))
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="make_dual: no dual numbers of layout"):
        forward_ad.make_dual(matrix, matrix)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, float("inf")])
def test_a_norm_at_zero_has_a_zero_tangent(p):
    value, tangent = torch.func.jvp(lambda x: torch.linalg.vector_norm(x, p), (torch.zeros(3),), (torch.ones(3),))
    assert value == tangent == 0


def test_jvp_calls_the_rule_of_a_function_that_has_one():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, tangent):
            return 3 * ctx.saved_tensors[0] ** 2 * tangent  # there is no backward

    x = torch.tensor([1.0, 2.0])
    assert func.jvp(Cube.apply, (x,), (torch.ones(2),))[1].tolist() == [3.0, 12.0]
    inner = lambda x: func.jvp(Cube.apply, (x,), (torch.ones(2),))[1]
    assert func.jvp(inner, (x,), (torch.ones(2),))[1].tolist() == [6.0, 12.0]
    assert func.vmap(inner)(x[None])[0].tolist() == func.functionalize(inner)(x).tolist() == [3.0, 12.0]


class _Marked(torch.autograd.Function):
    """Two outputs, the first of which is marked as not differentiable."""

    @staticmethod
    def forward(ctx, x):
        constant = x * 5
        ctx.mark_non_differentiable(constant)
        return constant, x * 2

    @staticmethod
    def backward(ctx, _, grad):
        return grad * 2


@pytest.mark.parametrize("first", [lambda t: t * 5, lambda t: None, None])
def test_a_marked_output_has_no_tangent(first):
    rule = {} if first is None else {"jvp": staticmethod(lambda ctx, t: (first(t), t * 2))}
    function = type("Marked", (_Marked,), rule)
    call = lambda: _under_dual_level(
        lambda x: [forward_ad.unpack_dual(o).tangent for o in function.apply(x)], torch.ones(1)
    )
    if rule and first(1) is not None:
        with pytest.raises(RuntimeError, match="Marked.jvp: a tangent for output 0, which is not differentiable"):
            call()
    else:
        constant, tangent = call()
        assert constant is None and tangent.item() == 2


def test_a_strict_jvp_refuses_outputs_that_depend_on_nothing():
    x = torch.ones(2)
    constant = lambda x: (x * 2, torch.ones(1))
    assert func.jvp(constant, (x,), (x,))[1][1].tolist() == [0.0]
    with pytest.raises(RuntimeError, match="strict=True.: The output of f is independent of the inputs"):
        func.jvp(constant, (x,), (x,), strict=True)


def test_an_error_within_jvp_ends_its_level():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        func.jvp(broken, (torch.ones(1),), (torch.ones(1),))
    with forward_ad.dual_level():  # no other level is left
        assert forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(1), torch.ones(1)) * 2).tangent.item() == 2.0


def test_values_beside_the_output_of_jvp_have_no_tangent():
    output, tangent, aux = func.jvp(
        lambda x: (x * 2, [x * 3, "text"]), (torch.ones(1),), (torch.ones(1),), has_aux=True
    )
    assert tangent.item() == 2.0 and aux[1] == "text" and repr(aux[0]) == "tensor([3.])"


def test_masked_logaddexp_has_a_zero_tangent_where_all_is_masked_out():
    x, keep = torch.tensor([1.0, 2.0]), torch.tensor([True, False])
    masked = lambda x: torch.masked.logaddexp(x, x, input_mask=keep, other_mask=keep)
    value, tangent = func.jvp(masked, (x,), (torch.ones(2),))
    assert value[1] == -float("inf") and tangent.tolist() == [1.0, 0.0]
    assert func.grad(lambda x: masked(x)[0])(x).tolist() == [1.0, 0.0]


def test_a_function_that_raises_leaves_no_level_behind():
    shared = torch.zeros(2)
    wrongs = [
        lambda x: 1 if x.sum() > 0 else 2,
        lambda x: shared.add_(x),
        lambda x: torch.rand_like(x),
        lambda x: x.numpy(),
        lambda x: func.functionalize(lambda y: shared.add_(y))(x),
        lambda x: func.grad(lambda y: y)(x),
    ]
    for wrong in wrongs:
        for outer in (lambda f: f, func.functionalize, lambda f: lambda x: func.jvp(f, (x,), (x,))):
            with pytest.raises(RuntimeError):
                outer(func.vmap(wrong))(torch.ones(3, 2))
            assert type(torch.ones(1) + 1) is torch.Tensor and repr(torch.zeros(1)) == "tensor([0.])"
            assert torch.rand(2).shape == (2,) and shared.tolist() == [0.0, 0.0]
            assert func.vmap(lambda x: x * 2)(torch.ones(3)).tolist() == [2.0] * 3


@pytest.mark.parametrize("fill", [True, False])
def test_jvp_of_a_function_gets_zeros_for_arguments_that_do_not_move(fill):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, y, n):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs[:2])
            ctx.set_materialize_grads(fill)

        @staticmethod
        def jvp(ctx, tx, ty, tn):
            seen.extend([ty, tn])
            x, y = ctx.saved_tensors
            return tx * y + (x * ty if fill else 0)

    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert func.jvp(lambda x: Product.apply(x, y, 3), (x,), (torch.ones(2),))[1].tolist() == [3, 4]
    assert (seen[0].tolist() == [0, 0] if fill else seen[0] is None) and seen[1] is None


@pytest.mark.parametrize("transform", [func.jacrev, lambda f: func.grad(lambda p, x: f(p, x).sum())])
def test_parameters_that_all_examples_share_leave_no_history(transform):
    """tanh keeps its result, whose values for all examples come from the parameters."""
    shared, x = torch.randn(3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)

    def function(p, x):
        return (p * x).tanh()

    each = func.vmap(transform(function), (None, 0))
    found = each(shared, x)
    assert not found.requires_grad
    torch.testing.assert_close(found, torch.stack([transform(function)(shared, row) for row in x]))
    outer = shared.clone().requires_grad_()
    assert each(outer, x).requires_grad and torch.autograd.gradcheck(lambda p: each(p, x), outer)
    twice = func.vmap(each, (None, 0))
    assert not twice(shared, x[None]).requires_grad and twice(outer, x[None]).requires_grad


def test_tangents_of_another_layout_are_reshaped_beside_values_that_are_viewed():
    x = torch.randn(2, 3, 4, 5).permute(0, 2, 3, 1).contiguous()
    tangents = torch.randn(6, 2, 3, 4, 5).permute(0, 1, 3, 4, 2)
    got = func.vmap(lambda t: func.jvp(lambda y: y.reshape(2, 60) * 2, (x,), (t,))[1])(tangents)
    assert torch.equal(got, tangents.reshape(6, 2, 60) * 2)


def test_the_names_that_functorch_tried_out_are_there():
    from functorch.einops import rearrange
    from functorch.experimental import chunk_vmap, control_flow

    rows = torch.arange(14.0).reshape(7, 2)
    sizes = []

    def seen(x, y):
        sizes.append(torch._C._functorch.get_unwrapped(x).shape[0])
        return x + y

    found = chunk_vmap(seen, in_dims=(0, None), chunks=3)(rows, torch.ones(2))
    assert found.equal(rows + 1) and sizes == [3, 3, 1]
    with pytest.raises(ValueError, match="chunks must be 1 or more, got 0"):
        chunk_vmap(seen, chunks=0)
    assert rearrange(rows, "a b -> b a").equal(rows.t())
    assert control_flow.cond(torch.tensor(False), torch.sin, torch.cos, (rows,)).equal(rows.cos())
    assert control_flow.map(lambda row: row * 2, rows).equal(rows * 2)


def test_out_dims_of_one_output_may_be_a_tuple_of_one():
    x = torch.arange(6.0).view(2, 3)
    assert torch.equal(func.vmap(lambda e: e * 2, out_dims=(1,))(x), x.T * 2)
    assert torch.equal(func.vmap(lambda e: (e,), out_dims=(1,))(x)[0], x.T)
    with pytest.raises(ValueError, match="out_dims is not compatible"):
        func.vmap(lambda e: e, out_dims=(0, 1))(x)
