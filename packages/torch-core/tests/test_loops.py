"""Control flow as functions, rows of sparse elements, and questions of decompositions."""

import pytest
import torch
from torch._prims_common import is_contiguous_or_false, is_non_overlapping_and_dense


def test_a_loop_runs_while_its_condition_holds():
    count, values = torch.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * i), (torch.tensor(1), torch.ones(2)))
    assert count == 4 and values.tolist() == [6, 6]
    same = torch.while_loop(lambda x: False, lambda x: x, [torch.ones(1)])
    assert isinstance(same, tuple) and same[0].item() == 1
    for arguments, text in (
        (
            (lambda x: torch.ones(2) > 0, lambda x: x, (torch.ones(1),)),
            r"a tensor of one, got torch.bool of shape \(2,\)",
        ),
        ((lambda x: "yes", lambda x: x, (torch.ones(1),)), "a bool or a tensor of one, got str"),
        ((lambda x: True, lambda x: x.double(), (torch.ones(1),)), "must keep shape and dtype of value 0"),
        ((lambda x: True, lambda x: (x, x), (torch.ones(1),)), "must give 1 values, got 2"),
        ((lambda x: True, lambda x: x, torch.ones(1)), "must be a tuple or list, got Tensor"),
        ((None, lambda x: x, ()), "must be functions"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.while_loop(*arguments)


def test_one_of_two_functions_runs():
    run = lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    assert run(torch.ones(1)).item() == 2 and run(-torch.ones(1)).item() == -2
    with pytest.raises(RuntimeError, match="must be functions"):
        torch.cond(True, 1, 2)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_rows_of_elements_and_beginnings_of_rows_tell_each_other(dtype):
    rows = torch.tensor([0, 0, 2, 2, 2, 5], dtype=dtype)
    starts = torch._convert_indices_from_coo_to_csr(rows, 7)
    assert starts.tolist() == [0, 2, 2, 5, 5, 5, 6, 6]
    columns = torch.arange(6)
    back = torch._convert_indices_from_csr_to_coo(starts, columns)
    assert back.tolist() == [rows.tolist(), columns.tolist()]
    turned = torch._convert_indices_from_csr_to_coo(starts, columns, transpose=True, out_int32=True)
    assert turned.tolist() == [columns.tolist(), rows.tolist()] and turned.dtype == torch.int32
    assert torch._convert_indices_from_coo_to_csr(rows[:0], 2, out_int32=True).tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="supposed to be a vector"):
        torch._convert_indices_from_coo_to_csr(rows.reshape(2, 3), 7)
    with pytest.raises(RuntimeError, match="int32 or int64"):
        torch._convert_indices_from_coo_to_csr(rows.float(), 7)
    with pytest.raises(RuntimeError, match="supposed to be vectors"):
        torch._convert_indices_from_csr_to_coo(starts, columns.reshape(2, 3))


def test_how_memory_is_filled():
    x = torch.ones(2, 3, 4)
    assert is_contiguous_or_false(x) and not is_contiguous_or_false(x.mT)
    assert is_non_overlapping_and_dense(x.permute(2, 0, 1)) and is_non_overlapping_and_dense(x[:, :0])
    assert not is_non_overlapping_and_dense(x[:, ::2]) and not is_non_overlapping_and_dense(torch.ones(1).expand(3))


def test_names_of_scripts_stay_as_they_are():
    from torch._jit_internal import _copy_to_script_wrapper, boolean_dispatch
    from torch.jit.annotations import BroadcastingList2, List

    assert _copy_to_script_wrapper(print) is print and BroadcastingList2[int] == List[int]
    both = boolean_dispatch("flag", 1, False, lambda x, flag: "yes", lambda x, flag=False: "no", "m", "both")
    assert (both(1), both(1, True), both(1, flag=True), both(1, flag=False)) == ("no", "yes", "yes", "no")
    with pytest.raises(NotImplementedError, match="torch-jit"):
        torch._C.Graph()
    assert torch._custom_ops.impl_abstract is torch.library.impl_abstract


@pytest.mark.parametrize("size", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_combines_all_elements_so_far(size, reverse):
    from torch._higher_order_ops.associative_scan import associative_scan

    x = torch.randn(3, size, dtype=torch.float64)
    turn = (lambda t: t.flip(1)) if reverse else (lambda t: t)
    torch.testing.assert_close(associative_scan(torch.add, x, 1, reverse), turn(turn(x).cumsum(1)))
    # h = a * h + b, as states of a linear recurrence combine
    a, b = torch.rand(size, dtype=torch.float64), torch.randn(size, dtype=torch.float64)
    _, states = associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), 0, reverse)
    state, expected = 0.0, []
    for i in reversed(range(size)) if reverse else range(size):
        state = a[i] * state + b[i]
        expected.append(float(state))
    torch.testing.assert_close(states, torch.tensor(expected[::-1] if reverse else expected, dtype=torch.float64))


