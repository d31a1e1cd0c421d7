"""Methods for whole batches, which look at the curvature."""

import torch

from .gradient import called, remembered

__all__ = ["cg", "lbfgs"]


@torch.no_grad()
def cg(opfunc, x, config, state=None):
    """Conjugate gradients by Polak and Ribiere, with a line search that ends by Wolfe's conditions.

    maxIter (20), maxEval (25 per iteration), rho (0.01) and sig (0.5) of the conditions, tolX (1e-9). The history has the
    losses of the iterations; the number of evaluations comes third.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, *_ = torch.legacy.optim.cg(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    evaluations = 0

    def at(point):
        nonlocal evaluations
        evaluations += 1
        fx, slope = called(opfunc, point)
        return float(fx), slope.clone()

    fx, slope = at(x)
    history, direction, length = [fx], -slope, 1 / (1 + slope.abs().sum().item())
    for _ in range(config.get("maxIter", 20)):
        descent = torch.dot(slope.reshape(-1), direction.reshape(-1)).item()
        if descent >= 0:  # no way down: steepest descent again
            direction, descent = -slope, -slope.pow(2).sum().item()
        if descent == 0:
            break
        start = x.clone()
        found = _wolfe(at, x, start, direction, fx, descent, length, config)
        if found is None:
            x.copy_(start)
            break
        length, fx, new_slope = found
        x.copy_(start + length * direction)
        beta = (new_slope * (new_slope - slope)).sum().item() / slope.pow(2).sum().item()
        slope, direction = new_slope, max(0.0, beta) * direction - new_slope
        history.append(fx)
        if (x - start).abs().max().item() < config.get("tolX", 1e-9):
            break
    return x, history, evaluations


def _wolfe(at, x, start, direction, fx, descent, length, config):
    """A length that fulfils Wolfe's conditions, with loss and slope there, by bisection and doubling; None without one."""
    low, high = 0.0, None
    best = None
    for _ in range(config.get("maxEval", 25)):
        x.copy_(start + length * direction)
        value, slope = at(x)
        along = (slope * direction).sum().item()
        if not value <= fx + config.get("rho", 0.01) * length * descent:
            high = length
        else:
            best = length, value, slope
            if abs(along) <= -config.get("sig", 0.5) * descent:
                return best
            if along < 0:
                low = length
            else:
                high = length
        length = 2 * length if high is None else (low + high) / 2
    return best


@torch.no_grad()
def lbfgs(opfunc, x, config, state=None):
    """Limited memory BFGS (Nocedal 1980): maxIter (20), maxEval (1.25 maxIter), tolFun (1e-5), tolX (1e-9), nCorrection (100),
    learningRate (1), lineSearch (a function of ``opfunc, x, t, d, f, g, gtd, lineSearchOptions`` that gives f, g, x, t and the
    number of evaluations). The history has the losses of the iterations; the number of evaluations comes third.

    >>> x = torch.tensor([1.0])
    >>> for _ in range(5):
    ...     x, *_ = torch.legacy.optim.lbfgs(lambda x: ((x**2).sum().item(), 2 * x), x, {"learningRate": 0.1})
    >>> bool(x < 1)
    True
    """
    config, state = remembered(config, state)
    iterations = config.get("maxIter", 20)
    most = config.get("maxEval", iterations * 1.25)
    fx, slope = called(opfunc, x)
    fx, slope, evaluations, history = float(fx), slope.clone(), 1, [float(fx)]
    state["funcEval"] = state.get("funcEval", 0) + 1
    pairs = state.setdefault("pairs", [])  # steps, and how the slope changed along them
    for _ in range(iterations):
        if slope.abs().sum().item() <= config.get("tolFun", 1e-5):
            break
        state["nIter"] = state.get("nIter", 0) + 1
        if "before" in state:
            step, change = x - state["before"][0], slope - state["before"][1]
            if (step * change).sum().item() > 1e-10:
                pairs.append((step, change))
                del pairs[: -config.get("nCorrection", 100)]
        state["before"] = x.clone(), slope.clone()
        direction = _newton(pairs, slope)
        descent = (slope * direction).sum().item()
        if descent > -config.get("tolX", 1e-9):
            break
        length = config.get("learningRate", 1)
        if state["nIter"] == 1:
            length *= min(1.0, 1 / slope.abs().sum().item())
        if config.get("lineSearch"):
            old = fx
            fx, slope, moved, length, count = config["lineSearch"](
                opfunc, x, length, direction, fx, slope, descent, config.get("lineSearchOptions")
            )
            x.copy_(moved)
        else:
            old, count = fx, 1
            x.add_(direction, alpha=length)
            fx, slope = called(opfunc, x)
        fx, slope = float(fx), slope.clone()
        evaluations += count
        state["funcEval"] += count
        history.append(fx)
        if evaluations >= most or (direction * length).abs().sum().item() <= config.get("tolX", 1e-9):
            break
        if abs(fx - old) < config.get("tolX", 1e-9):
            break
    return x, history, evaluations


def _newton(pairs, slope):
    """Minus the approximate inverse Hessian times the slope, in two loops."""
    q, weights = -slope, []
    for step, change in reversed(pairs):
        weight = (step * q).sum() / (step * change).sum()
        weights.append(weight)
        q = q - weight * change
    if pairs:
        step, change = pairs[-1]
        q = q * ((step * change).sum() / change.pow(2).sum())
    for (step, change), weight in zip(pairs, reversed(weights)):
        q = q + step * (weight - (change * q).sum() / (step * change).sum())
    return q
