"""Shapes of every value, found by running the graph once."""

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

    Tensors on device ``meta`` as arguments, and a module there, make it cost nothing.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x).sum(0))
    >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (2, 3), (3,), (3,)]
    """

    def __init__(self, gm, fake_mode=None):
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp(fake_mode=...): there are no fake tensors; give arguments on device 'meta'"
            )
        super().__init__(gm)
        self.fake_module = self.fake_mode = None
        self.real_module = self.module

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
        return super().run(*args)
