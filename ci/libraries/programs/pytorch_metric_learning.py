"""pytorch-metric-learning: losses of pairs and triplets, miners, distances."""

from common import numbers, whole
from pytorch_metric_learning import distances, losses, miners, reducers

DISTRIBUTIONS = ("pytorch-metric-learning",)


def _value(loss, *more):
    x = numbers(12, 6).requires_grad_()
    value = loss(x, whole(4, 12), *more)
    value.backward()
    return value, x.grad


def pairs_and_triplets():
    kinds = (
        losses.ContrastiveLoss(),
        losses.TripletMarginLoss(),
        losses.MultiSimilarityLoss(),
        losses.NTXentLoss(),
        losses.CircleLoss(),
    )
    return [_value(kind) for kind in kinds]


def supervised_contrast():
    return _value(losses.SupConLoss(temperature=0.2)), _value(losses.NCALoss()), _value(losses.LiftedStructureLoss())


def miners_choose():
    x, y = numbers(12, 6), whole(4, 12)
    return (
        miners.MultiSimilarityMiner(epsilon=0.1)(x, y),
        miners.BatchHardMiner()(x, y),
        _value(losses.TripletMarginLoss(), miners.BatchHardMiner()(x, y)),
    )


def distances_and_reducers():
    loss = losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0))
    return _value(loss), distances.LpDistance(p=2)(numbers(4, 6), numbers(3, 6, seed=1))


def proxies():
    loss = losses.ProxyAnchorLoss(4, 6)
    loss.proxies.data = numbers(4, 6, seed=3)
    return _value(loss), loss.proxies.grad
