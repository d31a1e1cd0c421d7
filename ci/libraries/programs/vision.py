"""torchvision (its Python), kornia, segmentation models, efficientnet: images."""

import efficientnet_pytorch
import kornia
import segmentation_models_pytorch
import torch
import torchvision
from common import fill, numbers, size, whole

DISTRIBUTIONS = ("torchvision", "kornia", "segmentation-models-pytorch", "efficientnet-pytorch")


def networks():
    kinds = torchvision.models.resnet18, torchvision.models.mobilenet_v2, torchvision.models.squeezenet1_1
    nets = [fill(kind(num_classes=5), 0.05).eval() for kind in kinds]
    return [(size(net), net(numbers(1, 3, 64, 64))) for net in nets]


def features_by_name():
    from torchvision.models.feature_extraction import create_feature_extractor

    net = fill(torchvision.models.resnet18(num_classes=5), 0.05).eval()
    return create_feature_extractor(net, {"layer2.1.relu_1": "x"})(numbers(1, 3, 64, 64))["x"].mean((2, 3))


def transforms():
    import torchvision.transforms.functional as f

    x = numbers(3, 12, 12).sigmoid()
    return (
        f.resize(x, [6, 8], antialias=True),
        f.rotate(x, 30.0),
        f.adjust_hue(x, 0.1),
        f.gaussian_blur(x, 3),
        f.hflip(x),
        f.normalize(x, [0.5] * 3, [0.2] * 3),
    )


def boxes():
    boxes = torch.tensor([[0.0, 0, 4, 4], [1, 1, 5, 5]])
    return (
        torchvision.ops.box_iou(boxes, boxes),
        torchvision.ops.generalized_box_iou(boxes, boxes),
        torchvision.ops.sigmoid_focal_loss(numbers(4), torch.ones(4)),
    )


def colours_and_filters():
    x = numbers(1, 3, 16, 16).sigmoid()
    return (
        kornia.color.rgb_to_hsv(x),
        kornia.color.rgb_to_lab(x),
        kornia.filters.sobel(x),
        kornia.filters.gaussian_blur2d(x, (5, 5), (1.0, 1.0)),
        kornia.filters.canny(x)[0],
    )


def geometry():
    x = numbers(1, 1, 12, 12)
    turn = kornia.geometry.get_rotation_matrix2d(torch.tensor([[6.0, 6.0]]), torch.tensor([30.0]), torch.ones(1, 2))
    return (
        kornia.geometry.warp_affine(x, turn, (12, 12)),
        kornia.geometry.resize(x, (6, 6)),
        kornia.geometry.transform.pyrdown(x),
        kornia.geometry.axis_angle_to_rotation_matrix(numbers(2, 3)),
    )


def losses_of_images():
    a, b = numbers(1, 3, 16, 16).sigmoid(), numbers(1, 3, 16, 16, seed=1).sigmoid()
    return (
        kornia.losses.ssim_loss(a, b, 5),
        kornia.losses.total_variation(a),
        kornia.losses.dice_loss(numbers(1, 3, 8, 8), whole(3, 1, 8, 8)),
    )


def functions_as_attributes_of_classes():
    x, target = numbers(1, 2, 8, 8).softmax(1), whole(2, 1, 1, 8, 8)  # the class has `conv = torch.conv2d`
    return kornia.losses.HausdorffERLoss(k=4)(x, target)


def segmentation():
    net = fill(segmentation_models_pytorch.Unet("resnet18", encoder_weights=None, classes=2), 0.05).eval()
    out = net(numbers(1, 3, 64, 64))
    return (
        size(net),
        out.mean((2, 3)),
        segmentation_models_pytorch.losses.DiceLoss("multiclass")(out, whole(2, 1, 64, 64)),
    )


def efficientnet():
    net = fill(
        efficientnet_pytorch.EfficientNet.from_name("efficientnet-b0", override_params={"num_classes": 4}), 0.05
    ).eval()
    return net(numbers(1, 3, 64, 64))
