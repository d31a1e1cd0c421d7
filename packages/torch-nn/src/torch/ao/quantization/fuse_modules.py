"""Layers that follow one another made into one: batch norm into the weights before it, a relu into the layer."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


CONVOLUTIONS = {nn.Conv1d: "1d", nn.Conv2d: "2d", nn.Conv3d: "3d"}
TRANSPOSED = {nn.ConvTranspose1d: "1d", nn.ConvTranspose2d: "2d", nn.ConvTranspose3d: "3d"}
NORMS = {nn.BatchNorm1d: "1d", nn.BatchNorm2d: "2d", nn.BatchNorm3d: "3d"}


def fused(is_qat: bool, layers: Sequence[nn.Module]) -> nn.Module:
    """One module for these."""
    kinds = tuple(type(layer) for layer in layers)
    unknown = AssertionError(f"did not find fuser method for: {kinds} ")
    first, rest = layers[0], list(layers[1:])
    relu = bool(rest) and type(rest[-1]) is nn.ReLU
    if relu:
        rest.pop()
    norm = rest.pop() if rest and type(rest[-1]) in NORMS else None
    if rest or not (relu or norm is not None):
        raise unknown
    if kinds[0] in (nn.BatchNorm2d, nn.BatchNorm3d) and norm is None:
        return getattr(nni, f"BNReLU{NORMS[kinds[0]]}")(*layers)
    if kinds[0] in TRANSPOSED and norm is not None and not relu and TRANSPOSED[kinds[0]] == NORMS[type(norm)]:
        if is_qat:
            raise AssertionError("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
        return fuse_conv_bn_eval(first, norm, transpose=True)
    dims = CONVOLUTIONS.get(kinds[0])
    if dims is None and kinds[0] is not nn.Linear:
        raise unknown
    if norm is not None:
        if (dims is not None and NORMS[type(norm)] != dims) or (dims is None and type(norm) is not nn.BatchNorm1d):
            raise unknown
        if is_qat:
            if not all(layer.training for layer in layers):
                raise AssertionError("fuse_modules_qat: expected a model in training mode")
            if dims is None:
                if relu:
                    raise unknown
                return nni.LinearBn1d(*layers)
            return getattr(nni, f"ConvBn{'ReLU' if relu else ''}{dims}")(*layers)
        first = fuse_linear_bn_eval(first, norm) if dims is None else fuse_conv_bn_eval(first, norm)
    if not relu:
        return first
    return nni.LinearReLU(first, layers[-1]) if dims is None else getattr(nni, f"ConvReLU{dims}")(first, layers[-1])


def fuse_known_modules(
    mod_list: Sequence[nn.Module], is_qat: bool, additional_fuser_method_mapping: Any = None
) -> list[Any]:
    """The fused module, and an identity for each of the others, with the hooks of the first and the last; classes of layers that the
    mapping has are fused by its function, called with ``is_qat`` and the layers."""
    own = (additional_fuser_method_mapping or {}).get(tuple(type(layer) for layer in mod_list))
    one = fused(is_qat, mod_list) if own is None else own(is_qat, *mod_list)
    one.train(mod_list[0].training)
    for handle, hook in list(mod_list[0]._forward_pre_hooks.items()):
        one.register_forward_pre_hook(hook)
        del mod_list[0]._forward_pre_hooks[handle]
    for handle, hook in list(mod_list[-1]._forward_hooks.items()):
        one.register_forward_hook(hook)
        del mod_list[-1]._forward_hooks[handle]
    found: list[Any] = [one]
    for _ in mod_list[1:]:
        found.append(nn.Identity().train(mod_list[0].training))
    return found


def fuse_modules(
    model: nn.Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> nn.Module:
    """Fuse lists of children by name, for inference: convolution or linear with batch norm, with relu, or both; batch norm with relu.

    >>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
    >>> torch.ao.quantization.fuse_modules(net, ["0", "1", "2"])
    Sequential(
      (0): ConvReLU2d(
        (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
        (1): ReLU()
      )
      (1): Identity()
      (2): Identity()
    )
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: nn.Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> nn.Module:
    """``fuse_modules`` for training: batch norms stay layers of the fused module."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)


def _fuse(model, modules_to_fuse, is_qat, inplace, fuser_func, custom_config):
    if not inplace:
        model = copy.deepcopy(model)
    methods = (custom_config or {}).get("additional_fuser_method_mapping", {})
    groups = [modules_to_fuse] if all(isinstance(name, str) for name in modules_to_fuse) else modules_to_fuse
    for names in groups:
        layers = [model.get_submodule(name) for name in names]
        if not is_qat and any(layer.training for layer in layers) and any(type(layer) in NORMS for layer in layers):
            raise AssertionError("Fusion only for eval!")
        for name, layer in zip(names, fuser_func(layers, is_qat, methods), strict=True):
            above, _, last = name.rpartition(".")
            setattr(model.get_submodule(above), last, layer)
    return model
