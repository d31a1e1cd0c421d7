"""monai: medical images."""

import torch
from common import fill, numbers, size, train, whole
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet, ViT
from monai.transforms import Compose, NormalizeIntensity, Resize, ScaleIntensity

DISTRIBUTIONS = ("monai",)


def _net():
    return fill(UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2)))


def network():
    net = _net().eval()
    return size(net), net(numbers(1, 1, 16, 16))


def vision_transformer():
    net = fill(ViT(1, (16, 16), (8, 8), hidden_size=12, mlp_dim=24, num_layers=1, num_heads=3, spatial_dims=2)).eval()
    return net(numbers(1, 1, 16, 16))[0]


def losses():
    x, y = numbers(2, 3, 8, 8), torch.nn.functional.one_hot(whole(3, 2, 8, 8), 3).movedim(-1, 1).float()
    return DiceLoss(softmax=True)(x, y), DiceCELoss(softmax=True)(x, y), FocalLoss()(x, y)


def metric():
    score = DiceMetric()
    score((numbers(2, 3, 8, 8) > 0).float(), (numbers(2, 3, 8, 8, seed=1) > 0).float())
    return score.aggregate()


def windows():
    return sliding_window_inference(numbers(1, 1, 20, 20), (8, 8), 2, _net().eval(), overlap=0.5, mode="gaussian")


def transforms():
    chain = Compose([ScaleIntensity(), NormalizeIntensity(), Resize((6, 5))])
    return (
        chain(numbers(1, 10, 10)).as_tensor()
        if hasattr(chain(numbers(1, 10, 10)), "as_tensor")
        else chain(numbers(1, 10, 10))
    )


def training():
    net = _net()
    return train(
        net, lambda: DiceLoss(sigmoid=True)(net(numbers(1, 1, 16, 16)), (numbers(1, 2, 16, 16, seed=2) > 0).float())
    )[0]
