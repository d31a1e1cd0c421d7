"""Tensors that PyTorch makes from others by classes of its own; tensors of device "meta" do that work here."""

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
