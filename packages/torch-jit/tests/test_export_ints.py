"""Ints among the arguments of exported programs that may be others, what a program asks of such numbers, and sizes that follow others."""

import math

import pytest
import torch
from test_export_numbers import again
from torch import nn
from torch.export import Dim, UserError, export


def export_with_int(function, n):
    class Net(nn.Module):
        def forward(self, x, n):
            return function(x, n)

    return export(Net(), (torch.zeros(2), n), dynamic_shapes={"x": None, "n": Dim.DYNAMIC}).module()


class Scaled(nn.Module):
    def forward(self, x, n):
        return x * n + x.shape[0], torch.zeros(n), x.repeat(n), n * 2


@pytest.mark.parametrize("hint", [Dim.DYNAMIC, Dim.AUTO])
def test_an_int_is_an_input_of_the_program(hint):
    program = export(Scaled(), (torch.ones(4), 3), dynamic_shapes={"x": {0: Dim("rows")}, "n": hint})
    for made in (program.module(), again(program).module()):
        for n in (1, 2, 7):
            x = torch.randn(n + 2)
            torch.testing.assert_close(made(x, n), Scaled()(x, n), rtol=0, atol=0)
    assert isinstance(next(n for n in program.graph.nodes if n.name == "n").meta["val"], torch.SymInt)
    with pytest.raises(AssertionError, match="n: the program was exported for an int, got 2.5"):
        program.module()(torch.ones(4), 2.5)


def test_an_int_that_nothing_is_said_of_stays_what_it_is():
    for shapes in (None, {"x": None, "n": Dim.STATIC}, {"x": None, "n": 3}):
        program = export(Scaled(), (torch.ones(4), 3), dynamic_shapes=shapes)
        with pytest.raises(AssertionError, match="n: the program was exported for 3, got 4"):
            program.module()(torch.ones(4), 4)


def test_what_cannot_be_said_of_an_int_is_refused():
    how = lambda n, what: export(Scaled(), (torch.ones(4), n), dynamic_shapes={"x": None, "n": what})
    with pytest.raises(
        ValueError, match=r"the int 3 cannot be the Dim b, which names sizes: say Dim.DYNAMIC or Dim.AUTO"
    ):
        how(3, Dim("b"))
    with pytest.raises(UserError, match="the argument is 3, and not 4"):
        how(3, 4)
    with pytest.raises(UserError, match="is said of the float 2.5, which has no dims"):
        how(2.5, Dim.DYNAMIC)


def test_a_branch_on_a_number_without_a_name_bounds_it():
    class Net(nn.Module):
        def forward(self, x, n):
            return x + n if n > 3 else x - n

    program = export(Net(), (torch.ones(2), 5), dynamic_shapes={"x": None, "n": Dim.DYNAMIC})
    assert program.range_constraints["s0"].lower == 4
    for made in (program.module(), again(program).module()):
        torch.testing.assert_close(made(torch.ones(2), 9), torch.full((2,), 10.0))
        with pytest.raises(AssertionError, match="Guard failed: 4 <= n"):
            made(torch.ones(2), 3)


def test_a_question_that_is_no_bound_is_asked_at_each_call():
    class Net(nn.Module):
        def forward(self, x, y):
            return x * 2 if x.shape[0] % 2 == 0 and x.shape[0] > y.shape[0] else x

    sizes = {"x": {0: Dim.DYNAMIC}, "y": {0: Dim.AUTO}}
    program = export(Net(), (torch.ones(6), torch.ones(3)), dynamic_shapes=sizes)
    for made in (program.module(), again(program).module()):
        torch.testing.assert_close(made(torch.ones(8), torch.ones(5)), torch.full((8,), 2.0))
        with pytest.raises(AssertionError, match=r"Guard failed: s0 % 2 == 0, where s0 is 7"):
            made(torch.ones(7), torch.ones(2))
        with pytest.raises(AssertionError, match=r"Guard failed: s0 > s1, where s0 is 4, s1 is 4"):
            made(torch.ones(4), torch.ones(4))


