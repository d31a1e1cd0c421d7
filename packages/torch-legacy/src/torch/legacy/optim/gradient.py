"""Steps along the gradient."""

import math

import torch

__all__ = ["asgd", "nag", "sgd", "sqrt_nothrow"]


def sqrt_nothrow(x):
    """The root, or NaN of a negative number.

    >>> sqrt_nothrow(4.0), sqrt_nothrow(-1.0)
    (2.0, nan)
    """
    return math.sqrt(x) if x >= 0 else math.nan


def remembered(config, state):
    """The settings and the memory of a method."""
    if config is None and state is None:
        raise ValueError("expected a dictionary for config or state, to remember steps in, got None")
    config = {} if config is None else config
    return config, config if state is None else state


def called(opfunc, x):
    """The loss and its gradient, as a function of the user gives them."""
    found = opfunc(x)
    if not isinstance(found, (tuple, list)) or len(found) != 2 or not isinstance(found[1], torch.Tensor):
        what = [type(one).__name__ for one in found] if isinstance(found, (tuple, list)) else type(found).__name__
        raise TypeError(f"opfunc returns the loss and its gradient, a tensor; it returned {what}")
    if found[1].shape != x.shape:
        raise ValueError(
            f"opfunc returned a gradient of shape {tuple(found[1].shape)}, the parameters have {tuple(x.shape)}"
        )
    return found


def evaluated(opfunc, x, config):
    """The loss, and its gradient with that of the weight decay."""
    fx, slope = called(opfunc, x)
    decay = config.get("weightDecay", 0)
    if decay:
        slope = slope + decay * x
    return fx, slope


def rate(config, state, default):
    """The learning rate of this call, which falls with the number of calls."""
    count = state.setdefault("evalCounter", 0)
    state["evalCounter"] = count + 1
    return config.get("learningRate", default) / (1 + count * config.get("learningRateDecay", 0))


@torch.no_grad()
def sgd(opfunc, x, config, state=None):
    """Stochastic gradient descent: learningRate (1e-3), learningRateDecay, weightDecay, momentum, dampening (= momentum),
    nesterov, learningRates and weightDecays (one for each parameter).

    >>> x, config = torch.tensor([3.0]), {"learningRate": 0.25}
    >>> for _ in range(20):
    ...     x, loss = sgd(lambda x: ((x * x).sum().item(), 2 * x), x, config)
    >>> x.item() < 1e-5
    True
    """
    config, state = remembered(config, state)
    momentum = config.get("momentum", 0)
    dampening = config.get("dampening", momentum)
    nesterov = config.get("nesterov", False)
    if nesterov and (momentum <= 0 or dampening != 0):
        raise ValueError(f"sgd: nesterov needs momentum above 0 and dampening 0, got {momentum} and {dampening}")
    if "weightDecays" in config and config.get("weightDecay", 0):
        raise ValueError("sgd: give weightDecay or weightDecays, not both")
    fx, slope = evaluated(opfunc, x, config)
    if "weightDecays" in config:
        slope = slope + config["weightDecays"] * x
    if momentum:
        if "dfdx" not in state:
            state["dfdx"] = slope.clone()
        else:
            state["dfdx"].mul_(momentum).add_(slope, alpha=1 - dampening)
        slope = slope + momentum * state["dfdx"] if nesterov else state["dfdx"]
    step = rate(config, state, 1e-3)
    if "learningRates" in config:
        slope = slope * config["learningRates"]
    x.add_(slope, alpha=-step)
    return x, fx


@torch.no_grad()
def nag(opfunc, x, config, state=None):
    """Nesterov's accelerated gradient: the gradient is taken where the momentum leads (Sutskever 2013). learningRate (1e-3),
    learningRateDecay, weightDecay, momentum (0.9), learningRates.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, losses = torch.legacy.optim.nag(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    momentum = config.get("momentum", 0.9)
    if not momentum > 0:
        raise ValueError(f"nag: momentum must be above 0, got {momentum}")
    if "dfdx" in state:
        x.add_(state["dfdx"], alpha=momentum)
    fx, slope = evaluated(opfunc, x, config)
    step = rate(config, state, 1e-3)
    if "learningRates" in config:
        slope = slope * config["learningRates"]
    velocity = state.setdefault("dfdx", torch.zeros_like(x))
    velocity.mul_(momentum).sub_(slope, alpha=step)
    x.sub_(slope, alpha=step)  # the momentum's part was taken before
    return x, fx


@torch.no_grad()
def asgd(opfunc, x, config, state=None):
    """Averaged stochastic gradient descent (Bottou 2012): the average is in ``state["ax"]`` and comes third. eta0 (1e-4),
    lambda (1e-4), alpha (0.75), t0 (1e6).

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, *_ = torch.legacy.optim.asgd(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    eta0, decay = config.get("eta0", 1e-4), config.get("lambda", 1e-4)
    eta, mu, t = state.get("eta_t", eta0), state.get("mu_t", 1), state.get("t", 0)
    fx, slope = called(opfunc, x)
    t += 1
    x.mul_(1 - decay * eta).add_(slope, alpha=-eta)
    average = state.setdefault("ax", torch.zeros_like(x))
    average.add_(x - average, alpha=mu)
    state["t"] = t
    state["eta_t"] = eta0 / (1 + decay * eta0 * t) ** config.get("alpha", 0.75)
    state["mu_t"] = 1 / max(1, t - config.get("t0", 1e6))
    return x, fx, average
