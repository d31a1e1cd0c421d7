"""Scripts whose sizes follow values, behind loops, layers and masks: the file has no size of the example."""

import pytest
import torch
from test_scripts import agrees
from torch import Tensor, nn
from torch.onnx.errors import SymbolicValueError

X = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
Y = torch.tensor([[1.0, -2, 3], [-4, 5, 6]])


class Counted(nn.Module):
    def forward(self, x: Tensor):
        y = x[x > 0]
        for _ in range(3):
            y = y + 1
        return y * y.size(0)


class Nested(nn.Module):
    def forward(self, x: Tensor):
        y = x[x > 0]
        for _ in range(2):
            for _ in range(2):
                y = y * 2
        return y * y.size(0)


class Shrinks(nn.Module):
    def forward(self, x: Tensor):
        y = x.flatten()
        while bool(y.sum() < 80):
            y = (y + 10)[y > 0]
        return y * y.size(0)


class Stacked(nn.Module):
    def forward(self, x: Tensor):
        y, found = x[x > 0], torch.jit.annotate(list[Tensor], [])
        for i in range(int(x.argmax())):
            found.append(y + i)
        z = torch.stack(found)
        return z * z.size(1)


class Recurrent(nn.Module):
    def __init__(self, batch_first: bool):
        super().__init__()
        self.lstm = nn.LSTM(3, 2, batch_first=batch_first)

    def forward(self, x: Tensor):
        o, (h, c) = self.lstm(x[x[:, 0] > 0].unsqueeze(1))
        return o * o.size(0), h * h.size(1)


class Places(nn.Module):
    def forward(self, x: Tensor):
        a, b = torch.where(x > 0)
        return a * a.size(0) + b


class Parts(nn.Module):
    def forward(self, x: Tensor):
        y = torch.tensor_split(x.flatten(), (x[0] > 0).long().cumsum(0))[1]
        return y * y.size(0)


class Failing(nn.Module):
    def forward(self, x: Tensor):
        if bool(x.sum() > 100):
            return x[5]
        return x[0]


@pytest.mark.parametrize(
    "module", [Counted(), Nested(), Shrinks(), Stacked(), Recurrent(False), Recurrent(True), Places()],
    ids=["loop", "nested loops", "while", "list", "lstm", "batches first", "where"],
)  # fmt: skip
def test_what_follows_a_size_by_values_is_no_size_of_the_example(module):
    agrees(module, (X,), [(Y,), (Y.clamp(max=4),)])


def test_parts_that_end_where_a_tensor_says_are_refused():
    with pytest.raises(NotImplementedError, match="tensor_split into parts whose sizes may change"):
        torch.onnx.export(torch.jit.script(Parts()), (X,))


def test_a_branch_that_fails_for_the_example_says_where():
    with pytest.raises(SymbolicValueError, match=r"test_scripts_masks.py:\d+.*aten::select fails in a branch or loop"):
        torch.onnx.export(torch.jit.script(Failing()), (X,))
