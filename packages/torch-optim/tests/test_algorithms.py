"""Every algorithm against its formula in NumPy, over several steps."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import optim

STEPS = 7
START = np.linspace(-1, 1, 6).reshape(2, 3)
GRADIENTS = [np.sin(np.arange(6) + 3.0 * k).reshape(2, 3) for k in range(STEPS)]


def run(make, gradients=GRADIENTS):
    p = torch.tensor(START.tolist(), dtype=torch.float64, requires_grad=True)
    optimizer = make([p])
    for g in gradients:
        p.grad = torch.tensor(g.tolist(), dtype=torch.float64)
        optimizer.step()
    return p.detach().numpy(), optimizer.state[p]


def close(make, expected):
    assert np.allclose(run(make)[0], expected, rtol=1e-10, atol=1e-12)


def test_sgd():
    close(lambda p: optim.SGD(p, lr=0.1), START - 0.1 * sum(GRADIENTS))
    close(lambda p: optim.SGD(p, lr=0.1, maximize=True), START + 0.1 * sum(GRADIENTS))


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_with_momentum_and_decay(nesterov):
    p, b = START.copy(), None
    for g in GRADIENTS:
        g = g + 0.01 * p
        b = g if b is None else 0.9 * b + g
        p = p - 0.1 * (g + 0.9 * b if nesterov else b)
    close(lambda q: optim.SGD(q, 0.1, momentum=0.9, weight_decay=0.01, nesterov=nesterov), p)


def test_sgd_with_dampening_takes_the_first_gradient_whole():
    p, b = START.copy(), None
    for g in GRADIENTS:
        b = g if b is None else 0.9 * b + 0.5 * g
        p = p - 0.1 * b
    close(lambda q: optim.SGD(q, 0.1, momentum=0.9, dampening=0.5), p)


def adam(amsgrad=False, decay=0.0, decoupled=False):
    p, m, v, largest = START.copy(), 0.0, 0.0, 0.0
    for t, g in enumerate(GRADIENTS, 1):
        if decoupled:
            p = p * (1 - 0.1 * decay)
        else:
            g = g + decay * p
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        largest = np.maximum(largest, v)
        second = largest if amsgrad else v
        p = p - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return p


def test_adam():
    close(lambda p: optim.Adam(p, 0.1), adam())
    close(lambda p: optim.Adam(p, 0.1, amsgrad=True, weight_decay=0.1), adam(True, 0.1))
    close(lambda p: optim.AdamW(p, 0.1, weight_decay=0.1), adam(False, 0.1, True))


def test_adam_takes_a_first_step_of_lr():
    p, state = run(lambda p: optim.Adam(p, 0.01), GRADIENTS[1:2])
    assert np.allclose(p, START - 0.01 * np.sign(GRADIENTS[1]))
    assert state["step"] == 1


def test_adadelta():
    p, g2, x2 = START.copy(), 0.0, 0.0
    for g in GRADIENTS:
        g2 = 0.9 * g2 + 0.1 * g * g
        dx = np.sqrt(x2 + 1e-6) / np.sqrt(g2 + 1e-6) * g
        x2 = 0.9 * x2 + 0.1 * dx * dx
        p = p - dx
    close(optim.Adadelta, p)


def test_adagrad():
    p, total = START.copy(), 0.5
    for t, g in enumerate(GRADIENTS):
        total = total + g * g
        p = p - 0.1 / (1 + t * 0.2) * g / (np.sqrt(total) + 1e-10)
    close(lambda q: optim.Adagrad(q, 0.1, lr_decay=0.2, initial_accumulator_value=0.5), p)


def test_adamax():
    p, m, u = START.copy(), 0.0, 0.0
    for t, g in enumerate(GRADIENTS, 1):
        m = 0.9 * m + 0.1 * g
        u = np.maximum(0.999 * u, np.abs(g) + 1e-8)
        p = p - 0.1 / (1 - 0.9**t) * m / u
    close(lambda q: optim.Adamax(q, 0.1), p)


@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop(centered):
    p, n, mean, b = START.copy(), 0.0, 0.0, 0.0
    for g in GRADIENTS:
        n = 0.99 * n + 0.01 * g * g
        mean = 0.99 * mean + 0.01 * g
        b = 0.5 * b + g / (np.sqrt(n - mean**2 if centered else n) + 1e-8)
        p = p - 0.01 * b
    close(lambda q: optim.RMSprop(q, momentum=0.5, centered=centered), p)


def test_rprop():
    p, before, size = START.copy(), np.zeros((2, 3)), np.full((2, 3), 0.01)
    for g in GRADIENTS:
        turn = np.sign(g * before)
        size = np.clip(size * np.where(turn > 0, 1.2, np.where(turn < 0, 0.5, 1.0)), 1e-6, 50)
        g = np.where(turn < 0, 0.0, g)
        p, before = p - np.sign(g) * size, g
    close(optim.Rprop, p)


def test_asgd_averages():
    p, ax, eta, mu = START.copy(), 0.0, 0.1, 1.0
    for t, g in enumerate(GRADIENTS, 1):
        p = p * (1 - 0.01 * eta) - eta * g
        ax = p if mu == 1 else ax + mu * (p - ax)
        eta = 0.1 / (1 + 0.01 * 0.1 * t) ** 0.75
        mu = 1 / max(1, t - 3)
    got, state = run(lambda q: optim.ASGD(q, 0.1, lambd=0.01, t0=3))
    assert np.allclose(got, p)
    assert np.allclose(state["ax"].numpy(), ax)


def test_nadam():
    p, m, v, product = START.copy(), 0.0, 0.0, 1.0
    for t, g in enumerate(GRADIENTS, 1):
        mu, following = (0.9 * (1 - 0.5 * 0.96 ** (i * 0.004)) for i in (t, t + 1))
        product *= mu
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        ahead = following * m / (1 - product * following) + (1 - mu) * g / (1 - product)
        p = p - 0.1 * ahead / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    close(lambda q: optim.NAdam(q, 0.1), p)


def test_radam_begins_without_the_second_moment():
    p, m, v = START.copy(), 0.0, 0.0
    longest = 2 / (1 - 0.9) - 1
    for t, g in enumerate(GRADIENTS, 1):
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
        length = longest - 2 * t * 0.9**t / (1 - 0.9**t)
        step = m / (1 - 0.8**t)
        if length > 5:
            r = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            step = step * math.sqrt(r) * math.sqrt(1 - 0.9**t) / (np.sqrt(v) + 1e-8)
        p = p - 0.1 * step
    close(lambda q: optim.RAdam(q, 0.1, betas=(0.8, 0.9)), p)


def test_adafactor_keeps_two_vectors_for_a_matrix():
    _, state = run(optim.Adafactor)
    assert state["row_var"].shape == (2, 1)
    assert state["col_var"].shape == (1, 3)
    p = torch.tensor([2.0, 1.0], requires_grad=True)
    optimizer = optim.Adafactor([p], lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    assert p.abs().max() < 0.2


def test_muon_steps_are_nearly_orthogonal():
    p, _ = run(lambda q: optim.Muon(q, lr=1.0, weight_decay=0.0, nesterov=False), GRADIENTS[:1])
    singular = np.linalg.svd(START - p)[1]
    assert ((singular > 0.6) & (singular < 1.3)).all()
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        optim.Muon([torch.zeros(3, requires_grad=True)])


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_solves_rosenbrock(search):
    p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    lr = 1.0 if search else 0.05
    optimizer = optim.LBFGS([p], lr=lr, max_iter=200, max_eval=400, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert first.item() == pytest.approx(24.2)
    for _ in range(10):
        optimizer.step(closure)
    assert torch.allclose(p.detach(), torch.ones(2, dtype=torch.float64), atol=1e-3)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("gradient", [0.0, 1e-30, 1e30, float("inf"), float("nan")])
def test_lbfgs_survives_gradients_of_any_size(search, gradient):
    p = torch.ones(2, requires_grad=True)
    optimizer = optim.LBFGS([p], lr=1.0, max_iter=5, tolerance_grad=-1.0, tolerance_change=-1.0, line_search_fn=search)

    def closure():
        p.grad = torch.full((2,), gradient)
        return (p * 0).sum()

    optimizer.step(closure)
    if gradient == 0.0:
        assert p.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_goes_on_from_a_checkpoint_of_another_framework(search):
    """Names and kinds as PyTorch has them: step, scale and curvatures may be tensors."""

    def bowl(p):
        return lambda: ((p * torch.tensor([1.0, 10.0, 0.1])) ** 2).sum() + (p**4).sum()

    def run(p, optimizer, count):
        def closure():
            optimizer.zero_grad()
            loss = bowl(p)()
            loss.backward()
            return loss

        for _ in range(count):
            optimizer.step(closure)

    def make(p):
        return optim.LBFGS([p], lr=0.3, max_iter=3, history_size=2, line_search_fn=search)

    p = torch.ones(3, dtype=torch.float64, requires_grad=True)
    optimizer = make(p)
    run(p, optimizer, 2)
    saved = copy.deepcopy(optimizer.state_dict())
    state = saved["state"][0]
    assert set(state) == {
        "func_evals",
        "n_iter",
        "d",
        "t",
        "old_dirs",
        "old_stps",
        "ro",
        "H_diag",
        "prev_flat_grad",
        "prev_loss",
    }
    assert len(state["old_dirs"]) == len(state["old_stps"]) == len(state["ro"]) == 2
    for y, s, rho in zip(state["old_dirs"], state["old_stps"], state["ro"]):
        assert float(torch.dot(y, s)) * rho == pytest.approx(1.0)
    state |= {name: torch.tensor(state[name], dtype=torch.float64) for name in ("t", "H_diag")}
    state |= {"ro": [torch.tensor(rho, dtype=torch.float64) for rho in state["ro"]], "al": [None] * 2}
    q = p.detach().clone().requires_grad_()
    other = make(q)
    other.load_state_dict(saved)
    run(p, optimizer, 3)
    run(q, other, 3)
    assert torch.equal(p, q)


def test_lbfgs_takes_one_group_and_one_search():
    p, q = (torch.zeros(1, requires_grad=True) for _ in range(2))
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [p]}, {"params": [q]}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported, got line_search_fn='armijo'"):
        optim.LBFGS([p], line_search_fn="armijo")


ALL = [
    optim.SGD, optim.Adam, optim.AdamW, optim.Adadelta, optim.Adagrad, optim.Adamax, optim.RMSprop, optim.Rprop,
    optim.ASGD, optim.NAdam, optim.RAdam, optim.Adafactor,
]  # fmt: skip


@pytest.mark.parametrize("make", ALL, ids=lambda c: c.__name__)
def test_all_descend_a_bowl(make):
    p = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = make([p], lr=0.05)

    def loss():
        optimizer.zero_grad()
        value = (p * p).sum()
        value.backward()
        return value

    first = optimizer.step(loss).item()
    for _ in range(60):
        last = optimizer.step(loss).item()
    assert last < first


@pytest.mark.parametrize("make", ALL, ids=lambda c: c.__name__)
def test_all_go_on_from_a_checkpoint_as_if_nothing_had_happened(make):
    def fresh():
        p = torch.tensor(START.tolist(), dtype=torch.float64, requires_grad=True)
        return p, make([p], lr=0.05)

    def go(p, optimizer, gradients):
        for g in gradients:
            p.grad = torch.tensor(g.tolist(), dtype=torch.float64)
            optimizer.step()

    p, optimizer = fresh()
    go(p, optimizer, GRADIENTS)
    q, first = fresh()
    go(q, first, GRADIENTS[:3])
    r, second = fresh()
    with torch.no_grad():
        r.copy_(q)
    second.load_state_dict(first.state_dict())
    go(r, second, GRADIENTS[3:])
    assert torch.equal(r, p)


@pytest.mark.parametrize("make", ALL, ids=lambda c: c.__name__)
def test_a_negative_learning_rate_is_refused(make):
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        make([torch.zeros(1, requires_grad=True)], lr=-1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda p: optim.SGD(p, 0.1, momentum=-1), "Invalid momentum value: -1"),
        (lambda p: optim.SGD(p, 0.1, nesterov=True), "Nesterov momentum requires a momentum and zero dampening"),
        (lambda p: optim.Adam(p, eps=-1), "Invalid epsilon value: -1"),
        (lambda p: optim.Adam(p, betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.Adam(p, weight_decay=-1), "Invalid weight_decay value: -1"),
        (lambda p: optim.Adadelta(p, rho=2.0), "Invalid rho value: 2.0"),
        (lambda p: optim.Rprop(p, etas=(2.0, 3.0)), "Invalid eta values: 2.0, 3.0"),
        (lambda p: optim.SparseAdam(p, lr=0), "Invalid learning rate: 0"),
    ],
)
def test_bad_options_are_named(make, match):
    with pytest.raises(ValueError, match=match):
        make([torch.zeros(1, requires_grad=True)])


def test_complex_parameters_are_two_real_ones():
    z = torch.tensor([1.0 + 2.0j, -1.0j], dtype=torch.complex128, requires_grad=True)
    x = torch.view_as_real(z.detach().clone()).requires_grad_()
    a, b = optim.Adam([z], 0.1), optim.Adam([x], 0.1)
    for k in range(3):
        z.grad = torch.tensor([0.5 + k * 1.0j, 1.0 - 2.0j], dtype=torch.complex128)
        x.grad = torch.view_as_real(z.grad)
        a.step()
        b.step()
    assert torch.allclose(torch.view_as_real(z.detach()), x.detach())


def test_sgd_by_the_name_of_alpha_1():
    class Model:
        def __init__(self):
            self.p = torch.ones(1, requires_grad=True)

        def parameters(self):
            return [self.p]

    a, b = Model(), Model()
    assert len(optim.sgd((a, b), lr=0.1, momentum=0.9).param_groups[0]["params"]) == 2
    assert optim.sgd(a, 0.1).param_groups[0]["lr"] == 0.1
    assert optim.sgd.SGD is optim.SGD


def test_sgd_of_2016_takes_the_input_of_a_step():
    class Scale:
        def __init__(self):
            self.weight = torch.ones(2, requires_grad=True)

        def parameters(self):
            return [self.weight]

        def __call__(self, x):
            return x * self.weight

    class Squared:
        def parameters(self):
            return []

        def __call__(self, given, target):
            return ((given - target) ** 2).sum()

    model, x, y = Scale(), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 0.0])
    optimizer = optim.sgd((model, Squared()), lr=0.1)
    assert optimizer.step(x, y).item() == 8.0  # (1 - 3)^2 + 2^2
    torch.testing.assert_close(model.weight.detach(), torch.tensor([1.4, 0.2]))  # 1 - 0.1 * 2 (wx - y) x
    optimizer.zero_grad()
    assert optimizer.step() is None and optimizer.step(lambda: "loss") == "loss"
    again = copy.deepcopy(optimizer)
    assert again.models[0] is not model and again.param_groups[0]["params"][0] is again.models[0].weight
    with pytest.raises(RuntimeError, match=r"step\(input\) needs a loss, and Scale gave a tensor of shape \(2,\)"):
        optim.sgd(model, lr=0.1).step(x)


def test_a_line_search_of_lbfgs_keeps_to_max_eval():
    p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = optim.LBFGS([p], lr=1, max_iter=100, max_eval=12, history_size=5, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    evals = []
    for _ in range(4):
        optimizer.step(closure)
        evals.append(optimizer.state[p]["func_evals"])
    assert evals == [12, 25, 37, 47]  # as PyTorch 2.13 counts them


def test_a_line_search_of_lbfgs_serves_other_minimizers():
    from torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe

    def cubic(x):
        return x**3 - 3 * x, 3 * x**2 - 3

    least = _cubic_interpolate(0.5, *cubic(0.5), 3.0, *cubic(3.0))
    assert least == pytest.approx(1.0)
    assert _cubic_interpolate(0.5, *cubic(0.5), 3.0, *cubic(3.0), bounds=(1.5, 2.0)) == 1.5

    def loss(x, t, d):
        at = x + t * d
        return float((at**4).sum()), 4 * at**3

    x = torch.tensor([2.0, -1.0], dtype=torch.float64)
    f, g = loss(x, 0.0, x)
    d, c1, c2 = -g, 1e-4, 0.9
    slope = float(g @ d)
    found, gradient, t, evals = _strong_wolfe(loss, x, 1.0, d, f, g, slope, c1, c2)
    assert found <= f + c1 * t * slope and abs(float(gradient @ d)) <= -c2 * slope and 1 <= evals <= 26
    assert (found, gradient.tolist()) == (loss(x, t, d)[0], loss(x, t, d)[1].tolist())


DIFFERENTIABLE = {
    "Adadelta": {}, "Adagrad": {}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adamax": {}, "ASGD": {}, "NAdam": {}, "RAdam": {},
    "RMSprop": {"centered": True, "momentum": 0.9}, "SGD": {"momentum": 0.9},
}  # fmt: skip


@pytest.mark.parametrize("name, options", DIFFERENTIABLE.items())
def test_a_differentiable_step_is_differentiated_by_parameter_gradient_and_state(name, options):
    def optimizer_of(p):
        return getattr(optim, name)([p], lr=0.1, weight_decay=0.1, differentiable=True, **options)

    def after_a_step(p, g, shift):
        q = torch.ones_like(p)
        before = optimizer_of(q)
        for _ in range(7):  # past the steps that RAdam takes without dividing
            q.grad = torch.ones_like(q)
            before.step()
        p = p.clone()
        optimizer = optimizer_of(p)
        for key, value in before.state[q].items():
            of_elements = isinstance(value, torch.Tensor) and value.shape == p.shape
            optimizer.state[p][key] = value.clone() + shift if of_elements else copy.deepcopy(value)
        p.grad = g
        optimizer.step()
        return p

    numbers = [
        torch.linspace(*ends, 4, dtype=torch.float64, requires_grad=True)
        for ends in ((0.5, 1.5), (0.2, 2.5), (0.1, 0.2))
    ]
    torch.autograd.gradcheck(after_a_step, numbers)
    with torch.no_grad():  # steps in place
        plain = after_a_step(*(n.detach() for n in numbers))
    torch.testing.assert_close(after_a_step(*numbers).detach(), plain)
