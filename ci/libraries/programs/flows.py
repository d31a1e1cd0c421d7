"""Flows and couplings: zuko, normflows, FrEIA, torchcfm."""

import torch
from common import fill, gradients, numbers, train

DISTRIBUTIONS = ["zuko", "normflows", "FrEIA", "torchcfm"]


def spline_flow():
    import zuko

    flow = fill(zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16, 16)))
    x, c = numbers(8, 3), numbers(8, 2)
    return train(flow, lambda: -flow(c).log_prob(x).mean())


def autoregressive_flow():
    import zuko

    flow = fill(zuko.flows.MAF(3, transforms=2, hidden_features=(16,)))
    value = flow().log_prob(numbers(8, 3)).mean()
    value.backward()
    return value, gradients(flow)


def polynomial_flow_of_computed_weights():
    import zuko

    flow = fill(zuko.flows.SOSPF(3, 2, degree=2, polynomials=2, transforms=1, hidden_features=(8,)))
    scale = torch.ones(1, requires_grad=True)
    weights = {name: weight.detach() * scale for name, weight in flow.named_parameters()}
    with torch.nn.utils.stateless._reparametrize_module(flow, weights):  # as weights of a Bayesian model are drawn
        loss = -flow(numbers(8, 2)).log_prob(numbers(8, 3)).mean()
        loss.backward()
    return loss, scale.grad


def normalizing_flow():
    import normflows as nf

    base = nf.distributions.DiagGaussian(2)
    parts = []
    for _ in range(2):
        parts += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2])), nf.flows.Permute(2, mode="swap")]
    flow = fill(nf.NormalizingFlow(base, parts))
    return train(flow, lambda: flow.forward_kld(numbers(16, 2)))


def invertible_network():
    import FrEIA.framework as Ff
    import FrEIA.modules as Fm

    def net(c_in, c_out):
        return torch.nn.Sequential(torch.nn.Linear(c_in, 8), torch.nn.ReLU(), torch.nn.Linear(8, c_out))

    inn = Ff.SequenceINN(4)
    inn.append(Fm.GLOWCouplingBlock, subnet_constructor=net)
    inn.append(Fm.AllInOneBlock, subnet_constructor=net, permute_soft=False)
    fill(inn)
    inn[1].w_perm.data.copy_(torch.eye(4)), inn[1].w_perm_inv.data.copy_(torch.eye(4))
    x = numbers(5, 4)
    z, jacobian = inn(x)
    back, _ = inn(z, rev=True)
    (z.square().sum() - jacobian.sum()).backward()
    return z, jacobian, back, gradients(inn)


def flow_matching():
    from torchcfm.conditional_flow_matching import ConditionalFlowMatcher

    matcher = ConditionalFlowMatcher(sigma=0.0)
    t, x, u = matcher.sample_location_and_conditional_flow(
        numbers(6, 2), numbers(6, 2, seed=1), t=torch.linspace(0, 1, 6)
    )
    return t, x, u
