"""Functions of many kinds, for ``test_compile``: each is called several times, compiled and as it is, and must give,
change and print the same both ways. ``make()`` gives a fresh function, ``calls`` makes the arguments of its calls.
"""

import collections
import dataclasses
import typing

import torch

CASES = {}
CAPTURED = set()
SCALE = 2.0
FLAGS = {"twice": True}
LIST = [1, 2]


def case(calls, captured=None):
    """Register a maker of functions; ``captured`` says whether the program is to be captured (None: either)."""

    def register(make):
        CASES[make.__name__] = make, calls, captured
        return make

    return register


def tensors(*shapes, count=3, **options):
    """Arguments of ``count`` calls."""
    return lambda: [tuple(torch.randn(s, **options) for s in shapes) for _ in range(count)]


# --- plain ---


@case(tensors((3, 4)), True)
def pointwise():
    return lambda x: (x.relu() * 2 + x.sigmoid()).sum(0)


@case(tensors((3, 4)), True)
def uses_global():
    def f(x):
        return x * SCALE if FLAGS["twice"] else x

    return f


@case(tensors((3, 4)), True)
def uses_closure():
    k, w = 3, torch.ones(4)

    def f(x):
        return (x + w) * k

    return f


@case(tensors((3, 4)), True)
def default_arguments():
    def f(x, k=2, *, bias=torch.ones(4)):
        return x * k + bias

    return f


@case(lambda: [(torch.randn(3), 2), (torch.randn(3), 3), (torch.randn(3), 2.0), (torch.randn(3), True)], True)
def number_argument():
    return lambda x, k: x * k + k


@case(
    lambda: [
        (torch.randn(3), [torch.ones(3), torch.zeros(3)]),
        (torch.randn(3), [torch.ones(3)] * 2),
        (torch.randn(3), []),
    ],
    True,
)
def list_of_tensors():
    return lambda x, ws: sum([x + w for w in ws], x)


@case(lambda: [({"a": torch.randn(2), "b": torch.randn(2)},), ({"b": torch.randn(2), "a": torch.randn(2)},)], True)
def dict_argument():
    return lambda d: {k: v * i for i, (k, v) in enumerate(d.items())}


Pair = collections.namedtuple("Pair", "left right")


@case(lambda: [(Pair(torch.randn(2), torch.randn(2)),), (Pair(torch.randn(3), 4),)], True)
def named_tuple():
    return lambda p: Pair(p.left * 2, p.right)


class Point(typing.NamedTuple):
    x: torch.Tensor
    n: int = 1


@case(lambda: [(Point(torch.randn(2)),), (Point(torch.randn(2), 2),)], True)
def typed_tuple():
    return lambda p: p._replace(x=p.x * p.n) if False else Point(p.x * p.n, p.n + 1)


@dataclasses.dataclass
class Config:
    scale: float
    weight: torch.Tensor


@case(lambda: [(torch.randn(2), Config(2.0, torch.ones(2))), (torch.randn(2), Config(3.0, torch.ones(2)))], True)
def dataclass_argument():
    return lambda x, c: Config(c.scale + 1, x * c.scale + c.weight)


@case(tensors((2, 3)), True)
def keyword_arguments():
    def inner(a, /, b, *rest, c=1, **more):
        return a + b + sum(rest) + c + more.get("d", 0)

    return lambda x: inner(x, x * 2, x, 3, c=4, d=5)


@case(
    lambda: [
        (torch.randn(2, 3),),
        (torch.randn(4, 3),),
        (torch.randn(2, 5),),
        (torch.randn(2, 3, dtype=torch.float64),),
        (torch.randn(3, 2).t(),),
    ],
    True,
)
def changing_shapes():
    return lambda x: x.reshape(x.size(0), -1) * x.shape[-1] + len(x)


@case(lambda: [(torch.randn(0, 3),), (torch.randn(1, 3),), (torch.randn(2, 3),)], True)
def small_sizes():
    return lambda x: (x + torch.ones(2, 3)[: x.size(0)]).sum()


@case(lambda: [(torch.arange(6),), (torch.arange(6.0),), (torch.arange(6) > 2,)], True)
def changing_dtypes():
    return lambda x: x + 1 if x.dtype != torch.bool else x.logical_not()


@case(lambda: [(torch.randn(3), None), (torch.randn(3), torch.randn(3)), (torch.randn(3), None)], True)
def optional_argument():
    return lambda x, m: x * 2 if m is None else x * m
