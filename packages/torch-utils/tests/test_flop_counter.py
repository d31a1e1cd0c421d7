import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

M, K, N, B = 3, 5, 7, 2


def flops(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


@pytest.mark.parametrize(
    "function,expected",
    [
        (lambda: torch.ones(M, K) @ torch.ones(K, N), 2 * M * K * N),
        (lambda: torch.ones(B, M, K) @ torch.ones(B, K, N), 2 * B * M * K * N),
        (lambda: torch.ones(B, M, K) @ torch.ones(K, N), 2 * B * M * K * N),
        (lambda: torch.ones(M, K) @ torch.ones(K), 2 * M * K),
        (lambda: torch.ones(K) @ torch.ones(K), 2 * K),
        (lambda: torch.mm(torch.ones(M, K), torch.ones(K, N)), 2 * M * K * N),
        (lambda: torch.bmm(torch.ones(B, M, K), torch.ones(B, K, N)), 2 * B * M * K * N),
        (lambda: torch.addmm(torch.ones(N), torch.ones(M, K), torch.ones(K, N)), 2 * M * K * N),
        (lambda: torch.baddbmm(torch.ones(1), torch.ones(B, M, K), torch.ones(B, K, N)), 2 * B * M * K * N),
        (lambda: torch.addbmm(torch.ones(M, N), torch.ones(B, M, K), torch.ones(B, K, N)), 2 * B * M * K * N),
        (lambda: torch.mv(torch.ones(M, K), torch.ones(K)), 2 * M * K),
        (lambda: torch.addmv(torch.ones(M), torch.ones(M, K), torch.ones(K)), 2 * M * K),
        (lambda: torch.addr(torch.ones(M, N), torch.ones(M), torch.ones(N)), 2 * M * N),
        (lambda: torch.dot(torch.ones(K), torch.ones(K)), 2 * K),
        (lambda: torch.einsum("mk,kn->mn", torch.ones(M, K), torch.ones(K, N)), 2 * M * K * N),
        (lambda: torch.ones(M, K).addmm_(torch.ones(M, N), torch.ones(N, K)), 2 * M * K * N),
        (lambda: torch.ones(M, K) * 2 + 1, 0),
        (lambda: torch.empty(1000, 2000, device="meta") @ torch.empty(2000, 3000, device="meta"), 12 * 10**9),
    ],
)
def test_products_are_counted(function, expected):
    assert flops(function) == expected


# x (2, 4, 9, 8), weight (6, 4 / groups, 3, 3)
@pytest.mark.parametrize("groups,stride,out", [(1, 1, (7, 6)), (2, 1, (7, 6)), (1, 2, (4, 3))])
def test_convolutions_are_counted_by_places_of_the_output(groups, stride, out):
    x, weight = torch.ones(2, 4, 9, 8), torch.ones(6, 4 // groups, 3, 3)
    one = 2 * 2 * out[0] * out[1] * 6 * (4 // groups) * 9
    assert flops(lambda: torch.conv2d(x, weight, groups=groups, stride=stride)) == one


def test_transposed_convolutions_are_counted_by_places_of_the_input():
    x, weight = torch.ones(2, 4, 5, 6), torch.ones(4, 3, 2, 2)
    assert flops(lambda: torch.conv_transpose2d(x, weight, stride=2)) == 2 * 2 * 5 * 6 * 4 * 3 * 4


def test_backward_is_counted():
    if not hasattr(torch, "autograd"):
        pytest.skip("needs torch-autograd")
    x = torch.ones(M, K, requires_grad=True)
    weight = torch.ones(K, N, requires_grad=True)
    assert flops(lambda: (x @ weight).sum().backward()) == 3 * 2 * M * K * N
    constant = torch.ones(M, K)
    assert flops(lambda: (constant @ weight).sum().backward()) == 2 * 2 * M * K * N
    image, kernel = torch.ones(2, 4, 9, 8), torch.ones(6, 4, 3, 3, requires_grad=True)
    one = 2 * 2 * 7 * 6 * 6 * 4 * 9
    assert flops(lambda: torch.conv2d(image, kernel).sum().backward()) == 2 * one


def test_modules_are_told_apart_forward_and_backward():
    nn = pytest.importorskip("torch.nn")
    net = nn.Sequential(nn.Linear(K, N), nn.ReLU(), nn.Linear(N, 2))
    with FlopCounterMode(display=False) as counter:
        net(torch.ones(M, K)).sum().backward()
    counts = {path: sum(ops.values()) for path, ops in counter.get_flop_counts().items()}
    first, last = 2 * M * K * N, 2 * M * N * 2
    assert counts["Global"] == counts["Sequential"] == 2 * first + 3 * last
    assert counts["Sequential.2"] == 3 * last
    assert counts["Sequential.0"] == 2 * first
    table = counter.get_table(depth=1)
    assert "100.00%" in table and "Sequential" in table and "Sequential.0" not in table
    assert "Sequential.0" in counter.get_table(depth=2)


def test_counts_stand_under_the_operators_of_aten():
    nn = pytest.importorskip("torch.nn")
    with FlopCounterMode(display=False) as counter:
        nn.Linear(K, N)(torch.ones(B, M, K))
        torch.ones(B, M, K) @ torch.ones(B, K, N)
        torch.ones(M, K) @ torch.ones(K, N)
    counts, one = counter.get_flop_counts()["Global"], 2 * M * K * N
    aten = torch.ops.aten
    assert counts == {aten.addmm: B * one, aten.bmm: B * one, aten.mm: one}
    assert counts[aten.mm.default] == counts["mm"] == one
    assert " - aten.bmm" in counter.get_table()


def test_the_table_is_shown_at_the_end(capsys):
    with FlopCounterMode():
        torch.ones(100, 100) @ torch.ones(100, 100)
    assert "2.000M" in capsys.readouterr().out


def test_formulas_of_ones_own_come_first():
    with FlopCounterMode(display=False, custom_mapping={"matmul": lambda a, b, out_shape: 1}) as counter:
        torch.ones(M, K) @ torch.ones(K, N)
    assert counter.get_total_flops() == 1
    with pytest.raises(ValueError, match="'sin' is not seen; those that are: addbmm"):
        register_flop_formula("sin")(lambda x: 0)
    with pytest.raises(ValueError, match="custom_mapping: 'sin' is not seen"):
        FlopCounterMode(custom_mapping={torch.ops.aten.sin: lambda x, out_shape: 1})


def test_counting_ends_with_the_context_also_after_an_error():
    counter = FlopCounterMode(display=False)
    with pytest.raises(ZeroDivisionError), counter:
        torch.ones(M, K) @ torch.ones(K, N)
        1 / 0
    torch.ones(M, K) @ torch.ones(K, N)
    assert counter.get_total_flops() == 2 * M * K * N
    assert torch._cold.take_notes() == []


def test_two_cannot_count_at_once():
    with FlopCounterMode(display=False), pytest.raises(RuntimeError, match="another one is counting"):
        FlopCounterMode(display=False).__enter__()
    assert flops(lambda: torch.ones(1, 1) @ torch.ones(1, 1)) == 2


def test_work_of_other_threads_is_counted():
    import threading

    def work():
        thread = threading.Thread(target=lambda: torch.ones(M, K) @ torch.ones(K, N))
        thread.start()
        thread.join()

    assert flops(work) == 2 * M * K * N


def test_counts_are_found_under_the_operator_too():
    with FlopCounterMode(display=False) as counter:
        torch.ones(2, 3).mm(torch.ones(3, 4))
    counts = counter.get_flop_counts()["Global"]
    assert counts[torch.ops.aten.mm] == counts[torch.ops.aten.mm.default] == counts["mm"] == 48
    with pytest.raises(KeyError):
        counts[torch.ops.aten.bmm]
