"""Layers of a graph that follow one another, made one: convolution or linear, batch norm, relu."""

from __future__ import annotations

from typing import Any

from torch import nn

from ..fuse_modules import CONVOLUTIONS, NORMS, TRANSPOSED, fused
from ._patterns import is_relu

_FIRST = (*CONVOLUTIONS, *TRANSPOSED, nn.Linear, nn.BatchNorm2d, nn.BatchNorm3d)


def fuse(model: Any, is_qat: bool, patterns: Any = None) -> None:
    """Fuse a GraphModule in place. Every node of a chain but the last is used by the next one only.

    ``patterns`` of a ``BackendConfig`` say which chains are joined, and how; without them all are that are known.
    """
    modules = dict(model.named_modules(remove_duplicate=False))
    calls: dict[str, int] = {}
    for node in model.graph.nodes:
        if node.op == "call_module":
            calls[node.target] = calls.get(node.target, 0) + 1
    gone: set[Any] = set()
    for node in list(model.graph.nodes):
        if node in gone or node.op != "call_module":
            continue
        method, chain = _fused if patterns is None else None, []
        if patterns is None:
            chain = _known_chain(node, modules, calls)
        elif (found := patterns.at(node, modules, True)) is not None:
            method, chain = found[0].fuser_method, found[1]
            if any(n.op == "call_module" and calls[n.target] > 1 and not is_relu(n, modules) for n in chain):
                continue
        if len(chain) > 1 and (one := _joined(chain, modules, is_qat, method)) is not None:
            model.set_submodule(node.target, one)
            modules[node.target] = one
            for after in reversed(chain[1:]):
                after.replace_all_uses_with(chain[chain.index(after) - 1])
                gone.add(after)
                model.graph.erase_node(after)
    model.delete_all_unused_submodules()
    model.recompile()


def _known_chain(node: Any, modules: dict[str, nn.Module], calls: dict[str, int]) -> list[Any]:
    """The nodes of a layer, a norm and a relu one after the other, or fewer of them."""
    if type(modules.get(node.target)) not in _FIRST or calls[node.target] > 1:
        return []
    chain = [node]
    is_transposed = type(modules[node.target]) in TRANSPOSED
    for wanted in ("norm",) if is_transposed else ("norm", "relu"):
        after = next(iter(chain[-1].users), None)
        if len(chain[-1].users) != 1 or after is None or after.args[:1] != (chain[-1],):
            break
        layer = modules.get(after.target) if after.op == "call_module" else None
        if (wanted == "norm" and type(layer) in NORMS and calls[after.target] == 1) or (
            wanted == "relu" and is_relu(after, modules)
        ):
            chain.append(after)
    return [] if is_transposed and _norm_goes_with_relu(chain[-1], modules) else chain


def _fused(is_qat: bool, *layers: nn.Module) -> nn.Module | None:
    try:
        return fused(is_qat, [layer.train(is_qat) for layer in layers])
    except (AssertionError, NotImplementedError):
        return None  # layers that do not go together stay as they are


def _joined(chain: list[Any], modules: dict[str, nn.Module], is_qat: bool, method: Any) -> nn.Module | None:
    # A relu may be called elsewhere, too: the joined layer has one of its own.
    layers = [nn.ReLU() if is_relu(n, modules) else modules.get(n.target) for n in chain]
    if any(not isinstance(layer, nn.Module) for layer in layers):
        raise NotImplementedError(
            f"fuse_fx: a chain that is joined has layers and relu, got {', '.join(str(n.target) for n in chain)}"
        )
    in_training = layers[0].training
    if in_training and not is_qat and any(type(layer) in NORMS for layer in layers):
        raise AssertionError("Fusion only for eval!")
    one = method(is_qat, *layers)
    for layer in layers if one is None else [one]:
        layer.train(in_training)
    return one


def _norm_goes_with_relu(norm: Any, modules: dict[str, nn.Module]) -> bool:
    """Whether a batch norm of images is joined to the relu behind it, as PyTorch does where three layers have no joined form."""
    after = next(iter(norm.users), None)
    is_of_images = type(modules[norm.target]) in (nn.BatchNorm2d, nn.BatchNorm3d)
    return is_of_images and len(norm.users) == 1 and after is not None and is_relu(after, modules)
