"""Tensors where a program wants a number: none is rounded or cut on the way, and sizes may be tensors."""

import io

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor


def doubled(n: int):
    return n * 2


def halved(n: float):
    return n / 2


def element(x: Tensor):
    return [5, 6, 7][x]


def called(x: Tensor):
    return doubled(x)


def larger(x: Tensor):
    return max(x, 2)


def quotient(x: Tensor):
    return divmod(x, 2)


def length(x: Tensor):
    return torch.arange(9).narrow(0, 0, x).sum()


def slope(x: Tensor):
    return F.leaky_relu(torch.tensor([-1.0]), x)


def filled(x: Tensor):
    return torch.full([2], x)


def of_float(x: Tensor):
    return halved(x)


INTEGRAL, ANY = [element, called, larger, quotient, length], [slope, filled, of_float]
FLOAT = "Cannot input a tensor of type Float as an integral argument"


@pytest.mark.parametrize("fn", INTEGRAL, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.tensor(1.7), FLOAT),
        (torch.tensor(True), "Cannot input a tensor of type Bool as an integral argument"),
        (torch.tensor([1]), "Cannot input a tensor of dimension other than 0 as a scalar argument"),
        (torch.tensor(1.0, requires_grad=True), "Cannot input a tensor that requires grad as a scalar argument"),
    ],
)
def test_what_is_no_whole_number_is_refused(fn, given, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(fn)(given)


@pytest.mark.parametrize("fn", ANY, ids=lambda fn: fn.__name__)
def test_a_gradient_is_not_lost_in_a_number(fn):
    run = torch.jit.script(fn)
    assert run(torch.tensor(2.5)) is not None
    with pytest.raises(RuntimeError, match="Cannot input a tensor that requires grad as a scalar argument"):
        run(torch.tensor(2.5, requires_grad=True))
    with pytest.raises(RuntimeError, match="of dimension other than 0 as a scalar argument"):
        run(torch.tensor([2.5]))


def test_whole_numbers_stand_for_themselves():
    x = torch.tensor(1)
    found = [torch.jit.script(fn)(x) for fn in INTEGRAL]
    assert found == [6, 2, 2, (0, 1), torch.tensor(0)]
    assert torch.jit.script(of_float)(x) == 0.5 and torch.jit.script(filled)(x).tolist() == [1, 1]


def test_conversions_in_words_round_as_in_python():
    run = torch.jit.script(lambda_of_int)
    assert run(torch.tensor(1.7)) == (1, True, 1.7000000476837158)


def lambda_of_int(x: Tensor):
    return int(x), bool(x), float(x)


def sizes(n: Tensor, x: Tensor):
    return (
        torch.zeros(n),
        torch.ones(n, 3),
        x.view(n, -1),
        x.reshape(-1, n),
        x.expand(n, 2, 2),
        x.permute(n - 1, 0),
        x.view(n + n),
    )


def test_sizes_may_be_tensors():
    n, x = torch.tensor(2), torch.arange(4.0).view(2, 2)
    found = torch.jit.script(sizes)(n, x)
    want = sizes(2, x)
    assert all(torch.equal(a, b) for a, b in zip(found, want, strict=True))


class Archived(torch.nn.Module):
    def forward(self, n: Tensor, x: Tensor):
        return [5, 6, 7][n], torch.full([2], x), doubled(n), halved(x)


def test_archives_keep_what_is_a_number():
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Archived()), file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert "annotate(number, x)" in loaded.code and "annotate(int, n)" in loaded.code
    element, filled, twice, half = loaded(torch.tensor(1), torch.tensor(2.5))
    assert (element, filled.tolist(), twice, half) == (6, [2.5, 2.5], 2, 1.25)
    with pytest.raises(RuntimeError, match=FLOAT):
        loaded(torch.tensor(1.5), torch.tensor(2.5))
