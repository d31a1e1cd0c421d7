"""captum: what a result is due to."""

from captum import attr
from common import fill, numbers
from torch import nn

DISTRIBUTIONS = ("captum",)


def _net():
    return fill(nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)), 0.3).eval()


def gradients():
    net, x = _net(), numbers(2, 1, 6, 6)
    return [
        kind(net).attribute(x, target=1)
        for kind in (attr.Saliency, attr.InputXGradient, attr.Deconvolution, attr.GuidedBackprop)
    ]


def integrated_gradients():
    found, rest = attr.IntegratedGradients(_net()).attribute(
        numbers(2, 1, 6, 6), target=1, n_steps=20, return_convergence_delta=True
    )
    return found, rest.abs() < 0.1


def deep_lift():
    return attr.DeepLift(_net()).attribute(numbers(2, 1, 6, 6), numbers(2, 1, 6, 6, seed=1), target=2)


def layers():
    net, x = _net(), numbers(2, 1, 6, 6)
    return (
        attr.LayerActivation(net, net[0]).attribute(x),
        attr.LayerGradCam(net, net[0]).attribute(x, target=0),
        attr.LayerConductance(net, net[1]).attribute(x, target=0, n_steps=5),
    )


def parts_left_out():
    net, x = _net(), numbers(1, 1, 6, 6)
    return attr.Occlusion(net).attribute(x, (1, 2, 2), target=0, strides=(1, 2, 2)), attr.FeatureAblation(
        net
    ).attribute(x, target=1)
