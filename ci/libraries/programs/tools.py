"""Tools around training: optimizers, metrics of images, attributions, rotations, clusters, loops."""

import torch
from common import fill, numbers, train, whole
from torch import nn

DISTRIBUTIONS = (
    "hqq", "madgrad", "came-pytorch", "galore-torch", "adabound", "piqa", "zennit",
    "torchviz", "roma", "ttach", "grad-cam", "pytorch-toolbelt",
    "torch-kmeans", "torch-lr-finder", "poutyne", "torchani",
)  # fmt: skip


def _net():
    return fill(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)), 0.3)


def optimizers():
    from adabound import AdaBound
    from came_pytorch import CAME
    from galore_torch import GaLoreAdamW
    from madgrad import MADGRAD

    def trained(make):
        net, x = _net(), numbers(8, 4)
        return train(net, lambda: net(x).square().mean(), lambda p: make(p, lr=1e-3))

    return [trained(make) for make in (AdaBound, CAME, MADGRAD, GaLoreAdamW)]


def half_quadratic():
    from hqq.core.quantize import BaseQuantizeConfig, HQQLinear

    layer = fill(nn.Linear(64, 64, bias=False))
    made = HQQLinear(layer, BaseQuantizeConfig(nbits=4, group_size=64), compute_dtype=torch.float32, device="cpu")
    return made(numbers(2, 64))


def image_metrics():
    import piqa

    a, b = numbers(2, 3, 32, 32).sigmoid().requires_grad_(), numbers(2, 3, 32, 32, seed=1).sigmoid()
    values = piqa.PSNR()(a, b), piqa.SSIM()(a, b), piqa.TV()(a), piqa.GMSD()(a, b), piqa.HaarPSI()(a, b)
    sum(values).backward()
    return values


def attributions():
    from zennit.attribution import Gradient
    from zennit.composites import EpsilonPlusFlat

    net = fill(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)), 0.2)
    with Gradient(model=net, composite=EpsilonPlusFlat()) as attributor:
        return attributor(numbers(1, 3, 8, 8), torch.eye(3)[[0]])


def graph_pictures():
    from torchviz import make_dot

    x = numbers(3).requires_grad_()
    return make_dot((x * 2).sum(), params={"x": x}).source.count("->")


def rotations():
    import roma

    q = roma.rotvec_to_unitquat(numbers(4, 3))
    m = roma.unitquat_to_rotmat(q)
    return (
        q,
        m,
        roma.rotmat_to_rotvec(m),
        roma.special_procrustes(numbers(2, 3, 3)),
        roma.utils.rotmat_geodesic_distance(m[:2], m[2:]),
    )


def test_time():
    import ttach

    net = fill(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 3)), 0.2)
    return ttach.ClassificationTTAWrapper(net, ttach.aliases.d4_transform())(numbers(1, 3, 8, 8))


def heat_maps():
    from pytorch_grad_cam import GradCAM, LayerCAM
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    net = fill(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)), 0.2)
    return [
        kind(model=net, target_layers=[net[0]])(numbers(1, 3, 8, 8), [ClassifierOutputTarget(1)])
        for kind in (GradCAM, LayerCAM)
    ]


def losses():
    from pytorch_toolbelt import losses as L

    x, y = numbers(2, 1, 8, 8).requires_grad_(), whole(2, 2, 1, 8, 8).float()
    values = (
        L.BinaryFocalLoss()(x, y),
        L.DiceLoss("binary")(x, y),
        L.JaccardLoss("binary")(x, y),
        L.BinaryLovaszLoss()(x, y),
    )
    sum(values).backward()
    return values, x.grad


def clusters():
    from torch_kmeans import KMeans

    torch.manual_seed(0)
    x = torch.cat([numbers(10, 2) * 0.1, numbers(10, 2) * 0.1 + 5])[None]
    labels = KMeans(n_clusters=2, verbose=False, num_init=4)(x).labels[0]
    return [
        bool((labels[:10] == labels[0]).all()),
        bool((labels[10:] == labels[10]).all()),
        bool(labels[0] != labels[10]),
    ]


def rates():
    from torch.utils.data import DataLoader, TensorDataset
    from torch_lr_finder import LRFinder

    data = DataLoader(TensorDataset(numbers(16, 4), numbers(16, 2)), batch_size=4)
    net = _net()
    finder = LRFinder(net, torch.optim.SGD(net.parameters(), lr=1e-4), nn.MSELoss(), device="cpu")
    finder.range_test(data, end_lr=1, num_iter=6)
    return finder.history["loss"]


def loops():
    from poutyne import Model

    net = _net()
    model = Model(net, "sgd", "mse", device="cpu")
    x, y = numbers(16, 4).numpy(), numbers(16, 2, seed=2).numpy()
    model.fit(x, y, epochs=2, batch_size=4, verbose=False)
    return model.predict(x, verbose=False).shape


def potentials():
    from torchani.aev import AEVComputer

    aev = AEVComputer.like_2x(num_species=2) if hasattr(AEVComputer, "like_2x") else AEVComputer.like_1x(num_species=2)
    return aev(torch.tensor([[0, 1, 1]]), numbers(1, 3, 3, dtype=torch.float32))
