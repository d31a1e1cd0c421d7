"""Functions of many kinds, for ``test_compile``: each is called several times, compiled and as it is, and must give,
change and print the same both ways. ``make()`` gives a fresh function, ``calls`` makes the arguments of its calls.
"""

import collections
import contextlib
import dataclasses
import enum
import functools
import typing

import torch
from torch import nn
from torch.nn import functional as F

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


# --- values and effects ---


@case(lambda: [(torch.ones(3),), (-torch.ones(3),)], False)
def branch_on_value():
    return lambda x: x * 2 if x.sum() > 0 else x - 1


@case(lambda: [(torch.ones(3) * n,) for n in (1, 2, 3)], False)
def item():
    return lambda x: x + x.sum().item()


@case(lambda: [(torch.ones(3) * n,) for n in (1, 2, 3)], False)
def index_by_value():
    return lambda x: [10, 20, 30, 40][x[0].long()] + x


@case(lambda: [(torch.tensor([1.0, -1.0, 2.0]),), (torch.tensor([1.0, 1.0, 2.0]),)], False)
def mask():
    return lambda x: x[x > 0].shape[0] * x


@case(lambda: [(torch.tensor([1.0, 0.0, 2.0]),), (torch.tensor([1.0, 1.0, 2.0]),)], False)
def nonzero_shape():
    return lambda x: x * x.nonzero().shape[0]


@case(lambda: [(torch.tensor([1.0, 0.0]), torch.ones(2)), (torch.ones(2), torch.ones(2))], False)
def equal_values():
    return lambda x, y: x * 2 if torch.equal(x, y) else x


@case(lambda: [(torch.tensor([1.0]), torch.ones(1)), (torch.ones(1) * 3, torch.ones(1))], False)
def maximum_of_python():
    return lambda x, y: max(x, y) * 2


@case(lambda: [(torch.ones(2) * n,) for n in (1, 2)], False)
def formatted():
    return lambda x: (x, f"{x.sum():.1f}")


@case(lambda: [(torch.ones(2) * n,) for n in (1, 2)], False)
def to_list():
    return lambda x: x + len([v for v in x.tolist() if v > 1])


@case(tensors((2,)), False)
def prints():
    def f(x):
        print("called")
        return x + 1

    return f


@case(tensors((2,)), False)
def counter():
    class Counter:
        n = 0

    c = Counter()

    def f(x):
        c.n += 1
        return x + c.n

    return f


@case(tensors((2,)), False)
def counts_in_closure():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x + n

    return f


@case(tensors((2,)), False)
def appends_outside():
    seen = []

    def f(x):
        seen.append(len(seen))
        return x + len(seen)

    return f


@case(tensors((2,)), False)
def changes_a_default():
    def f(x, cache={}):  # noqa: B006
        cache[len(cache)] = 1
        return x + len(cache)

    return f


@case(tensors((2,)), False)
def augments_a_list():
    seen = [1]

    def f(x):
        mine = seen
        mine += [1]
        return x + len(seen)

    return f


@case(tensors((2,)), True)
def own_list():
    def f(x):
        mine = []
        for i in range(3):
            mine.append(x * i)
        mine += [x]
        mine[0] = x - 1
        return torch.stack(mine), mine

    return f


@case(lambda: [([torch.ones(2)],), ([torch.ones(2)],)], False)
def fills_an_argument():
    def f(xs):
        xs.append(xs[0] + 1)
        return xs

    return f


@case(tensors((2,)), None)
def generator():
    def f(x):
        def each():
            for i in range(3):
                yield x * i

        return sum(each())

    return f


@case(tensors((2,)), None)
def generator_argument():
    def f(x):
        return torch.stack([v + 1 for v in (x * i for i in range(3))])

    return f


@case(tensors((4,)), True)
def recursion():
    def f(x, depth=3):
        return x if depth == 0 else f(x * 2, depth - 1) + 1

    return f


