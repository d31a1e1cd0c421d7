"""Steps of optimizers (domain ``ai.onnx.preview.training``): each takes tensors, their gradients and what it keeps."""

from __future__ import annotations

from . import reader


def _each(values, kinds):
    """The values by kind: all tensors first, then all gradients, then what is kept."""
    count = len(values) // kinds
    return zip(*(values[i * count : (i + 1) * count] for i in range(kinds)), strict=True)


def _flat(rows):
    """All new tensors, then all that is kept."""
    return tuple(value for column in zip(*rows, strict=True) for value in column)


@reader("Momentum")
def momentum(rate, count, *values, alpha, beta, mode, norm_coefficient):
    def step(x, grad, kept):
        grad = grad + norm_coefficient * x
        kept = alpha * kept + (beta if int(count) > 0 else 1.0) * grad
        return x - rate * (grad + alpha * kept if mode == "nesterov" else kept), kept

    return _flat([step(*each) for each in _each(values, 3)])


@reader("Adagrad")
def adagrad(rate, count, *values, decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0):
    rate = rate / (1 + count * decay_factor)

    def step(x, grad, kept):
        grad = grad + norm_coefficient * x
        kept = kept + grad * grad
        return x - rate * grad / (kept.sqrt() + epsilon), kept

    return _flat([step(*each) for each in _each(values, 3)])


@reader("Adam")
def adam(rate, count, *values, alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0, norm_coefficient_post=0.0):
    if int(count) > 0:
        rate = rate * (1 - beta**count).sqrt() / (1 - alpha**count)

    def step(x, grad, first, second):
        grad = grad + norm_coefficient * x
        first, second = alpha * first + (1 - alpha) * grad, beta * second + (1 - beta) * grad * grad
        x = x - rate * first / (second.sqrt() + epsilon)
        return (1 - norm_coefficient_post) * x, first, second

    return _flat([step(*each) for each in _each(values, 4)])
