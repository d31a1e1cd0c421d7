"""Limited-memory BFGS (Nocedal 1980), with a line search for the strong Wolfe conditions."""

from __future__ import annotations

import torch

from ._check import not_negative
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["LBFGS"]


def _real(p):
    """The parts of a complex parameter, which are parameters of their own."""
    return torch.view_as_real(p) if p.is_complex() else p


class LBFGS(Optimizer):
    """A quasi-Newton method for full batches: ``step(closure)`` runs up to ``max_iter`` iterations.

    The closure clears the gradients, computes the loss and its gradients, and returns the loss.  One group only.
    ``line_search_fn`` is None (steps of size lr) or 'strong_wolfe'.

    >>> w = torch.nn.Parameter(torch.tensor([1.0, 5.0]))
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> w.detach()
    tensor([3., 3.])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        not_negative(lr=lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(f"only 'strong_wolfe' is supported, got line_search_fn={line_search_fn!r}")
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._fill_in_options()
        self._params = self.param_groups[0]["params"]

    def _gather_flat_grad(self):
        """All gradients as one vector."""
        return torch.cat([_real(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params])

    def _numel(self):
        """How many numbers all parameters have."""
        return sum(_real(p).numel() for p in self._params)

    @torch.no_grad()
    def _add_grad(self, step_size, direction):
        """``x <- x + t d``."""
        params = [_real(p) for p in self._params]
        for p, part in zip(params, direction.split([p.numel() for p in params])):
            p.add_(part.view_as(p), alpha=step_size)

    def _clone_param(self):
        """Copies of the parameters, which :meth:`_set_param` takes back."""
        return [p.detach().clone() for p in self._params]

    @torch.no_grad()
    def _set_param(self, params_data):
        for p, data in zip(self._params, params_data, strict=True):
            p.copy_(data)

    def _along(self, evaluate, d):
        """Loss and gradient as a function of how far to go along ``d``; the parameters stay where they are."""
        x = self._clone_param()

        def along(t):
            self._add_grad(t, d)
            _, loss, g = evaluate()
            self._set_param(x)
            return loss, g

        return along

    def step(self, closure: Any) -> Any:
        """Run up to ``max_iter`` iterations; returns the loss at the beginning.

        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.LBFGS([w])
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (w**2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        1.0
        """
        with torch.no_grad():
            return self._minimize(closure)

    def _minimize(self, closure):
        group = self.param_groups[0]
        lr, history = float(group["lr"]), group["history_size"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate():
            with torch.enable_grad():
                loss = closure()
            return loss, float(loss), self._gather_flat_grad()

        first_loss, loss, g = evaluate()
        evals = 1
        state["func_evals"] += 1
        if float(g.abs().max()) <= group["tolerance_grad"]:
            return first_loss
        d, t = state.get("d"), float(state.get("t", 0.0))
        pairs = list(zip(state.get("old_dirs", ()), state.get("old_stps", ()), map(float, state.get("ro", ()))))
        scale = float(state.get("H_diag", 1.0))
        g_before, loss_before = state.get("prev_flat_grad"), state.get("prev_loss")

        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d, pairs, scale = -g, [], 1.0
            else:
                y, s = g - g_before, d * t
                ys = float(torch.dot(y, s))
                if ys > 1e-10:  # else the curvature condition fails, and the pair would spoil the matrix
                    pairs = [*pairs[-(history - 1) :], (y, s, 1.0 / ys)] if history > 1 else [(y, s, 1.0 / ys)]
                    scale = ys / float(torch.dot(y, y))
                d = _two_loops(-g, pairs, scale)
            g_before, loss_before = g.clone(), loss
            size = float(g.abs().sum())
            t = lr / size if state["n_iter"] == 1 and size > 1 else lr
            slope = float(torch.dot(g, d))
            if slope > -group["tolerance_change"]:
                break
            used = 0
            if group["line_search_fn"] == "strong_wolfe":
                most = min(25, group["max_eval"] - evals)
                loss, g, t, used = _line_search(self._along(evaluate, d), t, d, loss, g, slope, most)
                self._add_grad(t, d)
            else:
                self._add_grad(t, d)
                if iteration != group["max_iter"]:  # the last gradient would not be used
                    _, loss, g = evaluate()
                    used = 1
            evals += used
            state["func_evals"] += used
            if (
                evals >= group["max_eval"]
                or float(g.abs().max()) <= group["tolerance_grad"]
                or float((d * t).abs().max()) <= group["tolerance_change"]
                or abs(loss - loss_before) < group["tolerance_change"]
            ):
                break
        ys, steps, rhos = ([pair[i] for pair in pairs] for i in range(3))  # under the names of other checkpoints
        state.update(d=d, t=t, old_dirs=ys, old_stps=steps, ro=rhos, H_diag=scale)
        state.update(prev_flat_grad=g_before, prev_loss=loss_before)
        return first_loss


def _two_loops(q, pairs, scale):
    """The product of the inverse Hessian's approximation with ``q`` (Nocedal and Wright, algorithm 7.4)."""
    alphas = []
    for y, s, rho in reversed(pairs):
        alpha = float(torch.dot(s, q)) * rho
        q = q.add(y, alpha=-alpha)
        alphas.append(alpha)
    r = q * scale
    for (y, s, rho), alpha in zip(pairs, reversed(alphas)):
        r = r.add(s, alpha=alpha - float(torch.dot(y, r)) * rho)
    return r


def _cubic(x1, f1, g1, x2, f2, g2, low=None, high=None):
    """The minimum of the cubic through two points with slopes, within bounds (Nocedal and Wright, equation 3.59)."""
    low, high = (min(x1, x2), max(x1, x2)) if low is None else (low, high)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2
    d2 = square**0.5
    if x1 > x2:
        d2 = -d2
    bottom = g2 - g1 + 2 * d2
    if bottom == 0:
        return (low + high) / 2
    return min(max(x2 - (x2 - x1) * (g2 + d2 - d1) / bottom, low), high)


def _line_search(along, t, d, f, g, slope, most, c1=1e-4, c2=0.9, tolerance=1e-9):
    """A step that lowers the function and flattens the slope enough (Nocedal and Wright, algorithms 3.5 and 3.6), after
    the first evaluation and at most ``most`` others."""
    size = float(d.abs().max())
    f0, slope0 = f, slope

    def at(t):
        f, g = along(t)
        return f, g, float(torch.dot(g, d))

    # points are (t, f, g, slope along d)
    before = (0.0, f, g, slope)
    now = (t, *at(t))
    evals = 1
    bracket = None
    for i in range(most):
        t, f, g, slope = now
        if f > f0 + c1 * t * slope0 or (i > 0 and f >= before[1]):
            bracket = [before, now]
        elif abs(slope) <= -c2 * slope0:
            return f, g, t, evals
        elif slope >= 0:
            bracket = [before, now]
        if bracket:
            break
        wider = _cubic(before[0], before[1], before[3], t, f, slope, t + 0.01 * (t - before[0]), t * 10)
        before, now = now, (wider, *at(wider))
        evals += 1
    if bracket is None:
        bracket = [(0.0, f0, before[2], slope0), now]

    stuck = False
    while evals <= most:
        low, high = sorted(bracket, key=lambda point: point[1])
        width = abs(high[0] - low[0])
        if width == 0 or width * size < tolerance:
            break
        t = _cubic(low[0], low[1], low[3], high[0], high[1], high[3])
        left, right = min(low[0], high[0]), max(low[0], high[0])
        if min(right - t, t - left) / (right - left) < 0.1:  # too near an end: no progress twice in a row
            if stuck or t >= right or t <= left:
                t = right - 0.1 * (right - left) if abs(t - right) < abs(t - left) else left + 0.1 * (right - left)
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = (t, *at(t))
        evals += 1
        if new[1] > f0 + c1 * t * slope0 or new[1] >= low[1]:
            bracket = [low, new]
            continue
        if abs(new[3]) <= -c2 * slope0:
            bracket = [new, new]
            break
        bracket = [new, low if new[3] * (high[0] - low[0]) >= 0 else high]
    t, f, g, _ = min(bracket, key=lambda point: point[1])
    return f, g, t, evals


# --- for libraries that search along lines themselves, with PyTorch's parameters ---


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum of the cubic through two points with slopes, within bounds: those of the points without."""
    return _cubic(x1, f1, g1, x2, f2, g2, *(bounds or ()))


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """The loss, the gradient and the size of a step along ``d`` that meets the strong Wolfe conditions, and how many times
    ``obj_func(x, t, d)`` was asked for loss and gradient."""
    return _line_search(lambda size: obj_func(x, size, d), t, d, f, g, gtd, max_ls, c1, c2, tolerance_change)
