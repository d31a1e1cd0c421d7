"""timm: image models, optimizers, schedules and augmentation."""

import timm
import torch
from common import fill, numbers, reload, size, train
from timm.layers import DropPath, PatchEmbed, resample_abs_pos_embed
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler

DISTRIBUTIONS = ("timm",)


def _forward(name, side=64, **settings):
    net = fill(timm.create_model(name, num_classes=7, **settings), 0.05).eval()
    x = numbers(2, 3, side, side)
    out = net(x)
    return size(net), out


def resnet():
    return _forward("resnet18")


def efficientnet():
    return _forward("efficientnet_b0")


def vision_transformer():
    return _forward("vit_tiny_patch16_224", img_size=64)


def swin():
    return _forward("swin_tiny_patch4_window7_224", img_size=64, window_size=2)


def convnext():
    return _forward("convnext_atto")


def mobilenet():
    return _forward("mobilenetv3_small_050")


def features():
    net = fill(timm.create_model("resnet18", features_only=True), 0.05).eval()
    return [f.mean((2, 3)) for f in net(numbers(1, 3, 64, 64))], net.feature_info.channels()


def training():
    net = fill(timm.create_model("resnet10t", num_classes=4), 0.05)
    net.train()
    x, y = numbers(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])
    losses, _ = train(net, lambda: LabelSmoothingCrossEntropy(0.1)(net(x), y), steps=2)
    return losses


def optimizer_and_schedule():
    net = fill(torch.nn.Linear(4, 4))
    optimizer = create_optimizer_v2(net, opt="adamw", lr=0.1, weight_decay=0.05)
    schedule = CosineLRScheduler(optimizer, t_initial=10, warmup_t=3, warmup_lr_init=1e-3)
    rates = []
    for epoch in range(8):
        schedule.step(epoch)
        optimizer.zero_grad()
        net(numbers(3, 4)).square().sum().backward()
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates, net


def soft_targets():
    return SoftTargetCrossEntropy()(numbers(4, 5), numbers(4, 5, seed=2).softmax(1))


def layers():
    patches = fill(PatchEmbed(32, 8, 3, 12))
    return (
        patches(numbers(1, 3, 32, 32)),
        DropPath(0.2).eval()(numbers(2, 3)),
        resample_abs_pos_embed(numbers(1, 17, 4), [6, 6]),
    )


def saved_and_loaded():
    make = lambda: timm.create_model("resnet10t", num_classes=3)
    return reload(fill(make(), 0.05), make()).eval()(numbers(1, 3, 32, 32))
