"""Functions that read values and change what was there before (``compile_cases``)."""

import enum
import functools

import torch
from compile_cases import case, tensors

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


@case(lambda: [([torch.ones(2)],), ([torch.ones(2)],)], True)
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
