"""Layers of a graph that follow one another, made one: convolution or linear, batch norm, relu."""

from __future__ import annotations

from typing import Any

from torch import nn

from ..fuse_modules import CONVOLUTIONS, NORMS, fused
from ._patterns import is_relu

_FIRST = (*CONVOLUTIONS, nn.Linear, nn.BatchNorm2d, nn.BatchNorm3d)


def fuse(model: Any, is_qat: bool) -> None:
    """Fuse a GraphModule in place. Every node of a chain but the last is used by the next one only."""
    modules = dict(model.named_modules(remove_duplicate=False))
    calls: dict[str, int] = {}
    for node in model.graph.nodes:
        if node.op == "call_module":
            calls[node.target] = calls.get(node.target, 0) + 1
    for node in list(model.graph.nodes):
        if node.op != "call_module" or type(modules.get(node.target)) not in _FIRST or calls[node.target] > 1:
            continue
        chain = [node]
        for wanted in ("norm", "relu"):
            after = next(iter(chain[-1].users), None)
            if len(chain[-1].users) != 1 or after is None or after.args[:1] != (chain[-1],):
                break
            layer = modules.get(after.target) if after.op == "call_module" else None
            if (wanted == "norm" and type(layer) in NORMS and calls[after.target] == 1) or (
                wanted == "relu" and is_relu(after, modules)
            ):
                chain.append(after)
        if len(chain) == 1:
            continue
        # A relu may be called elsewhere, too: the joined layer has one of its own.
        layers = [nn.ReLU() if is_relu(n, modules) else modules[n.target] for n in chain]
        try:
            one = fused(is_qat, [layer.train(layers[0].training) for layer in layers])
        except (AssertionError, NotImplementedError):
            continue  # layers that do not go together stay as they are
        one.train(layers[0].training)
        model.set_submodule(node.target, one)
        modules[node.target] = one
        for after in reversed(chain[1:]):
            after.replace_all_uses_with(chain[chain.index(after) - 1])
            model.graph.erase_node(after)
    model.delete_all_unused_submodules()
    model.recompile()
