"""The base class of passes."""

import abc
from typing import NamedTuple

from torch.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass made of a GraphModule, and whether it changed anything."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: write ``call(graph_module)``, which returns a :class:`PassResult` or None.

    >>> class Nothing(PassBase):
    ...     def call(self, graph_module):
    ...         return PassResult(graph_module, False)
    >>> import torch
    >>> Nothing()(torch.fx.symbolic_trace(lambda x: x)).modified
    False
    """

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Change the graph."""

    def requires(self, graph_module):  # noqa: B027
        """Called before; raises where the pass cannot work."""

    def ensures(self, graph_module):  # noqa: B027
        """Called afterwards; raises where the pass went wrong."""
