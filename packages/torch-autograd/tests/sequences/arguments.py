"""Arguments of a row: those of its samples with other tensors put in, or what its schema admits."""

import re

import torch
from operator_samples import Source, calls_of

from .tensors import SHAPES, dtype_of, shaped

WORDS = {
    "reduce": ["sum", "mean", "prod", "amax", "amin"],
    "mode": ["constant", "reflect", "replicate", "circular", "reduced", "complete", "r"],
    "norm": ["ortho", "forward", "backward"],
    "ord": ["fro", "nuc"],
    "p": ["fro", "nuc"],
    "padding": ["same", "valid"],
    "interpolation": ["linear", "lower", "higher", "nearest", "midpoint"],
    "rounding_mode": ["floor", "trunc"],
    "approximate": ["none", "tanh"],
    "UPLO": ["L", "U"],
    "indexing": ["ij", "xy"],
    "side": ["left", "right"],
    "driver": ["gels", "gelsy", "gelsd", "gelss"],
    "pad_mode": ["reflect", "constant", "circular"],
    "equation": ["ij,jk->ik", "ii->i", "i,i", "...i->...", "ij->ji", "i,j->ij", "bij,bjk->bik"],
}
DTYPES = [torch.float64, torch.float32, torch.int64, torch.bool, torch.complex128, torch.uint8, torch.float16]


def parameters(schema):
    """(kind, name, by keyword only, has a default) of each parameter."""
    head = schema.partition("(")[2].rpartition(") -> ")[0]
    found, keyword = [], False
    for text in re.split(r",\s*(?![^\[]*\])", head):
        if text.strip() == "*":
            keyword = True
        elif text:
            kind, _, name = text.strip().partition(" ")
            found.append((re.sub(r"\([a-z]!?\)", "", kind), name.partition("=")[0], keyword, "=" in name))
    return found


PARAMETERS = {}


def operand(machine, r, like=None):
    """A tensor: one of the machine's places as it is, brought to a shape, or read another way; or a new one."""
    x = r.random()
    if like is None:
        if x < 0.75:
            return machine.pick(r)
        return shaped(r, r.choice(SHAPES), dtype_of(r))
    if x < 0.25:
        return like
    if x < 0.35:
        return machine.pick(r)
    t = machine.pick(r)
    count = like.numel()
    if x < 0.6 and not t.is_sparse and t.numel():  # any piece of its memory, overlapping itself or not
        held = t.untyped_storage().nbytes() // t.itemsize
        strides = [r.randrange(0, 4) for _ in like.shape]
        reach = sum((s - 1) * d for s, d in zip(like.shape, strides) if s > 0)
        if held and reach < held:
            return t.as_strided(like.shape, strides, r.randrange(held - reach))
    if x < 0.75 and not t.is_sparse and t.numel() and count:  # its elements, again and again
        return t.reshape(-1)[torch.arange(count) % t.numel()].view(like.shape)
    if x < 0.85:
        return shaped(r, tuple(like.shape), like.dtype if r.random() < 0.5 else dtype_of(r))
    if x < 0.9:  # bools of odd bytes
        return shaped(r, tuple(like.shape), torch.bool)
    if x < 0.95 and like.dim():
        return like.narrow(r.randrange(like.dim()), 0, 0)
    return like.reshape(-1)[0] if count else like


def of_sample(machine, r, schema):
    calls = calls_of(schema)
    dtype = torch.complex128 if r.random() < 0.1 else torch.float64 if r.random() < 0.8 else torch.float32
    args, kwargs = r.choice(calls)(Source(f"{schema}{r.randrange(8)}", dtype))
    kwargs = {k: v for k, v in kwargs.items() if k not in ("nograd", "outputs", "seed")}
    change = r.choice((0.0, 0.4, 1.0))

    def other(value):
        if isinstance(value, torch.Tensor):
            if r.random() >= change or value.is_sparse:
                return value.detach().requires_grad_() if value.is_floating_point() and r.random() < 0.5 else value
            return operand(machine, r, value)
        if isinstance(value, list) and any(isinstance(v, torch.Tensor) for v in value):
            return [other(v) for v in value]
        return value

    return [other(a) for a in args], {k: other(v) for k, v in kwargs.items()}


def value_of(machine, r, kind, name):
    base = kind.rstrip("?")
    if kind != base and r.random() < 0.4:
        return None
    if base == "Tensor":
        return operand(machine, r)
    if base in ("Tensor[]", "Tensor?[]"):
        return [operand(machine, r) for _ in range(r.randrange(4))]
    if base == "Number":
        return operand(machine, r) if r.random() < 0.7 else scalar(r)
    if base == "Scalar":
        return scalar(r)
    if base == "int":
        return r.choice((0, 0, 1, 1, -1, 2, 3, -2, 4, -4))
    if base == "float":
        return r.choice((0.0, 0.5, 1.0, 2.0, 0.1, -1.0))
    if base == "bool":
        return r.random() < 0.5
    if base == "str":
        return r.choice(WORDS.get(name, ["sum", "mean"]))
    if base == "dtype":
        return r.choice(DTYPES)
    if base == "device":
        return "cpu"
    if base == "generator" or base == "layout":
        return None
    if base == "memory_format":
        return r.choice((torch.contiguous_format, torch.preserve_format, torch.channels_last))
    if base.startswith("int["):
        low, high = (-3, 3) if name.startswith("dim") else (0, 4) if r.random() < 0.8 else (-2, 5)
        return [r.randrange(low, high) for _ in range(r.choice((0, 1, 1, 2, 2, 3)))]
    raise KeyError(f"{kind}: a kind of parameter that nobody has written values for")


def scalar(r):
    return r.choice((0, 1, 2, -1, 3, 0.5, -0.5, 1.5, True, False, float("nan"), float("inf"), 1 + 2j))


def of_schema(machine, r, schema):
    args, kwargs = [], {}
    if schema not in PARAMETERS:
        PARAMETERS[schema] = parameters(schema)
    for kind, name, keyword, optional in PARAMETERS[schema]:
        if optional and r.random() < 0.5:
            keyword = True
            continue
        value = value_of(machine, r, kind, name)
        if keyword or kwargs:
            kwargs["input" if name == "self" else name] = value
        else:
            args.append(value)
    return args, kwargs


def of_row(machine, r, schema):
    if calls_of(schema) and r.random() < 0.7:
        return of_sample(machine, r, schema)
    return of_schema(machine, r, schema)
