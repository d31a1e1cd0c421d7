"""What a node of a graph is to quantization.

- ``weighted``: a layer, or a function, that multiplies by a weight;
- ``own``: its result has a range of its own; ``sum`` of them are sums and products of two tensors, ``joined`` those of lists;
- ``shared``: it gives numbers of the range that it was given;
- ``reference``: it computes in floats, between integers that are made numbers and numbers that are rounded again.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import nn
from torch.ao.nn import qat as nnqat
from torch.ao.nn.intrinsic import qat as nniqat
from torch.nn import functional as F

from .. import quantization_mappings as mappings

FUNCTIONS = {
    F.linear: nn.Linear, F.conv1d: nn.Conv1d, F.conv2d: nn.Conv2d, F.conv3d: nn.Conv3d, F.conv_transpose1d: nn.ConvTranspose1d,
    F.conv_transpose2d: nn.ConvTranspose2d, F.conv_transpose3d: nn.ConvTranspose3d,
}  # fmt: skip
SUMS = {
    operator.add: "add", operator.iadd: "add", torch.add: "add", operator.mul: "mul", operator.imul: "mul", torch.mul: "mul", torch.matmul: "matmul",
    operator.matmul: "matmul", "add": "add", "add_": "add", "mul": "mul", "mul_": "mul", "matmul": "matmul",
}  # fmt: skip
JOINS = (torch.cat, torch.concat)
STACKS = (torch.stack,)  #: like joins, of tensors that share a scale
#: functions whose results have a range of their own, which are computed in floats and rounded
OWN = (F.elu, F.hardswish, F.group_norm, F.instance_norm, F.layer_norm, F.leaky_relu, F.dropout)
RELUS = (nn.ReLU, F.relu, torch.relu, "relu", "relu_")
TABLES = (nn.Embedding, nn.EmbeddingBag)
SHARED = frozenset({
    nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d,
    nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.Identity, nn.Flatten, nn.Unflatten, nn.Upsample, nn.PixelShuffle,
    torch.flatten, torch.reshape, torch.permute, torch.transpose, torch.squeeze, torch.unsqueeze, torch.chunk, torch.split, torch.mean,
    operator.getitem, F.max_pool1d, F.max_pool2d, F.max_pool3d, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d, F.adaptive_avg_pool1d,
    F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.interpolate, F.pixel_shuffle, torch.narrow, torch.repeat_interleave, F.relu, torch.relu, F.relu6, F.hardtanh, torch.clamp,
    "flatten", "reshape", "view", "permute", "transpose", "squeeze", "unsqueeze", "contiguous", "chunk", "split", "mean", "relu", "relu_", "clamp",
    "detach", "expand", "repeat", "repeat_interleave", "narrow", "t",
})  # fmt: skip
#: functions of one tensor whose results have a known range, which quantized tensors compute
UNIT = (
    torch.sigmoid, torch.tanh, F.hardsigmoid, F.sigmoid, F.tanh, nn.Sigmoid, nn.Tanh, nn.Hardsigmoid, "sigmoid", "tanh",
)  # fmt: skip
TRAINED = tuple({getattr(m, n) for m in (nnqat, nniqat) for n in m.__all__ if isinstance(getattr(m, n), type)})


def subject(node: Any, modules: dict[str, nn.Module]) -> Any:
    """The class of a node's layer, its function, or its method's name."""
    if node.op == "call_module":
        return type(modules[node.target])
    return node.target if node.op in ("call_function", "call_method") else None


def is_relu(node: Any, modules: dict[str, nn.Module]) -> bool:
    return subject(node, modules) in RELUS


def kind_of(node: Any, modules: dict[str, nn.Module]) -> str | None:
    """One of the words above, or None for what stays in floats."""
    what = subject(node, modules)
    if what is None:
        return None
    if what in SHARED:
        return "shared"
    if what in SUMS:
        return "sum"
    if what in JOINS or what in STACKS:
        return "joined"
    if what in OWN:
        return "reference"
    if (
        what in FUNCTIONS
        or what in TRAINED
        or (node.op == "call_module" and what in mappings.DEFAULT_QAT_MODULE_MAPPINGS)
    ):
        return "weighted"
    if what in UNIT:
        return "unit"
    if node.op == "call_module" and what in TABLES:
        return "table"
    if node.op == "call_module" and what in mappings.DEFAULT_STATIC_QUANT_MODULE_MAPPINGS:
        return "weighted" if hasattr(modules[node.target], "weight") or hasattr(modules[node.target], "0") else "own"
    if node.op == "call_module" and what in mappings.DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS:
        return "dynamic"
    return None
