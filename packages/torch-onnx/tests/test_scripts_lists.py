"""Lists of scripts: joined, filled by loops, and taken apart again."""

import pytest
import torch
from test_scripts import agrees
from torch import nn
from torch.onnx.errors import SymbolicValueError

X, MOVING = torch.rand(3, 2), {"dynamic_axes": {"x": {0: "n"}}}


class Filled(nn.Module):
    def forward(self, x):
        rows: list[torch.Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[i] * i)
        total = x.new_zeros(2)
        for row in rows:
            total = total * 2 + row
        return rows[-1], rows[0], rows[x.size(0) // 2], total


class Counted(nn.Module):
    def forward(self, x):
        rows: list[torch.Tensor] = []
        n = 0
        for i in range(x.size(0)):
            n += len(rows)
            rows.append(x[i])
        return torch.stack(rows) * n


class Held(nn.Module):
    def forward(self, x):
        rows: list[torch.Tensor] = []
        held = [rows]
        for i in range(x.size(0)):
            rows.append(x[i])
        return held


class Joined(nn.Module):
    def forward(self, x):
        both = [x] * 2 + [x + 1]
        sizes = [1, 2] + [x.size(0)]
        return torch.cat(both) * sizes[2]


def test_elements_of_a_list_that_a_loop_has_filled():
    agrees(Filled(), (X,), [(torch.rand(5, 2),), (torch.rand(1, 2),)], **MOVING)


def test_lists_are_joined():
    agrees(Joined(), (X,), [(torch.rand(5, 2),)], **MOVING)


def test_a_list_is_not_read_within_the_loop_that_fills_it():
    with pytest.raises(SymbolicValueError, match="aten::len of a list cannot be written within the loop that fills it"):
        torch.onnx.export(torch.jit.script(Counted()), (X,), **MOVING)
    agrees(Counted(), (X,), [(torch.rand(3, 2),)])  # turn by turn


def test_a_list_within_a_list_that_a_loop_has_filled_is_no_output():
    with pytest.raises(SymbolicValueError, match="is no output of a file"):
        torch.onnx.export(torch.jit.script(Held()), (X,), **MOVING)


class Apart(nn.Module):
    def forward(self, x):
        a, b, c = x.unbind(0)
        return a + b * c


class Count(nn.Module):
    def forward(self, x):
        return x * len((x * 2).unbind(0))


class Thirds(nn.Module):
    def forward(self, x):
        return x * len(x.chunk(3))


class Turns(nn.Module):
    def forward(self, x):
        n = 0
        for _ in (x + 1).unbind(0):
            n += 1
        return x * n


class Columns(nn.Module):
    def forward(self, x):
        y = x[:, :1]
        for column in (x * 2).unbind(1):
            y = y + column.unsqueeze(1)
        return y, len(x.unbind(1))


def test_parts_along_a_size_that_may_change_are_refused():
    with pytest.raises(SymbolicValueError, match=r"aten::unbind along a size that may change \(n\) cannot be written"):
        torch.onnx.export(torch.jit.script(Apart()), (X,), **MOVING)
    agrees(Apart(), (X,), [])


@pytest.mark.parametrize("module", [Count(), Thirds(), Turns()], ids=lambda m: type(m).__name__)
def test_a_count_of_parts_none_of_which_is_needed_is_refused(module):
    with pytest.raises(SymbolicValueError, match="the number of parts that .* gives of a size that may change"):
        torch.onnx.export(torch.jit.script(module), (X,), **MOVING)
    agrees(module, (X,), [])


def test_parts_along_another_dim_are_taken_in_turn():
    agrees(Columns(), (X,), [(torch.rand(5, 2),)], **MOVING)
