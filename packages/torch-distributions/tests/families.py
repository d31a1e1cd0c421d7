"""One or more distributions of each family, from parameters as lists, for the generated tests.

A row has the class, functions that make its arguments from tensors of a dtype, and SciPy's distribution of the same
numbers where there is one.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributions as D
from scipy import stats

F64 = torch.float64


@dataclass
class Family:
    cls: type
    arguments: dict
    scipy: Any = None  # arguments as NumPy arrays -> a frozen distribution
    kept: dict = field(default_factory=dict)  # arguments that are not tensors

    def __str__(self):
        return self.cls.__name__

    def tensors(self, dtype=F64):
        return {name: torch.tensor(value, dtype=dtype) for name, value in self.arguments.items()}

    def make(self, dtype=F64, **options):
        return self.cls(**self.tensors(dtype), **self.kept, **options)

    def of(self, **tensors):
        return self.cls(**tensors, **self.kept)

    def reference(self):
        return self.scipy(*(np.asarray(value, dtype=float) for value in self.arguments.values()))


PROBS = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
COVARIANCE = [[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]
FACTOR = np.linalg.cholesky(COVARIANCE).tolist()

FAMILIES = [
    Family(D.Bernoulli, {"probs": [0.2, 0.7]}, stats.bernoulli),
    Family(D.Bernoulli, {"logits": [-2.0, 0.5]}, lambda x: stats.bernoulli(1 / (1 + np.exp(-x)))),
    Family(D.Beta, {"concentration1": [0.5, 2.0, 30.0], "concentration0": [0.7, 1.5, 4.0]}, stats.beta),
    Family(D.Binomial, {"total_count": [7.0, 7.0], "probs": [0.2, 0.6]}, stats.binom),
    Family(D.Categorical, {"probs": PROBS}),
    Family(D.Categorical, {"logits": [[0.3, -1.0, 2.0], [0.0, 0.0, 0.0]]}),
    Family(D.Cauchy, {"loc": [0.5, -1.0], "scale": [1.0, 3.0]}, stats.cauchy),
    Family(D.Chi2, {"df": [0.7, 4.0]}, stats.chi2),
    Family(D.ContinuousBernoulli, {"probs": [0.1, 0.5, 0.499, 0.6, 0.999]}),
    Family(D.Dirichlet, {"concentration": [[0.5, 1.0, 3.0], [4.0, 4.0, 4.0]]}),
    Family(D.Exponential, {"rate": [0.5, 3.0]}, lambda r: stats.expon(scale=1 / r)),
    Family(D.FisherSnedecor, {"df1": [3.0, 8.0], "df2": [9.0, 12.0]}, stats.f),
    Family(D.Gamma, {"concentration": [0.3, 5.0], "rate": [2.0, 0.5]}, lambda a, r: stats.gamma(a, scale=1 / r)),
    Family(
        D.GeneralizedPareto,
        {"loc": [0.0, 1.0, -1.0], "scale": [1.0, 2.0, 0.5], "concentration": [0.2, -0.4, 0.0]},
        lambda m, s, c: stats.genpareto(c, m, s),
    ),
    Family(D.Geometric, {"probs": [0.2, 0.8]}, lambda p: stats.geom(p, loc=-1)),
    Family(D.Gumbel, {"loc": [0.5, -1.0], "scale": [1.0, 3.0]}, stats.gumbel_r),
    Family(D.HalfCauchy, {"scale": [0.5, 2.0]}, lambda s: stats.halfcauchy(0, s)),
    Family(D.HalfNormal, {"scale": [0.5, 2.0]}, lambda s: stats.halfnorm(0, s)),
    Family(D.InverseGamma, {"concentration": [3.5, 6.0], "rate": [2.0, 0.5]}, lambda a, r: stats.invgamma(a, scale=r)),
    Family(D.Kumaraswamy, {"concentration1": [0.6, 2.0], "concentration0": [1.5, 3.0]}),
    Family(D.Laplace, {"loc": [0.5, -1.0], "scale": [1.0, 3.0]}, stats.laplace),
    Family(D.LKJCholesky, {"concentration": [0.8, 3.0]}, kept={"dim": 3}),
    Family(D.LogisticNormal, {"loc": [0.1, -0.4], "scale": [0.5, 1.0]}),
    Family(D.LogNormal, {"loc": [0.1, -0.4], "scale": [0.5, 0.3]}, lambda m, s: stats.lognorm(s, scale=np.exp(m))),
    Family(
        D.LowRankMultivariateNormal,
        {"loc": [0.0, 1.0, -1.0], "cov_factor": [[1.0], [0.5], [-0.3]], "cov_diag": [0.5, 1.0, 2.0]},
    ),
    Family(D.Multinomial, {"probs": PROBS}, kept={"total_count": 6}),
    Family(D.MultivariateNormal, {"loc": [0.5, 0.0, -1.0], "covariance_matrix": COVARIANCE}),
    Family(D.MultivariateNormal, {"loc": [[0.5, 0.0, -1.0], [0.0, 0.0, 0.0]], "scale_tril": [FACTOR, FACTOR]}),
    Family(D.MultivariateNormal, {"loc": [0.5, 0.0, -1.0], "precision_matrix": COVARIANCE}),
    Family(D.NegativeBinomial, {"total_count": [3.0, 0.7], "probs": [0.3, 0.6]}, lambda n, p: stats.nbinom(n, 1 - p)),
    Family(D.Normal, {"loc": [0.5, -1.0], "scale": [1.0, 3.0]}, stats.norm),
    Family(D.OneHotCategorical, {"probs": PROBS}),
    Family(D.OneHotCategoricalStraightThrough, {"probs": PROBS}),
    Family(D.Pareto, {"scale": [1.0, 2.0], "alpha": [5.0, 8.0]}, lambda s, a: stats.pareto(a, scale=s)),
    Family(D.Poisson, {"rate": [0.5, 12.0]}, stats.poisson),
    Family(D.RelaxedBernoulli, {"temperature": 0.7, "probs": [0.2, 0.6]}),
    Family(D.RelaxedOneHotCategorical, {"temperature": 0.7, "probs": PROBS}),
    Family(D.StudentT, {"df": [5.0, 9.0], "loc": [0.5, -1.0], "scale": [1.0, 3.0]}, stats.t),
    Family(D.Uniform, {"low": [0.0, -2.0], "high": [1.0, 3.0]}, lambda low, high: stats.uniform(low, high - low)),
    Family(D.VonMises, {"loc": [0.5, -2.0], "concentration": [0.7, 20.0]}, lambda m, k: stats.vonmises(k, m)),
    Family(
        D.Weibull,
        {"scale": [1.0, 2.0], "concentration": [0.9, 3.0]},
        lambda s, c: stats.weibull_min(c, scale=s),
    ),
    Family(D.Wishart, {"df": [4.0, 7.5], "covariance_matrix": [COVARIANCE, COVARIANCE]}),
]
#: made of other distributions
COMPOSED = {
    "Independent": lambda dtype=F64: D.Independent(
        D.Normal(torch.zeros(2, 3, dtype=dtype), torch.ones(3, dtype=dtype)), 1
    ),
    "TransformedDistribution": lambda dtype=F64: D.TransformedDistribution(
        D.Normal(torch.zeros(2, dtype=dtype), 1.0), [D.AffineTransform(1.0, 2.0), D.ExpTransform()]
    ),
    "MixtureSameFamily": lambda dtype=F64: D.MixtureSameFamily(
        D.Categorical(torch.tensor([[0.2, 0.8], [0.5, 0.5]], dtype=dtype)),
        D.Normal(torch.tensor([[-1.0, 1.0], [0.0, 3.0]], dtype=dtype), 1.0),
    ),
    "MixtureSameFamily of vectors": lambda dtype=F64: D.MixtureSameFamily(
        D.Categorical(torch.tensor([0.2, 0.8], dtype=dtype)),
        D.MultivariateNormal(torch.zeros(2, 3, dtype=dtype), torch.eye(3, dtype=dtype)),
    ),
}
EVERY = {f"{f}-{i}": f.make for i, f in enumerate(FAMILIES)} | COMPOSED
