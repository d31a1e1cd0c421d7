"""Writes of scripts to what is a view or not, as sizes decide, and to lists that modules hold."""

import pytest
import torch
from agreement import run
from test_scripts import agrees
from torch import Tensor, nn
from torch.onnx.errors import SymbolicValueError

ROWS = {"dynamic_axes": {"x": {0: "n", 1: "m"}}}
REFUSED = "is read that aten::add_ at .* changes or not, as sizes decide"


class Contiguous(nn.Module):
    def forward(self, x: Tensor):
        y = x.t().contiguous()
        y.add_(1)
        return x, y


class Reshaped(nn.Module):
    def forward(self, x: Tensor):
        y = x.t().reshape(-1)
        z = y[:1]
        z.add_(1)
        return x * 2, y


class Base(nn.Module):
    def forward(self, x: Tensor):
        base = x * 2
        y = base.t().flatten()
        base.add_(1)
        return base, y.sum()


class Branch(nn.Module):
    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            y = x.t().contiguous()
            y.add_(1)
        else:
            y = x.t() * 2
        return y


class Alone(nn.Module):
    """The other name is not read after the write, but for its size."""

    def forward(self, x: Tensor):
        h = x * 2
        y = h.t().contiguous()
        y.add_(1)
        return y.reshape(-1).mul_(3), y.size(0) * h.size(1)


class Copied(nn.Module):
    def forward(self, x: Tensor):
        y = x.to(torch.float32, copy=True)
        y.add_(1)
        return x * 2, y


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.factors, self.named, self.pairs = [2, 3], {"a": 5}, [[1], [4]]

    def forward(self, x: Tensor):
        own = list(self.factors)
        own.append(self.named["a"])
        return x * own[2] + self.pairs[1][0] + len(own) + len(self.factors)


class Appends(Kept):
    def forward(self, x: Tensor):
        self.factors.append(7)
        return x * len(self.factors)


class Within(Kept):
    def forward(self, x: Tensor):
        self.pairs[0].append(7)
        return x * len(self.pairs[0])


@pytest.mark.parametrize("module", [Contiguous(), Reshaped(), Base()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("sizes", [(1, 3), (2, 3)])
def test_what_is_written_to_or_not_as_sizes_decide_is_not_read(module, sizes):
    with pytest.raises(SymbolicValueError, match=REFUSED):
        torch.onnx.export(torch.jit.script(module), (torch.rand(sizes),), **ROWS)


def test_a_write_to_what_may_lie_outside_of_a_branch_is_refused():
    with pytest.raises(SymbolicValueError, match="may write to a tensor of the outside in a branch or loop"):
        torch.onnx.export(torch.jit.script(Branch()), (torch.rand(1, 3),), **ROWS)


@pytest.mark.parametrize("sizes", [(1, 3), (2, 3)])
def test_views_and_copies_of_sizes_that_are_fixed_are_those_of_the_example(sizes):
    for module in (Contiguous(), Base()):
        x = torch.rand(sizes)
        wanted = module(x.clone())
        proto = torch.onnx.export(torch.jit.script(module), (x.clone(),)).model_proto
        for one, two in zip(run(proto, x), wanted, strict=True):
            torch.testing.assert_close(torch.from_numpy(one.copy()), two)


@pytest.mark.parametrize("sizes", [(1, 3), (2, 3)])
def test_a_write_whose_other_name_is_not_read(sizes):
    agrees(Alone(), (torch.rand(sizes),), [(torch.rand(1, 4),), (torch.rand(5, 1),), (torch.rand(3, 4),)], **ROWS)


def test_a_copy_has_memory_of_its_own():
    agrees(Copied(), (torch.rand(2, 3),), [])


def test_lists_and_dicts_that_a_module_holds_are_read():
    agrees(Kept(), (torch.rand(2, 3),), [])


@pytest.mark.parametrize("module", [Appends(), Within()], ids=["attribute", "list within"])
def test_a_change_of_a_list_that_a_module_holds_is_refused(module):
    with pytest.raises(SymbolicValueError, match="aten::append changes a list that is an attribute"):
        torch.onnx.export(torch.jit.script(module), (torch.rand(2, 3),))
