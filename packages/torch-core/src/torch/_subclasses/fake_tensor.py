"""Tensors that know their device and have no memory: none is ever made here, ``device="meta"`` serves."""

__all__ = ["FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException", "is_fake", "unset_fake_temporarily"]

import contextlib

import torch

INSTEAD = "fake tensors are not part of this stack: make tensors on device 'meta', under `with torch.device('meta'):`"


class UnsupportedFakeTensorException(RuntimeError):
    """An operator that has no form for tensors without memory."""


class FakeTensor(torch.Tensor):
    """The class of tensors without memory that say another device; it has no instances."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(f"FakeTensor: {INSTEAD}")


class FakeTensorMode:
    """A block in which every new tensor is fake. Raises NotImplementedError."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"FakeTensorMode: {INSTEAD}")


def is_fake(x):
    """Whether a tensor has no memory and says another device: never.

    >>> from torch._subclasses.fake_tensor import is_fake
    >>> is_fake(torch.ones(2))
    False
    """
    return isinstance(x, FakeTensor)


@contextlib.contextmanager
def unset_fake_temporarily():
    """A block outside of the mode in force, of which there is none."""
    yield None
