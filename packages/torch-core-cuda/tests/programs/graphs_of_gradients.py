"""What a backward pass does on a device: views, hooks, threads, deep graphs, and running out of memory."""

import threading
import warnings

import torch
from programs.checks import devices, near, part, raises, two_devices
from torch import cuda, nn


def views_that_are_written_to_have_the_right_gradients():
    for place in ("cpu", "cuda"):
        x = torch.arange(1.0, 7.0, device=place).view(2, 3).requires_grad_()
        y = x * 2
        y[0].mul_(3)
        y[:, 1] = 5
        y.t()[2].add_(x.detach()[0, 0])
        (y * y).sum().backward()
        grad = x.grad.tolist()
        assert grad == [[72, 0, 6 * 2 * (18 + 1)], [2 * 2 * 8, 0, 2 * 2 * 13]], grad
    x = torch.ones(4, device="cuda", requires_grad=True)
    a, b = (x * 1).chunk(2)
    (a * 2 + b).sum().backward()
    assert x.grad.tolist() == [2, 2, 1, 1]
    z = torch.zeros(3, 3, device="cuda")
    z.diagonal().copy_(x[:3])
    z.index_put_((torch.tensor([0, 0]).cuda(), torch.tensor([1, 1]).cuda()), x[:2], accumulate=True)
    x.grad = None
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 1, 0]


def a_graph_of_ten_thousand_nodes_is_gone_without_a_trace():
    x = torch.ones(2, device="cuda", requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y + 0
    del y
    y = x
    for _ in range(3000):
        y = y * 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def anomalies_are_found_and_nothing_else_changes():
    x = torch.tensor([0.0, 4.0], device="cuda", requires_grad=True)
    with warnings.catch_warnings(), torch.autograd.detect_anomaly():
        warnings.simplefilter("ignore")
        raises(RuntimeError, "nan", lambda: (x.sqrt() * 0).sum().backward())
    x.grad = None
    x.sqrt()[1].backward()
    assert x.grad[1].item() == 0.25


def threads_go_backward_at_once():
    for i in devices():
        x = torch.ones(100, device=f"cuda:{i}", requires_grad=True)
        found, wrong = [], []

        def work(k, x=x, i=i, found=found, wrong=wrong):
            try:
                with cuda.device(i):
                    (g,) = torch.autograd.grad((x * k).exp().sum(), x)
                    found.append((k, g[0].item()))
            except Exception as error:  # seen below
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(k / 4,)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong, wrong
        for k, g in found:
            near(torch.tensor(g), torch.tensor(k * torch.tensor(k).exp().item()))
        assert len(found) == 6


def backward_on_a_stream_of_its_own():
    for i in devices():
        with cuda.device(i):
            side, x = cuda.Stream(), torch.ones(5000, device="cuda", requires_grad=True)
            side.wait_stream(cuda.current_stream())
            with cuda.stream(side):
                cuda._sleep(300_000)
                y = (x * 3).square().sum()
                y.backward()
            cuda.current_stream().wait_stream(side)
            assert x.grad.sum().item() == 5000 * 18
            x.grad = None
            z = (x * 2).sum()  # forward here, backward called there
            with cuda.stream(side):
                side.wait_stream(cuda.default_stream())
                z.backward()
            cuda.current_stream().wait_stream(side)
            assert (x.grad + 1).sum().item() == 15_000


def hooks_that_move_and_replace():
    two_devices()
    seen = []
    x = torch.ones(3, device="cuda:0", requires_grad=True)
    y = x.to("cuda:1")
    y.register_hook(lambda g: seen.append(g.get_device()) or g * 10)
    x.register_hook(lambda g: seen.append(g.get_device()))
    y.sum().backward()
    assert seen == [1, 0] and x.grad.tolist() == [10] * 3 and x.grad.get_device() == 0
    net = nn.Linear(3, 3).cuda(1)
    net.register_forward_pre_hook(lambda m, args: tuple(a.to("cuda:1") for a in args))
    net.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].get_device()))
    net(x).sum().backward()
    assert seen[2:] == [1, 0] or sorted(seen[2:]) == [0, 1]
    assert x.grad.get_device() == 0 and net.weight.grad.get_device() == 1


def pieces_are_computed_again_in_backward():
    checkpoint = part("torch.utils.checkpoint")
    net = nn.Sequential(*[nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.0)) for _ in range(4)]).cuda()
    x = torch.randn(3, 6, device="cuda", requires_grad=True)
    net(x).sum().backward()
    wanted, grads = x.grad, [p.grad.clone() for p in net.parameters()]
    for reentrant in (True, False):
        x.grad = None
        net.zero_grad()
        checkpoint.checkpoint_sequential(net, 2, x, use_reentrant=reentrant).sum().backward()
        near(x.grad, wanted)
        for p, g in zip(net.parameters(), grads, strict=True):
            near(p.grad, g)


def a_gradient_too_large_for_the_device_leaves_the_graph_usable():
    for i in devices():
        free = cuda.mem_get_info(i)[0]
        with cuda.device(i):
            x = torch.ones(4, device="cuda", requires_grad=True)
            y = x.expand(1 << 12, 4)
            ask = free // 4 + (1 << 20)
            raises(cuda.OutOfMemoryError, "Tried", lambda y=y, ask=ask: y.new_empty(ask))

            class Greedy(torch.autograd.Function):
                asked = ask

                @staticmethod
                def forward(ctx, t):
                    return t * 1

                @staticmethod
                def backward(ctx, g):
                    return g + g.new_empty(Greedy.asked)[:4] * 0 if Greedy.asked else g

            z = (Greedy.apply(x) * 2).sum()
            raises(cuda.OutOfMemoryError, "", lambda z=z: z.backward(retain_graph=True))
            assert x.grad is None
            Greedy.asked = 0
            z.backward()
            assert x.grad.tolist() == [2] * 4


def gradients_that_do_not_fit_are_refused():
    x = torch.ones(3, device="cuda", requires_grad=True)
    raises(RuntimeError, "", lambda: (x * 2).backward(torch.ones(4, device="cuda")))
    raises(RuntimeError, "cuda:0", lambda: (x * 2).backward(torch.ones(3)))
    raises(RuntimeError, "", lambda: (x * 2).backward())
    raises(RuntimeError, "", lambda: setattr(x, "grad", torch.ones(3)))
    raises(RuntimeError, "", lambda: setattr(x, "grad", torch.ones(3, device="cuda").double()))
    y = (x * 3).exp()
    y.add_(1)
    raises(RuntimeError, "inplace", lambda: y.sum().backward())
    raises(RuntimeError, "leaf", lambda: x.add_(1))
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    for i in devices():
        v = torch.ones(2, device=f"cuda:{i}", requires_grad=True)
        z = (v * v).sum()
        z.backward()
        raises(RuntimeError, "", z.backward)  # once is what is kept for
        assert v.grad.tolist() == [2, 2]
