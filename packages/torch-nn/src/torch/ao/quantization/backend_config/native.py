"""What is computed with integers here: the same for all names that PyTorch has for its engines."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.nn import functional as F

from .backend_config import BackendConfig, BackendPatternConfig, DTypeConfig, ObservationType

_BYTES = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
_DYNAMIC = DTypeConfig(torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True)
_PLAIN = DTypeConfig(torch.quint8, torch.quint8)

WEIGHTED = (
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, F.linear, F.conv1d, F.conv2d, F.conv3d, nni.LinearReLU, nni.ConvReLU1d, nni.ConvReLU2d, nni.ConvReLU3d,
)  # fmt: skip
OWN = (
    operator.add, torch.add, operator.mul, torch.mul, torch.cat, torch.matmul, nn.BatchNorm2d, nn.BatchNorm3d, nn.ELU, nn.GroupNorm, nn.Hardswish,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.LayerNorm, nn.LeakyReLU, nn.PReLU, nn.Sigmoid, nn.Softmax, nn.Tanh,
)  # fmt: skip
SHARED = (
    nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d,
    nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.Dropout, nn.Identity, nn.Flatten, torch.flatten, F.relu, torch.relu, F.max_pool2d,
    F.adaptive_avg_pool2d, F.avg_pool2d,
)  # fmt: skip


def _native(name: str) -> BackendConfig:
    made = BackendConfig(name)
    for pattern in WEIGHTED:
        made.set_backend_pattern_config(BackendPatternConfig(pattern).set_dtype_configs([_BYTES, _DYNAMIC]))
    for pattern in OWN:
        made.set_backend_pattern_config(BackendPatternConfig(pattern).set_dtype_configs([_PLAIN]))
    shared = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
    for pattern in SHARED:
        config = BackendPatternConfig(pattern).set_dtype_configs([_PLAIN]).set_observation_type(shared)
        made.set_backend_pattern_config(config)
    return made


def get_native_backend_config() -> BackendConfig:
    """The patterns that are computed with integers here.

    >>> torch.ao.quantization.backend_config.get_native_backend_config().name
    'native'
    """
    return _native("native")


def get_x86_backend_config() -> BackendConfig:
    """``get_native_backend_config`` under the name of an engine of PyTorch."""
    return _native("x86")


def get_fbgemm_backend_config() -> BackendConfig:
    """``get_native_backend_config`` under the name of an engine of PyTorch."""
    return _native("fbgemm")


def get_qnnpack_backend_config() -> BackendConfig:
    """``get_native_backend_config`` under the name of an engine of PyTorch."""
    return _native("qnnpack")


def get_onednn_backend_config() -> BackendConfig:
    """``get_native_backend_config`` under the name of an engine of PyTorch."""
    return _native("onednn")


def get_native_backend_config_dict() -> dict[str, Any]:
    """The same as a dict of names and patterns."""
    config = get_native_backend_config()
    return {"name": config.name, "configs": [{"pattern": c.pattern} for c in config.configs]}
