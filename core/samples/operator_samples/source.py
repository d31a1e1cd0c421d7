"""Random tensors for calls."""

import zlib

import torch


class Source:
    """Random tensors that are the same in every run."""

    def __init__(self, name, dtype=torch.float64):
        self.generator = torch.Generator()
        self.generator.manual_seed(zlib.crc32(name.encode()))
        self.dtype = dtype

    def __call__(self, *shape, low=-1.0, high=1.0, dtype=None):
        """Numbers uniform on [low, high); complex ones have an imaginary part from [-1, 1)."""
        dtype = dtype or self.dtype
        real = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        if not dtype.is_complex:
            return real.to(dtype)
        return torch.complex(real, torch.rand(shape, generator=self.generator, dtype=torch.float64) * 2 - 1).to(dtype)

    def spread(self, *shape):
        """Numbers of which no two are nearer than 0.1: for maxima."""
        n = 1
        for s in shape:
            n *= s
        return (
            (torch.randperm(n, generator=self.generator).to(torch.float64) * 0.1 - n * 0.05)
            .reshape(shape)
            .to(self.dtype)
        )

    def mask(self, *shape):
        return torch.rand(shape, generator=self.generator) < 0.5

    def index(self, high, *shape):
        return torch.randint(high, shape, generator=self.generator)

    def positive(self, *shape):
        return self(*shape, low=0.5, high=2.0)

    def regular(self, n, *batch):
        """Matrices far from singular ones."""
        return self(*batch, n, n) + 3 * torch.eye(n, dtype=self.dtype)

    def symmetric(self, n, *batch):
        """Symmetric matrices of positive eigenvalues, no two of which are near each other."""
        x = self(*batch, n, n)
        return x @ x.mT + torch.diag(torch.arange(1, n + 1, dtype=torch.float64)).to(self.dtype)


def call(*args, **kwargs):
    """Positional and keyword arguments. Of the keywords three are for tests of gradients: ``nograd``, the positions of
    tensors that have none; ``outputs``, how many results have one; ``seed``, set before each evaluation."""
    return args, kwargs


def with_zeros(t, *shape):
    """Every second number is zero."""
    x = t(*shape)
    x.view(-1)[::2] = 0
    return x
