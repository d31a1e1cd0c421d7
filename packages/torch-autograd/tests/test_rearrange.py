"""Dims by name, and looking into a batch."""

import pytest
import torch
from torch.func import debug_unwrap, rearrange

X = torch.arange(24).view(2, 3, 4)


@pytest.mark.parametrize(
    ("pattern", "lengths", "expected"),
    [
        ("a b c -> c b a", {}, X.permute(2, 1, 0)),
        ("a b c -> a (b c)", {}, X.reshape(2, 12)),
        ("a b c -> (c a) b", {}, X.permute(2, 0, 1).reshape(8, 3)),
        ("a b (c d) -> (a d) b c", {"d": 2}, X.view(2, 3, 2, 2).permute(0, 3, 1, 2).reshape(4, 3, 2)),
        ("a ... -> ... a", {}, X.permute(1, 2, 0)),
        ("... a -> a ...", {}, X.permute(2, 0, 1)),
        ("a b c -> a 1 b () c", {}, X.view(2, 1, 3, 1, 4)),
        ("a b c -> (a b c)", {}, X.flatten()),
    ],
)
def test_patterns(pattern, lengths, expected):
    assert torch.equal(rearrange(X, pattern, **lengths), expected)


def test_a_list_is_stacked_and_examples_are_rearranged():
    assert torch.equal(rearrange([X[0], X[1]], "n a b -> a b n"), X.permute(1, 2, 0))
    assert torch.equal(torch.func.vmap(lambda x: rearrange(x, "a b -> b a"))(X), X.transpose(1, 2))


@pytest.mark.parametrize(
    ("pattern", "lengths", "message"),
    [
        ("a b -> a", {}, "only on one side"),
        ("a a b -> a b", {}, "duplicate dimension 'a'"),
        ("a b -> b a", {}, r"names 2 dims, the tensor has 3: \(2, 3, 4\)"),
        ("(a b) c d -> a b c d", {"a": 3}, "a dim of size 2 is no"),
        ("(a b) c d -> a b c d", {}, "all sizes but one must be given"),
        ("a b c", {}, "'dims -> dims'"),
        ("a b c -> a (b c", {}, "do not match"),
        ("a b c -> c b a", {"d": 3}, "which .* does not name"),
        ("a (b ...) -> a b ...", {}, "outside of brackets"),
    ],
)
def test_what_is_wrong_with_a_pattern(pattern, lengths, message):
    with pytest.raises(ValueError, match=message):
        rearrange(X, pattern, **lengths)


def test_a_batch_is_looked_into():
    seen = []

    def f(x):
        seen.append(
            (debug_unwrap(x).shape, debug_unwrap(x, recurse=False).dim(), torch._C._functorch.is_batchedtensor(x))
        )
        return x

    torch.func.vmap(torch.func.vmap(f))(torch.ones(2, 3, 4))
    assert seen == [((2, 3, 4), 2, True)]
    x = torch.ones(1)
    assert debug_unwrap(x) is x and not torch._C._functorch.is_batchedtensor(x)
    with pytest.raises(ValueError, match="expected a Tensor, got int"):
        debug_unwrap(3)
