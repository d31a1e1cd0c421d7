"""Replicas on two devices and what they are made of."""

import copy
from collections import OrderedDict

import torch
import torch.nn.functional as F
from programs.checks import part, raises, two_devices
from torch import cuda, nn
from torch.nn import parallel as dp


def inputs_are_scattered_with_gradients():
    two_devices()
    for x in (torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, device="cuda", requires_grad=True)):
        a, b = dp.scatter(x, (0, 1))
        assert (a.get_device(), b.get_device()) == (0, 1) and torch.equal(b.cpu(), x[2:].cpu())
        (a.sum() + 2 * b.cuda(0).sum()).backward()
        assert x.grad.tolist() == [[1] * 4] * 2 + [[2] * 4] * 2
    rows = dp.scatter({"a": torch.arange(4), "b": [torch.ones(2), "text", 3]}, (0, 1))
    assert rows[1]["a"].tolist() == [2, 3] and rows[1]["b"][1:] == ["text", 3] and rows[1]["b"][0].get_device() == 1
    inputs, kwargs = dp.scatter_kwargs((torch.ones(4),), {"k": torch.ones(2)}, (0, 1))
    assert len(inputs) == len(kwargs) == 2 and kwargs[1]["k"].get_device() == 1


def outputs_are_gathered_with_gradients():
    two_devices()
    for to, index in ((0, 0), (1, 1), (-1, -1), ("cpu", -1)):
        a, b = (
            torch.randn(2, 4, device="cuda:0", requires_grad=True),
            torch.randn(3, 4, device="cuda:1", requires_grad=True),
        )
        y = dp.gather([a, b], to)
        assert y.get_device() == index and y.shape == (5, 4)
        y[:3].sum().backward()
        assert a.grad.get_device() == 0 and a.grad.sum().item() == 8 and b.grad.sum().item() == 4
        numbers = (
            torch.tensor(3.0, device="cuda:0", requires_grad=True),
            torch.tensor(4.0, device="cuda:1", requires_grad=True),
        )
        y = dp.gather(numbers, to)
        assert y.tolist() == [3, 4]
        (y * y).sum().backward()
        assert numbers[1].grad.item() == 8 and numbers[1].grad.dim() == 0
    parts = [{"x": a, "y": (b.cuda(0),)}, {"x": a.cuda(1), "y": (b,)}]
    joined = dp.gather(parts, 0)
    assert joined["x"].shape == (4, 4) and joined["y"][0].shape == (6, 4)
    raises(ValueError, "", lambda: dp.gather([{"x": a}, {"x": a, "z": b}], 0))


def replicas_share_nothing_but_values():
    two_devices()
    net = nn.Sequential(OrderedDict(a=nn.Linear(3, 4), b=nn.BatchNorm1d(4))).float().cuda()
    net.register_buffer("seen", torch.arange(3.0).cuda())
    for devices in ((0, 1), ("cuda:0", "cuda:1"), (torch.device("cuda", 0), torch.device("cuda", 1))):
        replicas = dp.replicate(net, devices)
        for i, r in enumerate(replicas):
            assert all(t.get_device() == i for t in [r.a.weight, r.a.bias, r.b.running_mean, r.seen])
            assert r(torch.ones(2, 3).cuda(i)).get_device() == i
        assert torch.equal(replicas[1].seen.cpu(), net.seen.cpu())
    out = replicas[1](torch.randn(2, 3).cuda(1)).sum()
    out.backward()
    assert net.a.weight.grad.get_device() == 0 and not replicas[1].a.weight.is_leaf
    assert [len(list(r.buffers())) for r in dp.replicate(net, (0, 1), detach=True)] == [4, 4]


