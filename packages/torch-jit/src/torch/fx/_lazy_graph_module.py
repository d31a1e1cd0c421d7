"""Names under which libraries make GraphModules; every one compiles at once, which takes about a millisecond."""

from contextlib import contextmanager

from .graph_module import GraphModule

_LazyGraphModule = GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    return (graph_module_cls or GraphModule)(*args, **kwargs)


def _use_lazy_graph_module(should_use: bool):
    """A context in which nothing changes: GraphModules are not compiled later."""

    @contextmanager
    def unchanged():
        yield

    return unchanged()
