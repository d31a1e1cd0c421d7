"""Layers of a graph that follow one another, made one: convolution or linear, batch norm, relu."""

from __future__ import annotations

from typing import Any

from torch import nn

from ..fuse_modules import CONVOLUTIONS, NORMS, TRANSPOSED, fused
from ._patterns import is_relu

_FIRST = (*CONVOLUTIONS, *TRANSPOSED, nn.Linear, nn.BatchNorm2d, nn.BatchNorm3d)


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
        for wanted in ("norm",) if type(modules[node.target]) in TRANSPOSED else ("norm", "relu"):
            after = next(iter(chain[-1].users), None)
            if len(chain[-1].users) != 1 or after is None or after.args[:1] != (chain[-1],):
                break
            layer = modules.get(after.target) if after.op == "call_module" else None
            if (wanted == "norm" and type(layer) in NORMS and calls[after.target] == 1) or (
                wanted == "relu" and is_relu(after, modules)
            ):
                chain.append(after)
        if len(chain) == 1 or (type(modules[node.target]) in TRANSPOSED and _norm_goes_with_relu(chain[-1], modules)):
            continue
        # A relu may be called elsewhere, too: the joined layer has one of its own.
        layers = [nn.ReLU() if is_relu(n, modules) else modules[n.target] for n in chain]
        in_training = layers[0].training
        if in_training and not is_qat and any(type(layer) in NORMS for layer in layers):
            raise AssertionError("Fusion only for eval!")
        try:
            one = fused(is_qat, [layer.train(is_qat) for layer in layers])
        except (AssertionError, NotImplementedError):
            one = None  # layers that do not go together stay as they are
        for layer in layers if one is None else [one]:
            layer.train(in_training)
        if one is None:
            continue
        model.set_submodule(node.target, one)
        modules[node.target] = one
        for after in reversed(chain[1:]):
            after.replace_all_uses_with(chain[chain.index(after) - 1])
            model.graph.erase_node(after)
    model.delete_all_unused_submodules()
    model.recompile()


def _norm_goes_with_relu(norm: Any, modules: dict[str, nn.Module]) -> bool:
    """Whether a batch norm of images is joined to the relu behind it, as PyTorch does where three layers have no joined form."""
    after = next(iter(norm.users), None)
    is_of_images = type(modules[norm.target]) in (nn.BatchNorm2d, nn.BatchNorm3d)
    return is_of_images and len(norm.users) == 1 and after is not None and is_relu(after, modules)
