"""Modules of PyTorch's C++ that libraries look into, made of what stands for them here."""

from types import ModuleType

from ._parts import need


def _distributed_c10d():
    """``torch._C._distributed_c10d``: the classes of torch.distributed."""
    module = ModuleType("torch._C._distributed_c10d")
    module.__getattr__ = lambda name: getattr(need("distributed"), name)
    return module


def _distributed_rpc():
    """``torch._C._distributed_rpc``: there are no calls of other processes.

    >>> torch._C._distributed_rpc._is_current_rpc_agent_set()
    False
    """
    module = ModuleType("torch._C._distributed_rpc")
    module._is_current_rpc_agent_set = lambda: False
    return module


def _onnx():
    """``torch._C._onnx``: the choices of an export, which torch.onnx has.

    >>> torch._C._onnx.TrainingMode is torch.onnx.TrainingMode
    True
    """
    module = ModuleType("torch._C._onnx")
    module.__getattr__ = lambda name: getattr(need("onnx"), name)
    return module
