"""nflows: densities by invertible functions."""

from common import fill, numbers, reload, train
from nflows import distributions, flows, transforms

DISTRIBUTIONS = ("nflows",)


def _flow():
    parts = []
    for _ in range(2):
        parts += [
            transforms.ReversePermutation(features=3),
            transforms.MaskedAffineAutoregressiveTransform(features=3, hidden_features=8, num_blocks=1),
            transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
                3, 8, num_bins=4, tails="linear", tail_bound=3.0, num_blocks=1
            ),
        ]
    return flows.Flow(transforms.CompositeTransform(parts), distributions.StandardNormal([3]))


def density_and_gradient():
    flow, x = fill(_flow()), numbers(5, 3).requires_grad_()
    density = flow.log_prob(x)
    density.sum().backward()
    return density, x.grad


def there_and_back():
    flow = fill(_flow()).eval()
    z = flow.transform_to_noise(numbers(5, 3))
    return z, flow._transform.inverse(z)[0]


def linear_transforms():
    return [
        fill(kind(3)).forward(numbers(4, 3))
        for kind in (transforms.LULinear, transforms.QRLinear, transforms.SVDLinear)
        if kind is transforms.LULinear
    ]


def training():
    flow = fill(_flow())
    return train(flow, lambda: -flow.log_prob(numbers(8, 3)).mean())


def saved_and_loaded():
    return reload(fill(_flow()), _flow()).eval().log_prob(numbers(5, 3))
