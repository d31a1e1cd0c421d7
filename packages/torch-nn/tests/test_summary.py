"""torch.nn.summary: rows, shapes, parameters, multiply-adds."""

import pytest
import torch
from torch import nn


def by_name(table):
    return {row.name: row for row in table.rows}


def test_rows_come_in_the_order_of_calls_with_their_shapes():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8 * 49, 10))
    table = nn.summary(net, (2, 3, 16, 16))
    assert [row.kind for row in table.rows] == ["Sequential", "Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert [row.shape for row in table.rows[1:]] == ["(2, 8, 7, 7)", "(2, 8, 7, 7)", "(2, 392)", "(2, 10)"]
    assert table.parameters == sum(p.numel() for p in net.parameters())
    assert table.bytes == 4 * table.parameters
    assert net.training and net[1].training and not net._forward_hooks


@pytest.mark.parametrize(
    "layer, size, expected",
    [
        (nn.Linear(4, 5), (3, 4), 3 * 4 * 5),
        (nn.Conv2d(4, 6, 3, groups=2, padding=1), (2, 4, 5, 5), 2 * 6 * 25 * 2 * 9),
        (nn.Conv1d(1, 2, 3), (1, 10), 2 * 8 * 3),
        (nn.ConvTranspose2d(3, 5, 2, stride=2), (1, 3, 4, 4), 3 * 16 * 5 * 4),
        (nn.LSTM(3, 4, num_layers=2), (7, 2, 3), 14 * (16 * (3 + 4) + 16 * (4 + 4))),
        (nn.GRUCell(3, 4), (2, 3), 2 * 12 * 7),
        (nn.Bilinear(2, 3, 4), [(5, 2), (5, 3)], 5 * 4 * 2 * 4),
        (nn.MultiheadAttention(4, 2, batch_first=True), [(2, 3, 4)] * 3, 6 * 16 * 4 + 2 * 2 * 3 * 3 * 4),
        (nn.ReLU(), (2,), 0),
    ],
)
def test_multiply_adds_follow_from_the_shapes(layer, size, expected):
    assert nn.summary(layer, size).multiply_adds == expected


def test_a_layer_that_is_called_twice_has_two_rows_and_its_parameters_once():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(self.layer(x))

    table = nn.summary(Twice(), (1, 4))
    assert [row.name for row in table.rows] == ["", "layer", "layer"]
    assert (table.parameters, table.multiply_adds) == (20, 32)


def test_inputs_of_any_kind_are_taken_and_frozen_parameters_are_told():
    net = nn.Embedding(10, 3).requires_grad_(False)
    table = nn.summary(net, inputs=torch.tensor([[1, 2]]))
    assert (table.rows[0].shape, table.parameters, table.trainable) == ("(1, 2, 3)", 30, 0)


def test_without_input_nothing_runs():
    table = nn.summary(nn.Sequential(nn.Linear(1, 2), nn.LazyLinear(3)))
    assert [row.parameters for row in table.rows] == [4, 4, 0]
    assert "Linear" in table._repr_html_() and "4 parameters" in nn.Linear(1, 2)._repr_html_()


def test_what_fails_leaves_no_hooks_and_the_mode():
    net = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(RuntimeError):
        nn.summary(net, (1, 3))
    assert net.training and not net._forward_hooks and not net[0]._forward_pre_hooks


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match=r"expected a torch.nn.Module, got int"):
        nn.summary(3)
    with pytest.raises(TypeError, match="input_size or inputs, not both"):
        nn.summary(nn.ReLU(), (1,), inputs=torch.ones(1))
    with pytest.raises(TypeError, match=r"given tensors: summary\(module, inputs=x\)"):
        nn.summary(nn.ReLU(), torch.ones(1))
    with pytest.raises(TypeError, match=r"given tensors: summary\(module, inputs=x\)"):
        nn.summary(nn.ReLU(), [torch.ones(1)])
