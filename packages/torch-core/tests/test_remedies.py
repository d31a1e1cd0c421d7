"""Errors about arguments of other types say how to make one of the type that is wanted."""

import numpy as np
import pytest
import torch


class Module:
    def forward(self, x):
        return x

    def __call__(self, x):
        return self.forward(x)


X = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.relu(np.ones(2)), "must be Tensor, not numpy.ndarray; torch.from_numpy makes one"),
        (lambda: torch.relu([1.0, 2.0]), "must be Tensor, not list; torch.tensor makes one of it"),
        (lambda: torch.relu((X, (X, X))), "must be Tensor, not tuple; it has 2 elements: take one of them"),
        (lambda: torch.relu(Module()), r"must be Tensor, not Module; a module is called with its input, Module\(...\)\(x\)"),
        (lambda: torch.cat([X, [1.0]]), r"cat\(\): argument 'tensors' .* not list; its element 1 is list"),
        (lambda: torch.ones(2, dtype="float32"), r"ones\(\): argument 'dtype' must be torch.dtype.* did you mean torch.float32\?"),
        (lambda: torch.ones(2, dtype=np.float32), r"not type; did you mean torch.float32\?"),
        (lambda: torch.tensor(2, dtype="int64"), r"expected a torch.dtype, got str; did you mean torch.int64\?"),
        (lambda: X.to("float16"), "Invalid device string: 'float16'.*; torch.float16 is a dtype"),
        (lambda: torch.device("gpu:0"), "gpu:0; did you mean cuda?"),
        (lambda: torch.ones(2, dtype=torch.int64).add_(0.5), r"Long; take a new tensor .* convert self with .to\(torch.float32\)"),
        (lambda: torch.tensor([[1, 2], [3]]), "expected sequence of length 2 at dim 1 .*: pad them"),
    ],
)  # fmt: skip
def test_the_way_out_ends_the_error(call, text):
    with pytest.raises((TypeError, RuntimeError, ValueError), match=text):
        call()


def test_an_argument_that_fits_nowhere_has_no_remedy():
    with pytest.raises(TypeError, match=r"relu\(\): argument 'input' \(position 1\) must be Tensor, not str$"):
        torch.relu("x")


@pytest.mark.parametrize("join", [torch.cat, torch.stack, torch.concat])
def test_tensors_are_joined_along_a_dim_and_not_with_one(join):
    with pytest.raises(TypeError, match=r"must be tuple of Tensors, not torch.Tensor; write \(tensor,\) for one"):
        join(torch.ones(2), torch.ones(3))
    with pytest.raises(TypeError, match="must be tuple of Tensors"):
        join(X)
    for join in (torch.hstack, torch.vstack, torch.row_stack, torch.dstack, torch.column_stack, torch.linalg.multi_dot):
        for args in ((X,), (X, X)):
            with pytest.raises(TypeError, match=r"'tensors' \(position 1\) must be tuple of Tensors"):
                join(*args)
    assert torch.equal(torch.cartesian_prod(torch.arange(2), torch.arange(1)), torch.tensor([[0, 0], [1, 0]]))
