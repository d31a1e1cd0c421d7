"""Probability distributions: sampling, densities, divergences, and transforms between constrained regions.

Families load at first use, one file for each.
"""

from torch import _seams

_MODULES = {
    "bernoulli": ("Bernoulli",),
    "beta": ("Beta",),
    "binomial": ("Binomial",),
    "categorical": ("Categorical",),
    "cauchy": ("Cauchy",),
    "chi2": ("Chi2",),
    "constraint_registry": ("biject_to", "transform_to"),
    "constraints": (),
    "continuous_bernoulli": ("ContinuousBernoulli",),
    "dirichlet": ("Dirichlet",),
    "distribution": ("Distribution",),
    "exp_family": ("ExponentialFamily",),
    "exponential": ("Exponential",),
    "fishersnedecor": ("FisherSnedecor",),
    "gamma": ("Gamma",),
    "generalized_pareto": ("GeneralizedPareto",),
    "geometric": ("Geometric",),
    "gumbel": ("Gumbel",),
    "half_cauchy": ("HalfCauchy",),
    "half_normal": ("HalfNormal",),
    "independent": ("Independent",),
    "inverse_gamma": ("InverseGamma",),
    "kl": ("kl_divergence", "register_kl"),
    "kumaraswamy": ("Kumaraswamy",),
    "laplace": ("Laplace",),
    "lkj_cholesky": ("LKJCholesky",),
    "log_normal": ("LogNormal",),
    "logistic_normal": ("LogisticNormal",),
    "lowrank_multivariate_normal": ("LowRankMultivariateNormal",),
    "mixture_same_family": ("MixtureSameFamily",),
    "multinomial": ("Multinomial",),
    "multivariate_normal": ("MultivariateNormal",),
    "negative_binomial": ("NegativeBinomial",),
    "normal": ("Normal",),
    "one_hot_categorical": ("OneHotCategorical", "OneHotCategoricalStraightThrough"),
    "pareto": ("Pareto",),
    "poisson": ("Poisson",),
    "relaxed_bernoulli": ("LogitRelaxedBernoulli", "RelaxedBernoulli"),
    "relaxed_categorical": ("ExpRelaxedCategorical", "RelaxedOneHotCategorical"),
    "studentT": ("StudentT",),
    "transformed_distribution": ("TransformedDistribution",),
    "transforms": (
        "AbsTransform",
        "AffineTransform",
        "CatTransform",
        "ComposeTransform",
        "CorrCholeskyTransform",
        "CumulativeDistributionTransform",
        "ExpTransform",
        "IndependentTransform",
        "LowerCholeskyTransform",
        "PositiveDefiniteTransform",
        "PowerTransform",
        "ReshapeTransform",
        "SigmoidTransform",
        "SoftmaxTransform",
        "SoftplusTransform",
        "StackTransform",
        "StickBreakingTransform",
        "TanhTransform",
        "Transform",
        "identity_transform",
    ),
    "uniform": ("Uniform",),
    "utils": (),
    "von_mises": ("VonMises",),
    "weibull": ("Weibull",),
    "wishart": ("Wishart",),
}
_FILES = {name: file for file, names in _MODULES.items() for name in names}

__all__ = list(_FILES)


TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see; at run time these come when asked for
    from . import constraints as constraints
    from . import utils as utils
    from .bernoulli import *  # noqa: F403
    from .beta import *  # noqa: F403
    from .binomial import *  # noqa: F403
    from .categorical import *  # noqa: F403
    from .cauchy import *  # noqa: F403
    from .chi2 import *  # noqa: F403
    from .constraint_registry import *  # noqa: F403
    from .continuous_bernoulli import *  # noqa: F403
    from .dirichlet import *  # noqa: F403
    from .distribution import *  # noqa: F403
    from .exp_family import *  # noqa: F403
    from .exponential import *  # noqa: F403
    from .fishersnedecor import *  # noqa: F403
    from .gamma import *  # noqa: F403
    from .generalized_pareto import *  # noqa: F403
    from .geometric import *  # noqa: F403
    from .gumbel import *  # noqa: F403
    from .half_cauchy import *  # noqa: F403
    from .half_normal import *  # noqa: F403
    from .independent import *  # noqa: F403
    from .inverse_gamma import *  # noqa: F403
    from .kl import *  # noqa: F403
    from .kumaraswamy import *  # noqa: F403
    from .laplace import *  # noqa: F403
    from .lkj_cholesky import *  # noqa: F403
    from .log_normal import *  # noqa: F403
    from .logistic_normal import *  # noqa: F403
    from .lowrank_multivariate_normal import *  # noqa: F403
    from .mixture_same_family import *  # noqa: F403
    from .multinomial import *  # noqa: F403
    from .multivariate_normal import *  # noqa: F403
    from .negative_binomial import *  # noqa: F403
    from .normal import *  # noqa: F403
    from .one_hot_categorical import *  # noqa: F403
    from .pareto import *  # noqa: F403
    from .poisson import *  # noqa: F403
    from .relaxed_bernoulli import *  # noqa: F403
    from .relaxed_categorical import *  # noqa: F403
    from .studentT import *  # noqa: F403
    from .transformed_distribution import *  # noqa: F403
    from .transforms import *  # noqa: F403
    from .uniform import *  # noqa: F403
    from .von_mises import *  # noqa: F403
    from .weibull import *  # noqa: F403
    from .wishart import *  # noqa: F403
else:

    def __getattr__(name):
        file = _FILES.get(name, name)
        if file not in _MODULES:
            raise AttributeError(f"module 'torch.distributions' has no attribute {name!r}")
        import importlib

        module = importlib.import_module(f"{__name__}.{file}")
        globals().update({public: getattr(module, public) for public in _MODULES[file]})
        return globals().get(name, module)


def __dir__():
    return sorted({*globals(), *_MODULES, *_FILES})


_seams.complete_package(__name__)
