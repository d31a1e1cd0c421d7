"""What programs check with."""

import copy
import importlib

import torch
from torch import cuda


class Skipped(Exception):
    """What a program needs is not there."""


def two_devices():
    if cuda.device_count() < 2:
        raise Skipped("one device")


def part(name):
    """A module of another part, which may not be installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skipped(str(error)) from None


def devices():
    return range(cuda.device_count())


def raises(error, said, call):
    try:
        call()
    except error as raised:
        assert said in str(raised), f"expected {said!r} in {raised}"
    else:
        raise AssertionError(f"expected {error} with {said!r}")


def near(a, b, tolerance=1e-5):
    assert torch.allclose(a.detach().cpu().float(), b.detach().cpu().float(), rtol=tolerance, atol=tolerance), (a, b)


def same_as_on_the_cpu(module, *inputs, tolerance=1e-4):
    """Results and gradients of a module on each device are those of the CPU."""
    for i in devices():
        here, there = module, copy.deepcopy(module).cuda(i)
        at = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
        moved = [x.cuda(i).requires_grad_() if x.is_floating_point() else x.cuda(i) for x in inputs]
        here.zero_grad()
        a, b = here(*at), there(*moved)
        a, b = (a[0], b[0]) if isinstance(a, tuple) else (a, b)
        assert b.get_device() == i
        near(a, b, tolerance)
        a.square().sum().backward(), b.square().sum().backward()
        for x, y in [*zip(at, moved, strict=True), *zip(here.parameters(), there.parameters(), strict=True)]:
            assert (x.grad is None) == (y.grad is None)
            if x.grad is not None:
                assert y.grad.get_device() == i
                near(x.grad, y.grad, 10 * tolerance)
