import pytest
from torch.utils import model_zoo
from torch.utils._sympy.numbers import IntInfinity, int_oo
from torch.utils._sympy.value_ranges import ValueRangeError, ValueRanges


def test_an_infinity_lies_above_every_int():
    assert int_oo > 10**30 and -int_oo < -(10**30) and IntInfinity() == int_oo != -int_oo
    assert sorted([3, int_oo, -int_oo, 5], key=lambda v: (v == int_oo) - (v == -int_oo)) == [-int_oo, 3, 5, int_oo]
    assert (repr(int_oo), repr(-int_oo)) == ("int_oo", "-int_oo")
    low = -int_oo
    assert -low == int_oo


def test_ranges_hold_values_and_meet():
    both = ValueRanges(0, 10) & ValueRanges(5, int_oo)
    assert both == ValueRanges(5, 10) and 7 in both and 4 not in both
    with pytest.raises(ValueRangeError, match=r"Invalid ranges \[3:2\]"):
        ValueRanges(3, 2)


def test_a_download_without_a_bar_shows_nothing(capsys):
    with model_zoo._NoBar(range(3)) as bar:
        assert list(bar) == [0, 1, 2]
        bar.update(1)
        bar.close()
    assert capsys.readouterr().out == ""
