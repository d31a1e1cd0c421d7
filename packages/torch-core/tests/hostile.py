"""Arguments that nobody should pass: tensors of every shape, dtype and layout, numbers beyond any bound, and objects that
raise, lie or change others while they are read. fuzz.py calls what torch offers with them.
"""

import contextlib
import math
import re
import warnings

import torch

DTYPES = sorted({d for d in vars(torch).values() if isinstance(d, torch.dtype)}, key=str)
FLOATS = [torch.float32, torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]
SHAPES = [(), (0,), (1,), (3,), (5,), (2, 3), (3, 3), (3, 2), (2, 0, 3), (0, 0), (1, 1, 1), (2, 3, 4), (4, 3, 3)]
SHAPES += [(1, 2, 5, 5), (2, 2, 3, 3), (2, 3, 4, 4), (2, 4, 6), (1, 2, 3, 4, 4), (2, 1, 2, 2, 2), (1,) * 9, (17, 33)]
HUGE = [2**31, 2**35 + 1, 2**40, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30]
INTS = [0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 1000, -1, -2, -3, -4, -5, -64, -65, -(2**31), -(2**62), -(2**63)]
FLOAT_VALUES = [0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, -0.0, math.nan, math.inf, -math.inf, 1e308, 2.0**63, -(2.0**64)]
STRINGS = [
    "",
    "sum",
    "mean",
    "none",
    "reflect",
    "constant",
    "replicate",
    "circular",
    "floor",
    "trunc",
    "ij",
    "xy",
    "cpu",
]
STRINGS += [
    "meta",
    "cuda:7",
    "nearest",
    "bilinear",
    "same",
    "valid",
    "ii->i",
    "ij,jk->ik",
    "...",
    "->",
    "\ud800",
    "a\0b",
]
STRINGS += [
    "x" * 5000,
    "fro",
    "nuc",
    "torch.FloatTensor",
    "tanh",
    "linear",
    "amax",
    "prod",
    "bicubic",
    "border",
    "area",
]


class Hostile(Exception):
    """Raised by the objects below."""


class RaisingIndex:
    def __index__(self):
        raise Hostile

    __int__ = __float__ = __len__ = __bool__ = __index__

    def __iter__(self):
        raise Hostile

    def __getitem__(self, i):
        raise Hostile


class WrongIndex:
    def __index__(self):
        return "not an int"

    __int__ = __float__ = __len__ = __index__


class HugeIndex:
    def __index__(self):
        return 2**70


class Mutating:
    """An int that empties the list it stands in while it is read."""

    def __init__(self, target, grow):
        self.target, self.grow = target, grow

    def __index__(self):
        if self.grow:
            self.target.extend([1] * 1000)
        else:
            self.target.clear()
        return 1

    __int__ = __index__

    def __float__(self):
        return float(self.__index__())

    def __len__(self):
        return self.__index__()

    def __iter__(self):
        self.__index__()
        return iter([1])

    def __getitem__(self, i):
        self.__index__()
        if i:
            raise IndexError
        return 1


class LyingSequence:
    """Another length each time it is asked, and another one when it is read."""

    def __init__(self, r):
        self.r = r

    def __len__(self):
        return self.r.choice([0, 1, 3, 2**62])

    def __getitem__(self, i):
        if i >= self.r.choice([0, 1, 2, 50]):
            raise IndexError
        return self.r.choice([1, 1.5, True, [1, 2], None])


class IntWithTemper(int):
    def __bool__(self):
        raise Hostile

    def __index__(self):
        raise Hostile


class FloatWithTemper(float):
    def __float__(self):
        raise Hostile


FalseNumpy = type("numpy.float64", (), {"__float__": lambda self: math.nan, "__index__": RaisingIndex.__index__})
FalseBool = type("numpy.bool", (), {"__bool__": RaisingIndex.__index__, "__index__": lambda self: 1})


class Subclass(torch.Tensor):
    pass


class ForeignArray:
    def __init__(self, what):
        self.what = what

    def __dlpack__(self, **kwargs):
        return self.what

    def __dlpack_device__(self):
        return (1, 0)

    def __array__(self, *args, **kwargs):
        return self.what


