"""Weights of layers that follow one another, given channels of like ranges (Nagel et al., arXiv:1906.04721, section 4.1).

What a relu leaves as it is may be scaled: ``W2 relu(W1 x + b1) = (W2 S) relu(S^-1 W1 x + S^-1 b1)`` for a diagonal ``S`` of positive numbers. With
``s = sqrt(r1 / r2)``, of the ranges of an output channel of the first weight and the input channel of the second, both have the range ``sqrt(r1 r2)``.
"""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.ao.nn import intrinsic as nni

__all__ = ["converged", "cross_layer_equalization", "equalize"]

_KINDS = (nn.Conv1d, nn.Conv2d, nn.Linear)
_JOINED = (nni.ConvReLU1d, nni.ConvReLU2d, nni.LinearReLU)


def _layer(module: nn.Module) -> nn.Module:
    return module[0] if type(module) in _JOINED else module


def get_module_weight(module: nn.Module) -> Tensor:
    """The weight of a layer, or of the layer that a relu is joined to."""
    return _layer(module).weight


def get_module_bias(module: nn.Module) -> Tensor | None:
    """The bias of such a layer."""
    return _layer(module).bias


def set_module_weight(module: nn.Module, weight: Tensor) -> None:
    """Give such a layer another weight."""
    _layer(module).weight = nn.Parameter(weight)


def set_module_bias(module: nn.Module, bias: Tensor) -> None:
    """Give such a layer another bias."""
    _layer(module).bias = nn.Parameter(bias)


def has_bias(module: nn.Module) -> bool:
    """Whether such a layer has a bias."""
    return getattr(_layer(module), "bias", None) is not None


def channel_range(input: Tensor, axis: int = 0) -> Tensor:
    """Greatest less least number of each channel.

    >>> channel_range(torch.tensor([[1.0, -2.0], [0.5, 4.0]]))
    tensor([3.0000, 3.5000])
    """
    low, high = input.movedim(axis, 0).flatten(1).aminmax(dim=1)
    return high - low


def cross_layer_equalization(module1: nn.Module, module2: nn.Module, output_axis: int = 0, input_axis: int = 1) -> None:
    """Scale the output channels of one layer and the input channels of the next, so that both have one range; in place.

    >>> first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    >>> cross_layer_equalization(first, second)
    >>> torch.allclose(channel_range(first.weight), channel_range(second.weight, 1), atol=1e-5) or second.weight.shape[0] == 1
    True
    """
    for module in (module1, module2):
        if type(module) not in (*_KINDS, *_JOINED):
            raise ValueError(
                f"cross_layer_equalization: module type not supported: {type(module).__name__}; there are "
                f"{', '.join(kind.__name__ for kind in (*_KINDS, *_JOINED))}"
            )
    first, second = get_module_weight(module1).detach(), get_module_weight(module2).detach()
    channels, wanted = first.shape[output_axis], second.shape[input_axis]
    bias = get_module_bias(module1)
    if channels != wanted or (bias is not None and bias.numel() != channels):
        raise TypeError(
            f"cross_layer_equalization: Number of output channels of first arg do not match number input channels of second arg: weights "
            f"{tuple(first.shape)} and {tuple(second.shape)} have {channels} along dim {output_axis} and {wanted} along dim {input_axis}"
        )
    ranges = channel_range(first, output_axis), channel_range(second, input_axis)
    scale = torch.sqrt(ranges[0] / (ranges[1] + 1e-9))
    scale = torch.where((ranges[0] == 0) | (ranges[1] == 0), 1.0, scale)  # nothing to share out, and no scale to undo
    inverse = scale.reciprocal()
    if bias is not None:
        set_module_bias(module1, bias.detach() * inverse)
    set_module_weight(module1, first * _along(inverse, first, output_axis))
    set_module_weight(module2, second * _along(scale, second, input_axis))


def _along(values: Tensor, like: Tensor, axis: int) -> Tensor:
    return values.reshape([-1 if i == axis else 1 for i in range(like.dim())])


def get_name_by_module(model: nn.Module, module: nn.Module) -> str:
    """The path of a module within a model."""
    for name, each in model.named_modules():
        if each is module:
            return name
    raise ValueError(f"module is not in the model: {type(module).__name__}")


def process_paired_modules_list_to_name(model: nn.Module, paired_modules_list: list[Any]) -> list[Any]:
    """The same groups, all by path; in place."""
    for group in paired_modules_list:
        for i, each in enumerate(group):
            if isinstance(each, nn.Module):
                group[i] = get_name_by_module(model, each)
            elif not isinstance(each, str):
                raise TypeError(f"equalize: expected names of modules or modules, got {type(each).__name__}")
    return paired_modules_list


def expand_groups_in_paired_modules_list(paired_modules_list: list[Any]) -> list[Any]:
    """Pairs of layers that follow one another.

    >>> expand_groups_in_paired_modules_list([["a", "b", "c"]])
    [['a', 'b'], ['b', 'c']]
    """
    pairs = []
    for group in paired_modules_list:
        if len(group) < 2:
            raise ValueError(f"Group must have at least two modules, got {group!r}")
        pairs += [list(pair) for pair in itertools.pairwise(group)]
    return pairs


def equalize(
    model: nn.Module, paired_modules_list: list[Any], threshold: float = 1e-4, inplace: bool = True
) -> nn.Module:
    """``cross_layer_equalization`` of pairs of layers, again and again until weights move by less than a threshold.

    The list has pairs, or longer chains, of names or modules; between two layers there is nothing that scaling changes, such as relu.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> x = torch.rand(4, 2)
    >>> y = net(x)
    >>> torch.allclose(equalize(net, [["0", "2"]])(x), y, atol=1e-5)
    True
    """
    pairs = process_paired_modules_list_to_name(model, [list(group) for group in paired_modules_list])
    pairs = expand_groups_in_paired_modules_list(pairs)
    model = model if inplace else copy.deepcopy(model)
    layers = {name: model.get_submodule(name) for pair in pairs for name in pair}
    before: dict[str, Any] = dict.fromkeys(layers)
    while not converged(layers, before, threshold):
        before = {name: copy.deepcopy(layer) for name, layer in layers.items()}
        for first, second in pairs:
            cross_layer_equalization(layers[first], layers[second])
    return model


def converged(curr_modules: dict[str, Any], prev_modules: dict[str, Any], threshold: float = 1e-4) -> bool:
    """Whether the weights of modules differ by less than a threshold, a sum of norms; not where there are none before."""
    if curr_modules.keys() != prev_modules.keys():
        raise ValueError(
            f"The keys to the given mappings must have the same set of names of modules, got {sorted(curr_modules)} and {sorted(prev_modules)}"
        )
    if any(module is None for module in prev_modules.values()):
        return False
    moved = sum(
        float(torch.linalg.vector_norm(get_module_weight(curr_modules[name]) - get_module_weight(prev_modules[name])))
        for name in prev_modules
    )
    return moved < threshold or math.isnan(moved)  # weights that are NaN stay so
