"""Exported programs with sizes and numbers that only the values of tensors tell, autocast, transforms and gradients within."""

import io

import pytest
import torch
from torch import nn
from torch.export import Dim, UserError, export

X = torch.arange(12.0).view(3, 4)


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.function, self.linear = function, nn.Linear(4, 4)

    def forward(self, *args):
        return self.function(self, *args)


def again(program):
    """The program, written to a file and read from it."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    return torch.export.load(buffer)


def holds(function, *examples, **options):
    """The exported program gives what the function does, for the first example and others, from a file too."""
    module = Module(function)
    program = export(module, examples[0], **options)
    for run in (program.module(), again(program).module()):
        for args in examples:
            torch.testing.assert_close(run(*args), module(*args), rtol=0, atol=0)
    return program


def up_to(_, n, x):
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= x.shape[0], lambda: "k is more than there are rows")
    return x[:k] * 2 + k


def test_a_number_of_a_tensor_is_a_size():
    program = holds(up_to, *((torch.tensor(k), X) for k in (2, 3, 1)))
    targets = [n.target for n in program.graph.nodes]
    assert torch.ops.aten.item.default in targets and torch.ops.aten._assert_scalar.default in targets
    assert program.range_constraints["u0"] == (0, 3)


def test_what_a_program_checks_is_checked_when_it_runs():
    run = export(Module(up_to), (torch.tensor(2), X)).module()
    with pytest.raises(RuntimeError, match="k is more than there are rows"):
        run(torch.tensor(4), X)
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 >= 0"):
        run(torch.tensor(-1), X)


def test_a_number_that_can_be_no_other_is_checked():
    def columns(_, n, x):
        return x.reshape(3, n.item()) @ torch.ones(4, 2)

    program = holds(columns, (torch.tensor(4), X))
    for run in (program.module(), again(program).module()):
        with pytest.raises(RuntimeError, match=r"in columns: u0 is 4 in this exported program.* no other value"):
            run(torch.tensor(6), X)


def test_a_number_may_be_checked_against_a_size_that_changes():
    rows = {0: Dim("rows")}
    program = holds(up_to, (torch.tensor(2), X), (torch.tensor(5), torch.cat([X, X])), dynamic_shapes=((None, rows),))
    with pytest.raises(RuntimeError, match="more than there are rows"):
        program.module()(torch.tensor(4), X)


def test_what_follows_from_a_check_may_be_asked():
    def forward(_, n):
        k = n.item()
        torch._check(k >= 2)
        return torch.zeros(k) if k > 1 and k != 0 else n

    holds(forward, (torch.tensor(2),), (torch.tensor(5),))


def test_numbers_keep_what_they_are_computed_from():
    def forward(_, n, x):
        k, half = n.item(), x.mean().item() / 2
        torch._check_is_size(k, max=100)
        return torch.full((2 * k + 1, k % 3), half - 1), x * (3 - half), x.new_zeros(k).shape[0] + 1, k

    holds(forward, (torch.tensor(4), X), (torch.tensor(7), X * 3 - 1))


def test_lists_of_numbers_split():
    def forward(_, sizes, x):
        return torch.split(x, sizes.tolist())

    holds(forward, (torch.tensor([1, 2]), X), (torch.tensor([2, 1]), X))


def test_ints_and_floats_of_tensors():
    holds(lambda _, x: (x[: int(x[0, 1]) + 1] * float(x[1, 0]), x[x.argmax() // 12 :]), (X,), (X + 1,), (X * 2,))


@pytest.mark.parametrize(
    "found",
    [
        lambda x: x.nonzero(), lambda x: x[x > 3], lambda x: x.masked_select(x > 2), lambda x: x[x.sum(1) > 10], lambda x: x.unique(),
        lambda x: x[:, x[0] > 1].T, lambda x: torch.where(x > 3)[0], lambda x: x.nonzero(as_tuple=True)[1], lambda x: x[0].repeat_interleave(x[0].int() % 3),
        lambda x: torch.bincount(x.flatten().int()),
    ],
)  # fmt: skip
def test_sizes_that_are_found_in_values_are_sizes_of_what_follows(found):
    def forward(_, x):
        y = found(x)
        return torch.zeros(y.shape[0] * 2), torch.ones(y.shape[0]) + y.numel(), y

    holds(forward, (X,), (X % 5,), (X * 2 + 1,))


def test_a_mask_on_both_sides_of_a_write():
    def forward(_, x, y):
        x = x.clone()
        x[x > 4] = y[x > 4]
        return x

    holds(forward, (X, -X), (X + 3, X), (X - 20, X))


def test_a_branch_on_a_number_is_refused_in_its_line():
    with pytest.raises(
        UserError, match=r"test_export_numbers.py:\d+ in <lambda>: .* whether u0\*2 > 3, which only the values"
    ):
        export(Module(lambda _, n: n if n.item() * 2 > 3 else -n), (torch.tensor(2),))


# --- what shows only beneath functions ---


def test_autocast_within():
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            with torch.autocast("cpu", enabled=False):
                z = self.linear(x)
        return y, y.float() + z, y.softmax(-1)

    program = holds(forward, (X,), (X + 1,))
    assert sum(n.target is torch.ops.aten.linear.default for n in program.graph.nodes) == 2


def test_transforms_within():
    rows = {0: Dim("rows")}

    def forward(self, x):
        each = torch.vmap(lambda row: self.linear(row).sum() * row)(x)
        return each, torch.func.grad(lambda x: (self.linear(x) ** 3).sum())(x)

    holds(forward, (X,), (torch.cat([X, X]) - 3,), dynamic_shapes=((rows,),))
    holds(lambda _, x: torch.func.jvp(lambda x: x.sin().sum(0), (x,), (x * 2,)), (X,), (X + 1,))


def test_gradients_within():
    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (found,) = torch.autograd.grad((self.linear(x) ** 3).sum(), x)
        return found

    holds(forward, (X,), (X - 5,))


def test_moves_to_where_a_tensor_is():
    holds(lambda _, x: x.to("cpu").cpu().to(torch.device("cpu"), torch.float64) * 2, (X,), (X + 1,))


def test_sequences_that_are_packed_by_lengths_of_a_tensor_are_refused():
    def forward(_, x, lengths):
        return nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True).data

    with pytest.raises(UserError, match="goes on by whether"):
        export(Module(forward), (torch.randn(2, 5, 4), torch.tensor([5, 3])))


def test_a_tensor_made_of_a_tensor_follows_it():
    def forward(_, x, t):
        return x * torch.tensor(t, dtype=torch.float64) + torch.as_tensor(t, dtype=torch.float64) + torch.tensor([1.0])

    with pytest.warns(UserWarning, match="copy construct"):
        holds(forward, (X, torch.tensor(2.0)), (X, torch.tensor(3.0)))
    with pytest.raises(
        UserError, match="a list in which there are tensors, whose values would be constants: torch.stack"
    ):
        export(Module(lambda _, x, t: x * torch.tensor([t, 1.0])[0]), (X, torch.tensor(2.0)))


@pytest.mark.parametrize("make", [torch.FloatTensor, torch.Tensor, torch.asarray, lambda data: X.new(data)])
def test_old_constructors_of_tensors_in_a_list_are_refused_as_torch_tensor_is(make):
    with pytest.raises(UserError, match="a list in which there are tensors, whose values would be constants"):
        export(Module(lambda _, x, t: x * make([t, 1.0])[0]), (X, torch.tensor(2.0)))
    holds(lambda _, x: x + make([2.0, 1.0]).sum(), (X,), (X + 1,))


def test_asarray_of_a_tensor_follows_it():
    holds(
        lambda _, x, t: x * torch.asarray(t, dtype=torch.float64, copy=True),
        (X, torch.tensor(2.0)),
        (X, torch.tensor(3.0)),
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda x, t: x.reshape(t, -1),
        lambda x, t: x.view(-1, t),
        lambda x, t: x[None].expand(t, 3, 4),
        lambda x, t: x.repeat(t, 1),
        lambda x, t: x.new_zeros(t, 2),
    ],
)
def test_sizes_one_by_one_may_be_tensors(call):
    holds(lambda _, x, t: call(x, t), (X, torch.tensor(2)), (X, torch.tensor(3)))
