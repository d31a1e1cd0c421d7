"""Calls of the operators that nobody wrote any for: arguments are drawn from what the schema's types and names suggest
until the CPU accepts them."""

import functools
import random
import re
import zlib

import torch
from torch import _C

TRIES, WANTED = 400, 3
SHAPES = [(3, 3), (4,), (2, 3, 3), (), (1, 2, 4, 4), (3, 4), (1, 1, 4, 4, 4), (2, 3)]
DTYPES = [torch.float32] * 5 + [torch.float64, torch.complex64, torch.int64, torch.bool, torch.uint8]
INDICES = re.compile(r"ind|target|^order|bounds|sorter|rows|columns|^at$|winners|places|pivots|repeats")
MASKS = re.compile(r"mask|condition")
WORDS = {
    "reduce": ["sum", "prod", "mean", "amax", "add", "multiply"],
    "mode": ["constant", "reflect", "reduced", "complete", "r", "trunc", "floor"],
    "indexing": ["ij", "xy"],
    "interpolation": ["linear", "nearest"],
    "equation": ["ij,jk->ik", "ij->ji", "i,i->", "ij->"],
    "approximate": ["none", "tanh"],
    "uplo": ["L"],
    "rounding_mode": ["trunc", "floor"],
    "padding": ["valid", "same"],
}


def parameters(schema):
    head = schema.partition("(")[2].rpartition(") -> ")[0]
    keyword_only = False
    for text in re.split(r",\s*(?![^\[]*\])", head) if head else []:
        if text.strip() == "*":
            keyword_only = True
            continue
        kind, name = text.strip().rsplit(" ", 1)
        name, _, default = name.partition("=")
        yield re.sub(r"\([a-z]!?\)", "", kind), name, default, keyword_only


class Draw:
    def __init__(self, name, n):
        self.random = random.Random(zlib.crc32(name.encode()) + n)
        self.generator = torch.Generator()
        self.generator.manual_seed(n)
        self.shape = self.random.choice(SHAPES)
        self.dtype = self.random.choice(DTYPES)
        self.same = self.random.random() < 0.6

    def tensor(self, name):
        shape = self.shape if self.same or self.random.random() < 0.4 else self.random.choice(SHAPES)
        if MASKS.search(name):
            return torch.rand(shape, generator=self.generator) < 0.5
        if INDICES.search(name):
            return torch.randint(2, shape, generator=self.generator)
        x = torch.rand(shape, generator=self.generator, dtype=torch.float64) + 0.1
        if self.dtype.is_floating_point or self.dtype.is_complex:
            return x.to(self.dtype)
        return (x * 2).to(self.dtype)

    def value(self, kind, name):
        kind = kind.rstrip("?")
        choose = self.random.choice
        if kind == "Tensor":
            return self.tensor(name)
        if kind == "Number":
            return self.tensor(name) if self.random.random() < 0.8 else choose([2.0, 1, 0.5])
        if kind.startswith("Tensor["):
            return [self.tensor(name) for _ in range(choose([1, 2, 3]))]
        if kind == "Tensor?[]":
            return [self.tensor("index")]
        if kind.startswith("int["):
            return list(
                choose([(1,), (0,), (2,), (-1,), (1, 1), (0, 1), (2, 2), (3, 3), (1, 1, 1), (4, 4), self.shape, ()])
            )
        return {
            "int": lambda: choose([0, 1, 2, -1, 3]),
            "bool": lambda: choose([True, False]),
            "float": lambda: choose([0.5, 1.0, 2.0]),
            "Scalar": lambda: choose([2, 0.5, 1]),
            "str": lambda: choose(WORDS.get(name, ["sum", "constant", "floor", "reduced", "L", "fro", "nuc"])),
            "dtype": lambda: choose([torch.float32, torch.float64]),
            "device": lambda: None,
            "generator": lambda: None,
            "layout": lambda: None,
            "memory_format": lambda: torch.contiguous_format,
        }[kind]()


def drawn(schema, n):
    draw = Draw(schema.partition("(")[0], n)
    args, kwargs = [], {}
    for kind, name, default, keyword_only in parameters(schema):
        if default and (kind.rstrip("?") in ("device", "generator", "layout") or draw.random.random() < 0.6):
            keyword_only = True
            continue
        if keyword_only:
            kwargs[name] = draw.value(kind, name)
        else:
            args.append(draw.value(kind, name))
    return args, kwargs


def is_factory(schema):
    """Whether it makes a tensor on a device that it is told."""
    return "device? device" in schema


def has_tensor(x):
    return isinstance(x, torch.Tensor) or (isinstance(x, (list, tuple)) and any(map(has_tensor, x)))


def copied(x):
    if isinstance(x, torch.Tensor):
        return x.clone()
    return type(x)(map(copied, x)) if isinstance(x, (list, tuple)) else x


@functools.cache
def found_calls(schema):
    """Up to three calls that the CPU accepts."""
    operator, found = _C._operator(schema.partition("(")[0]), []
    for n in range(TRIES):
        args, kwargs = drawn(schema, n)
        if not has_tensor([*args, *kwargs.values()]) and not is_factory(schema):
            continue
        try:
            operator(*map(copied, args), **{k: copied(v) for k, v in kwargs.items()})
        except Exception:
            continue
        found.append(lambda _, args=args, kwargs=kwargs: (tuple(map(copied, args)), dict(kwargs)))
        if len(found) == WANTED:
            break
    return found
