"""What the programs share: numbers that are the same on both stacks, training, and a way through a file."""

import io
import zlib

import numpy as np
import torch


def numbers(*shape, seed=0, scale=1.0, dtype=torch.float32):
    """Normal numbers, the same on both stacks."""
    values = np.random.RandomState(seed + 7 * len(shape)).standard_normal(shape) * scale
    return torch.from_numpy(np.asarray(values)).to(dtype)


def whole(high, *shape, seed=0):
    """Whole numbers below ``high``, the same on both stacks."""
    return torch.from_numpy(np.random.RandomState(seed).randint(0, high, shape).astype(np.int64))


def fill(module, scale=0.1):
    """Give every weight of a module numbers that follow from its name and shape; running averages stay."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            seed = zlib.crc32(name.encode()) % 2**31
            values = np.random.RandomState(seed).standard_normal(tuple(weight.shape)) * scale
            if ("norm" in name and name.endswith("weight")) or name.endswith(
                ("gamma", "ln.weight", "bn1.weight", "bn2.weight")
            ):
                values = 1 + values
            weight.copy_(torch.from_numpy(np.asarray(values)).to(weight.dtype))
    return module


def gradients(module):
    """The gradients of a module's weights by name; None where none arrived."""
    return {name: weight.grad for name, weight in module.named_parameters()}


def train(module, loss, make=lambda p: torch.optim.SGD(p, lr=0.01), steps=3):
    """The losses of a few steps of an optimizer, and the weights at the end."""
    optimizer = make([p for p in module.parameters() if p.requires_grad])
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(float(value.detach()))
    return losses, {name: weight for name, weight in module.named_parameters() if weight.numel() < 5000}


def reload(module, other):
    """The other module with the weights of this one, which went through a file."""
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file))
    return other


def size(module):
    """How many numbers a module has to learn."""
    return sum(p.numel() for p in module.parameters())
