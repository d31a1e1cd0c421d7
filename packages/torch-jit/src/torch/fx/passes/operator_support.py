"""Which nodes a back end can run."""

import abc
from collections.abc import Callable

import torch
from torch.fx.node import Node

from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "any_chain", "OpSupports"]


class OperatorSupportBase(abc.ABC):
    """Answers whether a node can be run."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node: Node) -> bool:
        """Whether it can, given the submodules by path."""


class OperatorSupport(OperatorSupportBase):
    """Support by a table: from a target's name to None, or to dtypes of the arguments and keywords.

    ``{"torch.add": (((torch.float32,), (torch.float32,)), {})}``: both arguments in float32.
    """

    _support_dict: dict

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        dtypes, keywords = wanted
        return all(_fits(node.args[i], wish) for i, wish in enumerate(dtypes) if i < len(node.args)) and all(
            _fits(node.kwargs[name], wish) for name, wish in keywords.items() if name in node.kwargs
        )


def _fits(argument, dtypes):
    if not isinstance(argument, Node):
        return True
    return getattr(argument.meta.get("tensor_meta"), "dtype", None) in dtypes


class _Function(OperatorSupportBase):
    def __init__(self, function):
        self._function = function

    def is_node_supported(self, submodules, node):
        return self._function(submodules, node)


def create_op_support(is_node_supported: Callable) -> OperatorSupportBase:
    """Support as a function ``(submodules, node)`` decides."""
    return _Function(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support by all of these."""
    return create_op_support(lambda modules, node: all(each.is_node_supported(modules, node) for each in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support by any of these."""
    return create_op_support(lambda modules, node: any(each.is_node_supported(modules, node) for each in op_support))


class OpSupports:
    """Answers that are often needed."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: torch.dtype) -> OperatorSupportBase:
        """No support where an input has this dtype."""

        def decide(submodules, node):
            return not any(getattr(n.meta.get("tensor_meta"), "dtype", None) is dtype for n in node.all_input_nodes)

        return create_op_support(decide)

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """No support for nodes with these names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
