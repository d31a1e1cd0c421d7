"""Layers of quantized models under the names of files that PyTorch has had them in since 2018."""

import importlib.util

import pytest
from torch.ao.nn import intrinsic, qat, quantized
from torch.ao.nn.intrinsic import qat as intrinsic_qat
from torch.ao.nn.intrinsic import quantized as intrinsic_quantized
from torch.ao.nn.intrinsic.quantized import dynamic as intrinsic_dynamic
from torch.ao.nn.qat import dynamic as qat_dynamic
from torch.ao.nn.quantized import dynamic, reference


@pytest.mark.parametrize("home", ["torch.nn", "torch.ao.nn"])
@pytest.mark.parametrize(
    "path, name, wanted",
    [
        ("quantized.modules.linear", "Linear", quantized.Linear),
        ("quantized.modules.conv", "ConvTranspose2d", quantized.ConvTranspose2d),
        ("quantized.modules.batchnorm", "BatchNorm2d", quantized.BatchNorm2d),
        ("quantized.modules.functional_modules", "FloatFunctional", quantized.FloatFunctional),
        ("quantized.modules.embedding_ops", "EmbeddingBag", quantized.EmbeddingBag),
        ("quantized.modules.rnn", "LSTM", quantized.LSTM),
        ("quantized.modules.activation", "Hardswish", quantized.Hardswish),
        ("quantized.modules.normalization", "LayerNorm", quantized.LayerNorm),
        ("quantized.dynamic.modules", "GRU", dynamic.GRU),
        ("quantized.dynamic.modules.linear", "Linear", dynamic.Linear),
        ("quantized.dynamic.modules.rnn", "LSTM", dynamic.LSTM),
        ("qat.modules", "Conv2d", qat.Conv2d),
        ("qat.modules.linear", "Linear", qat.Linear),
        ("qat.modules.conv", "Conv2d", qat.Conv2d),
        ("qat.dynamic", "Linear", qat_dynamic.Linear),
        ("qat.dynamic.modules.linear", "Linear", qat_dynamic.Linear),
        ("intrinsic", "_FusedModule", intrinsic._FusedModule),
        ("intrinsic.modules", "ConvReLU2d", intrinsic.ConvReLU2d),
        ("intrinsic.modules.fused", "LinearReLU", intrinsic.LinearReLU),
        ("intrinsic.qat.modules", "ConvBn2d", intrinsic_qat.ConvBn2d),
        ("intrinsic.qat.modules.conv_fused", "ConvBnReLU2d", intrinsic_qat.ConvBnReLU2d),
        ("intrinsic.qat.modules.conv_fused", "freeze_bn_stats", intrinsic_qat.freeze_bn_stats),
        ("intrinsic.qat.modules.linear_relu", "LinearReLU", intrinsic_qat.LinearReLU),
        ("intrinsic.quantized.modules", "ConvReLU2d", intrinsic_quantized.ConvReLU2d),
        ("intrinsic.quantized.modules.bn_relu", "BNReLU2d", intrinsic_quantized.BNReLU2d),
        ("intrinsic.quantized.dynamic.modules.linear_relu", "LinearReLU", intrinsic_dynamic.LinearReLU),
    ],
)  # fmt: skip
def test_layers_are_found_in_files_of_pytorch_s(home, path, name, wanted):
    assert getattr(importlib.import_module(f"{home}.{path}"), name) is wanted


def test_reference_layers_have_their_older_name():
    for path in (
        "torch.nn.quantized._reference",
        "torch.nn.quantized._reference.modules.linear",
        "torch.ao.nn.quantized.reference.modules.conv",
    ):
        assert importlib.import_module(path).Linear is reference.Linear
    assert importlib.import_module("torch.nn.quantized._reference.modules.rnn").LSTM is reference.LSTM


@pytest.mark.parametrize("path", ["quantize_pt2e", "quantizer.xnnpack_quantizer", "pt2e.export_utils"])
def test_what_has_left_pytorch_says_where_it_is(path):
    with pytest.raises(
        ModuleNotFoundError, match="No module named .*: PyTorch has it no longer, the distribution 'torchao' does"
    ):
        importlib.import_module(f"torch.ao.quantization.{path}")
    assert importlib.util.find_spec(f"torch.ao.quantization.{path.partition('.')[0]}") is None


@pytest.mark.parametrize(
    "path",
    ["qat", "qat.modules", "qat.modules.conv", "intrinsic.qat.modules.conv_fused", "intrinsic.quantized.dynamic"],
)
def test_files_are_not_read_twice(path):
    old, new = (importlib.import_module(f"{home}.{path}") for home in ("torch.nn", "torch.ao.nn"))
    assert old is new or path == "qat"
    classes = {n: getattr(old, n) for n in dir(old) if isinstance(getattr(old, n), type)}
    assert classes and all(kind is getattr(new, n) for n, kind in classes.items())
