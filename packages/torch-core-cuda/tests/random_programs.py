"""Programs at random: tensors of any dtype and layout, and calls whose operands are what earlier calls gave. Each call is made
on the CPU and on the device; both give the same, in dtype, shape, strides and numbers, or refuse with the same class of error.

>>> complaints(seed=1)
[]
"""

import random

import torch

SIZES = (0, 1, 2, 3, 5, 17)
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WIDE = (torch.float32, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
NEAR = {
    torch.float32: 2e-4, torch.float64: 1e-10, torch.float16: 1e-2, torch.bfloat16: 8e-2, torch.complex64: 3e-4,
    torch.complex128: 1e-9,
}  # fmt: skip

UNARY = [
    "abs",
    "neg",
    "exp",
    "sigmoid",
    "tanh",
    "relu",
    "sqrt",
    "sin",
    "cos",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "reciprocal",
    "log1p",
    "erf",
    "expm1",
    "isnan",
    "isfinite",
    "logical_not",
    "square",
    "atan",
    "rsqrt",
    "frac",
    "signbit",
    "sinh",
    "asinh",
    "positive",
    "sgn",
    "angle",
    "conj",
    "real",
    "isinf",
    "nan_to_num",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "fmod",
    "remainder",
    "pow",
    "atan2",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "floor_divide",
    "hypot",
    "logaddexp",
    "copysign",
    "fmax",
    "fmin",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logical_xor",
    "nextafter",
]
REDUCED = [
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "any",
    "all",
    "argmax",
    "argmin",
    "std",
    "var",
    "logsumexp",
    "median",
    "nansum",
    "max",
    "min",
    "mode",
    "nanmean",
]
ALONG = ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "softmax", "log_softmax", "diff", "trapezoid"]


def tensor(r):
    shape = [r.choice(SIZES if r.random() < 0.3 else SIZES[1:]) for _ in range(r.randint(0, 4))]
    dtype, generator = (
        r.choice(DTYPES if r.random() < 0.5 else WIDE),
        torch.Generator().manual_seed(r.randrange(1 << 30)),
    )
    if dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(-5 if dtype.is_signed and dtype != torch.bool else 0, 6, shape, generator=generator).to(dtype)


def places(x, count):
    """`count` places along a dim, the same on each device."""
    return torch.arange(count, device=x.device)


def at_each(x, d):
    """A place along dim d for each element."""
    n = x.shape[d] if x.dim() else 1
    return torch.arange(x.numel(), device=x.device).reshape(x.shape) % max(n, 1)


def weights(x, *shape):
    n = torch.Size(shape).numel()
    return (torch.arange(1, n + 1, device=x.device).reshape(shape) % 7 - 3).to(x.dtype) * 0.25


def positive(x):
    return x @ x.mT.conj() + torch.eye(x.shape[-2], device=x.device, dtype=x.dtype)


def in_place(name):
    def call(x, y):
        z = x.clone()
        part = z[..., ::2] if z.dim() else z
        {
            "zero_": part.zero_, "neg_": part.neg_, "fill_": lambda: part.fill_(2), "clamp_": lambda: part.clamp_(-1, 1),
            "masked_fill_": lambda: part.masked_fill_(part > 0, 3), "addcmul_": lambda: part.addcmul_(y, y),
            "add_": lambda: part.add_(y), "mul_": lambda: part.mul_(y), "sub_": lambda: part.sub_(y), "copy_": lambda: part.copy_(y),
        }[name]()  # fmt: skip
        return z

    return call


def moved(d, e, first, step):
    """Views, and copies of what lies elsewhere."""
    return {
        "transpose": lambda x: x.transpose(d, e),
        "slice": lambda x: x[..., first : first + 4 : step],
        "unsqueeze": lambda x: x.unsqueeze(d),
        "reshape": lambda x: x.reshape(-1),
        "expand": lambda x: x.expand(2, *x.shape),
        "movedim": lambda x: x.movedim(d, e),
        "squeeze": lambda x: x.squeeze(),
        "contiguous": lambda x: x.contiguous(),
        "select": lambda x: x.select(d, 0),
        "narrow": lambda x: x.narrow(d, 0, 1),
        "unfold": lambda x: x.unfold(d, 1, 2),
        "diagonal": lambda x: x.diagonal(dim1=d, dim2=e),
        "mT": lambda x: x.mT,
        "flip": lambda x: x.flip([d]),
        "roll": lambda x: x.roll(1, d),
        "rot90": lambda x: torch.rot90(x, 1, [0, 1]),
        "repeat": lambda x: x.repeat(2, *[1] * x.dim()),
        "tril": torch.tril,
        "diag_embed": torch.diag_embed,
    }


