"""Sobol' points, held against SciPy's and against what makes them even."""

import pytest
import torch
from torch.quasirandom import SobolEngine

qmc = pytest.importorskip("scipy.stats.qmc")


@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
def test_points_are_those_of_scipy(dimension):
    expected = torch.from_numpy(qmc.Sobol(dimension, scramble=False, bits=30).random(64))
    engine = SobolEngine(dimension)
    assert torch.equal(torch.cat([engine.draw(5), engine.draw(59)]).double(), expected.float().double())
    assert engine.num_generated == 64
    assert torch.equal(engine.reset().fast_forward(10).draw(3, dtype=torch.float64), expected[10:13])


def test_scrambled_points_lie_one_in_each_interval_and_repeat_with_their_seed():
    one, again, other = (SobolEngine(4, scramble=True, seed=s) for s in (3, 3, 4))
    points = one.draw_base2(8)
    assert torch.equal(again.draw(256), points) and not torch.equal(other.draw(256), points)
    assert all((points[:, d] * 256).floor().unique().numel() == 256 for d in range(4))
    for a in range(4):
        for b in range(a):  # each of 16 by 16 squares has one point in good pairs of dims, a handful in others
            squares = (points[:, [a, b]] * 4).floor()
            assert torch.unique(squares, dim=0).shape[0] == 16
    assert points.min() >= 0 and points.max() < 1


def test_points_of_other_dtypes_into_a_tensor():
    out = torch.empty(0, dtype=torch.float64)
    engine = SobolEngine(2)
    assert engine.draw(2, out=out) is out and out.tolist() == [[0, 0], [0.5, 0.5]]
    assert (
        engine.draw(0).shape == (0, 2)
        and repr(SobolEngine(2, True, 1)) == "SobolEngine(dimension=2, scramble=True, seed=1)"
    )
    with torch.device("meta"):
        assert SobolEngine(3).draw(2).device.type == "cpu"


def test_what_there_is_no_point_for():
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=rf"\[1, 21201\], got {dimension}"):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"n=3\+2\*\*2=7"):
        engine.draw_base2(2)
    with pytest.raises(ValueError, match="the sequence has 1073741824 points"):
        engine.fast_forward(2**30).draw(1)
