"""Random programs, compiled and as they are: what they give, what they do to their arguments, to the objects around them and
to the random numbers, has to be the same, call by call, while somebody changes those objects in between.
"""

import copy
import importlib.util
import os
import random

import pytest
import torch

PROGRAMS = int(os.environ.get("TORCH_RANDOM_PROGRAMS", "40"))

HEAD = """
import math
import torch
from torch import nn
from torch.nn import functional as F

SCALE = 2
TABLE = {"a": 1.5, "b": [1, 2]}
WEIGHT = torch.ones(3)

class Settings:
    rate = 1

class Box:
    count = 0
    def __init__(self, v):
        self.v = v
        self.items = [v]
    def up(self, x):
        return x * self.v + len(self.items)
    @property
    def twice(self):
        return self.v * 2

BOX = Box(2)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.k = 1
        self.steps = 0
    def forward(self, x):
        y = self.lin(x)
        if self.training:
            y = F.dropout(y, 0.25)
        return self.norm(y) * self.k

def helper(a, b=1, *rest, c=None, **more):
    if c is not None:
        a = a * c
    for r in rest:
        a = a + r
    return a + b + len(more)

helper.gain = 2

def make():
    cell = 3
    net = Net()
    seen = []
    def set_cell(v):
        nonlocal cell
        cell = v
    def f(x, y, n, opts):
"""


class Writer:
    """Writes the body of a function of x, y (tensors of (2, 3)), n (a number) and opts (a dict)."""

    def __init__(self, seed):
        self.r, self.lines, self.names, self.depth = random.Random(seed), [], ["x", "y"], 2

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def tensor(self):
        return self.r.choice(self.names)

    def number(self):
        return self.r.choice(
            [
                "2",
                "0.5",
                "n",
                "SCALE",
                "cell",
                'TABLE["a"]',
                'opts["k"]',
                "len(TABLE['b'])",
                "BOX.v",
                "BOX.twice",
                "net.k",
                "x.shape[0]",
                "Settings.rate",
                "helper.gain",
            ]
        )

    def expression(self):
        a, b, n = self.tensor(), self.tensor(), self.number()
        return self.r.choice(
            [
                f"{a} + {b}", f"{a} * {n}", f"{a} - {n}", f"torch.relu({a})", f"{a}.sigmoid()", f"{a}.abs().sqrt()", f"F.gelu({a})",
                f"torch.where({a} > {b}, {a}, {b})", f"{a}.sum(0, keepdim=True) + {b}", f"torch.cat([{a}, {b}])[:2]", f"{a}.flip(0)",
                f"helper({a}, {n})", f"helper({a}, 1, {b}, c={n}, d=1)", f"BOX.up({a})", f"net({a})", f"{a} + WEIGHT", f"{a}.clone()",
                f"torch.stack([{a}, {b}]).mean(0)", f"sum([{a}, {b}], {a})", f"max([{n}, 1]) * {a}", f"{a} + torch.rand(2, 3)",
                f"{a}.t().contiguous().t()", f"{a}.view(-1).view(2, 3)", f"{a}[[1, 0]]", f"{a}[:, [0, 2, 1]]", f"{a} @ torch.eye(3)",
                f"F.layer_norm({a}, (3,))", f"F.dropout({a}, 0.5, net.training)", f"(lambda v: v * {n})({a})",
                f"torch.tensor([1.0, 2.0, 3.0]) * {a}", f"{a}.masked_fill({b} > 0, 0.5)", f"{a}.to(torch.float64).float()",
                f"[v + {n} for v in ({a}, {b})][0]", f"{a}.softmax(-1)", f"{a}.contiguous() * len(torch.where({b} > 0)[0])", f"getattr({a}, 'tanh')()", f"opts.get('w', {a}) + {b}",
            ]
        )  # fmt: skip

    def statement(self):
        kind = self.r.random()
        a = self.tensor()
        if kind < 0.5:
            name = f"t{len(self.names)}"
            self.line(f"{name} = {self.expression()}")
            if self.depth == 2:
                self.names.append(name)
        elif kind < 0.6:
            self.line(self.r.choice([f"{a} = {a}.clone()", f"{a} = {a} * 1"]))
            self.line(
                self.r.choice(
                    [f"{a}.add_(1)", f"{a}[0] = {self.number()}", f"{a} *= 0.5", f"{a}[:, 1] += 1", f"{a}[0].mul_(2)"]
                )
            )
        elif kind < 0.7 and self.depth < 4:
            test = self.r.choice(
                [
                    "n > 1",
                    "net.training",
                    "opts['k'] == 1",
                    "isinstance(n, int)",
                    "'w' in opts",
                    "cell < 4",
                    "len(seen) > 1",
                    "x is y",
                ]
            )
            self.block(f"if {test}:")
        elif kind < 0.78 and self.depth < 4:
            self.block(f"for i in range({self.r.choice(['2', '3', 'SCALE'])}):")
        elif kind < 0.84 and self.depth < 4:
            self.block("with torch.no_grad():")
        elif kind < 0.88:
            self.line(f"mine = [{a}]; mine.append({self.expression()}); {a} = mine[-1]")
        elif kind < 0.97:
            self.line(f"{a} = {self.expression()}")
        else:  # what cannot be captured
            self.line(
                self.r.choice(
                    [
                        "BOX.count += 1",
                        "seen.append(1)",
                        f"{a} = {a} * {a}.sum().item()",
                        "opts['k'] += 1",
                        f"{a} = {a} if {a}.sum() > 0 else -{a}",
                        "TABLE['a'] += 1",
                        "net.steps += 1",
                        f"{a} = {a} * len({a}.nonzero())",
                    ]
                )
            )

    def block(self, head):
        self.line(head)
        self.depth += 1
        for _ in range(self.r.randint(1, 2)):
            self.statement()
        self.depth -= 1

    def text(self):
        for _ in range(self.r.randint(3, 8)):
            self.statement()
        out = self.r.choice(
            ["[0]", "{'a': [0], 'b': n}", "([0], [1])", "[[0], [1], [0]]", "([0], x)", "([0].view(-1), [0])"]
        )
        for i in (0, 1):
            out = out.replace(f"[{i}]", self.tensor()) if "[[" not in out else out.replace(f"[{i}]", self.tensor(), 2)
        self.line(f"return {out}")
        return HEAD + "\n".join(self.lines) + "\n    return f, net, set_cell, seen\n"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().clone(), value.requires_grad]
    if isinstance(value, dict):
        return [x for k, v in value.items() for x in (k, *leaves(v))]
    if isinstance(value, (list, tuple)):
        return [type(value), *(x for v in value for x in leaves(v))]
    return [type(value), value]