def arranged(d):
    """What takes places, or gives them."""
    return {
        "topk": lambda x: torch.topk(x, min(2, x.shape[d]), dim=d)[0],  # of equal ones any are taken
        "sort": lambda x: torch.sort(x, dim=d, stable=True),
        "kthvalue": lambda x: torch.kthvalue(x, 1, d)[0],
        "scatter_add": lambda x: torch.zeros_like(x).scatter_add(d, at_each(x, d), x),
        "gather": lambda x: x.gather(d, at_each(x, d)),
        "index_select": lambda x: torch.index_select(x, d, places(x, 2) % x.shape[d]),
        "index_add": lambda x: x.index_add(d, places(x, x.shape[d]).flip(0), x, alpha=2),
        "index_copy": lambda x: x.index_copy(d, places(x, x.shape[d]).flip(0), x),
        "index_fill": lambda x: x.index_fill(d, places(x, 1), 2),
        "index_put": lambda x: x.index_put((places(x, 2) * 0,), x[0], accumulate=True),
        "repeat_interleave": lambda x: x.repeat_interleave(2, d),
        "nonzero": torch.nonzero,
        "masked_select": lambda x: torch.masked_select(x, x > 0),
        "unique": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        "unique_consecutive": lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
        "bincount": lambda x: torch.bincount(x.reshape(-1).long().abs()),
        "searchsorted": lambda x: torch.searchsorted(x.sort(-1)[0], x),
        "histc": lambda x: torch.histc(x.float(), 4, -1, 1),  # a device takes integers, too, as in PyTorch
        "isin": lambda x: torch.isin(x, x[:1]),
        "quantile": lambda x: torch.quantile(x, 0.3, dim=d),
        "chunk": lambda x: x.chunk(2, d),
        "norm": lambda x: torch.norm(x, 2, d),
        "renorm": lambda x: torch.renorm(x, 2, d, 1.0),
        "kron": lambda x: torch.kron(x, x[:2]),
        "tensordot": lambda x: torch.tensordot(x, x, dims=([d], [d])),
        "einsum": lambda x: torch.einsum("...i,...j->...ij", x, x),
        "addmm": lambda x: torch.addmm(x, x, x.t(), beta=0.5, alpha=2),
        "cdist": lambda x: torch.cdist(x, x),
        "list": lambda x: torch.tensor(x.flatten().tolist()[:3], dtype=x.dtype, device=x.device),
    }


def solved():
    linalg = torch.linalg
    return {
        "det": lambda x: linalg.det(positive(x)),
        "inv": lambda x: linalg.inv(positive(x)),
        "slogdet": lambda x: linalg.slogdet(positive(x)),
        "eigvalsh": lambda x: linalg.eigvalsh(positive(x)),
        "cholesky": lambda x: linalg.cholesky(positive(x)),
        "solve": lambda x: linalg.solve(positive(x), x),
        "svdvals": linalg.svdvals,
        "matrix_exp": lambda x: torch.matrix_exp(positive(x) / 20),
        "fft": torch.fft.fft,
        "rfft": torch.fft.rfft,
        "ifft": torch.fft.ifft,
    }


def layers():
    F = torch.nn.functional
    return {
        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:], weights(x, x.shape[-1]), weights(x, x.shape[-1])),
        "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
        "group_norm": lambda x: F.group_norm(x, 1),
        "conv1d": lambda x: F.conv1d(x, weights(x, 2, x.shape[-2], 2), padding=1),
        "conv2d": lambda x: F.conv2d(x, weights(x, 2, x.shape[-3], 2, 1), weights(x, 2), stride=2, padding=1),
        "conv_transpose1d": lambda x: F.conv_transpose1d(x, weights(x, x.shape[-2], 2, 3), stride=2),
        "max_pool1d": lambda x: F.max_pool1d(x, 2, return_indices=True),
        "avg_pool2d": lambda x: F.avg_pool2d(x, 2, padding=1),
        "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, 2),
        "interpolate": lambda x: F.interpolate(x, scale_factor=2),
        "linear": lambda x: F.linear(x, weights(x, 3, x.shape[-1]), weights(x, 3)),
        "embedding": lambda x: F.embedding(places(x, 2) * 0, x),
        "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        "cross_entropy": lambda x: F.cross_entropy(x, places(x, x.shape[0]) * 0, label_smoothing=0.1),
        "huber": lambda x: F.huber_loss(x, x * 0, reduction="none"),
        "gelu": F.gelu,
        "glu": F.glu,
        "softplus": F.softplus,
        "normalize": F.normalize,
        "one_hot": lambda x: F.one_hot(x.long().abs()),
        "pad": lambda x: F.pad(x, (1, 2), value=1),
    }


