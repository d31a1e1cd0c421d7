"""Optimizers, data, threads, distributions."""

import threading

import torch
from programs.checks import devices, near, part
from torch import cuda, nn


def optimizers_step_on_every_device():
    optim = part("torch.optim")
    for algorithm, options in (
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}), (optim.Adam, {"lr": 0.1}), (optim.Adagrad, {"lr": 0.1}),
        (optim.RMSprop, {"lr": 0.01, "centered": True}), (optim.Adadelta, {}), (optim.Adamax, {}), (optim.ASGD, {}), (optim.Rprop, {}),
    ):  # fmt: skip
        here = torch.tensor([1.5, -0.5], requires_grad=True)
        there = [torch.tensor([1.5, -0.5], device=f"cuda:{i}", requires_grad=True) for i in devices()]
        a, b = algorithm([here], **options), algorithm(there, **options)
        for _ in range(4):
            for o, ps in ((a, [here]), (b, there)):
                o.zero_grad()
                for p in ps:
                    ((1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2).backward()
                o.step()
        [near(p, here, 1e-4) for p in there]

    x = torch.tensor([1.5, -0.5], device="cuda", requires_grad=True)
    lbfgs = optim.LBFGS([x], lr=0.5)

    def closure():
        lbfgs.zero_grad()
        loss = ((x - 1) ** 2).sum()
        loss.backward()
        return loss

    [lbfgs.step(closure) for _ in range(3)]
    near(x, torch.ones(2), 1e-3)


def gradients_are_clipped():
    norm = part("torch.nn.utils").clip_grad_norm_
    p = [torch.zeros(2, device=f"cuda:{i}", requires_grad=True) for i in devices()]
    for q in p:
        q.grad = torch.tensor([3.0, 4.0], device=q.device)
    total = norm(p, 1.0)
    assert abs(float(total) - 5 * len(p) ** 0.5) < 1e-5
    assert abs(sum(float(q.grad.square().sum()) for q in p) - 1) < 1e-4
    part("torch.nn.utils").clip_grad_value_(p, 0.1)
    assert all(q.grad.max().item() <= 0.1001 for q in p)


def batches_are_collated_pinned_and_moved():
    data = part("torch.utils.data")
    rows = [{"x": torch.full((2,), float(i)), "y": i, "name": str(i)} for i in range(6)]
    for batch in data.DataLoader(rows, batch_size=3, pin_memory=True):
        assert batch["x"].is_pinned() and batch["y"].is_pinned() and batch["name"][0].isdigit()
        assert batch["x"].cuda(non_blocking=True).sum(1).tolist() == [2.0 * v for v in batch["y"].tolist()]


def threads_train_modules_of_their_own():
    results = {}

    def train(i):
        with cuda.device(i % len(devices())):
            torch.manual_seed(1)
            net = nn.Linear(4, 4).cuda()
            for _ in range(3):
                net(torch.ones(2, 4, device="cuda")).square().sum().backward()
            results[i] = net.weight.grad.abs().sum().item()

    threads = [threading.Thread(target=train, args=(i,)) for i in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(results) == 3 and all(v > 0 for v in results.values())


def weights_are_normalised_and_of_spectral_norm_one():
    utils = part("torch.nn.utils")
    for i in devices():
        m = utils.spectral_norm(nn.Linear(4, 3)).cuda(i)
        for _ in range(30):
            y = m(torch.ones(2, 4, device=f"cuda:{i}"))
        assert y.get_device() == i and abs(torch.linalg.svdvals(m.weight.detach())[0].item() - 1) < 1e-2
        m = utils.weight_norm(nn.Linear(4, 3), "weight").cuda(i)
        m(torch.ones(2, 4, device=f"cuda:{i}")).sum().backward()
        assert m.weight_g.grad.get_device() == m.weight_v.grad.get_device() == i


def distributions_draw_on_the_device():
    distributions = part("torch.distributions")
    d = distributions.Normal(torch.zeros(3, device="cuda"), torch.ones(3, device="cuda"))
    x = d.rsample((5,))
    assert x.is_cuda and d.log_prob(x).is_cuda and d.entropy().is_cuda
    c = distributions.Categorical(logits=torch.zeros(4, device="cuda"))
    assert (
        c.sample().is_cuda
        and distributions.Gamma(torch.ones(2, device="cuda"), torch.ones(2, device="cuda")).sample().is_cuda
    )