def same(a, b):
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if isinstance(x, torch.Tensor):
            if not isinstance(y, torch.Tensor) or x.dtype != y.dtype or x.shape != y.shape or x.stride() != y.stride():
                return False
            if not torch.allclose(x, y, rtol=0, atol=0, equal_nan=True):
                return False
        elif type(x) is not type(y) or x != y:
            return False
    return True


def run(path, seed, compiled):
    """All that can be seen of a program over some calls."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    module = load(path)
    f, net, set_cell, seen = module.make()
    call = torch.compile(f) if compiled else f
    found = []
    opts = {"k": 1}
    for step in range(8):
        shape = (r.choice([2, 2, 3, 5, 8]) if seed % 2 else 2, 3)
        x = torch.randn(shape, requires_grad=r.random() < 0.3)
        y = x if r.random() < 0.15 else torch.randn(shape)
        n = r.choice([1, 2, 2, 2.0, True])
        try:
            out = call(x, y, n, opts)
            found.append(leaves(out))
            total = sum(v.sum() for v in leaves_with_grad(out))
            if not isinstance(total, int):
                net.zero_grad()
                total.backward()
                found.append([p.grad.clone() if p.grad is not None else None for p in net.parameters()] + [x.grad])
        except Exception as error:
            found.append([type(error), str(error).partition("\n")[0]])
        found.append(
            [*leaves(x), *leaves(y), *leaves(opts), module.BOX.count, len(seen), net.steps, repr(module.TABLE)]
        )
        found.append([b.clone() for b in net.buffers()])
        found.append([torch.rand(1)])
        change = r.randrange(14)
        if change == 0:
            module.SCALE = r.choice([1, 2, 3])
        elif change == 1:
            module.TABLE["b"].append(1)
        elif change == 2:
            set_cell(r.choice([3, 4.0, 5]))
        elif change == 3:
            net.train(not net.training)
        elif change == 4:
            net.k = r.choice([1, 2, 1.0])
        elif change == 5:
            opts = {"k": r.choice([1, 2]), "w": torch.ones(2, 3)} if r.random() < 0.5 else {"k": 1}
        elif change == 6:
            module.BOX = module.Box(r.choice([1, 2, 2.0]))
        elif change == 7:
            module.BOX.items.append(1)
        elif change == 8:
            module.WEIGHT = torch.full((3,), float(step))
        elif change == 9:
            module.helper.__defaults__ = (step,)
        elif change == 10:
            module.Box.up = lambda self, x: x + self.v
        elif change == 11:
            net.lin = copy.deepcopy(net.lin)
        elif change == 12:
            module.Settings.rate = r.choice([1, 2, 3, 0.5])
        elif change == 13:
            module.helper.gain = r.choice([1, 2, 3, 4])
    return found, call


def leaves_with_grad(out):
    if isinstance(out, torch.Tensor):
        return [out] if out.requires_grad and out.grad_fn is not None else []
    values = out.values() if isinstance(out, dict) else out if isinstance(out, (list, tuple)) else []
    return [t for v in values for t in leaves_with_grad(v)]


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed, tmp_path):
    path = tmp_path / f"program_{seed}.py"
    path.write_text(Writer(seed).text())
    with torch._dynamo.config.patch(choose_faster=False):
        expected, _ = run(path, seed, False)
        found, _ = run(path, seed, True)
    for step, (a, b) in enumerate(zip(expected, found)):
        assert same(a, b), f"{path.read_text()[len(HEAD) :]}\nstep {step}: {a} {b}"
    torch.compiler.reset()


def test_random_programs_are_captured_often_enough(tmp_path):
    captured = 0
    for seed in range(1000, 1030):
        path = tmp_path / f"program_{seed}.py"
        path.write_text(Writer(seed).text())
        with torch._dynamo.config.patch(choose_faster=False):
            _, call = run(path, seed, True)
        captured += call._compiled.captures > 1 or call._compiled.reason is None
    assert captured >= 10