def drawn(seed):
    def of(f):
        def call(x):
            torch.manual_seed(seed)
            return f(x)

        return call

    return {
        "rand": of(lambda x: torch.rand(x.shape, device=x.device)),
        "randint": of(lambda x: torch.randint(-3, 9, x.shape, device=x.device)),
        "randperm": of(lambda x: torch.randperm(7, device=x.device)),
        "dropout": of(lambda x: torch.dropout(x, 0.5, True)),
        "bernoulli": of(lambda x: torch.bernoulli(torch.sigmoid(x))),
        "normal": of(lambda x: torch.normal(x, 1.0)),
        "exponential_": of(lambda x: torch.empty_like(x).exponential_()),
        "uniform_": of(lambda x: torch.empty_like(x).uniform_()),
        "multinomial": of(lambda x: torch.multinomial(torch.softmax(x.float(), -1), 1)),
    }


def differentiated():
    F = torch.nn.functional
    functions = {
        "mul": lambda x: x * x.flip(0),
        "softmax": lambda x: x.softmax(-1) * x,
        "norm": lambda x: x.norm(),
        "matmul": lambda x: x @ x.mT,
        "index": lambda x: x[places(x, 2) * 0] ** 2,
        "cumsum": lambda x: x.cumsum(-1) ** 2,
        "sort": lambda x: x.sort(-1)[0] ** 2,
        "var": lambda x: x.var(-1),
        "prod": lambda x: x.prod(-1),
        "amax": lambda x: x.amax(-1),
        "cat": lambda x: torch.cat([x, x * 2]) ** 2,
        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]) ** 3,
        "where": lambda x: torch.where(x > 0, x * 2, x * x),
    }

    def of(f):
        def call(x):
            x = x.detach().clone().requires_grad_()
            return torch.autograd.grad(f(x).sum(), x)[0]

        return call

    return {name: of(f) for name, f in functions.items()}


