"""What repr shows, as users know it."""

import pytest
import torch


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
        (lambda: torch.tensor(3), "tensor(3)"),
        (lambda: torch.tensor([0.5, 1.25]), "tensor([0.5000, 1.2500])"),
        (lambda: torch.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (lambda: torch.tensor([1e9]), "tensor([1.0000e+09])"),
        (lambda: torch.tensor([1.5, float("nan"), -float("inf")]), "tensor([1.5000,    nan,   -inf])"),
        (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
        (lambda: torch.tensor([1], dtype=torch.int32), "tensor([1], dtype=torch.int32)"),
        (lambda: torch.tensor([1.0], dtype=torch.float64), "tensor([1.], dtype=torch.float64)"),
        (lambda: torch.tensor([]), "tensor([])"),
        (lambda: torch.empty(0, 3), "tensor([], size=(0, 3))"),
        (lambda: torch.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (lambda: torch.empty(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
        (lambda: torch.tensor([-1, 10]), "tensor([-1, 10])"),
    ],
)
def test_tensors_print(make, text):
    assert repr(make()) == text


def test_long_tensors_are_summarised():
    text = repr(torch.arange(2000))
    assert text == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
    assert repr(torch.zeros(1000, 1000)).count("...") == 7 and len(repr(torch.zeros(200)).splitlines()[0]) <= 80


def test_options_change_and_come_back():
    with torch.printoptions(precision=1, sci_mode=False):
        assert repr(torch.tensor([1.26])) == "tensor([1.3])"
    assert repr(torch.tensor([1.26])) == "tensor([1.2600])"
    before = torch.get_printoptions()
    with pytest.warns(UserWarning, match="profile 'long' changes nothing; it may be one of default, short, full"):
        torch.set_printoptions(profile="long")
    assert torch.get_printoptions() == before


def test_format_of_a_number():
    assert f"{torch.tensor(1.5):.2f}" == "1.50" and f"{torch.tensor([1.5])}" == "tensor([1.5000])"
    assert f"{torch.tensor(0.1, dtype=torch.float64)} {torch.tensor(3)} {torch.tensor(True)}" == "0.1 3 True"
    assert "{}".format(torch.tensor(-2.5)) == "-2.5" and str(torch.tensor(-2.5)) == "tensor(-2.5000)"  # noqa: UP032
    assert f"{torch.empty((), device='meta')}".startswith("tensor(..., device='meta'")


def test_format_of_a_subclass_is_its_text():
    class Named(torch.Tensor):
        pass

    assert f"{torch.tensor(2.5).as_subclass(Named)}" == "Named(2.5000)"


def test_lines_of_complex_numbers_break_where_pytorchs_do():
    whole = torch.complex(torch.arange(9.0) - 4, torch.arange(9.0) * 3 - 12)
    assert repr(whole) == (
        "tensor([-4.-12.j, -3.-9.j, -2.-6.j, -1.-3.j,  0.+0.j,  1.+3.j,  2.+6.j,\n         3.+9.j,  4.+12.j])"
    )
    assert repr(torch.arange(8).to(torch.complex64) / 4).splitlines()[0].count("j") == 7


def test_numbers_that_are_not_finite_stand_as_they_are():
    assert repr(torch.tensor([float("nan"), float("inf"), -float("inf")])) == "tensor([nan, inf, -inf])"
    assert repr(torch.tensor([0.0, float("nan")])) == "tensor([0., nan])"
    assert repr(torch.tensor([1.0, float("nan")])) == "tensor([1., nan])"
    assert repr(torch.tensor([10.0, -float("inf")])) == "tensor([10., -inf])"


def test_named_results_stand_below_each_other():
    found = torch.tensor([[1.0, 5.0], [4.0, 2.0]]).max(0)
    assert repr(found) == "torch.return_types.max(\nvalues=tensor([4., 5.]),\nindices=tensor([1, 0]))"


def test_zeros_are_whole_numbers_whatever_is_asked_of_others():
    with torch.printoptions(sci_mode=True):
        assert repr(torch.zeros(2)) == "tensor([0., 0.])" and "e+00" in repr(torch.ones(2))
