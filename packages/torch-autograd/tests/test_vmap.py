"""Every operator under vmap, against its own results example by example; with gradients inside and outside."""

import pytest
import torch
from differentiability import DIFFERENTIABILITY
from operator_samples import INFO, ONLY_FOR_GRADIENTS, Source, in_place, name_of, samples_of
from torch import _C as core
from torch import func

EXAMPLES = 3
UNSET = {"empty_like", "new_empty", "new_empty_strided"}
#: They read values, or speak of the memory of one tensor.
OTHERWISE = ("narrow(", "tensor_split(", "as_strided", "resize", "set_(", "stride", "to_sparse", "view_as_complex")
ROWS = [schema for schema in INFO if samples_of(schema)]


def _tensors(args):
    """The places of tensors, in lists too."""
    places = []
    for i, a in enumerate(args):
        if isinstance(a, torch.Tensor):
            places.append((i, None))
        elif isinstance(a, (list, tuple)):
            places += [(i, k) for k, x in enumerate(a) if isinstance(x, torch.Tensor)]
    return places


def _filled(args, places, tensors):
    filled = [list(a) if isinstance(a, (list, tuple)) else a for a in args]
    for (i, k), t in zip(places, tensors, strict=True):
        if k is None:
            filled[i] = t
        else:
            filled[i][k] = t
    return filled


def _cases(schema):
    """(function of tensors, the tensors of each example, which of them are floating) for each sample of a row."""
    operator = core._operator(name_of(schema))
    for number, sample in enumerate(samples_of(schema)):
        calls = [sample(Source(f"{schema} {number} {k}")) for k in range(EXAMPLES)]
        args, kwargs = calls[0]
        kwargs = {k: v for k, v in kwargs.items() if k not in ONLY_FOR_GRADIENTS}
        if any(isinstance(v, torch.Tensor) for v in kwargs.values()):
            continue
        places = _tensors(args)
        examples = [[a[i] if k is None else a[i][k] for i, k in _tensors(a)] for a, _ in calls]
        if (
            not places
            or any(t.layout != torch.strided for t in examples[0])
            or (in_place(schema) and places[0] != (0, None))
            or any([t.shape for t in e] != [t.shape for t in examples[0]] for e in examples)
        ):
            continue

        def function(*tensors, args=args, kwargs=kwargs, places=places):
            filled = _filled(args, places, tensors)
            if in_place(schema):
                filled[0] = filled[0].clone()
            return _flat(operator(*filled, **kwargs))

        yield function, examples


def _patterns(count):
    yield (0,) * count
    yield (-1,) * count
    if count > 1:
        yield (0,) + (None,) * (count - 1)
        yield (None,) + (0,) * (count - 1)


def _arguments(examples, dims):
    return [examples[0][k] if dim is None else torch.stack([e[k] for e in examples], dim) for k, dim in enumerate(dims)]


def _one(examples, dims, k):
    return [examples[0 if dim is None else k][j] for j, dim in enumerate(dims)]


def _flat(result):
    return [r for r in (result if isinstance(result, (list, tuple)) else [result]) if r is not None]


def _compare(got, expected, what):
    for g, *each in zip(_flat(got), *map(_flat, expected), strict=True):
        if isinstance(g, torch.Tensor):
            wanted = torch.stack(each)
            assert g.dtype == wanted.dtype and g.shape == wanted.shape, (what, g.dtype, g.shape, wanted.dtype)
            low = g.dtype in (torch.float32, torch.complex64)
            close = 1e-5 if low else 1e-9
            if name_of(what[0]) not in UNSET:
                assert torch.allclose(g, wanted, rtol=close, atol=close, equal_nan=True), what
        else:
            assert all(g == e for e in each), what


