"""Views and changes in place, beside a replay that shares no memory: there a tensor is a list of places in a flat one, and
a change makes a new flat one. Both are float64; values, gradients and gradients of gradients must agree.
"""

import weakref

import torch
from torch.autograd import Function

from .machine import REFUSALS, Broken

NAMES = 6
CHANGED = "modified by an inplace operation"


class Rewritten(Function):
    """Other numbers with the same history."""

    @staticmethod
    def forward(ctx, old, new):
        return new.clone()

    @staticmethod
    def backward(ctx, g):
        return g, None


class Flat:
    """The memory of a replay: a 1-d tensor that is never changed, only exchanged."""

    def __init__(self, value):
        self.value = value


class Twin:
    """A tensor, and what it is in the replay."""

    def __init__(self, real, flat, places, followed=True):
        self.real, self.flat, self.places, self.followed = real, flat, places, followed

    def value(self):
        return self.flat.value[self.places] if self.followed else self.flat.value.detach()[self.places]

    def viewed(self, real, places):
        return Twin(real, self.flat, places, self.followed)

    def write(self, value):
        value = value.expand(self.places.shape)
        old = self.flat.value
        with torch.no_grad():
            unfollowed = old.index_put((self.places,), value)
        if torch.is_grad_enabled() and self.followed:
            self.flat.value = old.index_put((self.places,), value)
        else:  # the numbers change, what they are made of does not
            with torch.enable_grad():
                self.flat.value = Rewritten.apply(old, unfollowed) if old.requires_grad else unfollowed


def made(real, value):
    """A tensor with memory of its own."""
    return Twin(real, Flat(value.reshape(-1)), torch.arange(value.numel()).view(value.shape))


