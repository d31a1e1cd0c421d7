"""Pictures of graphs, by the package pydot."""

from typing import Any

from torch.fx.graph_module import GraphModule
from torch.fx.node import _format_arg

try:
    import pydot
except ModuleNotFoundError:
    pydot = None

__all__ = ["FxGraphDrawer"]

_COLOURS = {
    "placeholder": "AliceBlue", "get_attr": "LightGrey", "call_function": "LightGoldenrod1", "call_method": "PeachPuff",
    "call_module": "DarkSeaGreen1", "output": "AliceBlue",
}  # fmt: skip


class FxGraphDrawer:
    """Draws a GraphModule: ``get_dot_graph().write_svg("net.svg")``; without pydot RuntimeError says what to install."""

    def __init__(self, graph_module: GraphModule, name: str, ignore_getattr=False, ignore_parameters_and_buffers=False,
                 skip_node_names_in_args=True, parse_stack_trace=False, dot_graph_shape=None, normalize_args=False):  # fmt: skip
        if pydot is None:
            raise RuntimeError("FXGraphDrawer requires the pydot package to be installed: pip install pydot")
        self._name = name
        self.dot_graph_shape = dot_graph_shape or "record"
        self._skipped = ignore_getattr
        self._bare = ignore_parameters_and_buffers
        self._short, self._traces = skip_node_names_in_args, parse_stack_trace
        self._dot_graphs = {name: self._drawn(graph_module, name)}
        for path, child in graph_module.named_modules():
            if path and isinstance(child, GraphModule):
                self._dot_graphs[f"{name}_{path}"] = self._drawn(child, f"{name}_{path}")

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture, or that of the GraphModule at a path below."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        """The picture."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The picture of the GraphModule at a path."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict:
        """All pictures by name."""
        return self._dot_graphs

    def _drawn(self, module, name):
        picture = pydot.Dot(name, rankdir="TB")
        shown = [n for n in module.graph.nodes if not (self._skipped and n.op == "get_attr")]
        for node in shown:
            style = {"shape": self.dot_graph_shape, "fillcolor": _COLOURS[node.op], "style": '"filled,rounded"'}
            picture.add_node(pydot.Node(node.name, label=self._label(module, node), **style))
        for node in shown:
            for used in node.all_input_nodes:
                if used in shown:
                    picture.add_edge(pydot.Edge(used.name, node.name))
        return picture

    def _label(self, module, node):
        lines = [f"name=%{node.name}", f"op_code={node.op}", f"target={node._pretty_print_target(node.target)}"]
        if node.op == "call_module":
            inner = module.get_submodule(node.target)
            lines[1] = f"op_code={type(inner).__name__}"
            if not self._bare:
                lines += [f"{n}: {tuple(p.shape)}" for n, p in inner.named_parameters(recurse=False)]
        if node.op not in ("placeholder", "output", "get_attr"):
            constants = [_format_arg(a) for a in node.args if not (self._short and a in node.all_input_nodes)]
            constants += [f"{key}={_format_arg(value)}" for key, value in node.kwargs.items()]
            lines += [f"args=({', '.join(constants)})"] if constants else []
        lines.append(f"num_users={len(node.users)}")
        meta = node.meta.get("tensor_meta")
        if hasattr(meta, "dtype"):
            lines.append(f"dtype={meta.dtype}, shape={tuple(meta.shape)}")
        if self._traces and node.stack_trace:
            lines.append(node.stack_trace.strip().splitlines()[-2].strip())
        escaped = (line.translate({ord(c): f"\\{c}" for c in '{}<>|"'}) for line in lines)
        return '"{' + "|".join(escaped) + '}"'