@pytest.mark.parametrize("schema", ROWS)
def test_a_batch_gives_what_its_examples_give(schema):
    if INFO[schema]["random"] or any(word in schema for word in ("sparse", "batch_norm(", *OTHERWISE)):
        pytest.skip("drawn anew each time, of sparse tensors, or with statistics that all examples would change")
    done = 0
    for function, examples in _cases(schema):
        for dims in _patterns(len(examples[0])):
            try:
                expected = [function(*_one(examples, dims, k)) for k in range(EXAMPLES)]
                torch.stack([_flat(e)[0] for e in expected])
            except (RuntimeError, IndexError, TypeError):
                continue  # indices of one example do not fit into another, or results have shapes of their own
            if in_place(schema) and dims[0] is None:
                with pytest.raises(RuntimeError, match="cannot take a value of each"):
                    func.vmap(function, in_dims=dims)(*_arguments(examples, dims))
                continue
            got = func.vmap(function, in_dims=dims, out_dims=0)(*_arguments(examples, dims))
            _compare(got, expected, (schema, dims))
            done += 1
    if not done:
        pytest.skip("no sample whose tensors all stand in positions")


def _scalar(function):
    def of_first(first, *others):
        result = function(first, *others)[0]
        return (result * result).sum() if not result.is_complex() else result.abs().square().sum()

    return of_first


@pytest.mark.parametrize("schema", [s for s in ROWS if DIFFERENTIABILITY.get(s) in ("derivative", "composite")])
def test_gradients_inside_and_outside_of_a_batch_agree(schema):
    if INFO[schema]["random"] or INFO[schema]["hidden"] or any(word in schema for word in OTHERWISE):
        pytest.skip("drawn anew each time, no function of the user's, or none of an example")
    done = 0
    for function, examples in _cases(schema):
        first = examples[0][0]
        scalar = _scalar(function)
        if not first.is_floating_point():
            continue
        try:
            expected = [func.grad(scalar)(*e) for e in examples]
            torch.stack([function(*e)[0] for e in examples])
        except (RuntimeError, NotImplementedError, TypeError, AttributeError):  # no gradient, or no tensor as result
            continue
        arguments = _arguments(examples, (0,) * len(examples[0]))
        _compare(func.vmap(func.grad(scalar))(*arguments), expected, (schema, "inside"))
        outside = func.grad(lambda *a: func.vmap(scalar)(*a).sum())(*arguments)
        _compare(outside, expected, (schema, "outside"))
        done += 1
    if not done:
        pytest.skip("no gradient of a real tensor in the first position")


def test_detached_examples_have_no_gradient():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def f(a):
        return (a * a.detach()).sum()

    torch.testing.assert_close(func.vmap(func.grad(f))(x), x)
    torch.testing.assert_close(func.functionalize(func.grad(f))(x), x)
    seen = []
    func.vmap(lambda a: seen.append(a.detach()._version == a._version) or a)(x)
    assert seen == [True]


def test_examples_of_no_dims():
    x = torch.rand(3, dtype=torch.float64)
    assert func.vmap(lambda a: a.transpose(0, -1))(x).tolist() == x.tolist()
    assert func.vmap(lambda a: a.unfold(0, 1, 1))(x).shape == (3, 1)
    assert func.vmap(func.grad(lambda a: a.unfold(0, 1, 1).sum()))(x).tolist() == [1, 1, 1]
    z = torch.rand(3, dtype=torch.complex64)
    other = torch.tensor(0.5, dtype=torch.float64)  # 0-d like the examples: its dtype counts
    assert func.vmap(lambda a: a - other)(z).dtype == (z[0] - other).dtype == torch.complex128


