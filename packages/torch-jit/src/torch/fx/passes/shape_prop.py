"""Shapes of every value, found by running the graph once."""

import copy
from typing import Any, NamedTuple

import torch
from torch.fx.interpreter import Interpreter
from torch.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its values."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple
    memory_format: Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result: torch.Tensor, include_contiguity=True) -> TensorMetadata:
    """The metadata of a tensor.

    >>> _extract_tensor_metadata(torch.ones(2, 3)).stride
    (3, 1)
    """
    memory_format = None
    if include_contiguity and result.layout is torch.strided:
        formats = [torch.contiguous_format]
        formats += {4: [torch.channels_last], 5: [torch.channels_last_3d]}.get(result.dim(), [])
        memory_format = next((f for f in formats if result.is_contiguous(memory_format=f)), None)
    stride = result.stride() if result.layout is torch.strided else ()
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, stride, memory_format, False, {})


class ShapeProp(Interpreter):
    """Runs a GraphModule and notes ``meta["tensor_meta"]`` and ``meta["type"]`` of every node.

    Tensors on device ``meta`` as arguments, and a module there, make it cost nothing; with a ``fake_mode`` the module and the
    arguments become fake tensors.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x).sum(0))
    >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (2, 3), (3,), (3,)]
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        self.fake_mode, self.real_module = fake_mode, self.module
        self.fake_module = None if fake_mode is None else _faked(gm, fake_mode)
        if self.fake_module is not None:
            self.module = self.fake_module
            self.submodules = dict(self.module.named_modules())

    def run_node(self, n: Node):
        """The value of a node, noted."""
        result = super().run_node(n)
        found = False

        def note(value):
            nonlocal found
            if isinstance(value, torch.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run with these arguments and return the result."""
        if self.fake_mode is None:
            return super().run(*args)
        with self.fake_mode:
            return super().run(*[faked(a, self.fake_mode) for a in args])


def faked(value: Any, mode: Any) -> Any:
    """A tensor as one without memory of this mode; what is no tensor, or is of it already, stays."""
    is_plain = isinstance(value, torch.Tensor) and getattr(value, "fake_mode", None) is not mode
    return mode.from_tensor(value) if is_plain else value


def _faked(module, mode):
    """A copy of a module whose tensors have no memory."""
    tensors = [*module.parameters(), *module.buffers()]
    memo = {id(t): faked(t.detach(), mode).requires_grad_(t.requires_grad) for t in tensors}
    return copy.deepcopy(module, memo)
