"""Optimizers as functions: first steps by their formulas, and the way to a minimum."""

import math

import pytest
import torch
from torch.legacy import optim

F64 = torch.float64
SCALES = torch.tensor([1.0, 4.0], dtype=F64)


def bowl(x):
    """``(x1^2 + 4 x2^2) / 2``."""
    return (SCALES * x * x).sum().item() / 2, SCALES * x


def valley(x):
    """Rosenbrock's function."""
    a, b = x.tolist()
    slope = [-400 * a * (b - a * a) - 2 * (1 - a), 200 * (b - a * a)]
    return 100 * (b - a * a) ** 2 + (1 - a) ** 2, torch.tensor(slope, dtype=F64)


def start():
    return torch.tensor([3.0, -2.0], dtype=F64)


@pytest.mark.parametrize(
    "method, config, steps",
    [
        ("sgd", {"learningRate": 0.2}, 200), ("sgd", {"learningRate": 0.05, "momentum": 0.9}, 400),
        ("sgd", {"learningRate": 0.05, "momentum": 0.9, "dampening": 0, "nesterov": True}, 400), ("nag", {"learningRate": 0.05}, 400),
        ("adam", {"learningRate": 0.05}, 1500), ("adamax", {"learningRate": 0.05}, 1500), ("adagrad", {"learningRate": 1}, 500),
        ("adadelta", {"rho": 0.9}, 4000), ("rmsprop", {"learningRate": 0.001}, 6000), ("rprop", {}, 200),
        ("asgd", {"eta0": 0.1, "lambda": 0.0}, 300), ("cg", {}, 3), ("lbfgs", {}, 3),
    ],
)  # fmt: skip
def test_the_minimum_of_a_bowl_is_found(method, config, steps):
    x = start()
    for _ in range(steps):
        result = getattr(optim, method)(bowl, x, config)
        assert result[0] is x
    assert x.abs().max() < (5e-2 if method == "adadelta" else 2e-2)  # its steps stay of the size of sqrt(eps)
    assert bowl(x)[0] < bowl(start())[0]


@pytest.mark.parametrize("method", ["cg", "lbfgs"])
def test_the_end_of_a_bent_valley_is_found(method):
    x = torch.tensor([-1.2, 1.0], dtype=F64)
    config = {"maxIter": 400, "maxEval": 25 if method == "cg" else 2000, "tolFun": 1e-9}
    _, history, evaluations = getattr(optim, method)(valley, x, config)
    assert (x - 1).abs().max() < 1e-4 and history[-1] < 1e-8 < history[0] and evaluations >= len(history)


def test_the_first_steps_are_those_of_the_formulas():
    g = SCALES * start()

    def after(method, config, steps=1):
        x = start()
        for _ in range(steps):
            getattr(optim, method)(bowl, x, config)
        return x

    def same(x, y):
        return torch.allclose(x, y, rtol=1e-12)

    x0 = start()
    assert same(after("sgd", {"learningRate": 0.1}), x0 - 0.1 * g)
    assert same(after("sgd", {"learningRate": 0.1, "weightDecay": 0.5}), x0 - 0.1 * (g + 0.5 * x0))
    assert same(after("sgd", {"learningRate": 0.1, "learningRates": SCALES}), x0 - 0.1 * g * SCALES)
    assert same(after("sgd", {"learningRate": 0.1, "weightDecays": SCALES}), x0 - 0.1 * (g + SCALES * x0))
    x1 = x0 - 0.1 * g
    assert same(after("sgd", {"learningRate": 0.1, "learningRateDecay": 1}, 2), x1 - 0.05 * SCALES * x1)
    v = 0.9 * g + 0.1 * SCALES * x1
    assert same(after("sgd", {"learningRate": 0.1, "momentum": 0.9}, 2), x1 - 0.1 * v)
    v = 0.9 * g + SCALES * x1
    assert same(after("sgd", {"learningRate": 0.1, "momentum": 0.9, "dampening": 0}, 2), x1 - 0.1 * v)
    ahead = x1 + 0.9 * (-0.1 * g)
    assert same(after("nag", {"learningRate": 0.1}, 2), ahead - 0.1 * SCALES * ahead)
    assert same(after("adam", {"learningRate": 0.1, "epsilon": 0.0}), x0 - 0.1 * g.sign())
    assert same(after("adamax", {"learningRate": 0.1}), x0 - 0.1 * g.sign())
    assert same(after("adagrad", {"learningRate": 0.1}), x0 - 0.1 * g / (g.abs() + 1e-10))
    assert same(after("rmsprop", {"learningRate": 0.1}), x0 - 0.1 * g / (0.1 * g.abs() + 1e-8))
    assert same(after("adadelta", {}), x0 - math.sqrt(1e-6) / (0.1 * g * g + 1e-6).sqrt() * g)
    assert same(after("rprop", {}), x0 - 0.1 * g.sign())
    assert same(after("rprop", {}, 2), x0 - 0.1 * g.sign() - 0.12 * g.sign())
    assert same(after("rprop", {"niter": 2}), x0 - 0.1 * g.sign() - 0.12 * g.sign())
    assert same(after("asgd", {"eta0": 0.1, "lambda": 0.5}), x0 * (1 - 0.05) - 0.1 * g)


