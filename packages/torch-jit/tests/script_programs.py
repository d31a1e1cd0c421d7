# ruff: noqa
"""Programs of many kinds: a function and its arguments.  The tests run them as they are and compiled; ``scripts.json`` holds
which of them PyTorch compiles, and what they give there."""

import math
from enum import Enum
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

PROGRAMS = {}


def program(*args):
    def register(fn):
        PROGRAMS[fn.__name__] = fn, args
        return fn

    return register


def ramp(*shape):
    n = 1
    for each in shape:
        n *= each
    return torch.arange(n, dtype=torch.float32).reshape(shape) / 4 - 1


class Color(Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: Tensor
    n: int


# -- control flow ---------------------------------------------------------------------------------------------------------


@program(ramp(3), 7)
def leaves_loops_everywhere(x, n: int):
    y = x
    for i in range(n):
        if bool(y.sum() > 10):
            y = y * 0.5
            continue
        if i == 5:
            return y
        y = y + 1
        if i > 20:
            break
    return y


@program(5)
def returns_from_branches(n: int) -> int:
    if n > 10:
        return 1
    elif n > 3:
        if n == 5:
            return 7
        n += 1
    else:
        n = 0
    return n


@program(17)
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program(4)
def nested_loops_with_break(n: int) -> list[int]:
    found: list[int] = []
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if (i + j) % 2 == 1:
                continue
            found.append(i * 10 + j)
    return found


@program(3)
def returns_from_nested_loops(n: int) -> tuple[int, int]:
    for i in range(100):
        for j in range(i):
            if i * j > n * n:
                return i, j
    return -1, -1


@program(10)
def endless_loop(n: int) -> int:
    i = 0
    while True:
        i += 1
        if i * i > n:
            return i


@program(ramp(4))
def loop_changes_a_tensor(x):
    i = 0
    while i < 3 and bool(x.sum() < 100):
        x = x * 2 + i
        i += 1
    return x


@program(2)
def variable_of_a_break(n: int) -> int:
    y = 0
    for i in range(5):
        if i == n:
            y = 50
            break
        y = i
    return y


@program(3)
def ternaries(n: int) -> int:
    a = 1 if n > 2 else 2
    return a if n < 0 else a + (10 if n == 3 else 20)


@program(3, 4, 5)
def comparisons_in_chains(a: int, b: int, c: int) -> bool:
    return (a < b < c and not (c < b <= a)) or a == c


@program(0)
def shortcuts(n: int) -> bool:
    return n != 0 and 10 // n > 1


@program(6)
def ranges(n: int) -> list[int]:
    found: list[int] = []
    for i in range(1, n):
        found.append(i)
    for i in range(n, 0, -2):
        found.append(i)
    return found


# -- containers -------------------------------------------------------------------------------------------------------------


@program([3, 1, 2])
def lists(xs: list[int]) -> list[int]:
    xs = xs + [7]
    xs.append(5)
    xs.extend([9, 8])
    xs.insert(0, 4)
    last = xs.pop()
    xs.sort()
    xs[0] = last
    return xs[1:] + [len(xs), xs[-1], xs.index(4)]


@program({"a": 1, "b": 2})
def dicts(d: dict[str, int]) -> tuple[list[str], int]:
    d["c"] = 3
    total = 0
    for k in d:
        total += d[k]
    names: list[str] = []
    for k, v in d.items():
        if v > 1:
            names.append(k)
    return names, total + d.get("z", 100) + len(d)


@program([1, 2, 3])
def comprehensions(xs: list[int]) -> list[int]:
    ys = [x * x for x in xs]
    zs = [x for x in ys if x > 2]
    return ys + zs + [i for i in range(2)]


@program([1.0, 2.0], ["a", "b"])
def enumerate_and_zip(xs: list[float], names: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for i, (x, name) in enumerate(zip(xs, names)):
        found[name] = x * i
    return found


@program((1, 2.5, "a"))
def tuples(t: tuple[int, float, str]) -> tuple[str, int]:
    a, b, c = t
    return c + t[2], a + int(b)


@program(ramp(2, 3))
def named_tuples(x) -> Tensor:
    p = Point(x, 3)
    q = Point(n=2, x=p.x + 1)
    return p.x * p.n + q.x * q[1]


@program(ramp(2, 3))
def gives_a_named_tuple(x) -> Point:
    return Point(x + 1, 4)


@program(2)
def enums(n: int) -> int:
    c = Color.RED
    if n == 2:
        c = Color.BLUE
    if c == Color.BLUE:
        return c.value + 10
    return 0


@program([[1, 2], [3]])
def lists_of_lists(xs: list[list[int]]) -> int:
    total = 0
    for inner in xs:
        for x in inner:
            total += x
    return total


# -- None -------------------------------------------------------------------------------------------------------------------


@program(ramp(3), None)
def optional_argument(x, mask: Tensor | None = None):
    if mask is None:
        return x
    return x * mask


@program(ramp(3), ramp(3))
def optional_refined_in_condition(x, mask: Tensor | None):
    if mask is not None and mask.dim() == 1:
        x = x + mask
    y = mask if mask is not None else x
    return x + y


@program(None, 3)
def optional_number(a: int | None, b: int) -> int:
    if a is None:
        a = b
    return a + b


@program(ramp(3), None)
def asserts_refine(x, mask: Tensor | None):
    if mask is None:
        mask = x
    assert mask is not None
    return mask + 1


@program(ramp(4, 2))
def annotated_none_first(x):
    hidden: Tensor | None = None
    for i in range(x.size(0)):
        if hidden is None:
            hidden = x[i]
        else:
            hidden = hidden * 0.5 + x[i]
    assert hidden is not None
    return hidden


@program(3)
def unions(x: int | str) -> int:
    if isinstance(x, int):
        return x + 1
    return 0


# -- tensors ------------------------------------------------------------------------------------------------------------------


@program(ramp(4, 5, 6))
def subscripts(x):
    a = x[0] + x[-1]
    b = x[1:3, ::2, 3]
    c = x[..., 0]
    d = x[:, None].sum()
    e = x[0, 1, 2]
    return a.sum() + b.sum() + c.sum() + d + e


@program(ramp(4, 5), torch.tensor([0, 2]))
def advanced_subscripts(x, i):
    return x[i] + x[:, i].sum() + x[x > 0].sum() + x[i, i].sum()


@program(ramp(3, 4))
def assigns_elements(x):
    x = x.clone()
    x[0] = 1
    x[1:, 2] = x[0, :2]
    x[x > 1] = 0.5
    x[2, 3] += 2
    return x


@program(ramp(3), ramp(3))
def augmented(x, y):
    x = x + 0
    x += y
    x *= 2
    x -= 1
    x /= 3
    n = 5
    n -= 2
    n *= 3
    n //= 2
    return x + n


@program(ramp(2, 3))
def numbers_with_tensors(x):
    return 2 - x + 3 * x / (1 + x.abs()) + 1 / (x + 10) + 2**x + (-x) - (x > 0).float() + x % 2 + x // 2


@program(ramp(2, 3))
def shapes(x):
    b, c = x.shape
    s = x.size()
    return x.reshape(c, b) * s[0] + x.view(-1, 2).size(0) + x.dim() + len(x) + x.numel() + x.shape[-1]


@program(ramp(6))
def split_and_chunk(x):
    a, b = x.chunk(2)
    total = a + b
    for part in x.split(3):
        total = total + part
    for part in torch.split(x, 2):
        total = total + part.sum()
    return total


@program(ramp(2, 3))
def dtypes_and_devices(x):
    y = torch.zeros(2, 3, dtype=x.dtype, device=x.device)
    z = x.to(torch.float64) if x.dtype == torch.float32 else x
    return y + z.float() + torch.ones_like(x) + torch.tensor([1.0, 2.0, 3.0])


@program(ramp(2, 3))
def several_results(x):
    values, indices = x.max(dim=1)
    v2, i2 = torch.topk(x, 2, dim=1)
    return values + indices, v2 + i2


@program(ramp(2, 4), ramp(3, 4), ramp(3))
def functionals(x, w, b):
    h = F.linear(x, w, b)
    h = F.relu(h) + F.softmax(h, dim=-1) + F.gelu(h) + F.leaky_relu(h, 0.1)
    h = F.dropout(h, 0.5, training=False)
    return F.layer_norm(h, [3]) + F.log_softmax(h, dim=1)


@program(ramp(1, 2, 6, 6), ramp(3, 2, 3, 3))
def convolutions(x, w):
    y = F.conv2d(x, w, stride=1, padding=1)
    y = F.max_pool2d(y, 2) + F.avg_pool2d(y, 2)
    return F.adaptive_avg_pool2d(y, (1, 1)).flatten(1)


@program(ramp(3, 4), torch.tensor([0, 3, 1]))
def losses(x, target):
    return (
        F.cross_entropy(x, target)
        + F.nll_loss(F.log_softmax(x, 1), target)
        + F.mse_loss(x, x * 0.5)
        + F.l1_loss(x, x + 1)
    )


@program(ramp(3, 4))
def padding(x):
    return F.pad(x, (1, 2)) + F.pad(x, [1, 2], value=1.0)


@program(ramp(3))
def without_gradients(x):
    with torch.no_grad():
        y = x * 2
    return y + x


@program(ramp(3, 3))
def conversions(x) -> tuple[int, float, bool]:
    return int(x.sum()), float(x[0, 0]), bool(x[0, 1] > 0)


@program([ramp(2), ramp(2)])
def lists_of_tensors(xs: list[Tensor]):
    total = torch.zeros(2)
    for x in xs:
        total = total + x
    return torch.stack(xs).sum(0) + torch.cat(xs)[:2] + total


# -- texts, numbers -----------------------------------------------------------------------------------------------------------


@program(3, 2.5)
def texts(n: int, f: float) -> str:
    s = "n=%d" % n + " f={}".format(f) + f" both {n} {f}"
    return s.upper() + str(n) + "x" * 2


@program("hello world")
def methods_of_texts(s: str) -> list[str]:
    parts = s.split(" ")
    if s.startswith("hell") and "wor" in s:
        parts.append(s[1:3] + s.replace("o", "0"))
    return parts


@program(7, 2)
def integers(a: int, b: int) -> tuple[int, int, float, int, int, int]:
    return a // b, a % b, a / b, a**b, -a // b, (a & b) | (a ^ 3)


@program(2.0)
def mathematics(x: float) -> float:
    return math.sqrt(x) + math.exp(x) + math.pi + abs(-x) + max(x, 3.0) + min(1, 2) + float("inf") * 0.0 + round(2.6)


@program(7)
def asserts(n: int) -> int:
    assert n > 0, f"n is {n}"
    assert n < 100
    return n


@program(-1)
def raises(n: int) -> int:
    if n < 0:
        raise ValueError(f"n is negative: {n}")
    return n


# -- functions ----------------------------------------------------------------------------------------------------------------


def helper(x, n: int = 2, *, scale: float = 1.0):
    return x * n * scale


def untyped_pair(x, y):
    return x + y, x - y


@program(ramp(3))
def calls_functions(x):
    a, b = untyped_pair(helper(x), helper(x, 3, scale=0.5))
    return helper(a, n=4) + b


def factorial(n: int) -> int:
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@program(5)
def recursion(n: int) -> int:
    return factorial(n)


@program(ramp(3), 2)
def type_comments(x, n, ys=None):
    # type: (Tensor, int, Optional[List[int]]) -> Tensor
    zs = []  # type: List[int]
    if ys is not None:
        zs = ys
    return x * n + len(zs)


@program(ramp(3))
def annotates(x):
    found = torch.jit.annotate(list[int], [])
    for i in range(3):
        found.append(i)
    return x + found[2]


@program(3, True)
def isinstance_of_types(n: int, flag: bool) -> int:
    if isinstance(n, int) and isinstance(flag, bool):
        n = n + 1
    if torch.jit.is_scripting():
        n = n + 0
    return n
