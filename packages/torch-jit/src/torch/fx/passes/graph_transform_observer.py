"""What a pass does to a graph: the nodes that it makes and takes out."""

from __future__ import annotations

__all__ = ["GraphTransformObserver"]


class GraphTransformObserver:
    """A block in which a pass changes the graph of ``gm``; afterwards ``created_nodes`` and ``erased_nodes`` are the names of
    the nodes that are new in it or gone.

    >>> gm = torch.fx.symbolic_trace(torch.relu)
    >>> with GraphTransformObserver(gm, "neg") as seen:
    ...     with gm.graph.inserting_before(gm.graph.output_node()):
    ...         _ = gm.graph.call_method("neg", (next(iter(gm.graph.nodes)),))
    >>> seen.created_nodes
    {'neg'}
    """

    def __init__(self, gm, passname, subsystem=None, log_url=None):
        if log_url is not None:
            raise NotImplementedError("GraphTransformObserver: graphs are not drawn into files (log_url)")
        self.gm, self.passname, self.subsystem = gm, passname, subsystem
        self.created_nodes, self.erased_nodes = set(), set()

    def __enter__(self):
        self._before = set(self.gm.graph.nodes)
        return self

    def __exit__(self, *error):
        now = set(self.gm.graph.nodes)
        self.created_nodes = {node.name for node in now - self._before}
        self.erased_nodes = {node.name for node in self._before - now}

    def apply_gm_pass(self, pass_fn):
        """Call a pass with the GraphModule."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn):
        """Call a pass with the graph."""
        with self:
            return pass_fn(self.gm.graph)
