"""Inputs for the tests that are generated from the operators' rows.

A row says which dtypes an operator takes and from which domain its inputs come; this file turns that into tensors.
"""

import os
import re
import zlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import _C

DEVICE = os.environ.get("TORCH_TEST_DEVICE", "cpu")

REAL = [torch.float32, torch.float64]
HALF = [torch.float16, torch.bfloat16]
COMPLEX = [torch.complex64, torch.complex128]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]

#: Attr::dtypes, in the order of the enumeration in row.h
ACCEPTED = [
    [torch.bool, *INTEGERS, *HALF, *REAL, *COMPLEX],  # All
    [*INTEGERS, *HALF, *REAL, *COMPLEX],  # Numeric
    [*HALF, *REAL],  # Floating
    [*HALF, *REAL, *COMPLEX],  # FloatingOrComplex
    [torch.bool, *INTEGERS, *HALF, *REAL],  # Real
    INTEGERS,  # Integral
    [torch.bool, *INTEGERS],  # IntegralOrBool
    [torch.bool],  # BoolOnly
    [*INTEGERS, *HALF, *REAL],  # RealNumeric
]


@dataclass(frozen=True)
class Row:
    """One row, as the tests use it."""

    name: str
    schema: str
    tensors: tuple[str, ...]  # names of the parameters, when all that have no default are tensors; else empty
    in_place: bool
    info: dict

    def __str__(self):
        return self.name

    @property
    def dtypes(self):
        return ACCEPTED[self.info["dtypes"]]

    @property
    def call(self):
        return _C._operator(self.name)


def parse(info):
    name, _, rest = info["schema"].partition("(")
    head, _, result = rest.rpartition(") -> ")
    parameters = [p.strip() for p in re.split(r",\s*(?![^\[]*\])", head)] if head else []
    required = [p for p in parameters if "=" not in p and p != "*"]
    plain = all(re.match(r"(Tensor|Number)(\([a-z]!?\))? ", p) for p in required)
    return Row(name, info["schema"], tuple(p.split(" ")[1] for p in required) if plain else (), "(a!)" in result, info)


ROWS = [parse(info) for info in _C._rows()]
#: their calls need more than tensors of one shape; test_pointwise.py has them
SPECIAL = {"clamp", "clip", "masked_fill"}
#: element-wise operators of only tensors, the subject of most generated tests
POINTWISE = [
    r
    for r in ROWS
    if r.info["pointwise"]
    and r.tensors
    and not r.info["random"]
    and not r.info["skip"]
    and r.name.strip("_") not in SPECIAL
]
PLAIN = [r for r in POINTWISE if not r.in_place]


def values(row, dtype, shape, seed=0):
    """A NumPy array in the row's domain, exactly representable in the dtype."""
    noise = np.random.default_rng(zlib.crc32(f"{row.name}{seed}".encode()))
    low, high = row.info["low"], row.info["high"]
    if dtype == torch.bool:
        return noise.random(shape) < 0.5
    if dtype in INTEGERS:
        low, high = np.ceil(max(low, 0 if dtype == torch.uint8 else -7)), np.floor(min(high, 7))
        drawn = noise.integers(low, max(low, high) + 1, shape)
        return np.where((drawn == 0) & (seed > 0), np.clip(1, low, high), drawn).astype(
            str(dtype)[6:]
        )  # divisors are not 0
    span = noise.uniform(low + (high - low) * 0.01, high - (high - low) * 0.01, shape)
    if dtype.is_complex:
        return (span + 1j * noise.uniform(-1, 1, shape)).astype(str(dtype)[6:])
    return span


def tensor(row, dtype, shape, seed=0):
    return torch.tensor(values(row, dtype, shape, seed).tolist(), dtype=dtype, device=DEVICE).reshape(shape)


def inputs(row, dtype, shape):
    masks = ("mask", "condition")
    return [tensor(row, torch.bool if name in masks else dtype, shape, seed) for seed, name in enumerate(row.tensors)]
