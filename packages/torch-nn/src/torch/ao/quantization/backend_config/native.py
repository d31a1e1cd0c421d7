"""What is computed with integers here: the same for all names that PyTorch has for its engines."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import qat as nnqat
from torch.ao.nn.intrinsic import qat as nniqat
from torch.ao.nn.quantized import reference as nnqr
from torch.nn import functional as F

from ..fuse_modules import CONVOLUTIONS, NORMS, TRANSPOSED
from ..fuser_method_mappings import get_fuser_method
from .backend_config import BackendConfig, BackendPatternConfig, DTypeConfig, ObservationType

BYTES = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
DYNAMIC = DTypeConfig(torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True)
HALF = DTypeConfig(torch.float16, torch.float, torch.float16, torch.float, is_dynamic=True)
PLAIN = DTypeConfig(torch.quint8, torch.quint8)
NORMED = DTypeConfig(torch.quint8, torch.quint8, torch.float, torch.float)
ROWS = [DTypeConfig(torch.float, torch.float, dtype) for dtype in (torch.quint8, torch.quint4x2)]

RELUS = (nn.ReLU, F.relu)
SUMS = (operator.add, torch.add, operator.mul, torch.mul)
OWN = (
    *SUMS, torch.matmul, nn.BatchNorm2d, nn.BatchNorm3d, nni.BNReLU2d, nni.BNReLU3d, nn.Dropout, nn.ELU, nn.GroupNorm, nn.Hardsigmoid, nn.Hardswish,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.LeakyReLU, nn.PReLU, nn.Sigmoid, nn.Softmax, nn.Tanh, F.dropout, F.elu, F.group_norm,
    F.hardsigmoid, F.hardswish, F.instance_norm, F.leaky_relu, torch.sigmoid, torch.tanh, "hardsigmoid", "hardsigmoid_", "sigmoid", "sigmoid_",
    "tanh", "tanh_",
)  # fmt: skip
SHARED = (
    nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.Hardtanh, nn.Identity, nn.MaxPool1d,
    nn.MaxPool2d, nn.MaxPool3d, nn.PixelShuffle, nn.PixelUnshuffle, nn.ReLU, nn.ReLU6, F.adaptive_avg_pool1d, F.adaptive_avg_pool2d,
    F.adaptive_avg_pool3d, F.hardtanh, F.hardtanh_, F.interpolate, F.max_pool1d, F.max_pool2d, F.max_pool3d, F.pixel_shuffle, F.pixel_unshuffle,
    F.relu, F.relu6, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d, torch.cat, torch.chunk, torch.clamp, torch.flatten, torch.mean, torch.narrow,
    torch.repeat_interleave, torch.squeeze, torch.stack, torch.transpose, torch.unsqueeze, operator.floordiv, "chunk", "clamp", "contiguous", "detach",
    "detach_", "mean", "permute", "relu", "relu_", "repeat", "repeat_interleave", "reshape", "resize_", "squeeze", "squeeze_", "transpose",
    "unsqueeze", "unsqueeze_", "view",
)  # fmt: skip


def _fused(pattern: tuple[Any, ...], dtypes: list[DTypeConfig], joined: Any, root: Any = None) -> BackendPatternConfig:
    classes = tuple(nn.ReLU if each is F.relu else each for each in pattern)
    made = BackendPatternConfig(pattern).set_dtype_configs(list(dtypes)).set_fused_module(joined)
    made.set_root_module(root)
    return made.set_fuser_method(get_fuser_method(classes))


def _weighted(pattern: Any, dtypes: list[DTypeConfig], root: Any, trained: Any = None) -> BackendPatternConfig:
    made = BackendPatternConfig(pattern).set_dtype_configs(list(dtypes)).set_root_module(root).set_qat_module(trained)
    return made.set_reference_quantized_module(getattr(nnqr, root.__name__, None))


def _of_layer(
    kind: Any, dims: str, dtypes: list[DTypeConfig], function: Any, norm: Any, with_both: bool
) -> list[BackendPatternConfig]:
    """A linear layer or a convolution, alone, with norm, with relu, joined to these and trained."""
    name = kind.__name__.removesuffix(dims)
    trained = getattr(nnqat, kind.__name__)
    found = [_weighted(kind, dtypes, kind, trained), _weighted(trained, dtypes, kind)]
    found.append(BackendPatternConfig(function).set_dtype_configs(list(dtypes)))
    bn = f"{name}Bn{dims or '1d'}"
    joined = [f"{name}ReLU{dims}", bn, *([f"{name}BnReLU{dims}"] if with_both else [])]
    for relu in RELUS:
        found.append(BackendPatternConfig((function, relu)).set_dtype_configs(list(dtypes)))
        found.append(_fused((kind, relu), dtypes, getattr(nni, joined[0])))
        if with_both:
            found.append(_fused((kind, norm, relu), dtypes, getattr(nni, joined[2]), kind if relu is F.relu else None))
    found.append(_fused((kind, norm), dtypes, getattr(nni, bn)))
    for each in joined:
        whole = _weighted(getattr(nni, each), dtypes, kind, getattr(nniqat, each))
        found.append(whole if dims == "" else whole.set_root_module(None).set_reference_quantized_module(None))
        found.append(_weighted(getattr(nniqat, each), dtypes, kind))
    return found


def _layers() -> list[BackendPatternConfig]:
    by_dims = {dims: norm for norm, dims in NORMS.items()}
    found = _of_layer(nn.Linear, "", [BYTES, DYNAMIC, HALF], F.linear, nn.BatchNorm1d, False)
    for kind, dims in CONVOLUTIONS.items():
        found += _of_layer(kind, dims, [BYTES], getattr(F, f"conv{dims}"), by_dims[dims], True)
    for kind, dims in TRANSPOSED.items():
        found.append(_weighted(kind, [BYTES], kind))
        found.append(_fused((kind, by_dims[dims]), [BYTES], None, kind).set_reference_quantized_module(getattr(nnqr, kind.__name__)))  # fmt: skip
        found.append(BackendPatternConfig(getattr(F, f"conv_transpose{dims}")).set_dtype_configs([BYTES]))
    for kind in (nn.Embedding, nn.EmbeddingBag):
        found += [_weighted(kind, ROWS, kind, getattr(nnqat, kind.__name__)), _weighted(getattr(nnqat, kind.__name__), ROWS, kind)]  # fmt: skip
    found += [_weighted(kind, [DYNAMIC, HALF], kind) for kind in (nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell)]
    return found


def _native(name: str) -> BackendConfig:
    made = BackendConfig(name).set_backend_pattern_configs(_layers())
    for dims in ("2d", "3d"):
        norm, joined = getattr(nn, f"BatchNorm{dims}"), getattr(nni, f"BNReLU{dims}")
        made.set_backend_pattern_configs([_fused((norm, relu), [PLAIN], joined) for relu in RELUS])
    for pattern in (*OWN, *((each, relu) for each in SUMS for relu in (*RELUS, torch.relu))):
        made.set_backend_pattern_config(BackendPatternConfig(pattern).set_dtype_configs([PLAIN]))
    for pattern in (nn.LayerNorm, F.layer_norm):
        made.set_backend_pattern_config(BackendPatternConfig(pattern).set_dtype_configs([NORMED]))
    for patterns, observed in (
        (SHARED, ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT),
        (("shape", "size"), ObservationType.INPUT_OUTPUT_NOT_OBSERVED),
    ):
        for pattern in patterns:
            config = BackendPatternConfig(pattern).set_dtype_configs([PLAIN]).set_observation_type(observed)
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
    return get_native_backend_config().to_dict()
