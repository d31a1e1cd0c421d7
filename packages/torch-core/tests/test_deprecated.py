"""Calls with the arguments in the order of 2018: numbers stand where keywords stand today."""

import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

M, A, B = (np.random.default_rng(s).normal(size=(3, 3)) for s in range(3))
V, U, W = M[0], A[1], B[2]
BATCH, C = np.stack([A, B]), np.stack([B, M])

# operator -> its operands, and the closed form of self, those and the numbers
SCALED = {  # self, number, operands
    "add": ([M, A], lambda m, a, k: m + k * a),
    "sub": ([M, A], lambda m, a, k: m - k * a),
    "addcmul": ([M, A, B], lambda m, a, b, k: m + k * a * b),
    "addcdiv": ([M, A, B], lambda m, a, b, k: m + k * a / b),
}
PRODUCTS = {  # beta, self, alpha, operands; alpha may be left away
    "addmm": ([M, A, B], lambda a, b: a @ b),
    "addmv": ([V, A, U], lambda a, u: a @ u),
    "addr": ([M, U, W], np.outer),
    "addbmm": ([M, BATCH, C], lambda a, b: (a @ b).sum(0)),
    "baddbmm": ([C, BATCH, C], lambda a, b: a @ b),
}


def calls():
    """(name, self, what stands before it, what stands behind it, expected)"""
    for name, (operands, formula) in SCALED.items():
        yield name, operands[0], [], [2.5, *operands[1:]], formula(*operands, 2.5)
        yield name, operands[0], [], [-3, *operands[1:]], formula(*operands, -3)
    for name, ((m, *factors), product) in PRODUCTS.items():
        yield name, m, [0.5], [2.5, *factors], 0.5 * m + 2.5 * product(*factors)
        yield name, m, [-2], [3, *factors], -2 * m + 3 * product(*factors)
        yield name, m, [0.5], factors, 0.5 * m + product(*factors)


CASES = [
    pytest.param(*c, id=f"{c[0]}-{len(c[2])}-{len(c[3])}-{c[3][0] if np.isscalar(c[3][0]) else ''}") for c in calls()
]


def tensors(values):
    return [torch.tensor(v) if isinstance(v, np.ndarray) else v for v in values]


def close(result, expected):
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(("name", "x", "before", "behind", "expected"), CASES)
class TestOldOrder:
    def test_of_a_function(self, name, x, before, behind, expected):
        close(getattr(torch, name)(*before, torch.tensor(x), *tensors(behind)), expected)

    def test_of_a_method(self, name, x, before, behind, expected):
        close(getattr(torch.tensor(x), name)(*before, *tensors(behind)), expected)
        close(getattr(torch.Tensor, name)(torch.tensor(x), *before, *tensors(behind)), expected)

    def test_in_place(self, name, x, before, behind, expected):
        t = torch.tensor(x)
        assert getattr(t, name + "_")(*before, *tensors(behind)) is t
        close(t, expected)
        t = torch.tensor(x)
        assert getattr(torch.Tensor, name + "_")(t, *before, *tensors(behind)) is t
        close(t, expected)

    def test_with_out(self, name, x, before, behind, expected):
        out = torch.empty(0, dtype=torch.float64)
        assert getattr(torch, name)(*before, torch.tensor(x), *tensors(behind), out=out) is out
        close(out, expected)

    def test_with_the_last_argument_by_name(self, name, x, before, behind, expected):
        *behind, last = tensors(behind)
        row = inspect.signature(getattr(torch, name)).parameters
        last_name = [p.name for p in row.values() if p.kind is p.POSITIONAL_OR_KEYWORD][-1]
        close(getattr(torch, name)(*before, torch.tensor(x), *behind, **{last_name: last}), expected)
        close(getattr(torch.tensor(x), name)(*before, *behind, **{last_name: last}), expected)


def test_what_rsub_multiplies_by_may_stand_last():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.rsub(torch.tensor([1.0, 2.0]), 3, 2).tolist() == [1.0, -1.0]


def test_the_first_call_of_a_process_warns_and_says_how_to_write_it():
    code = (
        "import torch, warnings\n"
        "warnings.simplefilter('always')\n"
        "x = torch.ones(2, 2)\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    x.add_(2, x); x.add_(2, x); torch.addmm(1, x, 2, x, x)\n"
        "print(*[(w.category.__name__, str(w.message), w.filename) for w in seen], sep='\\n')"
    )
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == [
        "('UserWarning', 'This overload of add_ is deprecated: add_(alpha, other). "
        "Write add_(other, *, alpha=1) instead', '<string>')"
    ]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: x.add(x, x), "add() takes 2 positional arguments but 3 were given"),
        (lambda x: torch.add(x, "2", x), "add()"),
        (lambda x: torch.add(x, 2, None), "add()"),
        (lambda x: x.addcmul(x, x, 2), "addcmul() takes"),
        (lambda x: torch.addmm(1, x, 2, x), "addmm(): argument 'input' (position 1) must be Tensor, not int"),
        (lambda x: torch.addmm(1.5, x, 2.5, x, x, beta=3), "addmm()"),
        (lambda x: torch.mul(x, 2, x), "mul() takes 2 positional arguments but 3 were given"),
    ],
)
def test_what_fits_no_order_is_refused_in_the_words_of_today(call, says):
    with pytest.raises(TypeError) as error:
        call(torch.ones(2, 2))
    assert says in str(error.value)


def test_errors_of_the_operator_are_those_of_the_call_in_the_order_of_today():
    with pytest.raises(RuntimeError) as old:
        torch.addmm(1, torch.ones(2, 2), 1, torch.ones(2, 3), torch.ones(2, 2))
    with pytest.raises(RuntimeError) as new:
        torch.addmm(torch.ones(2, 2), torch.ones(2, 3), torch.ones(2, 2), beta=1, alpha=1)
    assert str(old.value) == str(new.value)