@case(tensors((4,)), True)
def higher_order():
    def apply(g, x, n):
        for _ in range(n):
            x = g(x)
        return x

    return lambda x: apply(lambda v: v * 2 + 1, x, 3) + apply(torch.relu, x, 1)


@case(tensors((4,)), True)
def partial_function():
    def g(a, b, c):
        return a * b + c

    return functools.partial(g, c=2, b=3)


@case(tensors((4,)), True)
def caught_exception():
    def f(x):
        try:
            raise ValueError("no")
        except ValueError as e:
            return x + len(str(e))
        finally:
            x = x * 2

    return f


@case(tensors((2, 2)), True)
def string_methods():
    def f(x):
        name = ["a", "b", "c"]
        return {n.upper(): x * i for i, n in enumerate(name)}, "-".join(name)

    return f


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@case(lambda: [(torch.ones(2), Color.RED), (torch.ones(2), Color.BLUE), (torch.ones(2), Color.RED)], True)
def enum_argument():
    return lambda x, c: x * c.value if c is Color.RED else x - c.value


class Box:
    def __init__(self, value):
        self.value = value

    @property
    def double(self):
        return self.value * 2

    def plus(self, x):
        return x + self.value

    @classmethod
    def of(cls, x):
        return cls(x)

    @staticmethod
    def minus(x):
        return x - 1


@case(lambda: [(torch.ones(2), Box(2)), (torch.ones(2), Box(2)), (torch.ones(2), Box(3))], True)
def object_argument():
    return lambda x, b: b.plus(x) * b.double + Box.of(x).value + Box.minus(x)


@case(lambda: [(torch.ones(2), b) for b in (Box(1), Box(2))], None)
def object_identity():
    seen = []

    def f(x, b):
        return x + 1 if any(b is s for s in seen) else x

    def g(x, b):
        out = f(x, b)
        seen.append(b)
        return out

    return f


# --- modes ---


@case(lambda: [(torch.randn(3, requires_grad=True),), (torch.randn(3),), (torch.randn(3, requires_grad=True),)], True)
def no_grad_within():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y + x, y, torch.is_grad_enabled()

    return f


@case(lambda: [(torch.randn(3, requires_grad=True),)] * 2, True)
def no_grad_decorator():
    @torch.no_grad()
    def g(x):
        return x * 2

    return lambda x: g(x) + x


@case(tensors((3, 4)), True)
def dropout():
    return lambda x: F.dropout(x, 0.5, True) + torch.rand(4) + torch.randn_like(x)


@case(tensors((3, 4)), False)
def seeds():
    def f(x):
        torch.manual_seed(3)
        return x + torch.rand(4)

    return f


@case(tensors((3, 4)), False)
def own_generator():
    g = torch.Generator().manual_seed(1)
    return lambda x: x + torch.rand(4, generator=g)


@case(tensors((3, 4)), None)
def nullcontext():
    def f(x):
        with contextlib.nullcontext():
            return x + 1

    return f


# --- in place, views and aliases ---


@case(tensors((3, 4)), True)
def in_place_on_input():
    def f(x):
        x.mul_(2)
        x[0] = 7
        x[:, 1] += 1
        return x.sum()

    return f


@case(tensors((3, 4)), True)
def returns_its_input():
    return lambda x: (x, x.add_(1), x.view(-1), x[0])


@case(tensors((3, 4)), True)
def same_output_twice():
    def f(x):
        y = x + 1
        return y, y, [y], y.t()

    return f


@case(lambda: [(x, x) for x in [torch.ones(2, 2)] * 2] + [(torch.ones(2, 2), torch.ones(2, 2))] * 2, True)
def one_tensor_twice():
    def f(a, b):
        a.add_(1)
        return a + b, a is b

    return f


@case(lambda: [(x, x[0]) for x in [torch.ones(2, 2), torch.ones(2, 2)]] + [(torch.ones(2, 2), torch.ones(2))], True)
def overlapping_inputs():
    def f(a, b):
        a.mul_(3)
        return b + 1

    return f