def test_a_loop_over_a_number_that_may_change_fixes_it_and_one_that_has_to_change_is_refused():
    class Net(nn.Module):
        def forward(self, x, n):
            for i in range(n):
                x = x + i
            return x * x.shape[0]

    sizes = {"x": {0: Dim.AUTO}, "n": Dim.AUTO}
    program = export(Net(), (torch.ones(4), 3), dynamic_shapes=sizes)
    torch.testing.assert_close(program.module()(torch.ones(6), 3), Net()(torch.ones(6), 3))
    with pytest.raises(AssertionError, match="n: the program was exported for 3, got 4"):
        program.module()(torch.ones(6), 4)
    with pytest.raises(UserError, match="a loop over a size"):
        export(Net(), (torch.ones(4), 3), dynamic_shapes={"x": None, "n": Dim.DYNAMIC})


def test_numbers_that_change_only_one_at_a_time_stay_what_they_are_or_are_refused():
    class Net(nn.Module):
        def forward(self, x, n):
            if int(x.shape[0]) != 4 and int(n) != 3:
                raise RuntimeError("one at a time")
            return x * n

    sizes = {"x": {0: Dim.AUTO}, "n": Dim.AUTO}
    program = export(Net(), (torch.ones(4), 3), dynamic_shapes=sizes)
    torch.testing.assert_close(program.module()(torch.ones(4), 3), torch.full((4,), 3.0))
    with pytest.raises(
        UserError, match=r"other sizes of each, and not s0 = \d+, s1 = \d+ together: RuntimeError: one at"
    ):
        export(Net(), (torch.ones(4), 3), dynamic_shapes={"x": {0: Dim.DYNAMIC}, "n": Dim.DYNAMIC})


def test_a_size_of_the_form_4b_is_held_to_it():
    class Net(nn.Module):
        def forward(self, x, y):
            return x.reshape(y.shape[0], 4) + y[:, None]

    b = Dim("b", max=100)
    program = export(Net(), (torch.ones(8), torch.ones(2)), dynamic_shapes={"x": {0: 4 * b}, "y": {0: b}})
    for made in (program.module(), again(program).module()):
        assert made(torch.ones(12), torch.ones(3)).shape == (3, 4)
        with pytest.raises(AssertionError, match=r"y.size\(\)\[0\] is 2, and b is 3 in another input"):
            made(torch.ones(12), torch.ones(2))
        with pytest.raises(AssertionError, match=r"x.size\(\)\[0\] is of the form 4\*b, where b is an int: got 9"):
            made(torch.ones(9), torch.ones(2))
        with pytest.raises(AssertionError, match=r"x.size\(\)\[0\] is 4\*b with 0 <= b <= 100, got 404"):
            made(torch.ones(404), torch.ones(101))


def test_guards_of_a_file_are_comparisons_of_sizes_only():
    from torch.export._guards import Guard

    for text in ("__import__('os').getcwd()", "a.b > 1", "[a] == 1", "a > 1 > 2", "(lambda: a)() == 1"):
        with pytest.raises(ValueError, match="a guard is a comparison of sizes"):
            Guard(text, True)
    for text in ("1 // a == 1", "2 ** 2 ** 99 > a", "1 << 2 ** 100 == a", "(a - 1) ** 0.5 > 1"):
        assert not Guard(text, True).holds({"a": 0})


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: x + abs(n),
        lambda x, n: x + int(n / 2),
        lambda x, n: x + (n + abs(n)),
        lambda x, n: x + divmod(n, 4)[0] * divmod(n, 4)[1],
        lambda x, n: x + (n & 6) + (n | 1) + (n ^ 5) + (n >> 1) + ~n,
        lambda x, n: x * (n / 7) + (n + 0.5) ** 2,
        lambda x, n: x + math.ceil(n / 4) * math.floor(n / 3) + round(n / 5),
    ],
)
def test_formulas_of_ints_hold_for_either_sign(f):
    program = export_with_int(f, 3)
    for n in (-9, -2, 0, 1, 13):
        assert torch.equal(program(torch.ones(2), n), f(torch.ones(2), n))


def test_a_branch_on_the_other_sign_is_guarded():
    program = export_with_int(lambda x, n: x + 1 if -n > -4 else x - 1, 3)
    assert torch.equal(program(torch.zeros(2), -5), torch.ones(2))
    with pytest.raises(RuntimeError, match="n"):
        program(torch.zeros(2), 7)


def test_an_int_that_goes_together_with_a_size_is_held_to_it():
    class Added(nn.Module):
        def forward(self, x, n):
            return x + torch.ones(n)

    shapes = {"x": {0: Dim("b")}, "n": Dim.DYNAMIC}
    program = export(Added(), (torch.zeros(3), 3), dynamic_shapes=shapes).module()
    assert program(torch.zeros(5), 5).shape == (5,)
    with pytest.raises(RuntimeError, match="b is 3"):
        program(torch.zeros(3), 5)


