"""``for a, b in values`` and ``a, (b, c) = value``: objects of Python are asked for their items, layers of lists among them."""

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import nn

X = torch.rand(2, 2)
LAYERS = nn.ModuleList([nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)]) for _ in range(2)])


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __iter__(self):
        yield self.a
        yield self.b


def in_a_loop(x):
    for one, two in LAYERS:
        x = one(two(x))
    return x


def within(x):
    for i, (one, two) in enumerate(LAYERS):
        x = one(two(x)) * i
    return x


def with_a_star(x):
    for one, *others in LAYERS:
        x = one(others[0](x))
    (first, *_), (two, three) = LAYERS
    return first(two(three(x)))


def in_a_comprehension(x):
    return [one(two(x)) for one, two in LAYERS][1] + {i: a * b for i, (a, b) in enumerate([Pair(x, 2), (3, 4)])}[0]


def assigned(x):
    i, (one, two) = 2, LAYERS[0]
    j, (a, b) = (3, Pair(4, 5))
    return one(two(x)) * i * j * a - b


def of_tensors(x):
    for a, b in x:
        x = x + a - b
    for (a, b), c in zip(x.unbind(0), (1, 2), strict=True):
        x = x + a * c - b
    return x


def from_a_generator(x):
    def pairs():
        yield 1, (2, x)
        yield 3, Pair(4, x)

    total = 0
    for i, (j, y) in pairs():
        if i == 3:
            break
        total = total + i * j * y
    else:
        return x
    return total


def of_too_many(x):
    found = ""
    try:
        a, b, c = Pair(1, 2)
    except ValueError as error:
        found += str(error)
    try:
        (a,) = Pair(1, 2)
    except ValueError as error:
        found += str(error)
    return x + len(found)


@pytest.mark.parametrize(
    "f", [in_a_loop, within, with_a_star, in_a_comprehension, assigned, of_tensors, from_a_generator, of_too_many]
)
def test_a_value_is_taken_apart(f):
    compiled = torch.compile(f, fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(X), f(X))
    assert torch.equal(torch.compile(f)(X), f(X))


def test_a_dropout_that_drops_nothing_may_stand_where_errors_are_caught():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout())

    def tried(x):
        try:
            return net(x)
        except RuntimeError:
            return x

    net.eval()
    assert torch.equal(torch.compile(tried, fullgraph=True)(X), tried(X))
    net.train()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="errors are caught"):
        torch.compile(tried, fullgraph=True)(X)


def test_errors_may_be_caught_around_writes_to_tensors_that_the_program_makes():
    def summed(x, index):  # as torch_geometric does
        try:
            return x.new_zeros(3, 2).scatter_add_(0, index, x)
        except RuntimeError:
            return x - 1

    def written(x, index):
        try:
            return x.scatter_add_(0, index, x + 1)
        except RuntimeError:
            return x - 1

    index, outside = torch.tensor([[0, 1], [2, 0]]), torch.tensor([[0, 1], [7, 0]])
    compiled = torch.compile(summed, fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(X, index), summed(X, index))
        assert torch.equal(compiled(X, outside), X - 1)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="errors are caught"):
        torch.compile(written, fullgraph=True)(X.clone(), index % 2)
