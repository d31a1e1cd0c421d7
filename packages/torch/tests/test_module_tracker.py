"""The names of the modules at work, forward and backward."""

import torch
from torch import nn
from torch.utils.module_tracker import ModuleTracker


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.ModuleList([nn.Linear(2, 2)])
        self.second = nn.Sequential(nn.Linear(2, 2))

    def forward(self, x):
        return self.second(self.first[0](x))


def test_backward_is_in_the_modules_that_forward_was_in_and_ends():
    net, seen = Net(), []
    with ModuleTracker() as tracker:

        def note(*args):
            seen.append((sorted(tracker.parents - {"Global", "Net"}), tracker.is_bw))

        for layer in (net.first[0], net.second[0]):
            layer.register_forward_pre_hook(note)
            layer.weight.register_hook(note)
        net(torch.ones(1, 2)).sum().backward()
        assert not tracker.is_bw and tracker.parents == {"Global"}
    first, second = ["Net.first.0"], ["Net.second", "Net.second.0"]
    assert seen == [(first, False), (second, False), (second, True), (first, True)]
