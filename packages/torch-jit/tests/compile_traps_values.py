"""Traps of values: what is read of tensors, errors that are caught, identity, numbers, frames, the tape (``compile_traps``)."""

import contextlib
import math

import torch
from compile_traps import TRAPS, t, three, trap
from torch import nn
from torch.nn import functional as F

# --- values of tensors ---


@trap(three)
def tensor_as_count():
    return lambda x: x + len([1] * x.long()[0])


@trap(three)
def tensor_in_list():
    return lambda x: x * 2 if 3.0 in list(x) else x


@trap(three)
def value_in_tensor():
    return lambda x: x * 2 if 3.0 in x else x


@trap(three)
def any_of_a_tensor():
    return lambda x: x * 2 if any(x > 2) else x


@trap(lambda: [(t(2, 1),), (t(1, 2),)])
def sorted_tensors():
    return lambda x: sorted(x)


@trap(lambda: [(t(1, 2), torch.tensor(0)), (t(1, 2), torch.tensor(1))])
def index_without_dims():
    return lambda x, i: x[i]


@trap(lambda: [(t(1, 2), torch.tensor(0)), (t(1, 2), torch.tensor(1))])
def write_at_index_without_dims():
    def f(x, i):
        x[i] = 7
        return x

    return f


@trap(lambda: [(torch.ones(2, 2), torch.tensor(0)), (torch.eye(2), torch.tensor(1))])
def index_in_a_tuple():
    return lambda x, i: x[i, :] + x[:, i]


@trap(lambda: [(t(1, 2, 3), torch.tensor(1)), (t(1, 2, 3), torch.tensor(2))])
def slice_to_a_tensor():
    return lambda x, i: x[:i]


@trap(lambda: [(t(1, 2), torch.tensor(1)), (t(1, 2), torch.tensor(2))])
def range_to_a_tensor():
    return lambda x, i: torch.arange(i)


@trap(lambda: [(t(1, 2), torch.tensor(1)), (t(1, 2), torch.tensor(2))])
def alpha_of_a_tensor():
    return lambda x, i: torch.add(x, x, alpha=i)


@trap(lambda: [(t(1, 2), torch.tensor(1.0)), (t(1, 2), torch.tensor(2.0))])
def filled_with_a_tensor():
    return lambda x, i: torch.full((2,), i) + torch.full_like(x, i) + x.masked_fill(x > 1, i)


@trap(lambda: [(t(1, 2), torch.tensor(1.0)), (t(1, 2), torch.tensor(2.0))])
def numbers_of_tensors():
    return lambda x, i: x.clamp(max=i) + x.pow(i) + F.leaky_relu(-x, i) + F.threshold(x, i, 0.0)


@trap(lambda: [(torch.tensor([0, 1]),), (torch.tensor([0, 3]),)])
def one_hot():
    return lambda x: F.one_hot(x)


@trap(lambda: [(torch.tensor([0, 1]),), (torch.tensor([0, 0]),)])
def unique():
    return lambda x: torch.unique(x).shape[0] * x


@trap(lambda: [(torch.tensor([1, 2]),), (torch.tensor([2, 2]),)])
def repeated():
    return lambda n: torch.repeat_interleave(torch.arange(2), n).shape[0] * n


@trap(lambda: [(torch.tensor([3, 1]),), (torch.tensor([2, 2]),)])
def packed():
    def f(lengths):
        return nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), lengths, enforce_sorted=False).data

    return f


@trap(lambda: [(torch.tensor([1, 3]),), (torch.tensor([2, 4]),)])
def split_at_values():
    return lambda at: [len(p) for p in torch.tensor_split(torch.arange(5), at)] + [at * 2]


@trap(lambda: [(torch.zeros(3),), (torch.tensor([0.0, 1.0, 1.0]),)])
def assigned_by_mask():
    def f(x):
        x[x == 0] = 5
        return x

    return f


@trap(lambda: [(torch.zeros(3), torch.tensor([0, 1])), (torch.zeros(3), torch.tensor([2, 1]))])
def assigned_by_index():
    def f(x, i):
        x[i] = 5
        x[i] += 1
        return x, x[i]

    return f


@trap(three)
def numpy_and_back():
    return lambda x: torch.from_numpy(x.numpy() * 2)


@trap(three)
def tensor_of_tensors():
    return lambda x: torch.tensor([x[0], x[1]])


@trap(three)
def assertion():
    def f(x):
        assert x[0] < 4, "large"
        return x + 1

    return f


@trap(three)
def raised_by_value():
    def f(x):
        if x[0] > 2:
            raise ValueError("large")
        return x + 1

    return f


# --- errors that are caught ---


