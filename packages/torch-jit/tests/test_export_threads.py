"""Exports in one thread while others compute, or export as well."""

import threading

import torch
from torch import nn
from torch.export import Dim, export
from torch.nn import functional as F


class Net(nn.Module):
    """Tells when it runs, and goes on when it may."""

    def __init__(self, entered=None, may_leave=None):
        super().__init__()
        self.linear, self.cell = nn.Linear(3, 3), nn.GRU(3, 3)
        self.entered, self.may_leave = entered, may_leave

    def forward(self, x):
        if self.entered is not None and torch.compiler.is_exporting():
            self.entered.set()
            assert self.may_leave.wait(60)
        with torch.no_grad():
            y = F.relu(self.linear(x)) * x.shape[0]
        return y + self.cell(x)[0]


def export_in_thread(net):
    """The thread, which has begun, and a list that has its result in the end."""
    results, shapes = [], ({0: Dim("n", min=2)},)
    thread = threading.Thread(target=lambda: results.append(export(net, (torch.ones(4, 3),), dynamic_shapes=shapes)))
    thread.start()
    assert net.entered.wait(60)
    return thread, results


def names_of(program):
    return [node.name for node in program.graph.nodes]


def test_exports_may_end_in_the_order_in_which_they_began():
    owners = torch, torch.Tensor, nn.Module, nn.RNNBase, F, torch.autograd.grad_mode
    export(Net(), (torch.ones(4, 3),))  # imports what it needs
    before = {(owner, name): value for owner in owners for name, value in vars(owner).items()}
    first, second = (Net(threading.Event(), threading.Event()) for _ in range(2))
    threads = [export_in_thread(net) for net in (first, second)]
    for net, (thread, _) in zip((first, second), threads):
        net.may_leave.set()
        thread.join()
    after = {(owner, name): value for owner in owners for name, value in vars(owner).items()}
    assert [key for key in before if after.get(key) is not before[key]] == []
    alone = export(Net(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("n", min=2)},))
    for net, (_, (program,)) in zip((first, second), threads):
        assert names_of(program) == names_of(alone)
        x = torch.randn(5, 3)
        assert torch.equal(program.module()(x), net(x))


def test_what_others_compute_while_a_module_is_exported_is_no_part_of_the_program():
    @torch.jit.script
    def doubled(x):
        return x * 2

    net = Net(threading.Event(), threading.Event())
    thread, results = export_in_thread(net)
    y = torch.ones(2)
    y.data = torch.zeros(3)
    assert doubled(y).tolist() == [0.0, 0.0, 0.0]
    net.linear(torch.ones(7, 3))
    net.may_leave.set()
    thread.join()
    (program,) = results
    stacks = {key for node in program.graph.nodes for key in node.meta.get("nn_module_stack", {})}
    assert stacks and not any("@" in key for key in stacks)
