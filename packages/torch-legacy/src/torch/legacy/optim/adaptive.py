"""Steps whose size is that of each parameter's own."""

import math

import torch

from .gradient import called, evaluated, rate, remembered

__all__ = ["adadelta", "adagrad", "adam", "adamax", "rmsprop", "rprop"]


@torch.no_grad()
def adam(opfunc, x, config, state=None):
    """Adam (Kingma and Ba 2014): learningRate (1e-3), learningRateDecay, beta1 (0.9), beta2 (0.999), epsilon (1e-8),
    weightDecay.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, losses = torch.legacy.optim.adam(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    beta1, beta2 = config.get("beta1", 0.9), config.get("beta2", 0.999)
    fx, slope = evaluated(opfunc, x, config)
    m, v = state.setdefault("m", torch.zeros_like(x)), state.setdefault("v", torch.zeros_like(x))
    step = rate(config, state, 1e-3)
    state["t"] = state.get("t", 0) + 1
    m.mul_(beta1).add_(slope, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(slope, slope, value=1 - beta2)
    unbiased = math.sqrt(1 - beta2 ** state["t"]) / (1 - beta1 ** state["t"])
    x.addcdiv_(m, v.sqrt().add_(config.get("epsilon", 1e-8)), value=-step * unbiased)
    return x, fx


@torch.no_grad()
def adamax(opfunc, x, config, state=None):
    """Adam with the largest gradient (Kingma and Ba 2014, section 7): learningRate (2e-3), beta1, beta2, epsilon (1e-38),
    weightDecay.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, losses = torch.legacy.optim.adamax(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    beta1, beta2 = config.get("beta1", 0.9), config.get("beta2", 0.999)
    fx, slope = evaluated(opfunc, x, config)
    m, u = state.setdefault("m", torch.zeros_like(x)), state.setdefault("u", torch.zeros_like(x))
    step = rate(config, state, 2e-3)
    state["t"] = state.get("t", 0) + 1
    m.mul_(beta1).add_(slope, alpha=1 - beta1)
    u.copy_(torch.maximum(u * beta2, slope.abs() + config.get("epsilon", 1e-38)))
    x.addcdiv_(m, u, value=-step / (1 - beta1 ** state["t"]))
    return x, fx


@torch.no_grad()
def adagrad(opfunc, x, config, state=None):
    """Adagrad (Duchi 2011): learningRate (1e-3), learningRateDecay, weightDecay.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, losses = torch.legacy.optim.adagrad(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    fx, slope = evaluated(opfunc, x, config)
    step = rate(config, state, 1e-3)
    total = state.setdefault("paramVariance", torch.zeros_like(x))
    total.addcmul_(slope, slope)
    x.addcdiv_(slope, total.sqrt().add_(1e-10), value=-step)
    return x, fx


@torch.no_grad()
def adadelta(opfunc, x, config, state=None):
    """Adadelta (Zeiler 2012): rho (0.9), eps (1e-6), weightDecay, learningRate (1).

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, losses = torch.legacy.optim.adadelta(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    rho, eps = config.get("rho", 0.9), config.get("eps", 1e-6)
    fx, slope = evaluated(opfunc, x, config)
    step = rate(config, state, 1)
    squares = state.setdefault("paramVariance", torch.zeros_like(x))
    steps = state.setdefault("accDelta", torch.zeros_like(x))
    squares.mul_(rho).addcmul_(slope, slope, value=1 - rho)
    delta = (steps + eps).sqrt() / (squares + eps).sqrt() * slope
    x.sub_(delta, alpha=step)
    steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    return x, fx


@torch.no_grad()
def rmsprop(opfunc, x, config, state=None):
    """RMSprop (Hinton 2012): learningRate (1e-2), learningRateDecay, alpha (0.99), epsilon (1e-8), weightDecay.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, losses = torch.legacy.optim.rmsprop(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    alpha = config.get("alpha", 0.99)
    fx, slope = evaluated(opfunc, x, config)
    step = rate(config, state, 1e-2)
    mean = state.setdefault("m", torch.zeros_like(x))
    mean.mul_(alpha).addcmul_(slope, slope, value=1 - alpha)
    x.addcdiv_(slope, mean.sqrt().add_(config.get("epsilon", 1e-8)), value=-step)
    return x, fx


@torch.no_grad()
def rprop(opfunc, x, config, state=None):
    """Resilient propagation (Riedmiller and Braun 1993) of whole batches: stepsize (0.1), etaplus (1.2), etaminus (0.5),
    stepsizemax (50), stepsizemin (1e-6), niter (1). The history has the loss of each iteration.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, losses = torch.legacy.optim.rprop(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    history = []
    for _ in range(config.get("niter", 1)):
        fx, slope = called(opfunc, x)
        history.append(fx)
        before = state.setdefault("delta", torch.zeros_like(x))
        sizes = state.setdefault("sizes", torch.full_like(x, config.get("stepsize", 0.1)))
        sign = (slope * before).sign()
        factor = torch.where(
            sign > 0, config.get("etaplus", 1.2), torch.where(sign < 0, config.get("etaminus", 0.5), 1.0)
        )
        sizes.mul_(factor.to(sizes)).clamp_(config.get("stepsizemin", 1e-6), config.get("stepsizemax", 50))
        slope = slope.masked_fill(sign < 0, 0)  # after a turn, no step and no memory of it
        x.sub_(slope.sign() * sizes)
        before.copy_(slope)
    return x, history
