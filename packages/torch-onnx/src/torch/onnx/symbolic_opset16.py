"""The functions of PyTorch that write operators in opset 16: names that libraries import, and call never or rarely."""

from ._names_of_opsets import refusing

__getattr__ = refusing(16)
