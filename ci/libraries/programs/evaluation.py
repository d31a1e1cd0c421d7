"""Metrics, privacy, second derivatives of losses, pruning, counts of operations and maps of what a network looks at."""

import torch
from common import fill, gradients, numbers, train, whole

DISTRIBUTIONS = ["torcheval", "opacus", "backpack-for-pytorch", "torch-pruning", "thop", "torchcam", "pytorch-ood"]


def _net():
    return fill(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Sigmoid(), torch.nn.Linear(6, 3)))


def metrics():
    from torcheval import metrics
    from torcheval.metrics import functional

    scores, labels = torch.softmax(numbers(8, 3), 1), whole(3, 8)
    auroc = metrics.BinaryAUROC()
    auroc.update(scores[:, 0], (labels == 0).long())
    return [
        functional.multiclass_accuracy(scores, labels),
        functional.multiclass_f1_score(scores, labels, num_classes=3, average=None),
        functional.multiclass_confusion_matrix(scores, labels, 3),
        functional.mean_squared_error(scores[:, 0], scores[:, 1]),
        auroc.compute(),
    ]


def gradients_of_each_example():
    from opacus import GradSampleModule

    net = GradSampleModule(_net())
    torch.nn.functional.cross_entropy(net(numbers(5, 4)), whole(3, 5), reduction="sum").backward()
    return [p.grad_sample for p in net.parameters()]


def private_training():
    from opacus import GradSampleModule
    from opacus.accountants import RDPAccountant
    from opacus.optimizers import DPOptimizer

    net = GradSampleModule(_net())
    optimizer = DPOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1), noise_multiplier=0.0, max_grad_norm=1.0, expected_batch_size=5
    )
    for _ in range(2):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(numbers(5, 4)), whole(3, 5)).backward()
        optimizer.step()
    accountant = RDPAccountant()
    accountant.history = [(1.1, 0.01, 100)]
    return [p.detach() for p in net.parameters()], accountant.get_epsilon(1e-5)


def curvature():
    from backpack import backpack, extend
    from backpack.extensions import KFLR, BatchGrad, DiagGGNExact, Variance

    net, loss = extend(_net()), extend(torch.nn.CrossEntropyLoss())
    with backpack(BatchGrad(), Variance(), DiagGGNExact(), KFLR()):
        loss(net(numbers(5, 4)), whole(3, 5)).backward()
    return [[p.grad_batch, p.variance, p.diag_ggn_exact, *p.kflr] for p in net.parameters()]


def pruned_channels():
    import torch_pruning

    net = fill(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 3)))
    x = numbers(1, 3, 8, 8)
    graph = torch_pruning.DependencyGraph().build_dependency(net, example_inputs=x)
    graph.get_pruning_group(net[0], torch_pruning.prune_conv_out_channels, idxs=[1, 4]).prune()
    out = net(x)
    out.sum().backward()
    return out, gradients(net), [tuple(p.shape) for p in net.parameters()]


def operations():
    from thop import profile

    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(288, 2)
    )
    return profile(net, inputs=(numbers(1, 3, 8, 8),), verbose=False)


def maps_of_attention():
    from torchcam.methods import GradCAM, LayerCAM, SmoothGradCAMpp  # noqa: F401

    net = fill(
        torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(4, 2),
        )
    ).eval()
    found = []
    for method in (GradCAM, LayerCAM):
        with method(net, target_layer=net[1]) as cam:
            scores = net(numbers(1, 3, 8, 8))
            found.append(cam(1, scores))
    return found


def strangers():
    from pytorch_ood.detector import EnergyBased, MaxSoftmax
    from pytorch_ood.loss import EntropicOpenSetLoss

    net = _net()
    scores = [detector(numbers(5, 4)) for detector in (MaxSoftmax(net), EnergyBased(net))]
    loss = EntropicOpenSetLoss()(net(numbers(5, 4)), torch.tensor([0, 1, -1, 2, -1]))
    return scores, loss


def training_and_file():
    net = _net()
    losses = train(net, lambda: torch.nn.functional.cross_entropy(net(numbers(5, 4)), whole(3, 5)))
    return losses, net