@case(tensors((3,)), True)
def fresh_constant():
    def f(x):
        c = torch.tensor([1.0, 2.0, 3.0])
        c += 1
        return x + c, c

    return f


@case(tensors((3,)), None)
def writes_to_captured():
    total = torch.zeros(3)

    def f(x):
        total.add_(x.detach())
        return total * 2

    return f


@case(tensors((3,)), False)
def sets_grad_flag():
    def f(x):
        y = x * 2
        y.requires_grad_()
        return y.requires_grad, y

    return f


@case(tensors((3,)), False)
def data_attribute():
    def f(x):
        x.data.add_(1)
        return x * 2

    return f


@case(tensors((2, 3), (3, 4)), True)
def summed_products():
    return lambda a, b: torch.einsum("ij,jk->ik", a, b)


# --- modules ---


@case(tensors((2, 3)), True)
def linear():
    return nn.Linear(3, 4)


@case(tensors((4, 3)), True)
def batch_norm():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.3))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 2)})
        self.register_buffer("count", torch.zeros(()))
        self.scale = nn.Parameter(torch.ones(3))
        self.__private = 2

    def forward(self, x, head="a"):
        self.count += 1
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) * self.scale + i
        x = super().__getattribute__("heads")[head](x) if False else self.heads[head](x)
        return x * self.__private if self.training else x


@case(lambda: [(torch.randn(2, 3),), (torch.randn(2, 3), "b"), (torch.randn(2, 3),)], True)
def module_tree():
    return Layers()


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@case(tensors((2, 3)), False)
def module_counter():
    return Counted()


@case(tensors((2, 3)), False)
def module_hook():
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    m[0].register_forward_hook(lambda module, args, out: out * 2)
    return m


class Child(Layers):
    def forward(self, x):
        return super().forward(x) + 1


@case(tensors((2, 3)), True)
def super_call():
    return Child()


@case(tensors((5, 2, 4)), None)
def lstm():
    m = nn.LSTM(4, 3, 2)
    return lambda x: m(x)


@case(tensors((5, 2, 8)), True)
def transformer():
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1)


@case(lambda: [(torch.randn(2, 5), torch.tensor([1, 3])) for _ in range(2)], True)
def loss():
    m = nn.CrossEntropyLoss(label_smoothing=0.1)
    return lambda x, y: m(x, y) + F.mse_loss(x, x * 2)


@case(lambda: [(torch.randn(1, 3, 8, 8),)] * 2, True)
def convolution():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())


@case(lambda: [(torch.tensor([[1, 2], [3, 4]]),)] * 2, True)
def embedding():
    return nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3))


@case(tensors((2, 3)), None)
def nested_compile():
    inner = torch.compile(lambda x: x * 2)
    return lambda x: inner(x) + inner(x + 1)


@case(tensors((2, 3)), False)
def disabled_within():
    @torch.compiler.disable
    def inner(x):
        return x * 2

    return lambda x: inner(x) + 1


@case(tensors((2, 3)), None)
def custom_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return lambda x: Double.apply(x) + 1


@case(lambda: [(torch.zeros(3, 3),), (torch.eye(3),), (torch.zeros(3, 3),)], False)
def caught_error_of_an_operator():
    def f(x):
        try:
            return torch.linalg.inv(x)
        except RuntimeError:
            return x - 1

    return f


@case(lambda: [(torch.tensor(1.0),), (torch.tensor(2.0),)], False)
def tensor_in_the_place_of_a_number():
    return lambda t: torch.full((3,), t)


@case(lambda: [(torch.ones(4), torch.tensor(1)), (torch.ones(4), torch.tensor(3))], False)
def tensor_as_an_index():
    def f(x, i):
        x = x * 2
        x[i] = 7
        return x, x[i]

    return f