def test_scans_that_do_not_fit_are_named():
    from torch._higher_order_ops import associative_scan

    x = torch.ones(3, 2)
    for arguments, text in (
        ((torch.add, [], 0), "a tree of at least one"),
        ((torch.add, (x, x[:2]), 0), r"sizes along dim 0 differ: \[3, 2\]"),
        ((lambda a, b: a.sum(), x, 0), "must give tensors of the shapes"),
        ((3, x, 0), "combine_fn must be a function, got int"),
        ((torch.add, x, 0, False, "else"), "got 'else'"),
    ):
        with pytest.raises(RuntimeError, match=text):
            associative_scan(*arguments)


def test_a_scan_carries_a_value_and_stacks_results():
    from torch._higher_order_ops.scan import scan

    x = torch.arange(6.0).view(3, 2)
    last, rows = scan(lambda total, row: (total + row, total * row), torch.zeros(2), x)
    assert torch.equal(last, x.sum(0)) and torch.equal(rows, (x.cumsum(0) - x) * x)
    last, rows = scan(lambda total, row: (total + row, total * row), torch.zeros(2), x, reverse=True)
    assert torch.equal(rows, (x.flip(0).cumsum(0) - x.flip(0)).flip(0) * x)
    _, columns = scan(lambda total, column: (total + column, {"y": total.clone()}), torch.zeros(3), x, dim=1)
    assert torch.equal(columns["y"], x.cumsum(1) - x)
    assert scan(lambda c, x: (c, x), x, []) == (x, [])


def test_a_map_goes_over_slices_of_trees():
    from torch._higher_order_ops import map

    x = torch.arange(6.0).view(3, 2)
    found = map(lambda pair, y: (pair[0] @ y, pair[1] + 1), (x, x[:, 0]), torch.ones(2))
    assert torch.equal(found[0], x.sum(1)) and torch.equal(found[1], x[:, 0] + 1)


def test_operators_of_functions_have_names_in_graphs():
    import pickle

    operator = torch.ops.higher_order.cond
    assert str(operator) == "cond" and operator.name() == "cond" and pickle.loads(pickle.dumps(operator)) is operator
    x = torch.tensor([1, 2])
    assert torch.equal(torch.ops.higher_order.map_impl(lambda a, b: (a + b,), [x], [x])[0], x[:, None] + x)
    assert torch.ops.higher_order.while_loop(lambda i: (i < 3,), lambda i: (i + 1,), (torch.tensor(0),)) == (
        torch.tensor(3),
    )
    carry, rows = torch.ops.higher_order.scan(lambda c, x: (c + x, c), [torch.tensor(0)], [x], [])
    assert carry == 3 and rows.tolist() == [0, 1]
    with pytest.raises(AttributeError, match="'nothing'"):
        torch.ops.higher_order.nothing


def test_loops_that_do_not_fit_are_named():
    from torch._higher_order_ops import map, scan

    x = torch.ones(3, 2)
    for call, text in (
        (lambda: map(torch.sin, torch.tensor(1.0)), "map: xs must have a dim 0 to go along, got a tensor of 0 dims"),
        (lambda: map(torch.sin, (x, x[:2])), r"map: all of xs must have one size along dim 0, got \[3, 2\]"),
        (lambda: map(torch.sin, x[:0]), "at least 1, got 0"),
        (lambda: scan(lambda c, x: (c.sum(), x), x[0], x), "scan: combine_fn must keep shape and dtype of the carry"),
        (lambda: scan(lambda c, x: c, x[0], x), "must give the carry and a result"),
        (lambda: scan(3, x[0], x), "combine_fn must be a function, got int"),
        (lambda: scan(torch.add, [], x), "init must be a tensor"),
        (lambda: torch.cond(True, torch.sin, torch.cos, x), "operands must be a tuple or list, got Tensor"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


def test_a_namespace_called_like_a_function_of_python_hides_none():
    assert repr(torch.ops.max) == "<namespace torch.ops.max>"
    assert "max" not in vars(torch.ops)
