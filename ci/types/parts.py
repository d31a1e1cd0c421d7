"""Distributions, processes, func, pruning and other parts: type checkers must find nothing here."""

from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import distributions as D
from torch.distributions import biject_to, constraints, kl_divergence, register_kl, transform_to
from torch.nn.utils import parametrizations, prune
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import TensorDataset
from torch.utils.data.distributed import DistributedSampler
from torch.utils.tensorboard import SummaryWriter

t = torch.ones(3)
n = D.Normal(0.0, 1.0)
x: torch.Tensor = (
    n.sample((2,))
    + n.rsample(torch.Size([2]))
    + n.log_prob(t)
    + n.mean
    + n.variance
    + n.stddev
    + n.entropy()
    + n.cdf(t)
    + n.icdf(t)
)
for d in (
    D.Bernoulli(0.5),
    D.Bernoulli(logits=t),
    D.Categorical(probs=t),
    D.Beta(t, t),
    D.Gamma(1.0, 2.0),
    D.Dirichlet(t),
    D.Exponential(t),
    D.Laplace(t, 1.0),
    D.Poisson(t),
    D.Uniform(0, 1),
    D.StudentT(3.0),
    D.Cauchy(0, 1),
    D.Chi2(3.0),
    D.Geometric(0.5),
    D.Gumbel(0, 1),
    D.LogNormal(0, 1),
    D.Pareto(1, 2),
    D.OneHotCategorical(t),
    D.Multinomial(3, t),
    D.Binomial(3, t),
    D.FisherSnedecor(1, 2),
    D.RelaxedBernoulli(t, t),
    D.RelaxedOneHotCategorical(t, t),
):
    y: torch.Tensor = d.sample()
    d.log_prob(y)
m = D.MultivariateNormal(t, covariance_matrix=torch.eye(3))
i = D.Independent(n, 0)
k: torch.Tensor = kl_divergence(n, n)
tr = D.TransformedDistribution(
    n, [D.ExpTransform(), D.AffineTransform(0.0, 2.0), D.SigmoidTransform(), D.PowerTransform(t), D.AbsTransform()]
)
c = D.ComposeTransform([D.ExpTransform()])
z: torch.Tensor = c(t) + c.inv(t) + c.log_abs_det_jacobian(t, t)
print(tr.sample(), n.batch_shape, n.event_shape, n.expand((2,)), n.has_rsample, n.support, n.arg_constraints)
print(
    constraints.positive.check(t),
    constraints.interval(0, 1),
    biject_to(constraints.positive)(t),
    transform_to(constraints.simplex)(t),
)


@register_kl(D.Normal, D.Laplace)
def kl(p: D.Normal, q: D.Laplace) -> torch.Tensor:
    return p.mean


q: Any = mp.Queue()
q.put(t)
p = mp.Process(target=print, args=(1,))
p.start()
p.join()
with mp.Pool(2) as pool:
    print(pool.map(abs, [1]))
mp.set_sharing_strategy("file_system")
s: str = mp.get_sharing_strategy()
mp.get_all_sharing_strategies()
mp.set_start_method("spawn")
mp.spawn(print, args=(1,), nprocs=2)
j = torch.autograd.functional.jacobian(torch.sin, t)
f = torch.func.grad(lambda x: x.sum())(t)
v = torch.vmap(torch.sin)(t)

lin = parametrizations.weight_norm(torch.nn.Linear(2, 2))
prune.l1_unstructured(torch.nn.Linear(2, 2), "weight", 0.5)

avg = AveragedModel(torch.nn.Linear(2, 2))

w = SummaryWriter("a")
w.add_scalar("x", 1.0, 2)
w.close()
torch.hub.load("a", "b")
with torch.autocast("cpu"), torch.random.fork_rng():
    pass
sc = torch.amp.GradScaler("cpu")
sc.scale(t).sum().backward()
torch.testing.assert_close(t, t)
torch.utils.model_zoo.load_url("x")


def rank(t: torch.Tensor) -> None:
    dist.all_reduce(t, op=dist.ReduceOp.SUM)
    dist.all_reduce(t, async_op=True).wait()
    dist.broadcast(t, src=0)
    dist.all_gather([t, t], t, group=dist.group.WORLD)
    dist.barrier()
    sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(
        TensorDataset(t), 2, rank=dist.get_rank()
    )
    sampler.set_epoch(1)