@trap(lambda: [(t(1, 2), 0), (t(1, 2), 5), (t(1, 2), 1)])
def caught_index():
    def f(x, i):
        try:
            return x.select(0, i)
        except IndexError:
            return x

    return f


def indices():
    return [(t(1, 2), torch.tensor([n])) for n in (0, 5, 1)]


@trap(indices)
def caught_value():
    def f(x, i):
        try:
            return x.index_select(0, i)
        except IndexError:
            return x * 100

    return f


@trap(indices)
def caught_after_a_write():
    def f(x, i):
        x.add_(1)
        try:
            y = x.index_select(0, i)
        except IndexError:
            y = x * 100
        return y

    return f


@trap(indices)
def suppressed_value():
    def f(x, i):
        y = x
        with contextlib.suppress(IndexError):
            y = x.index_select(0, i)
        return y

    return f


@trap(indices)
def suppressed_by_a_class():
    class Quiet:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return error[0] is not None

    def f(x, i):
        x.mul_(2)
        y = x
        with Quiet():
            y = x.index_select(0, i)
        return y * 2

    return f


# --- identity ---


class Thing:
    def __init__(self, v):
        self.v = v


def things():
    one = Thing(1)
    return [(t(1), one, one), (t(1), Thing(1), Thing(1)), (t(1), one, Thing(1)), (t(1), one, one)]


TESTS_OF_IDENTITY = {
    "same_object": lambda x, a, b: x * 2 if a is b else x,
    "equal_object": lambda x, a, b: x * 2 if a == b else x,
    "object_in_list": lambda x, a, b: x * 2 if a in [b] else x,
    "objects_as_keys": lambda x, a, b: x * len({a: 1, b: 2}),
    "objects_in_a_set": lambda x, a, b: x * len({a, b}),
    "object_counted": lambda x, a, b: x * [Thing(2), a].count(b),
    "objects_in_tuples": lambda x, a, b: x * 2 if (a, 1) == (b, 1) else x,
    "object_by_id": lambda x, a, b: x * 2 if id(a) == id(b) else x,
}
for _name, _function in TESTS_OF_IDENTITY.items():
    TRAPS[_name] = (lambda function=_function: function), things


@trap(things)
def object_in_a_closure():
    mine = [Thing(0)]

    def f(x, a, b):
        return x * 2 if mine[0] is a else x

    return f


def shared():
    a = t(1, 2)
    return [(a, a), (t(1, 2), t(1, 2)), (a, a.clone()), (a, a)]


@trap(shared)
def same_tensor():
    return lambda a, b: a * 2 if a is b else a + b


def lists():
    one = [1]
    return [(t(1), one, one), (t(1), [1], [1]), (t(1), one, [1])]


@trap(lists)
def same_list():
    return lambda x, a, b: x * 2 if a is b else x


# --- numbers ---


@trap(lambda: [(t(1), 0.0), (t(1), -0.0), (t(1), 0), (t(1), False)])
def zeros():
    return lambda x, z: (x * z, math.copysign(1, z))


@trap(lambda: [(t(1), [float("nan")]), (t(1), [float("nan")]), (t(1), [float("inf")])])
def nans():
    def f(x, z):
        return x * z.pop()

    return f


@trap(lambda: [(t(1), {"a": 1}), (t(1), {"a": True}), (t(1), {"a": 1.0})])
def kinds_of_one():
    return lambda x, d: x.long() * d["a"]


@trap(lambda: [(t(1), {"a": 1, "b": 2}), (t(1), {"b": 2, "a": 1})])
def order_of_keys():
    return lambda x, d: (x, list(d))


# --- frames ---


@trap(three)
def evaluated():
    return lambda x: eval("x * 2")


@trap(three)
def own_locals():
    def f(x):
        y = 2
        return x * locals()["y"]

    return f


@trap(three)
def deleted_name():
    def f(x):
        y = x * 2
        del y
        try:
            return y
        except NameError:
            return x

    return f


# --- the tape ---


@trap(three)
def backward_within():
    def f(x):
        x = x.detach().requires_grad_()
        (x * x).sum().backward()
        return x.grad

    return f


@trap(three)
def gradient_within():
    w = t(1, 1).requires_grad_()
    return lambda x: torch.autograd.grad((w * x).sum(), w)


@trap(three)
def transform_within():
    return lambda x: torch.func.grad(lambda v: (v * v).sum())(x) + torch.vmap(lambda v: v * 2)(x)


@trap(three)
def step_within():
    p = nn.Parameter(t(1, 1))

    def f(x):
        p.grad = None
        (p * x).sum().backward()
        with torch.no_grad():
            p.sub_(p.grad)
        return p.detach().clone()

    return f