class Program:
    """Pairs of tensors, of the CPU and of the device, and what was called."""

    def __init__(self, seed, calls):
        self.r, self.pairs = random.Random(seed), []
        self.kinds = [self.unary, self.binary, self.reduced, self.moved, self.arranged, self.several, self.drawn]
        if calls == "all":
            self.kinds += [self.layers, self.solved, self.differentiated]
        for _ in range(4):
            self.begin()

    def begin(self):
        x = tensor(self.r)
        self.pairs.append((x, x.cuda()))

    def pick(self, is_wanted=lambda x: True):
        return self.r.choice([pair for pair in self.pairs if is_wanted(pair[0])] or [None])

    def of(self, table, is_wanted=lambda x: True):
        pair = self.pick(is_wanted)
        name = self.r.choice(list(table))
        return pair and (name, table[name], [pair])

    def dim(self):
        return self.r.randrange(-2, 2)

    def unary(self):
        name = self.r.choice(UNARY)
        return name, getattr(torch, name), [self.pick()]

    def binary(self):
        name, pair = self.r.choice(BINARY), self.pick()
        if self.r.random() < 0.3:
            number = self.r.choice([2, 0.5, -1, 3, True, 0])
            return f"{name} with {number}", lambda x: getattr(torch, name)(x, number), [pair]
        return name, getattr(torch, name), [pair, self.pick()]

    def reduced(self):
        d, keeps = self.dim(), self.r.random() < 0.5
        if self.r.random() < 0.4:
            name = self.r.choice(ALONG)
            return f"{name} of dim {d}", lambda x: getattr(torch, name)(x, dim=d), [self.pick()]
        name = self.r.choice(REDUCED)
        return f"{name} of dim {d}, keepdim={keeps}", lambda x: getattr(torch, name)(x, d, keepdim=keeps), [self.pick()]

    def moved(self):
        return self.of(moved(self.dim(), self.dim(), self.r.randrange(-3, 3), self.r.choice([1, 2, 3])))

    def arranged(self):
        return self.of(arranged(self.dim()))

    def layers(self):
        return self.of(layers(), lambda x: x.dtype in WIDE)

    def solved(self):
        return self.of(solved(), lambda x: x.dtype in (*WIDE, torch.complex64))

    def differentiated(self):
        return self.of(differentiated(), lambda x: x.dtype in WIDE)

    def drawn(self):
        return self.of(drawn(self.r.randrange(1000)), lambda x: x.dtype in WIDE)

    def several(self):
        one, d, dtype = self.pick(), self.dim(), self.r.choice(DTYPES)
        names = ["add_", "mul_", "sub_", "copy_", "zero_", "neg_", "fill_", "clamp_", "masked_fill_", "addcmul_"]
        name = self.r.choice(names)
        mask = self.pick(lambda x: x.dtype == torch.bool)
        like = self.pick(lambda x: x.dtype == torch.bool and x.shape == one[0].shape[: x.dim()])
        at = self.pick(lambda x: x.dtype == torch.int64)
        ways = [
            (f"{name} of a part", in_place(name), [one, self.pick()]),
            (
                f"cat of dim {d}",
                lambda x, y: torch.cat([x, y, x], d),
                [one, self.pick(lambda x: x.dim() == one[0].dim())],
            ),
            (f"stack of dim {d}", lambda x: torch.stack([x, x * 1], d), [one]),
            ("matmul", torch.matmul, [one, self.pick()]),
            (f"to {dtype}", lambda x: x.to(dtype), [one]),
            ("where", torch.where, [mask, one, self.pick()]),
            ("indexed by a mask", lambda x, m: x[m], [one, like]),
            ("indexed by places", lambda x, i: x[i % max(1, x.shape[0])], [one, at]),
        ]
        return self.r.choice([way for way in ways if None not in way[2]])

    def step(self):
        """A call, or None: what differs, or nothing."""
        if self.r.random() < 0.1:
            self.begin()
        chosen = self.r.choice(self.kinds)()
        if chosen is None:
            return None
        name, f, pairs = chosen
        said = f"{name} of " + ", ".join(f"{x.dtype} {tuple(x.shape)} with strides {x.stride()}" for x, _ in pairs)
        here, there = (outcome(f, [pair[k] for pair in pairs]) for k in (0, 1))
        if isinstance(here, Exception) or isinstance(there, Exception):
            if type(here) is type(there):
                return None
            return f"{said}: the CPU gives {shown(here)}, the device {shown(there)}"
        for x, y in zip(here, there, strict=True):
            if wrong := difference(x, y):
                return f"{said}: {wrong}"
            if x.numel() < 3000 and x.dim() < 6:
                self.keep(x, y)
        return None

    def keep(self, x, y):
        """The next call begins from equal numbers: the sine of 1e12 says nothing where the 1e12 are off by their last bits."""
        if torch.equal(x, y.cpu()):
            self.pairs.append((x, y))
        elif x.is_contiguous():
            self.pairs.append((x, x.cuda()))


def outcome(f, operands):
    try:
        result = f(*operands)
        torch.cuda.synchronize()
    except Exception as error:
        return error
    return list(result) if isinstance(result, (tuple, list)) else [result]


def shown(x):
    return f"{type(x).__name__} ({str(x)[:200]})" if isinstance(x, Exception) else "results"


def difference(x, y):
    if not y.is_cuda:
        return f"a result of the device is on {y.device}"
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return f"{x.dtype} {tuple(x.shape)} on the CPU, {y.dtype} {tuple(y.shape)} on the device"
    if x.numel() and any(a != b for a, b, n in zip(x.stride(), y.stride(), x.shape, strict=True) if n > 1):
        return f"strides {x.stride()} on the CPU, {y.stride()} on the device"
    found = y.cpu()
    near = NEAR.get(x.dtype)
    if torch.equal(x, found) or (near and torch.allclose(found, x, rtol=near, atol=near, equal_nan=True)):
        return ""
    bad = ~torch.isclose(found, x, rtol=near, atol=near, equal_nan=True) if near else x != found
    return f"{x[bad][:3].tolist()} on the CPU, {found[bad][:3].tolist()} on the device"


def complaints(seed, steps=25, calls="all"):
    program = Program(seed, calls)
    return [f"seed {seed}: {wrong}" for wrong in (program.step() for _ in range(steps)) if wrong]