def test_a_batch_of_calls_with_settings_for_one():
    x = torch.rand(2, 3, 4, 5, 6)
    got = func.vmap(lambda a: a.clone(memory_format=torch.channels_last))(x)
    torch.testing.assert_close(got, x)
    with pytest.raises(RuntimeError, match="rank 4 tensor to use channels_last"):
        func.vmap(lambda a: a[0].clone(memory_format=torch.channels_last))(x)
    a, b = torch.ones(2, 1, 2, 2, dtype=torch.int64), torch.full((2, 1, 2, 2), 3)
    got = func.vmap(lambda s, m: torch.baddbmm(s, m, m, beta=0.5, alpha=0.5))(a, b)
    assert got.dtype == torch.int64 and got[0].equal(torch.baddbmm(a[0], b[0], b[0], beta=0.5, alpha=0.5))
    ends = torch.tensor([1.0, 3.0])
    torch.testing.assert_close(
        func.vmap(lambda e: torch.linspace(0, e, 3))(ends), torch.tensor([[0, 0.5, 1], [0, 1.5, 3]])
    )
    signal = torch.rand(2, 64)
    window = torch.rand(2, 16) + 0.5

    def there_and_back(s, w):
        return torch.istft(torch.stft(s, 16, window=w, return_complex=True), 16, window=w)

    torch.testing.assert_close(func.vmap(there_and_back)(signal, window), signal)


def test_examples_become_no_sparse_tensors():
    with pytest.raises(NotImplementedError, match="to_sparse: not implemented within vmap, jvp, functionalize"):
        func.vmap(lambda a: a.to_sparse())(torch.eye(3).repeat(2, 1, 1))


def test_no_sparse_tensor_is_made_of_examples_or_dual_numbers():
    indices, values, rows = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0]), torch.tensor([0, 1, 2])
    message = "not implemented within vmap, jvp, functionalize"
    with pytest.raises(NotImplementedError, match=f"sparse_coo_tensor: {message}"):
        func.vmap(lambda i: torch.sparse_coo_tensor(i, values))(torch.stack([indices, indices]))
    for make in (
        lambda v: torch.sparse_coo_tensor(indices, v, (2, 2)),
        lambda v: torch.sparse_csr_tensor(rows, indices[0], v, (2, 2)),
    ):
        with pytest.raises(NotImplementedError, match=f"sparse_c.*_tensor: {message}"):
            func.jvp(make, (values,), (values,))
        with pytest.raises(NotImplementedError, match=f"sparse_c.*_tensor: {message}"):
            func.vmap(make)(values.repeat(2, 1))


def test_a_number_has_no_further_dims_to_squeeze():
    x = torch.arange(3.0)
    for dim in (0, -1, (0,)):
        assert torch.equal(torch.func.vmap(lambda v, dim=dim: v.squeeze(dim))(x), x)
    for dim in (1, -2, (0, 1)):
        with pytest.raises(IndexError, match="Dimension out of range .*got (1|-2)"):
            torch.func.vmap(lambda v, dim=dim: v.squeeze(dim))(x)


def test_fresh_memory_of_given_strides_is_that_of_all_examples():
    def columns(v):
        y = v.new_empty_strided((2, 3), (1, 2), dtype=torch.float64)
        assert y.stride() == (1, 2)
        return y.copy_(v)

    x = torch.arange(12.0).reshape(2, 2, 3)
    y = torch.func.vmap(columns)(x)
    assert y.stride() == (6, 1, 2) and y.dtype == torch.float64 and torch.equal(y, x.double())
    apart = torch.func.vmap(lambda v: v.new_empty_strided((2, 3), (7, 2)).copy_(v))(x)
    assert apart.stride() == (12, 7, 2) and torch.equal(apart, x)
    assert torch.func.vmap(lambda v: v.new_empty_strided((0, 3), (3, 1)))(x).shape == (2, 0, 3)