class Times(Function):
    """A change in place by a Function."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        x.mul_(factor)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


VIEWS = {
    "[1:]": lambda x: x[1:],
    "[:2]": lambda x: x[:2],
    "[::2]": lambda x: x[::2],
    "[0]": lambda x: x[0],
    "[..., -1]": lambda x: x[..., -1],
    "[..., 1:]": lambda x: x[..., 1:],
    "t()": lambda x: x.transpose(0, -1),
    "[None]": lambda x: x[None],
    "squeeze()": lambda x: x.squeeze(),
    "diagonal()": lambda x: x.diagonal(),
    "unfold(0, 2, 1)": lambda x: x.unfold(0, 2, 1),
    "expand": lambda x: x.expand(2, *x.shape),
    "view(-1)": lambda x: x.view(-1),
    "view(2, -1)": lambda x: x.view(2, -1),
    "alias": lambda x: x.view_as(x),
}  # fmt: skip

#: In place, and the same out of place; of self and another tensor of its shape.
CHANGES = {
    "mul_": (lambda x, y: x.mul_(y), lambda x, y: x * y),
    "add_": (lambda x, y: x.add_(y, alpha=0.5), lambda x, y: x + 0.5 * y),
    "rsub": (lambda x, y: x.sub_(y).neg_(), lambda x, y: -(x - y)),
    "div_": (lambda x, y: x.div_(y.abs() + 1), lambda x, y: x / (y.abs() + 1)),
    "copy_": (lambda x, y: x.copy_(y), lambda x, y: y * 1),
    "sin_": (lambda x, y: x.sin_(), lambda x, y: x.sin()),
    "tanh_": (lambda x, y: x.tanh_(), lambda x, y: x.tanh()),
    "sigmoid_": (lambda x, y: x.sigmoid_(), lambda x, y: x.sigmoid()),
    "zero_": (lambda x, y: x.zero_(), lambda x, y: x * 0),
    "fill_": (lambda x, y: x.fill_(y.mean()), lambda x, y: x * 0 + y.mean()),
    "clamp_": (lambda x, y: x.clamp_(-0.5, 0.5), lambda x, y: x.clamp(-0.5, 0.5)),
    "lerp_": (lambda x, y: x.lerp_(y, 0.3), lambda x, y: x.lerp(y, 0.3)),
    "addcmul_": (lambda x, y: x.addcmul_(y, y, value=0.5), lambda x, y: x.addcmul(y, y, value=0.5)),
    "own square": (lambda x, y: x.mul_(x), lambda x, y: x * x),
    "cumsum_": (lambda x, y: x.cumsum_(-1), lambda x, y: x.cumsum(-1)),
    "masked_fill_": (lambda x, y: x.masked_fill_(x.detach() > 0.2, 0.1), lambda x, y: x.masked_fill(x.detach() > 0.2, 0.1)),
    "[0] =": (lambda x, y: x.__setitem__(0, y[0]), lambda x, y: x.select_scatter(y[0], 0, 0)),
    "[[0, -1]] +=": (lambda x, y: x.index_add_(0, torch.tensor([0, len(x) - 1]), y[[0, -1]]), lambda x, y: x.index_add(0, torch.tensor([0, len(x) - 1]), y[[0, -1]])),
    "Function": (lambda x, y: Times.apply(x, 1.5), lambda x, y: x * 1.5),
}  # fmt: skip

MAKES = {
    "x * y": lambda x, y: x * y,
    "x.sin()": lambda x, y: x.sin(),
    "x + y": lambda x, y: x + y,
    "x * x": lambda x, y: x * x,
    "clone": lambda x, y: x.clone(),
    "reshape": lambda x, y: x.transpose(0, -1).reshape(-1) * 1 if x.dim() else x * 1,
    "cat": lambda x, y: torch.cat([x, y]) if x.dim() == y.dim() > 0 and x.numel() < 24 else x * 2,
}


class Pair:
    """Some tensors under names, and their twins."""

    def __init__(self, r, tell=False):
        self.tell, self.calls, self.refused, self.seen = tell, 0, 0, []
        self.leaves, self.twins = [], []
        for shape in ((4,), (3, 3), (2, 4)):
            values = torch.tensor([r.uniform(-1, 1) for _ in range(torch.Size(shape).numel())], dtype=torch.float64)
            real, replayed = values.view(shape).clone().requires_grad_(), values.clone().requires_grad_()
            self.leaves.append((real, replayed))
            self.twins.append(Twin(real, Flat(replayed), torch.arange(values.numel()).view(shape)))
        for i in range(3):  # buffers: what belongs to the graph, what does not, and what will
            t = self.twins[i]
            real = t.real * 2 if i else t.real.detach().clone()
            self.twins.append(made(real, t.value() * 2 if i else t.value().detach()))

    def put(self, r, twin):
        self.twins[r.randrange(3, NAMES)] = twin  # the leaves stay
        self.seen.append(weakref.ref(twin.real))

    def like(self, r, twin):
        """Another tensor of the same shape, for both sides."""
        other = r.choice(self.twins)
        if other.real.shape == twin.real.shape and r.random() < 0.5:
            return other.real, other.value(), other
        count, shape = twin.real.numel(), twin.real.shape
        at = torch.arange(count) % max(other.real.numel(), 1)
        if not other.real.numel():
            return torch.ones(shape, dtype=torch.float64), torch.ones(shape, dtype=torch.float64), None
        return other.real.reshape(-1)[at].view(shape), other.value().reshape(-1)[at].view(shape), None

    def say(self, text, *twins):
        if self.tell:
            names = [next((f"x{i}" for i, t in enumerate(self.twins) if t is twin), "_") for twin in twins]
            print(f"  {text.format(*names)}{'' if torch.is_grad_enabled() else ' [no_grad]'}", flush=True)

    def step(self, r):
        self.calls += 1
        twin, x = r.choice(self.twins), r.random()
        if x < 0.05:
            self.stride(r, twin)
        elif x < 0.3:
            self.view(r, twin)
        elif x < 0.72:
            with torch.set_grad_enabled(r.random() > 0.12):
                self.change(r, twin)
        elif x < 0.92:
            self.make(r, twin)
        elif x < 0.96:
            self.say("{}.detach()", twin)
            self.put(r, Twin(twin.real.detach(), twin.flat, twin.places, False))
        else:
            self.fork(r, twin)

    def view(self, r, twin):
        name = r.choice(list(VIEWS))
        self.say(f"{{}} view {name}", twin)
        try:
            real = VIEWS[name](twin.real)
        except REFUSALS:
            self.refused += 1
            return
        try:
            places = VIEWS[name](twin.places)
        except REFUSALS:  # the places are laid out otherwise
            places = twin.places.reshape(-1) if name == "view(-1)" else twin.places.reshape(2, -1)
        self.put(r, twin.viewed(real, places))

    def stride(self, r, twin):
        """A view of any strides over a dense tensor, whose places follow each other."""
        real, places = twin.real, twin.places.reshape(-1)
        if (
            not real.is_contiguous()
            or len(places) < 4
            or not torch.equal(places, torch.arange(len(places)) + places[0])
        ):
            return
        strides = r.choice(((1, 2), (2, 1), (1, 1), (0, 1)))
        self.say(f"{{}}.as_strided((2, 2), {strides})", twin)
        self.put(
            r,
            twin.viewed(
                real.as_strided((2, 2), strides, real.storage_offset()), places.clone().as_strided((2, 2), strides, 0)
            ),
        )

    def fork(self, r, twin):
        """Two views of the same, of several that one call makes."""
        if twin.real.dim():
            self.say("{}.chunk(2)", twin)
            for real, places in zip(twin.real.chunk(2), twin.places.chunk(2)):
                self.put(r, twin.viewed(real, places))

    def make(self, r, twin):
        name = r.choice(list(MAKES))
        real_other, other, source = self.like(r, twin)
        self.say(f"{name} of {{}} and {{}}", twin, source)
        self.put(r, made(MAKES[name](twin.real, real_other), MAKES[name](twin.value(), other)))

    def change(self, r, twin):
        name = r.choice(list(CHANGES))
        real_other, other, source = self.like(r, twin)
        self.say(f"{{}} {name} by {{}}", twin, source)
        places = twin.places.reshape(-1)
        overlapping = len(places.unique()) < len(places)
        followed = torch.is_grad_enabled() and (real_other.requires_grad or twin.real.requires_grad)
        if overlapping or (not twin.followed and followed):
            return  # numbers by chance; or a history of its own over memory that others read
        value = twin.value()
        was = twin.real.detach().clone()
        try:
            CHANGES[name][0](twin.real, real_other)
        except REFUSALS as error:
            self.refused += 1
            self.say(f"  {type(error).__name__}: {error!s:.200}")
            if name == "Function":  # has changed it before it was refused
                with torch.no_grad():
                    twin.write(twin.real.detach())
            elif not torch.equal(was, twin.real.detach()):
                raise Broken(f"refused {name} has changed its tensor: {error}") from error
            return
        twin.write(CHANGES[name][1](value, other))
        self.compare("values", [t.real for t in self.twins], [t.value() for t in self.twins])

    def compare(self, what, ours, expected):
        for i, (a, b) in enumerate(zip(ours, expected)):
            if a is None or b is None:
                a, b = (torch.zeros_like(b) if a is None else a), (torch.zeros_like(a) if b is None else b)
                if a is None:
                    continue
            with torch.no_grad():
                b = b.view(a.shape) if what != "values" else b
                good = (a == b) | ((a - b).abs() <= 1e-8 * (1 + b.abs())) | (a.isnan() & b.isnan())
                if not bool(good.all()):
                    raise Broken(f"{what} {i}: {a.tolist()!s:.300} for {b.tolist()!s:.300} of the replay")

    def finish(self, r):
        """Gradients of everything, to the second order."""
        weights = [r.uniform(0.5, 1.5) for _ in self.twins]

        def loss(values):
            return sum(w * v.sin().sum() for w, v in zip(weights, values) if v.requires_grad)

        claims = [(t.real.requires_grad, t.value().requires_grad) for t in self.twins]
        for i, (a, b) in enumerate(claims):
            if a and not b:
                raise Broken(f"x{i} claims a gradient and depends on no leaf")
            if b and not a:
                raise Broken(f"x{i} depends on a leaf and claims no gradient")
        ours, expected = loss([t.real for t in self.twins]), loss([t.value() for t in self.twins])
        if not isinstance(expected, torch.Tensor):
            return
        reals, replayed = [a for a, _ in self.leaves], [b for _, b in self.leaves]
        try:
            got = torch.autograd.grad(ours, reals, create_graph=True, allow_unused=True)
            twice = self.second(got, reals)
        except RuntimeError as error:
            if CHANGED not in str(error):
                raise Broken(f"backward: {type(error).__name__}: {error}") from error
            self.refused += 1
            return
        wanted = torch.autograd.grad(expected, replayed, create_graph=True, allow_unused=True)
        self.compare("gradient", got, wanted)
        self.compare("second gradient", twice, self.second(wanted, replayed))

    def second(self, grads, leaves):
        total = sum((g * g).sum() for g in grads if g is not None and g.requires_grad)
        if not isinstance(total, torch.Tensor) or not total.requires_grad:
            return [None] * len(leaves)
        return torch.autograd.grad(total, leaves, allow_unused=True)