class Maker:
    """Arguments of one call. Each is made only from random numbers and remembers how, as Python text."""

    def __init__(self, r, grad=False):
        self.r, self.grad = r, grad
        self.theme = r.choice(SHAPES)
        self.dtype = r.choice(FLOATS + DTYPES)
        self.meta = r.random() < 0.06  # all tensors of a call or none
        self.tensors = []

    # --- tensors ---

    def shape(self):
        r = self.r
        if r.random() < 0.6:
            return self.theme
        if r.random() < 0.2:
            return tuple(r.choice(self.theme or (1,)) for _ in range(r.randrange(4)))
        return r.choice(SHAPES)

    def filled(self, shape, dtype):
        r = self.r
        n = math.prod(shape)
        kind = r.choice(["small", "small", "index", "special", "bytes"])
        if kind == "bytes":
            return torch.frombuffer(bytearray(r.randbytes(max(n, 1) * dtype.itemsize)), dtype=dtype)[:n].reshape(shape)
        if kind == "special" and (dtype.is_floating_point or dtype.is_complex):
            values = [r.choice(FLOAT_VALUES) for _ in range(n)]
        elif kind == "index":
            values = [r.choice([0, 1, 2, 0, 1, 2, 3, 4, 5, 100]) for _ in range(n)]
        else:
            values = [r.randrange(5) for _ in range(n)]
        if kind == "index" and dtype.is_signed and r.random() < 0.3 and n:
            values[r.randrange(n)] = r.choice([-1, -2, -100, 127])
        return torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape)

    def tensor(self):
        r = self.r
        if self.tensors and r.random() < 0.15:  # the same, or a piece of its memory
            t = r.choice(self.tensors)
            how = r.randrange(4)
            if how == 1 and t.dim():
                t = t[r.randrange(-1, 2) :] if t.size(0) > 1 else t[:]
            elif how == 2:
                t = t.t() if t.dim() == 2 else t.reshape(-1)
            elif how == 3 and t.dim():
                t = t[:: r.choice([-1, 2, -2])]
            self.tensors.append(t)
            return t
        dtype = self.dtype if r.random() < 0.7 else r.choice(DTYPES)
        shape = self.shape()
        t = self.filled(shape, dtype)
        with contextlib.suppress(RuntimeError):  # sizes of which there can be no tensor
            t = self.twisted(t, shape)
            if self.meta:
                t = t.to("meta")
                if r.random() < 0.3:
                    t = t.new_empty([r.choice([0, 1, 2, 3, 2**20, 2**31, 2**40, 2**62]) for _ in range(r.randrange(4))])
        if self.meta and not t.is_meta:
            t = t.to("meta")
        if self.grad and (dtype.is_floating_point or dtype.is_complex) and r.random() < 0.5:
            t = t.detach().requires_grad_()
            if r.random() < 0.5:
                t = t.clone()
        self.tensors.append(t)
        return t

    def twisted(self, t, shape):
        r, dtype, how = self.r, t.dtype, self.r.randrange(16)
        if how == 1 and t.dim() >= 2:
            t = t.transpose(0, -1)
        elif how == 2 and t.dim():
            t = t[:1].expand(shape)
        elif how == 3 and t.dim():
            t = t[::-1] if r.random() < 0.5 else t.as_strided(shape, [r.randrange(2) for _ in shape])
        elif how == 5 and t.numel():
            t = torch.cat([t.reshape(-1)] * 3)[t.numel() - 1 :: 2][: t.numel()].reshape(shape)
        elif how == 6:
            t = torch.empty([0, *(r.choice([1, 2**20, 2**40, 2**62]) for _ in range(r.randrange(3)))], dtype=dtype)
        elif how == 7:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                t = torch.frombuffer(bytes(max(t.numel(), 1) * dtype.itemsize), dtype=dtype)[: t.numel()].reshape(shape)
        elif how == 8:
            t = t.as_subclass(Subclass) if hasattr(t, "as_subclass") else t
        elif how == 9 and t.dim() >= 3:
            t = t.transpose(1, -1).contiguous().transpose(1, -1)
        elif how == 10:
            t = t.reshape(shape + (1,) * r.randrange(3))
        elif how == 11 and t.dim():
            t = t.squeeze() if r.random() < 0.5 else t[:1]
        return t

    # --- everything else ---

    def integer(self):
        r = self.r
        x = r.random()
        if x < 0.7:
            return r.choice([0, 1, 2, 3, -1, -2, r.choice(self.theme or (1,)), len(self.theme)])
        if x < 0.85:
            return r.choice(INTS)
        return r.choice(HUGE) * r.choice([1, 1, -1])

    def integers(self, size=None):
        r = self.r
        n = size if size and r.random() < 0.8 else r.randrange(7)
        values = [self.integer() if r.random() < 0.3 else r.choice([0, 1, 2, 3, -1]) for _ in range(n)]
        x = r.random()
        if x < 0.04 and values:
            values[r.randrange(n)] = Mutating(values, r.random() < 0.5)
        if x > 0.97:
            values = values * r.choice([10, 30, 100])
        return values if r.random() < 0.6 else tuple(values)

    def real(self):
        return self.r.choice(FLOAT_VALUES + [self.integer()])

    def anything(self, depth=0):
        r = self.r
        kind = r.randrange(28)
        if kind < 5:
            return self.tensor()
        if kind < 8:
            return self.integer()
        if kind < 10:
            return self.integers()
        if kind < 12:
            return self.real()
        if kind == 12:
            return r.choice(STRINGS)
        if kind == 13:
            return r.choice(
                [None, True, False, ..., NotImplemented, 1j, complex(math.nan, math.inf), b"bytes", int, object()]
            )
        if kind == 14:
            return r.choice(DTYPES + [int, float, bool, complex])
        if kind == 15:
            return r.choice(
                [torch.device("cpu"), torch.device("meta"), "cpu", "meta", "cuda", torch.device("cuda", 3), 0]
            )
        if kind == 16:
            return r.choice(
                [
                    RaisingIndex(),
                    WrongIndex(),
                    HugeIndex(),
                    IntWithTemper(1),
                    FloatWithTemper(1),
                    FalseNumpy(),
                    FalseBool(),
                ]
            )
        if kind == 17:
            return LyingSequence(r)
        if kind == 18:
            values = [1, 2, 3]
            values[r.randrange(3)] = Mutating(values, r.random() < 0.5)
            return [values, [1, 2, 3]] if r.random() < 0.5 else values
        if kind == 19:
            deep = []
            for _ in range(r.choice([3, 64, 65, 70, 100000])):
                deep = [deep]
            return deep
        if kind == 20:
            loop = [1]
            loop.append(loop)
            return loop
        if kind == 21 and depth < 3:
            return [self.anything(depth + 1) for _ in range(r.randrange(4))]
        if kind == 22 and depth < 3:
            return tuple(self.anything(depth + 1) for _ in range(r.randrange(4)))
        if kind == 23:
            return r.choice(
                [
                    {},
                    {"a": 1},
                    set(),
                    range(3),
                    range(2**62),
                    iter([1]),
                    slice(None),
                    slice(2**70, -5, -1),
                    (x for x in [1]),
                ]
            )
        if kind == 24:
            return r.choice(
                [torch.contiguous_format, torch.channels_last, torch.preserve_format, torch.strided, torch.Size([2, 3])]
            )
        if kind == 25:
            return r.choice([torch.Generator(), torch.default_generator, torch.UntypedStorage(8), torch])
        if kind == 26:
            return ForeignArray(r.choice([None, 3, self.tensor(), "capsule"]))
        return r.choice(
            [bytearray(8), memoryview(b"12345678"), memoryview(bytearray(16)).cast("d"), memoryview(bytearray(9))[1:]]
        )

    def of_kind(self, kind):
        """A plausible value for a parameter of a schema, or now and then anything at all."""
        r = self.r
        x = r.random()
        if x < 0.12:
            return self.anything()
        if kind.endswith("?") and x < 0.3:
            return None
        kind = kind.rstrip("?")
        if kind == "Tensor":
            return self.tensor()
        if kind == "Tensor[]":
            tensors = [self.tensor() for _ in range(r.randrange(4))]
            if r.random() < 0.1:
                tensors.append(self.anything())
            return tensors if r.random() < 0.7 else tuple(tensors)
        if kind == "Number":
            return self.tensor() if r.random() < 0.5 else self.real()
        if kind == "Scalar":
            return self.real() if r.random() < 0.9 else r.choice([True, 1j, self.tensor()])
        if kind == "int":
            return self.integer()
        if size := re.match(r"int\[(\d*)\]", kind):
            return self.integers(int(size[1] or 0)) if r.random() < 0.8 else self.integer()
        return {
            "bool": lambda: r.choice([True, False, True, False, 0, 2**70, IntWithTemper(1), FalseBool()]),
            "float": self.real,
            "str": lambda: r.choice(STRINGS),
            "dtype": lambda: r.choice(DTYPES),
            "device": lambda: r.choice(["cpu", "meta", torch.device("cpu"), "cuda", 99]),
            "layout": lambda: torch.strided,
            "memory_format": lambda: r.choice([torch.contiguous_format, torch.preserve_format, torch.channels_last]),
            "generator": lambda: torch.Generator(),
        }.get(kind, self.anything)()