def replicas_run_at_once():
    two_devices()
    l1, l2 = nn.Linear(10, 5).cuda(0), nn.Linear(10, 5).cuda(1)
    i1, i2 = torch.randn(2, 10, device="cuda:0"), torch.randn(2, 10, device="cuda:1")
    for given in (((i1,), (i2,)), (i1, i2)):
        a, b = dp.parallel_apply((l1, l2), given)
        assert (a.get_device(), b.get_device()) == (0, 1) and torch.equal(a, l1(i1)) and torch.equal(b, l2(i2))

    class Keyed(nn.Module):
        def forward(self, x=None, y=None):
            return {"sum": x + y, "x": [x]}

    a, b = dp.parallel_apply((Keyed(), Keyed()), ((), ()), ({"x": i1, "y": i1}, {"x": i2, "y": i2}))
    assert torch.equal(b["sum"], i2 * 2) and b["x"][0] is i2
    raises(AssertionError, "", lambda: dp.parallel_apply((l1, l2), (i1,)))


def data_parallel_takes_any_inputs():
    two_devices()

    class Several(nn.Module):
        def forward(self, a, b=None, *, scale=1, flag=None):
            assert a.get_device() == cuda.current_device() and flag in (None, "text")
            return a * scale + (0 if b is None else b["t"][0])

    x, t = torch.randn(5, 3, device="cuda"), torch.randn(5, 3, device="cuda")
    net = nn.DataParallel(Several(), [0, 1])
    assert torch.equal(net(x), x) and torch.equal(net(x, {"t": [t]}), x + t)
    assert torch.equal(net(a=x, scale=2, flag="text"), x * 2) and torch.equal(net(x[:1]), x[:1])
    assert torch.equal(dp.data_parallel(Several(), (x, {"t": (t,)}), (0, 1)), x + t)
    assert dp.data_parallel(Several(), x, (0, 1), output_device=1).get_device() == 1
    assert torch.equal(dp.data_parallel(Several(), x, [0], module_kwargs={"scale": 3}), x * 3)
    with_parameters = nn.DataParallel(nn.Linear(3, 3).cuda(1), [0, 1])
    raises(RuntimeError, "cuda:1", lambda: with_parameters(x))


def data_parallel_trains_and_saves_as_its_module():
    two_devices()
    net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 2)).cuda()
    single, there = copy.deepcopy(net), nn.DataParallel(net)
    x, y = torch.randn(8, 3, device="cuda"), torch.randint(2, (8,), device="cuda")
    optimizer = torch.optim.SGD(there.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = F.cross_entropy(there(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    state = there.state_dict()
    assert all(k.startswith("module.") for k in state) and all(v.get_device() == 0 for v in state.values())
    nn.DataParallel(single).load_state_dict(state)
    assert torch.equal(single.eval()(x), net.eval()(x))
    assert there.eval()(x).allclose(net(x), atol=1e-6)


def sparse_gradients_of_replicas_are_added_up():
    two_devices()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 2, sparse=True)

        def forward(self, x):
            return self.embedding(x).sum(1)

    net = nn.DataParallel(Net().cuda())
    net(torch.tensor([[1, 2], [2, 3]], device="cuda")).sum().backward()
    grad = net.module.embedding.weight.grad
    assert grad.is_sparse and grad.get_device() == 0
    assert grad.to_dense()[:4].tolist() == [[0, 0], [1, 1], [2, 2], [1, 1]]


def broadcast_differentiates_twice():
    two_devices()
    broadcast = part("torch.nn.parallel._functions").Broadcast
    x = torch.randn(3, dtype=torch.double, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: broadcast.apply((0, 1), t)[1].cuda(0) ** 2, (x,))
    assert torch.autograd.gradgradcheck(lambda t: (broadcast.apply((0, 1), t)[1].cuda(0) ** 3).sum(), (x,))


def parameters_of_two_devices_are_no_vector():
    two_devices()
    vector = part("torch.nn.utils").parameters_to_vector
    a, b = nn.Parameter(torch.ones(2, device="cuda:0")), nn.Parameter(torch.ones(2, device="cuda:1"))
    raises(TypeError, "different devices", lambda: vector([a, b]))
    assert vector([a, a]).get_device() == 0
