"""Functions that look as if they could be captured, and would give another result if they were (or if something they read
were not guarded). ``make()`` gives a fresh function, ``calls()`` the arguments of its calls.
"""

import collections
import functools
import itertools
import operator
import os
import random
import threading

import torch
from torch import nn

TRAPS = {}
LOG = []


def trap(calls):
    """Register a maker of functions."""

    def register(make):
        TRAPS[make.__name__] = make, calls
        return make

    return register


def t(*values):
    return torch.tensor([float(v) for v in values])


def three():
    return [(t(1, 2),), (t(3, 4),), (t(5, 6),)]


# --- state outside ---


@trap(three)
def bound_method_that_counts():
    class A:
        n = 0

        def f(self, x):
            self.n += 1
            return x * self.n

    return A().f


@trap(three)
def instance_that_grows():
    class A:
        def __init__(self):
            self.items = [1]

        def __call__(self, x):
            self.items.append(1)
            return x * len(self.items)

    return A()


@trap(three)
def bound_append():
    items = []
    add = items.append

    def f(x):
        add(1)
        return x + len(items)

    return f


@trap(three)
def operator_in_place():
    items = [1]

    def f(x):
        operator.iadd(items, [1])
        return x + len(items)

    return f


@trap(three)
def iterator():
    it = iter(range(10))
    return lambda x: x + next(it)


@trap(three)
def endless_counter():
    c = itertools.count()
    return lambda x: x + next(c)


@trap(three)
def generator_outside():
    def count():
        n = 0
        while True:
            n += 1
            yield n

    it = count()
    return lambda x: x + next(it)


@trap(three)
def random_of_python():
    return lambda x: x + random.random()


@trap(three)
def cached_function():
    calls = []

    @functools.lru_cache
    def g(n):
        calls.append(n)
        return n

    return lambda x: x + g(3) + len(calls)


@trap(three)
def code_without_source():
    space = {"torch": torch, "K": 1}
    exec("def f(x):\n  return x * K", space)
    f = space["f"]

    def g(x):
        out = f(x)
        space["K"] += 1
        return out

    return g


@trap(three)
def environment():
    os.environ["TORCH_TRAP"] = "0"

    def f(x):
        n = int(os.environ["TORCH_TRAP"])
        os.environ["TORCH_TRAP"] = str(n + 1)
        return x + n

    return f


@trap(three)
def local_of_thread():
    here = threading.local()
    here.n = 0

    def f(x):
        here.n += 1
        return x + here.n

    return f


@trap(three)
def default_dict():
    d = collections.defaultdict(int)

    def f(x):
        d["a"]
        n = len(d)
        d2 = d.copy()
        return x + n + len(d2)

    return f


@trap(three)
def class_that_counts():
    class A:
        n = 0

    def f(x):
        A.n += 1
        return x + A.n

    return f


@trap(three)
def descriptor():
    class D:
        def __get__(self, owner, kind):
            owner.n += 1
            return owner.n

    class A:
        d = D()

        def __init__(self):
            self.n = 0

    a = A()
    return lambda x: x * a.d


@trap(three)
def property_that_counts():
    class A:
        n = 0

        @property
        def d(self):
            self.n += 1
            return self.n

    a = A()
    return lambda x: x * a.d


@trap(three)
def attribute_on_demand():
    class A:
        def __getattr__(self, name):
            LOG.append(name)
            return len(LOG)

    LOG.clear()
    a = A()
    return lambda x: x * a.foo


@trap(three)
def operators_of_a_class():
    class A:
        n = 0

        def __radd__(self, other):
            A.n += 1
            return other * A.n

    a = A()
    return lambda x: 5 + a + x


@trap(three)
def truth_of_a_class():
    class A:
        n = 0

        def __bool__(self):
            A.n += 1
            return A.n % 2 == 0

    a = A()
    return lambda x: x if a else x * 2


@trap(three)
def counter_in_a_closure():
    n = [0]

    def inc():
        n[0] += 1
        return n[0]

    return lambda x: x * inc()


@trap(three)
def module_that_caches():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = None

        def forward(self, x):
            if self.cache is None:
                self.cache = x * 2
            return x + self.cache

    return Net()


@trap(three)
def setattr_by_name():
    class A:
        n = 1

    a = A()

    def f(x):
        setattr(a, "n", a.n + 1)  # noqa: B010
        return x * a.n

    return f


@trap(three)
def sleeping_list():
    items = [[1]]

    def f(x):
        for inner in items:
            inner += [1]
        return x * len(items[0])

    return f


@trap(three)
def append_by_map():
    items = []

    def f(x):
        list(map(items.append, [1, 2]))
        return x * len(items)

    return f


@trap(three)
def append_by_reduce():
    items = []

    def f(x):
        functools.reduce(lambda a, b: a, map(items.append, [1, 2]))
        return x * len(items)

    return f


@trap(three)
def dunder_in_place():
    items = [1]

    def f(x):
        items.__iadd__([1])
        return x * len(items)

    return f


@trap(three)
def method_of_the_class():
    items = [1]

    def f(x):
        list.append(items, 1)
        return x * len(items)

    return f


@trap(three)
def set_by_object():
    class A:
        n = 1

    a = A()

    def f(x):
        object.__setattr__(a, "n", a.n + 1)
        return x * a.n

    return f


@trap(three)
def dict_of_an_object():
    class A:
        n = 1

    a = A()

    def f(x):
        a.__dict__["n"] = a.n + 1
        return x * a.n

    return f
