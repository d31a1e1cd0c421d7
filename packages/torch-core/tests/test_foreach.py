import pytest
import torch
from torch._operators import foreach

NAMES = sorted(n.removeprefix("_foreach_") for n in foreach.__all__)


def tensors(low=0.2, high=0.9, seed=0):
    torch.manual_seed(seed)
    return [torch.rand(s) * (high - low) + low for s in ((2, 3), (), (0,), (4,))]


def same(ours, expected):
    return len(ours) == len(expected) and all(torch.equal(a, b) for a, b in zip(ours, expected, strict=True))


@pytest.mark.parametrize("name", [n for n in NAMES if n.removesuffix("_") in foreach.UNARY])
def test_each_tensor_goes_through_the_operator(name):
    given = [t for t in tensors() if t.numel() or name != "max"]
    expected = [getattr(t.clone(), name)() for t in given]
    function = getattr(torch, f"_foreach_{name}")
    if name.endswith("_"):
        result = function(given)
        assert isinstance(result, list) and all(a is b for a, b in zip(result, given, strict=True))
        assert same(given, expected)
    else:
        assert isinstance(function(given), tuple) and same(function(given), expected)


def others(name):
    base = name.removesuffix("_")
    if base == "copy":
        return [tensors(seed=1)]
    if base == "mm":
        return []
    return [0.5, [0.5, 1.5, 2.5, 0.25], tensors(seed=1)]


@pytest.mark.parametrize(
    "name, other",
    [(n, o) for n in NAMES if n.removesuffix("_") in foreach.BINARY for o in others(n)],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_the_second_argument_is_a_number_a_list_of_numbers_or_tensors(name, other):
    given = tensors()
    columns = other if isinstance(other, list) else [other] * len(given)
    plain = {"maximum": torch.max, "minimum": torch.min}.get(name.removesuffix("_"))
    expected = []
    for t, o in zip(given, columns, strict=True):
        if plain:
            expected.append(plain(t, torch.as_tensor(o, dtype=t.dtype)))
        else:
            expected.append(getattr(t.clone(), name)(o))
    result = getattr(torch, f"_foreach_{name}")(given, other)
    assert same(given if name.endswith("_") else result, expected)


@pytest.mark.parametrize("name", ["addcmul", "addcdiv", "addcmul_", "addcdiv_"])
@pytest.mark.parametrize("value", [1, 0.5, [1.0, 2.0, 3.0, 4.0], torch.tensor([1.0, 2.0, 3.0, 4.0])])
def test_factors_of_products_are_one_number_or_one_for_each(name, value):
    given, a, b = tensors(), tensors(seed=1), tensors(seed=2)
    factors = value if isinstance(value, list) else value.tolist() if isinstance(value, torch.Tensor) else [value] * 4
    expected = [getattr(t.clone(), name)(x, y, value=v) for t, x, y, v in zip(given, a, b, factors, strict=True)]
    result = getattr(torch, f"_foreach_{name}")(given, a, b, value)
    assert same(given if name.endswith("_") else result, expected)


def test_other_forms_of_calls():
    given = tensors()
    assert same(torch._foreach_add(given, given, alpha=2), [t + 2 * t for t in given])
    assert same(torch._foreach_pow(2.0, given), [2.0**t for t in given])
    assert same(
        torch._foreach_lerp(given, tensors(seed=1), weight=0.25),
        [t.lerp(u, 0.25) for t, u in zip(given, tensors(seed=1), strict=True)],
    )
    assert same(torch._foreach_norm(given[:2], 1), [torch.linalg.vector_norm(t, 1) for t in given[:2]])
    assert same(torch._foreach_powsum(given, 3), [(t**3).sum() for t in given])
    assert same(torch._foreach_mm([torch.eye(2)], [torch.ones(2, 2)]), [torch.ones(2, 2)])
    target = [torch.zeros_like(t) for t in given]
    torch._foreach_copy_(target, given, non_blocking=True)
    assert same(target, given)


@pytest.mark.parametrize(
    "wrong, error, words",
    [
        (lambda: torch._foreach_add([torch.ones(1)], [1.0, 2.0]), RuntimeError, "same number of tensors, got 1 and 2"),
        (lambda: torch._foreach_neg(torch.ones(1)), TypeError, "_foreach_neg: expected a list of tensors, got Tensor"),
        (lambda: torch._foreach_neg([]), RuntimeError, "_foreach_neg: Tensor list must have at least one tensor"),
        (lambda: torch._foreach_pow(2.0, []), RuntimeError, "must have at least one tensor"),
        (lambda: torch._foreach_neg([1.0]), TypeError, "element 0 of self must be a Tensor, got float"),
        (lambda: torch._foreach_addcmul([torch.ones(1)], [torch.ones(1)], [torch.ones(1)], torch.ones(2)), RuntimeError, "expected 1 factors, got a tensor of 2"),
        (lambda: torch._foreach_nothing, AttributeError, "no attribute '_foreach_nothing'"),
    ],
)  # fmt: skip
def test_lists_that_do_not_fit_are_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()


def test_a_list_that_does_not_fit_changes_nothing():
    given = tensors()
    with pytest.raises(RuntimeError, match="same number"):
        torch._foreach_add_(given, [1.0])
    assert same(given, tensors())
