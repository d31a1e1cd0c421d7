"""What every value of a graph looks like, found by running it on tensors without memory."""

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.interpreter import Interpreter
from torch.fx.node import Node, map_aggregate

from .shape_prop import _extract_tensor_metadata, faked

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a GraphModule on fake tensors and notes ``meta["val"]`` and ``meta["tensor_meta"]`` of every node.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x).sum(0))
    >>> _ = FakeTensorProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["val"].shape) for node in traced.graph.nodes]
    [(2, 3), (2, 3), (3,), (3,)]
    """

    def __init__(self, module: torch.nn.Module, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode(allow_non_fake_inputs=True) if mode is None else mode

    def fetch_attr(self, target: str) -> Any:
        """A tensor of the module, without its memory."""
        return faked(super().fetch_attr(target), self._mode)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Call a submodule with fake parameters and buffers."""
        module = self.fetch_submodule(target)
        named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        return torch.func.functional_call(module, {n: faked(t, self._mode) for n, t in named.items()}, args, kwargs)

    def fetch_submodule(self, target: str) -> torch.nn.Module:
        """The submodule of a call."""
        return self.submodules[target]

    def run_node(self, n: Node) -> Any:
        """The value of a node, noted."""
        result = super().run_node(n)
        kinds = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)
        found = False

        def value(x):
            nonlocal found
            found = found or isinstance(x, kinds)
            return x if isinstance(x, kinds) else None

        noted = map_aggregate(result, value)
        if found:
            n.meta["val"] = noted
            n.meta["tensor_meta"] = map_aggregate(
                result, lambda x: _extract_tensor_metadata(x) if isinstance(x, torch.Tensor) else x
            )
        return result

    def propagate(self, *args: Any) -> Any:
        """Run with tensors like these, and return the result, which is fake."""
        return self.propagate_dont_convert_inputs(*[faked(a, self._mode) for a in args])

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Run with arguments that are fake already."""
        with self._mode:
            return super().run(*args)
