"""Pyro: programs that draw, and what their posteriors are."""

import pyro
import pyro.distributions as dist
import torch
from common import numbers
from pyro.infer import SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, TraceMeanField_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta

DISTRIBUTIONS = ("pyro-ppl", "pyro-api")


def _regression(x, y):
    w = pyro.sample("w", dist.Normal(torch.zeros(2), torch.ones(2)).to_event(1))
    s = pyro.sample("s", dist.LogNormal(0.0, 1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(x @ w, s), obs=y)


def _data():
    x = numbers(20, 2)
    return x, x @ torch.tensor([1.0, -2.0]) + 0.1 * numbers(20)


def log_density_of_a_trace():
    model = pyro.condition(_regression, {"w": torch.tensor([0.5, 0.1]), "s": torch.tensor(0.7)})
    return pyro.poutine.trace(model).get_trace(*_data()).log_prob_sum()


def maximum_a_posteriori():
    pyro.clear_param_store()
    guide = AutoDelta(
        _regression, init_loc_fn=pyro.infer.autoguide.init_to_value(values={"w": torch.ones(2), "s": torch.tensor(1.0)})
    )
    svi = SVI(_regression, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    losses = [svi.step(*_data()) for _ in range(20)]
    return losses, guide.median()


def mixture_is_summed_over():
    pyro.clear_param_store()

    @config_enumerate
    def model(x):
        p = pyro.param("p", torch.tensor([0.3, 0.7]), constraint=dist.constraints.simplex)
        means = pyro.param("means", torch.tensor([-1.0, 1.0]))
        with pyro.plate("data", len(x)):
            z = pyro.sample("z", dist.Categorical(p))
            pyro.sample("x", dist.Normal(means[z], 1.0), obs=x)

    svi = SVI(model, lambda x: None, pyro.optim.SGD({"lr": 0.01}), TraceEnum_ELBO(max_plate_nesting=1))
    return [svi.step(numbers(15)) for _ in range(5)], pyro.param("means"), pyro.param("p")


def divergence_in_closed_form():
    pyro.clear_param_store()

    def model():
        pyro.sample("z", dist.Normal(0.0, 1.0))

    def guide():
        pyro.sample(
            "z",
            dist.Normal(
                pyro.param("m", torch.tensor(2.0)), pyro.param("s", torch.tensor(0.5), dist.constraints.positive)
            ),
        )

    return TraceMeanField_ELBO().loss(model, guide)


def densities():
    x = torch.tensor([0.2, 0.5, 0.9])
    kinds = (
        dist.Beta(2.0, 3.0),
        dist.Gamma(2.0, 1.0),
        dist.StudentT(3.0),
        dist.VonMises(0.0, 2.0),
        dist.Delta(x),
        dist.AsymmetricLaplace(0.0, 1.0, 2.0),
    )
    return [kind.log_prob(x) for kind in kinds]


def posterior_predictions():
    return Predictive(pyro.condition(_regression, {"w": torch.ones(2), "s": torch.tensor(1.0)}), num_samples=3)(
        *_data()
    )["y"].shape


def hamiltonian_samples_have_their_mean():
    pyro.set_rng_seed(0)
    kernel = pyro.infer.NUTS(lambda: pyro.sample("z", dist.Normal(3.0, 0.5)))
    run = pyro.infer.MCMC(kernel, num_samples=150, warmup_steps=50, disable_progbar=True)
    run.run()
    return abs(float(run.get_samples()["z"].mean()) - 3.0) < 0.3