def test_strides_count_in_the_memory_of_each_example():
    x = torch.arange(24.0).view(4, 6)
    for dim in (0, 1, -1):
        for base in (x, x[:, 1:], x.t()):
            examples = base.unbind(dim)
            reach = max((e.stride(0) * (e.size(0) - 1)) for e in examples)
            expected = torch.stack([e.as_strided((2,), (reach,)) for e in examples])
            assert torch.equal(func.vmap(lambda e, r=reach: e.as_strided((2,), (r,)), in_dims=dim)(base), expected)
    own = lambda e: e.as_strided((2,), (1,), 0)
    assert func.vmap(own)(x).tolist() == [[0.0, 1.0], [6.0, 7.0], [12.0, 13.0], [18.0, 19.0]]
    with pytest.raises(RuntimeError, match=r"vmap: as_strided: .* reach elements 0 to 6 .* has those from 0 to 5"):
        func.vmap(lambda e: e.as_strided((2,), (6,)))(x)
    with pytest.raises(RuntimeError, match="belongs to other examples"):
        func.vmap(lambda e: e.as_strided((2,), (1,), 0))(x[1:])
    assert func.vmap(lambda e: e.as_strided((0,), (9,)))(x).shape == (4, 0)


def test_counts_of_each_example():
    x = torch.tensor([[1.0, 2.0, 1.0, 4.0], [3.0, 3.0, 3.0, 3.0], [0.0, -1.0, 5.0, 2.0]])
    for options in ({}, {"range": (0.0, 3.0)}, {"density": True}):
        got = func.vmap(lambda e, o=options: torch.histogram(e, 3, **o))(x)
        for k, e in enumerate(x):
            expected = torch.histogram(e, 3, **options)
            torch.testing.assert_close(got.hist[k], expected.hist)
            torch.testing.assert_close(got.bin_edges[k], expected.bin_edges)
    weights = torch.rand(2, 4)
    expected = torch.stack([torch.histogram(x[0], 3, weight=w).hist for w in weights])
    torch.testing.assert_close(func.vmap(lambda w: torch.histogram(x[0], 3, weight=w).hist)(weights), expected)
    grids = func.vmap(lambda e: torch.histogramdd(e.view(2, 2), [2, 3]).hist)(x)
    torch.testing.assert_close(grids, torch.stack([torch.histogramdd(e.view(2, 2), [2, 3]).hist for e in x]))
    with pytest.raises(RuntimeError, match="the input's values have no finite range; give one"):
        func.vmap(lambda e: torch.histogram(e, 3))(x / 0)


@pytest.mark.parametrize("name, conjugates", [("dot", False), ("vdot", True)])
def test_products_of_complex_vectors_conjugate_as_the_operator_does(name, conjugates):
    a, b = torch.randn(3, 4, dtype=torch.complex128), torch.randn(3, 4, dtype=torch.complex128)
    products = func.vmap(getattr(torch, name))(a, b)
    assert torch.allclose(products, ((a.conj() if conjugates else a) * b).sum(1), rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_each_example_takes_its_own_branch(shape):
    x, pred = torch.arange(6.0).view(3, 2), torch.tensor([True, False, True])

    def chosen(p, e):
        return torch.cond(p.view(shape), lambda e: (e.sin(), {"k": 1}), lambda e: (e * x[1], {"k": 1}), (e,))

    expected = torch.stack([chosen(p, e)[0] for p, e in zip(pred, x, strict=True)])
    got, other = func.vmap(chosen, out_dims=(0, None))(pred, x)
    assert torch.equal(got, expected) and other == {"k": 1}
    slopes = func.vmap(func.grad(lambda e, p: chosen(p, e)[0].sum()))(x, pred)
    assert torch.equal(slopes, torch.where(pred[:, None], x.cos(), x[1]))
    nested = func.vmap(func.vmap(lambda e: torch.cond(e > 2, lambda e: e, lambda e: -e, (e,))))(x)
    assert torch.equal(nested, torch.where(x > 2, x, -x))
    for other, text in (
        (lambda e: e.sum(), r"torch.float32 of shape \(2,\) and torch.float32 of shape \(\)"),
        (lambda e: [e], "one form"),
    ):
        with pytest.raises(RuntimeError, match=text):
            func.vmap(lambda p, e, f=other: torch.cond(p, lambda e: e, f, (e,)))(pred, x)