def of_rows(function, *sizes, hint=Dim.DYNAMIC):
    class Net(nn.Module):
        def forward(self, *tensors):
            return function(*tensors)

    shapes = [tuple({0: hint} for _ in sizes)]
    return export(Net(), tuple(map(torch.zeros, sizes)), dynamic_shapes=shapes).module()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + (x.shape[0] + 999) // 1000,
        lambda x: x + x.shape[0] // 640,
        lambda x: x + (x.shape[0] & 512),
        lambda x: x + math.ceil(x.shape[0] / 640),
        lambda x: x + int(x.shape[0] / 640),
        lambda x: x + (x.shape[0] >> 9),
        lambda x: x * (2 if x.shape[0] / 4 > 160 else 1),
        lambda x: x * (2 if x.numel() > 640 else 1),
        lambda x: x * (2 if torch.cat([x, x]).shape[0] + 1 > 1280 else 1),
        lambda x: x + min(torch.cat([x, x]).size(0), 1) * (torch.cat([x, x]).shape[0] // 1024),
    ],
)
def test_formulas_of_sizes_that_look_like_constants_are_held_to_them(f):
    program = of_rows(f, 3)
    assert torch.equal(program(torch.ones(50)), f(torch.ones(50)))
    with pytest.raises(RuntimeError, match="Guard failed: .*(got|s0 is) 1600"):
        program(torch.ones(1600))
    with pytest.raises(UserError, match=r"is (True|False) for the example, and not where b is"):
        of_rows(f, 3, hint=Dim("b"))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2 if len(x) > 100 else x,
        lambda x: x * 2 if float(x.shape[0]) > 100 else x,
        lambda x: sum([x] * (x.shape[0] // 64), x),
        lambda x: x + torch.tensor([x.shape[0] // 64] * 4).view(2, 2).sum() + torch.tensor([[x.shape[0] // 64]])[0],
    ],
)
def test_what_shows_at_sizes_far_from_those_of_the_example_only_is_refused(f):
    with pytest.raises(UserError):
        of_rows(f, 3)
    program = of_rows(f, 3, hint=Dim.AUTO)
    assert torch.equal(program(torch.ones(3)), f(torch.ones(3)))
    with pytest.raises(RuntimeError, match="Guard failed: .* == 3, got 200"):
        program(torch.ones(200))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + (x.shape[0] * 5) % 7,
        lambda x: x[: x.shape[0] % 5].sum() + x[: (x.shape[0] - 1) % 3].shape[0],
        lambda x: x + (x.shape[0] & 3) * 10,
        lambda x: x / (x.shape[0] / 3) ** 1.5,
        lambda x: x * (int(x.shape[0] * 0.3) * 10 + 1) + (int(x.shape[0] / 7) + x.shape[0]),
        lambda x: x.repeat(2**2)[: 2 * math.ceil(x.shape[0] / 4)],
    ],
)
def test_formulas_are_those_of_the_program(f):
    class Net(nn.Module):
        def forward(self, x):
            return f(x)

    program = export(Net(), (torch.zeros(9),), dynamic_shapes={"x": {0: Dim.DYNAMIC}})
    for made in (program.module(), again(program).module()):
        for n in (2, 6, 31, 200, 1000):
            assert torch.equal(made(torch.ones(n)), f(torch.ones(n)))


def test_long_formulas_are_kept_or_refused():
    def counted(x):
        n = x.shape[0]
        for _ in range(300):
            n = n + 1
        return x + n

    assert torch.equal(of_rows(counted, 3)(torch.ones(7)), counted(torch.ones(7)))


def test_formulas_of_sizes_that_are_constants_are():
    for f in (
        lambda x: x * (x.shape[0] * 0 + 2),
        lambda x: x + x.shape[0] // x.shape[0],
        lambda x: x + (x.shape[0] - x.shape[0]),
    ):
        assert torch.equal(of_rows(f, 3)(torch.ones(350)), f(torch.ones(350)))


def test_questions_about_two_sizes_name_both():
    program = of_rows(lambda x, y: x.sum() + 1 if x.shape[0] + y.shape[0] < 100 else y.sum() - 1, 3, 5)
    assert program(torch.ones(2), torch.ones(6)).item() == 3
    with pytest.raises(RuntimeError, match="Guard failed"):
        program(torch.ones(2), torch.ones(99))
