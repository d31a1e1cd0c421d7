"""Bool tensors over memory that others write: a byte that is not 0 is true, whichever it is.

Every row is called with bools in bytes of any value and with the same ones in bytes of 0 and 1.
"""

import random

import numpy as np
import pytest
import torch
from targets import parameters
from torch import _C

ROWS = sorted({(info["schema"].partition("(")[0], info["schema"]) for info in _C._rows()})
#: What is no question of values: memory without any, addresses, what is drawn elsewhere.
LEFT_OUT = {
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
    "_sparse_mask_projection",
}
TRIES = 14
BYTES = [0, 1, 2, 3, 7, 128, 254, 255]


def odd_bools(r, shape):
    """Bools in bytes of any value, as a view of uint8, and the same ones as they should be."""
    values = torch.tensor([r.choice(BYTES) for _ in range(int(np.prod(shape)))], dtype=torch.uint8).reshape(shape)
    return values.view(torch.bool), values != 0


def argument(r, kind, name, shape):
    """Two forms of an argument, the second without odd bytes."""
    kind = kind.removesuffix("?")
    if kind in ("Tensor", "Number"):
        x = r.random()
        if name in ("index", "indices", "offsets") or x < 0.08:
            same = torch.tensor([r.randrange(2) for _ in range(int(np.prod(shape)))]).reshape(shape)
        elif x < 0.15:
            same = torch.tensor([r.uniform(-2, 2) for _ in range(int(np.prod(shape)))]).reshape(shape)
        else:
            odd, plain = odd_bools(r, shape)
            if r.random() < 0.2 and len(shape) == 2:
                return odd.t().contiguous().t(), plain.t().contiguous().t()
            if r.random() < 0.1 and len(shape) > 1:
                places = torch.arange(min(shape)).expand(len(shape), -1)
                k = places.shape[1]
                odd, plain = odd_bools(r, (k,))
                return torch.sparse_coo_tensor(places, odd, shape), torch.sparse_coo_tensor(places, plain, shape)
            return odd, plain
        return same, same.clone()
    if kind in ("Tensor[]", "Tensor?[]"):
        pairs = [argument(r, "Tensor", "", shape) for _ in range(r.randrange(1, 3))]
        return [a for a, _ in pairs], [b for _, b in pairs]
    if kind.startswith("int["):
        value = [r.randrange(-1, 2) for _ in range(r.randrange(1, len(shape) + 1))] if r.random() < 0.5 else list(shape)
    elif kind == "int":
        value = r.randrange(3)
    elif kind == "bool":
        value = r.random() < 0.5
    elif kind == "float":
        value = r.choice([0.0, 0.5, 1.0])
    elif kind == "Scalar":
        value = r.choice([True, 1, 0, 2])
    elif kind == "ScalarType":
        value = r.choice([torch.bool, torch.uint8, torch.float32, torch.int64])
    elif kind == "str":
        value = r.choice(["sum", "prod", "amax", "amin", "mean", "floor", "trunc", "ij"])
    else:
        value = None
    return value, value


def call(name, args, kwargs):
    torch.manual_seed(3)
    try:
        return _C._operator(name)(*args, **kwargs)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        return error


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors_in(one)


def same(a, b):
    a, b = (t.to_dense() if t.layout == torch.sparse_coo else t for t in (a, b))
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.array_equal(
        np.asarray((a != 0) if a.dtype == torch.bool else a),
        np.asarray(b),
        equal_nan=b.is_floating_point() or b.is_complex(),
    )


def agree(odd, plain):
    if isinstance(plain, Exception) or isinstance(odd, Exception):
        return type(odd) is type(plain)
    ours, theirs = list(tensors_in(odd)), list(tensors_in(plain))
    if not theirs and not isinstance(plain, (tuple, list)):
        return odd == plain
    return len(ours) == len(theirs) and all(map(same, ours, theirs))


def compared(name, schema):
    """How many calls gave a result, and those whose results differ."""
    r, done, wrong = random.Random(schema), 0, []
    for _ in range(TRIES):
        shape = r.choice([(5,), (3, 3), (40,), (2, 3), (3, 3), (2, 3, 3)])
        args, kwargs = ([], []), ({}, {})
        has_bools = False
        for kind, parameter, keyword, optional in parameters(schema):
            if optional and r.random() < 0.7:
                continue
            pair = argument(r, kind, parameter, shape)
            has_bools |= any(t.dtype == torch.bool for t in tensors_in(pair[1]))
            for side in range(2):
                if keyword or optional:
                    kwargs[side]["input" if parameter == "self" else parameter] = pair[side]
                else:
                    args[side].append(pair[side])
        if not has_bools:
            continue
        plain = call(name, args[1], kwargs[1])
        odd = call(name, args[0], kwargs[0])
        if not isinstance(plain, Exception):
            done += 1
        if not agree(odd, plain) or not agree(args[0], args[1]):
            wrong.append(f"{schema}: {args[1]} {kwargs[1]} gives {odd} for {plain}")
    return done, wrong


def test_no_operator_asks_which_byte_is_true():
    told, wrong = {}, []
    for name, schema in ROWS:
        if name.rstrip("_") in LEFT_OUT or name in LEFT_OUT:
            continue
        done, differ = compared(name, schema)
        told[schema] = done
        wrong += differ[:1]
    assert not wrong, "\n".join(wrong)
    assert sum(1 for n in told.values() if n) > 300  # rows that took bools


@pytest.mark.parametrize("n", [1, 3, 15, 64, 1000, 5000, 70000, 300000])
def test_sums_and_questions_at_any_size(n):
    values = np.random.default_rng(n).integers(0, 4, n).astype(np.uint8) * 85
    b = torch.from_numpy(values).view(torch.bool)
    truth = values != 0
    assert b.sum().item() == truth.sum() and b.count_nonzero().item() == truth.sum()
    assert b.any().item() == truth.any() and b.all().item() == truth.all()
    assert b.float().sum().item() == truth.sum() and b.to(torch.int64).max().item() == int(truth.max())
    assert np.array_equal((~b).view(torch.uint8).numpy(), 1 - truth)
    assert b.argmax().item() == truth.argmax() and torch.equal(b, torch.from_numpy(truth))
    assert np.array_equal(b.cumsum(0).numpy(), truth.cumsum())


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.complex64])
def test_what_is_computed_of_odd_bytes_is_0_or_1(dtype):
    b, plain = odd_bools(random.Random(1), (999,))
    for made in (
        b & b,
        b | plain,
        b ^ plain,
        ~b,
        b.to(dtype).to(torch.bool),
        b == plain,
        b.logical_not(),
        b.amax(0),
        b * b,
    ):
        assert int(made.view(torch.uint8).max()) <= 1


def test_bytes_may_change_below_a_bool_tensor():
    memory = bytearray(4)
    b = torch.frombuffer(memory, dtype=torch.bool)
    assert not b.any()
    memory[2] = 200
    assert b.tolist() == [False, False, True, False] and b.sum().item() == 1 and bool(b[2]) and b[2].item() is True
