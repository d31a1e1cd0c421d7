"""torchinfo, torchsummary, fvcore: what a model consists of."""

import contextlib
import io

import fvcore.nn
import torch
import torchinfo
import torchsummary
from common import numbers
from torch import nn

DISTRIBUTIONS = ("torchinfo", "torchsummary", "fvcore")


def _net():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    )


def table():
    found = torchinfo.summary(_net(), (2, 1, 8, 8), verbose=0)
    return found.total_params, found.total_mult_adds, found.total_output_bytes, str(found)


def table_of_2018():
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        torchsummary.summary(_net(), (1, 8, 8), device="cpu")
    return text.getvalue()


def parameters_by_name():
    return fvcore.nn.parameter_count_table(_net()), dict(fvcore.nn.parameter_count(_net()))


def operations():
    net, x = _net().eval(), numbers(1, 1, 8, 8)
    flops = fvcore.nn.FlopCountAnalysis(net, x).unsupported_ops_warnings(False)
    return (
        flops.total(),
        dict(flops.by_module()),
        dict(flops.by_operator()),
        fvcore.nn.ActivationCountAnalysis(net, x).total(),
    )


def weights_at_the_start():
    import fvcore.nn.weight_init as init

    layer = nn.Linear(3, 3)
    init.c2_xavier_fill(layer)
    return layer.bias, fvcore.nn.sigmoid_focal_loss(numbers(4), torch.tensor([0.0, 1, 1, 0]), reduction="mean")


def boxes():
    return fvcore.nn.giou_loss(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 1, 3, 4]]))
