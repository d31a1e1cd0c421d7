"""Optimal transport and tensors: geomloss, POT, tensorly."""

import torch
from common import numbers

DISTRIBUTIONS = ["geomloss", "pot", "tensorly"]


def sinkhorn_divergence():
    from geomloss import SamplesLoss

    x = numbers(10, 2).requires_grad_()
    value = SamplesLoss("sinkhorn", p=2, blur=0.1, backend="tensorized")(x, numbers(12, 2, seed=1))
    value.backward()
    return value, x.grad


def kernel_distances():
    from geomloss import SamplesLoss

    x, y = numbers(10, 2), numbers(12, 2, seed=1)
    return [SamplesLoss(kind, blur=0.5, backend="tensorized")(x, y) for kind in ("gaussian", "laplacian", "energy")]


def exact_transport():
    import ot

    x = numbers(6, 2, dtype=torch.float64).requires_grad_()
    weights = torch.full((6,), 1 / 6, dtype=torch.float64)
    value = ot.emd2(weights, weights, ot.dist(x, numbers(6, 2, seed=1, dtype=torch.float64)))
    value.backward()
    return value, x.grad


def entropic_transport():
    import ot

    x, y = numbers(6, 2, dtype=torch.float64), numbers(6, 2, seed=1, dtype=torch.float64)
    weights = torch.full((6,), 1 / 6, dtype=torch.float64)
    return ot.sinkhorn(weights, weights, ot.dist(x, y), 1.0), ot.sliced_wasserstein_distance(
        x, y, projections=numbers(2, 8, dtype=torch.float64)
    )


def factors_of_a_tensor():
    import tensorly as tl
    from tensorly.decomposition import parafac, tucker

    tl.set_backend("pytorch")
    x = numbers(3, 4, 5, dtype=torch.float64)
    core, factors = tucker(x, rank=[2, 2, 2], init="svd")
    return tl.tucker_to_tensor((core, factors)), tl.cp_to_tensor(parafac(x, rank=2, init="svd", n_iter_max=20))