def test_averages_are_those_of_all_points_once_t0_is_over():
    x, config, points = start(), {"eta0": 0.1, "lambda": 0.0, "t0": 1}, []
    for _ in range(5):
        _, _, average = optim.asgd(bowl, x, config)
        points.append(x.clone())
    # each of the first three starts the average anew
    assert torch.allclose(average, torch.stack(points[2:]).mean(0)) and average is config["ax"]


def test_config_remembers_unless_a_state_is_given():
    config, state = {"learningRate": 0.1}, {}
    optim.adam(bowl, start(), config, state)
    assert set(config) == {"learningRate"} and state["t"] == 1
    optim.adam(bowl, start(), config)
    assert config["t"] == 1 and state["t"] == 1
    with pytest.raises(ValueError, match="expected a dictionary for config or state"):
        optim.sgd(bowl, start(), None)


def test_settings_that_contradict_each_other():
    with pytest.raises(ValueError, match="nesterov needs momentum above 0 and dampening 0, got 0 and 0"):
        optim.sgd(bowl, start(), {"nesterov": True})
    with pytest.raises(ValueError, match="weightDecay or weightDecays"):
        optim.sgd(bowl, start(), {"weightDecay": 0.1, "weightDecays": SCALES})
    with pytest.raises(ValueError, match="momentum must be above 0, got 0"):
        optim.nag(bowl, start(), {"momentum": 0})


def test_a_line_search_of_ones_own_is_asked():
    asked = []

    def halving(opfunc, x, t, d, f, g, gtd, options):
        asked.append(options)
        while opfunc(x + t * d)[0] > f:
            t /= 2
        value, slope = opfunc(x + t * d)
        return value, slope, x + t * d, t, 2

    x = torch.tensor([-1.2, 1.0], dtype=F64)
    optim.lbfgs(valley, x, {"lineSearch": halving, "lineSearchOptions": "mine", "maxIter": 300, "maxEval": 5000})
    assert (x - 1).abs().max() < 1e-3 and set(asked) == {"mine"}


def test_at_a_minimum_nothing_happens():
    for method in ("cg", "lbfgs"):
        x, history, _ = getattr(optim, method)(bowl, torch.zeros(2, dtype=F64), {})
        assert x.tolist() == [0, 0] and history == [0.0]


@pytest.mark.parametrize("name", ["adadelta", "adagrad", "adam", "asgd", "cg", "lbfgs", "nag", "rprop", "sgd"])
def test_a_function_that_does_not_return_loss_and_gradient_is_told_so(name):
    method = getattr(optim, name)
    for answer, error, text in [
        (3.0, TypeError, "a tensor; it returned float"),
        ((1.0, 2.0), TypeError, r"it returned \['float', 'float'\]"),
        ((1.0, torch.ones(3)), ValueError, r"a gradient of shape \(3,\), the parameters have \(2,\)"),
    ]:
        with pytest.raises(error, match=text):
            method(lambda x: answer, torch.ones(2), {})
