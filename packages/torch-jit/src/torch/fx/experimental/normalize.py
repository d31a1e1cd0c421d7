"""Graphs in which a call is written in one way: arguments by name, operators as Python has them."""

import operator
from typing import Any

import torch
from torch.fx.graph_module import GraphModule
from torch.fx.interpreter import Transformer
from torch.fx.node import Node, map_aggregate
from torch.fx.operator_schemas import normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Writes arguments of functions and modules by name, with their defaults; calls that no signature fits stay.

    ``meta["type"]`` of the nodes, where ShapeProp has noted it, tells overloads apart.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.nn.functional.relu(x))
    >>> print(NormalizeArgs(gm).transform().code.strip())
    def forward(self, x):
        relu = torch.nn.functional.relu(input = x, inplace = False);  x = None
        return relu
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True):
        super().__init__(module)
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """The proxy of a node, with its notes."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if n.op == "call_function":
            types = map_aggregate(n.args, _type), map_aggregate(dict(n.kwargs), _type)
            out = self.call_function(n.target, args, kwargs, *(types if n.meta.get("type") else (None, None)))
        else:
            out = super().run_node(n)
        if n.op != "output" and hasattr(out, "node"):
            out.node.meta = dict(n.meta)
        return out

    def call_function(self, target: Any, args: tuple, kwargs: dict, arg_types=None, kwarg_types=None) -> Any:
        """The call, by names."""
        if not callable(target):
            raise AssertionError(f"NormalizeArgs: {target!r} cannot be called")
        takes_places = getattr(target, "__module__", "") == "_operator"  # functions of operator take no names
        by_name = self.normalize_to_only_use_kwargs
        found = None if takes_places else normalize_function(target, args, kwargs, arg_types, kwarg_types, by_name)
        return super().call_function(target, *(found or (args, kwargs)))

    def call_module(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """The call of a submodule, by names."""
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


def _type(value):
    return value.meta.get("type") if isinstance(value, Node) else type(value)


class NormalizeOperators(Transformer):
    """Writes ``torch.add(x, y)`` as ``x + y``, and so on for the operators that Python has for two operands.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.mul(x, 2))
    >>> [node.target for node in NormalizeOperators(gm).transform().graph.nodes][1] is operator.mul
    True
    """

    binary_magic_method_remap = {
        torch.add: operator.add, torch.mul: operator.mul, torch.sub: operator.sub, torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv, torch.remainder: operator.mod, torch.eq: operator.eq, torch.ne: operator.ne,
        torch.lt: operator.lt, torch.le: operator.le, torch.gt: operator.gt, torch.ge: operator.ge,
    }  # fmt: skip

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """The call, as an operator where there is one and nothing but two operands."""
        if target in self.binary_magic_method_remap and len(args) == 2 and not kwargs:
            target = self.binary_magic_method_remap[target]
        return super().call_function(target, args, kwargs)
