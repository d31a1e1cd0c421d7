"""Attributes of modules on the nodes that call them."""

from torch.fx.graph_module import GraphModule

__all__ = ["lift_lowering_attrs_to_nodes"]


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Note the parameters and buffers of the module that a node calls as ``node.attrs_for_lowering``."""
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        inner = fx_module.get_submodule(node.target)
        if isinstance(inner, GraphModule):
            lift_lowering_attrs_to_nodes(inner)
            continue
        tensors = {**dict(inner.named_parameters(recurse=False)), **dict(inner.named_buffers(recurse=False))}
        constants = {name: getattr(inner, name) for name in getattr(inner, "__constants__", ()) if hasattr(inner, name)}
        node.attrs_for_lowering = {
            "name": type(inner).__module__ + "." + type(inner).__qualname__,
            **constants,
            **tensors,
        }
