"""What tests of ``torch.compile`` share: calls of a function compiled and as it is, and comparing what came of them."""

import compile_cases
import compile_cases_effects  # noqa: F401  (they register more)
import compile_cases_modules  # noqa: F401
import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def programs_run():
    """Programs are run even where Python would be faster."""
    with torch._dynamo.config.patch(choose_faster=False):
        yield
    torch.compiler.reset()


def flat(value):
    """Leaves of a result, and what stands around them."""
    if isinstance(value, torch.Tensor):
        return [value.detach().clone(), value.requires_grad, tuple(value.stride()), value.dtype]
    if isinstance(value, dict):
        return [type(value), *(x for k, v in value.items() for x in [k, *flat(v)])]
    if isinstance(value, (list, tuple)):
        return [type(value), *(x for v in value for x in flat(v))]
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        return [type(value).__qualname__, *flat(vars(value))] if not hasattr(value, "name") else [str(value)]
    return [type(value), value]


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())
    return a == b


def agree(a, b):
    a, b = flat(a), flat(b)
    return len(a) == len(b) and all(type(x) is type(y) and same(x, y) for x, y in zip(a, b))


def aliases(args, out):
    """Which tensors of a result and of the arguments are one, or share memory."""
    found = []

    def walk(value):
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            for v in value.values():
                walk(v)
        elif isinstance(value, (list, tuple)):
            for v in value:
                walk(v)

    walk(args)
    walk(out)
    return [[(a is b, a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()) for b in found] for a in found]


def run(name, compiled, mode, capsys):
    """All calls of a case: what came out, what became of the arguments, and what was printed."""
    torch.manual_seed(0)
    make, calls, _ = compile_cases.CASES[name]
    function = make()
    if isinstance(function, nn.Module):
        function.train(mode == "train")
    called = torch.compile(function) if compiled else function
    out = []
    for args in calls():
        with torch.set_grad_enabled(mode == "train"):
            result = called(*args)
        out.append((flat(result), flat(list(args)), aliases(args, result)))
        if mode == "train":
            leaves = [
                v
                for v in (result if isinstance(result, (list, tuple)) else [result])
                if isinstance(v, torch.Tensor) and v.requires_grad
            ]
            if leaves and isinstance(function, nn.Module):
                function.zero_grad()
                sum(v.sum() for v in leaves).backward()
                out.append([p.grad is not None and p.grad.clone() for p in function.parameters()])
    if isinstance(function, nn.Module):
        out.append([b.clone() for b in function.buffers()])
    out.append(torch.rand(1))
    return out, capsys.readouterr().out, called


def deep_equal(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and same(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(deep_equal, a, b))
    return a == b
