"""Layers tell which keyword was meant."""

import pytest
import torch
from torch import nn


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: nn.Linear(2, out_feature=3), r"Linear.__init__\(\) .* 'out_feature'; did you mean 'out_features'"),
        (lambda: nn.Conv2d(1, 2, kernel=3), r"Conv2d.__init__\(\) .* 'kernel'; did you mean 'kernel_size'"),
        (lambda: nn.LSTM(1, 2, batchfirst=True), r"LSTM.__init__\(\) .* 'batchfirst'; did you mean 'batch_first'"),
        (lambda: nn.Dropout(prob=0.1), r"Dropout.__init__\(\) .* 'prob'; did you mean 'p'"),
        (lambda: nn.BatchNorm2d(1, epsilon=0.1), r"'epsilon'; did you mean 'eps'"),
    ],
)
def test_a_layer_says_which_keyword_was_meant(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_module_of_a_user_says_it_as_well():
    class Net(nn.Module):
        def __init__(self, hidden_size):
            super().__init__()

    with pytest.raises(TypeError, match=r"Net.__init__\(\) .* 'hidden'; did you mean 'hidden_size'"):
        Net(hidden=3)


def test_other_ways_to_create_go_on():
    assert isinstance(object.__new__(nn.Linear), nn.Linear)

    class Held:
        def __new__(cls, size, *, name):
            made = object.__new__(cls)
            made.__dict__["name"] = name
            return made

    class Both(nn.Module, Held):
        def __init__(self, size, *, name):
            super().__init__()

    assert Both(1, name="b").name == "b"

    class Table(nn.Module, dict):
        def __init__(self, **entries):
            nn.Module.__init__(self)
            dict.__init__(self, **entries)

    assert dict(Table(a=1)) == {"a": 1}
    assert torch.nn.Sequential(nn.Linear(1, 1))[0].in_features == 1
