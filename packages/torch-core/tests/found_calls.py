"""Calls of every operator, found by trying: arguments are drawn from what the schema's types and names suggest until the
CPU accepts them. For tests that ask the same of every row and need no particular values.
"""

import functools
import random
import re
import zlib

import torch
from rows import ROWS

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


def r(*shape):
    return torch.rand(shape, generator=torch.Generator()) + 0.1


def places(high, *shape):
    return torch.randint(high, shape, generator=torch.Generator())


def call(*args, **kwargs):
    return list(args), kwargs


#: What nobody finds by trying.
WRITTEN = {
    "native_batch_norm": [lambda: call(r(3, 2, 4), r(2), r(2), r(2), r(2), True, 0.1, 1e-5)],
    "native_batch_norm_backward": [
        lambda: call(r(3, 2, 4), r(3, 2, 4), r(2), r(2), r(2), r(2), r(2), True, 1e-5),
    ],
    "batch_norm": [
        lambda: call(r(3, 2, 4), r(2), r(2), r(2), r(2), train, 0.1, 1e-5, False) for train in (True, False)
    ],
    "native_layer_norm_backward": [lambda: call(r(2, 3), r(2, 3), [3], r(2, 1), r(2, 1), r(3), r(3))],
    "instance_norm": [lambda: call(r(3, 2, 4), r(2), r(2), None, None, True, 0.1, 1e-5, False)],
    "nll_loss_forward": [lambda: call(r(4, 3), places(3, 4), r(3), 1, -100)],
    "nll_loss_backward": [lambda: call(r().reshape(()), r(4, 3), places(3, 4), None, 1, -100, torch.tensor(4.0))],
    "nll_loss": [lambda: call(r(4, 3), places(3, 4))],
    "cross_entropy": [lambda: call(r(4, 3), places(3, 4)), lambda: call(r(4, 3), r(4, 3), label_smoothing=0.1)],
    "addmv": [lambda: call(r(3), r(3, 2), r(2))],
    "addmv_": [lambda: call(r(3), r(3, 2), r(2))],
    "addr_": [lambda: call(r(3, 2), r(3), r(2))],
    "addbmm": [lambda: call(r(3, 4), r(2, 3, 2), r(2, 2, 4))],
    "addbmm_": [lambda: call(r(3, 4), r(2, 3, 2), r(2, 2, 4))],
    "linalg_lu_solve": [lambda: call(r(3, 3), torch.tensor([1, 2, 3], dtype=torch.int32), r(3, 2))],
    "lu_solve": [lambda: call(r(3, 2), r(3, 3), torch.tensor([1, 2, 3], dtype=torch.int32))],
    "_lu_permutation": [lambda: call(torch.tensor([1, 2, 3], dtype=torch.int32), 3)],
    "householder_product": [lambda: call(r(4, 3), r(3))],
    "ormqr": [lambda: call(r(4, 3), r(3), r(4, 2))],
    "_linalg_lstsq": [lambda: call(r(4, 3), r(4, 2), 1e-6, "gelsd")],
    "ldl_solve": [lambda: call(r(3, 3), torch.tensor([1, 2, 3], dtype=torch.int32), r(3, 2))],
    "view_as_complex": [lambda: call(r(3, 2))],
    "diagonal_backward": [lambda: call(r(3), [3, 4], 0, 0, 1)],
    "diagonal_scatter": [lambda: call(r(3, 4), r(3))],
    "convolution": [
        lambda: call(r(2, 3, 7), r(4, 3, 3), r(4), [2], [1], [1], False, [0], 1),
        lambda: call(r(2, 3, 4), r(3, 2, 3), r(2), [2], [1], [1], True, [1], 1),
    ],
    "convolution_backward": [
        lambda: call(r(2, 4, 4), r(2, 3, 7), r(4, 3, 3), [2], [1], [1], False, [0], 1, True, True, True)
    ],
    "conv_transpose1d": [lambda: call(r(2, 3, 4), r(3, 2, 3), r(2))],
    "conv_transpose2d": [lambda: call(r(2, 3, 4, 4), r(3, 2, 3, 3), r(2))],
    "conv_tbc": [lambda: call(r(5, 2, 3), r(3, 3, 4), r(4))],
    "max_pool_backward": [lambda: call(r(1, 2, 3), places(3, 1, 2, 3).to(torch.uint8), [6], [3], [2], [1], [1])],
    "max_pool_gather": [lambda: call(r(1, 2, 6), places(2, 1, 2, 3).to(torch.uint8), [3], [2], [1], [1])],
    "max_pool_indices": [lambda: call(places(2, 1, 2, 3).to(torch.uint8), [6], [3], [2], [1], [1])],
    "stft": [
        lambda: call(r(64), 16, return_complex=True),
        lambda: call(r(2, 64), 16, window=r(16), return_complex=True),
    ],
    "istft": [lambda: call(torch.complex(r(9, 17), r(9, 17)), 16, window=r(16))],
    "_segment_sum": [lambda: call(r(5, 2), torch.tensor([2, 0, 1, 4, 3]), torch.tensor([0, 2, 2, 5]))],
    "_compressed_matmul": [lambda: call(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1]), r(3), r(2, 4))],
    "_sparse_compressed_pattern": [
        lambda: call(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), r(3), [2, 2], layout=torch.sparse_csr)
    ],
    "_sparse_compressed_tensor": [
        lambda: call(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), r(3), layout=torch.sparse_csr, size=[2, 2])
    ],
    "_to_sparse_compressed": [lambda: call(r(2, 2), layout=torch.sparse_csr)],
    "_sparse_sampled": [lambda: call(places(3, 5), places(4, 5), r(3, 2), r(4, 2))],
}


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


def drawn(row, n):
    draw = Draw(row.name, n)
    args, kwargs = [], {}
    for kind, name, default, keyword_only in parameters(row.schema):
        if default and (kind.rstrip("?") in ("device", "generator", "layout") or draw.random.random() < 0.6):
            keyword_only = True
            continue
        if keyword_only:
            kwargs[name] = draw.value(kind, name)
        else:
            args.append(draw.value(kind, name))
    return args, kwargs


def is_factory(row):
    """Whether it makes a tensor on a device that it is told."""
    return "device? device" in row.schema


def has_tensor(x):
    return isinstance(x, torch.Tensor) or (isinstance(x, (list, tuple)) and any(map(has_tensor, x)))


def calls_of(row):
    """Up to three calls that the CPU accepts: (args, kwargs)."""
    return calls_by_name(row.name)


@functools.cache
def calls_by_name(name):
    row = next(r for r in ROWS if r.name == name)
    found = [call() for call in WRITTEN.get(name, ())]
    for n in range(TRIES if not found else 0):
        args, kwargs = drawn(row, n)
        if not has_tensor([*args, *kwargs.values()]) and not is_factory(row):
            continue
        try:
            row.call(*[copied(a) for a in args], **{k: copied(v) for k, v in kwargs.items()})
        except Exception:
            continue
        found.append((args, kwargs))
        if len(found) == WANTED:
            break
    return found


def copied(x):
    if isinstance(x, torch.Tensor):
        return x.clone()
    return type(x)(map(copied, x)) if isinstance(x, (list, tuple)) else x


__all__ = ["ROWS", "calls_of"]
