"""Gradients across devices."""

import gc
import weakref

import torch
import torch.nn.functional as F
from programs.checks import near, part, raises, two_devices
from torch import cuda, nn


def gradients_return_to_where_the_leaf_is():
    two_devices()
    x = torch.randn(5, 5, device="cuda:0", requires_grad=True)
    y = x.cuda(1) * 2
    z = (y.cuda(0) + x).cuda(1).sum()
    z.backward()
    assert x.grad.get_device() == 0 and x.grad.tolist() == [[3] * 5] * 5
    here = torch.randn(4, requires_grad=True)
    (here.cuda(0) * here.cuda(1).cuda(0)).sum().backward()
    near(here.grad, 2 * here)
    assert here.grad.get_device() == -1


def a_gradient_is_given_on_its_device():
    two_devices()

    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            assert cuda.current_device() == grad.get_device() == 1
            return grad.clone()

    v = torch.randn(2, device="cuda:1", requires_grad=True)
    Identity.apply(v).backward(torch.ones(2, device="cuda:1"))
    assert v.grad.get_device() == 1 and cuda.current_device() == 0


def outputs_that_nobody_used_have_gradients_of_their_device():
    two_devices()
    x = torch.randn(5, 5, requires_grad=True)
    outputs = part("torch.nn.parallel._functions").Broadcast.apply(range(2), x.cuda())
    outputs[-1].sum().backward()
    assert x.grad.tolist() == [[1] * 5] * 5


def sums_of_gradients_of_several_devices():
    two_devices()
    leaf = torch.ones(3, device="cuda:0", requires_grad=True)
    a = leaf * 2
    (a.cuda(1).exp().sum().cuda(0) + a.sum()).backward()
    near(leaf.grad, 2 * torch.full((3,), 2.0).exp() + 2)
    # several pieces in one leaf, of streams of two devices
    leaf.grad = None
    torch.autograd.backward([(leaf.cuda(1) * 3).sum(), (leaf * 4).sum()])
    assert leaf.grad.tolist() == [7] * 3


def second_derivatives_on_cuda():
    x = torch.randn(4, device="cuda", requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()
    near(x.grad, 6 * x)
    conv = nn.Conv2d(1, 2, 2).cuda()
    y = torch.randn(1, 1, 4, 4, device="cuda", requires_grad=True)
    (g,) = torch.autograd.grad(conv(y).tanh().sum(), y, create_graph=True)
    g.square().sum().backward()
    assert conv.weight.grad.abs().sum().item() > 0


def derivatives_are_those_of_finite_differences():
    x, w = (
        torch.randn(2, 3, 5, dtype=torch.double, device="cuda"),
        torch.randn(2, 3, 2, dtype=torch.double, device="cuda"),
    )
    assert torch.autograd.gradcheck(F.conv1d, (x.requires_grad_(), w.requires_grad_()))
    assert torch.autograd.gradcheck(lambda t: t.cumsum(1).prod(2), (x,))
    assert torch.autograd.gradcheck(
        lambda a, b: torch.bmm(a, b), (x, torch.randn(2, 5, 2, dtype=torch.double, device="cuda", requires_grad=True))
    )


def hooks_and_retained_gradients():
    seen = []
    x = torch.ones(3, device="cuda", requires_grad=True)
    y = x * 2
    y.retain_grad()
    handle = y.register_hook(lambda g: seen.append(g.get_device()) or g * 3)
    y.sum().backward(retain_graph=True)
    handle.remove()
    assert seen == [0] and x.grad.tolist() == [6] * 3
    module = nn.Linear(2, 2).cuda()
    module.register_forward_hook(lambda m, i, o: seen.append(o.is_cuda))
    module(torch.ones(1, 2, device="cuda"))
    assert seen == [0, True] and x.grad.data.is_cuda and y.grad is not None


def only_numbers_with_a_point_have_gradients():
    raises(RuntimeError, "floating", lambda: torch.ones(2, device="cuda", dtype=torch.long).requires_grad_())
    x = torch.ones(2, device="cuda").requires_grad_()
    assert x.detach().long().requires_grad is False and x.half().requires_grad and x.double().sum().requires_grad
    raises(RuntimeError, "detach", lambda: x.cpu().numpy())


def checkpoints_restore_the_devices_generator():
    checkpoint = part("torch.utils.checkpoint").checkpoint
    x, drop = torch.ones(50, device="cuda", requires_grad=True), nn.Dropout(0.5)
    torch.manual_seed(5)
    drop(x * 2).sum().backward()
    wanted, x.grad = x.grad, None
    torch.manual_seed(5)
    checkpoint(lambda t: drop(t * 2), x, use_reentrant=True).sum().backward()
    assert torch.equal(x.grad, wanted)
    x.grad = None
    torch.manual_seed(5)
    checkpoint(lambda t: drop(t * 2), x, use_reentrant=False).sum().backward()
    assert torch.equal(x.grad, wanted)


def a_profile_has_times_of_cuda():
    profiler = part("torch.autograd.profiler")
    x = torch.randn(10, 10, device="cuda")
    with profiler.profile(use_cuda=True) as prof:
        (x @ x).relu_()
    names = [event.name for event in prof.function_events]
    assert any("mm" in n or "matmul" in n for n in names) and any("relu" in n for n in names)
    assert "CUDA" in prof.key_averages().table() and prof.total_average() is not None


def memory_of_a_graph_is_free_after_backward():
    gc.collect()
    x = torch.randn(1000, device="cuda", requires_grad=True)
    x.grad = torch.zeros_like(x)
    cuda.synchronize()
    before = cuda.memory_allocated()
    for _ in range(2):
        y = (x.exp() * x.sin()).sum()
        y.backward()
        del y
    cuda.synchronize()
    assert cuda.memory_allocated() == before


def modules_that_are_gone_leave_no_cycles():
    two_devices()
    n = nn.DataParallel(nn.Sequential(nn.Linear(2, 2), nn.ReLU()).cuda(), [0, 1])
    n(torch.ones(4, 2, device="cuda")).sum().backward()
    gone, before = weakref.ref(n.module), gc.isenabled()
    gc.disable()
    try:
        del n
        assert gone() is None
    finally:
        gc.enable() if before else None
